# SPDX-License-Identifier: Apache-2.0
"""The part of `conn.market` that asks for notices."""

from collections.abc import Iterator
from typing import Any

from openstack import exceptions

from nova_market.sdk.v1.market_proxy import MarketProxy
from nova_market.sdk.v1.microversion import STOPPED_NOTICES
from nova_market.sdk.v1.notice import Notice

ME = 'me'


class NoticeProxy(MarketProxy):
    """Notices: rule N2. `me` is the user of the token."""

    def notices(self, **query: Any) -> Iterator[Notice]:
        """What users want to get: your own, those of your project when you manage it."""
        return self._pages(Notice, **query)

    def get_notice(self, user_id: str = ME, project_id: str | None = None) -> Notice:
        """What one user wants to get."""
        params = {'project_id': project_id} if project_id else {}
        path = f'/notices/{user_id}'
        return self._read(Notice, self.get(path, params=params, microversion=STOPPED_NOTICES))

    def set_notice(self, **wanted: Any) -> Notice:
        """Ask for `events` by `mail` or to a `webhook`, in place of what was asked for before.

        The answer has a `secret` when the URL of the webhook is a new one, and never again.
        """
        answer = self.put(f'/notices/{ME}', json=wanted, microversion=STOPPED_NOTICES)
        return self._read(Notice, answer)

    def confirm_notice(self, code: str) -> Notice:
        """Confirm your address by the code that was sent there."""
        path = f'/notices/{ME}/confirm'
        return self._read(
            Notice, self.post(path, json={'code': code}, microversion=STOPPED_NOTICES)
        )

    def unset_notice(self, user_id: str = ME, project_id: str | None = None) -> None:
        """End the notices of one user."""
        params = {'project_id': project_id} if project_id else {}
        path = f'/notices/{user_id}'
        answer = self.delete(path, params=params, microversion=STOPPED_NOTICES)
        exceptions.raise_from_response(answer)
