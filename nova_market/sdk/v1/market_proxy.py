# SPDX-License-Identifier: Apache-2.0
"""What all parts of `conn.market` have in common: pages, and one resource in its noun."""

import itertools
from collections.abc import Iterator
from typing import Any, TypeVar

from openstack import exceptions, proxy, utils

from nova_market.sdk.v1.market_resource import MarketResource

Kind = TypeVar('Kind', bound=MarketResource)

PAGE = 1000
"""Most items that are asked for at once."""


RETRIES = 10
"""Times that a request is sent again which was refused for the number of them."""

OPTIONS = {'retriable_status_codes': [429], 'status_code_retries': RETRIES}


class MarketProxy(proxy.Proxy):
    """The base of the proxy.

    What is refused for the number of requests (429) is sent again when the answer allows it, `RETRIES` times;
    `market_status_code_retries` in clouds.yaml sets another number, 0 for never.
    """

    def __init__(self, session: Any, **options: Any) -> None:
        given = {name: value for name, value in options.items() if value is not None}
        super().__init__(session, **{**OPTIONS, **given})

    def _pages(
        self, kind: type[Kind], /, *, max_items: int | None = None, **query: Any
    ) -> Iterator[Kind]:
        if max_items is not None:
            query['limit'] = min(max_items, PAGE)
        return itertools.islice(self._list(kind, **query), max_items)

    def _read(self, kind: type[Kind], response: Any) -> Kind:
        exceptions.raise_from_response(response)
        body = response.json()
        # one resource is wrapped in its noun
        (values,) = body.values()
        return kind.existing(connection=self._get_connection(), **values)

    def _newest(self, newest: str) -> str:
        """The newest version that both sides know: an older service has the route too."""
        return utils.maximum_supported_microversion(self, newest) or newest
