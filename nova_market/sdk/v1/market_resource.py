# SPDX-License-Identifier: Apache-2.0
"""What all resources of the market have in common: bare bodies, and pages that the service links.

Units: amounts in whole micro-credits (1 credit is 1,000,000), CPU in cores, memory in MiB, prices in
micro-credits per unit and period.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from openstack import resource


class MarketResource(resource.Resource):
    """A resource whose request is the object itself."""

    def _prepare_request(self, **options: Any) -> Any:
        return super()._prepare_request(**{**options, 'prepend_key': False})

    @classmethod
    def _get_next_link(
        cls,
        uri: str,
        response: Any,
        data: Mapping[str, Any],
        marker: str | None,
        limit: str | None,
        total_yielded: int,
    ) -> tuple[str | None, dict[str, Any]]:
        """The next page where the service says that there is one, at the address that answered.

        openstacksdk would ask for one more page than there is, and take the link's path for one below
        the endpoint's.
        """
        links = data.get(f'{cls.resources_key}_links', ())
        href = next((link['href'] for link in links if link.get('rel') == 'next'), None)
        if href is None:
            return None, {}
        return uri, dict(parse_qs(urlsplit(href).query))
