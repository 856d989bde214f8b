# SPDX-License-Identifier: Apache-2.0
"""What notices by mail and to webhooks need. All stores may raise errors.DatabaseUnavailable."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from nova_market.core.notice.delivery import Queued, Recipient
from nova_market.core.notice.notice import Notice
from nova_market.core.notice.preference import Preference


class NoticeStore(Protocol):
    """What users want to get."""

    def preferences(
        self, project_id: str | None, user_id: str | None, after: tuple[str, str], limit: int
    ) -> Sequence[Preference]:
        """By project and user, those behind `after`; None: of all projects, of all users."""

    def preference(self, project_id: str, user_id: str) -> Preference | None:
        """What a user wants to get of a project; None: nothing."""

    def set(self, preference: Preference, code: Notice | None, most: int) -> None:
        """Store it in place of what is there. code: what confirms its address is sent there.

        :raises errors.TooManyCodes: the address has got, or the user has asked for, `most` within a day.
        """

    def confirm(self, project_id: str, user_id: str, code: str) -> Preference | None:
        """Confirm an address by its code; what is stored then, None: the code is wrong or too old."""

    def stop(self, project_id: str, user_id: str, why: str) -> bool:
        """Note why nothing is sent to this user, '': something is; whether that is news."""

    def unset(self, project_id: str, user_id: str) -> bool:
        """Send nothing more; whether there was something to send."""


class NoticeOutbox(Protocol):
    """What waits for being sent."""

    def recipients(self, now: float, limit: int) -> Sequence[Recipient]:
        """Those for whom something is due, longest waiting first: `limit` by mail, and then by webhook."""

    def waiting(self, recipient: Recipient) -> Sequence[Queued]:
        """What waits for one, by number: a message's worth."""

    def recent(self, recipient: Recipient, since: float) -> Sequence[float]:
        """When messages were sent to one after this time, oldest first."""

    def claim(self, batch: Sequence[Queued], message: str, now: float, again_at: float) -> bool:
        """Note that these are sent now as this message; False: another service does, or they are gone."""

    def done(self, batch: Sequence[Queued], now: float, *, sent: bool) -> None:
        """They were sent, or given up."""

    def postpone(self, recipient: Recipient, until: float) -> None:
        """Nothing of this one is looked at before."""

    def purge(self, before: float) -> int:
        """Remove what was sent or given up before; how many."""


class MailSender(Protocol):
    """A mail server."""

    def send(self, to: str, message: str, subject: str, body: str) -> None:
        """Hand a mail over. message: its id, the same when it is sent again.

        :raises errors.NoticeServerAway: the server does not answer.
        :raises errors.NoticeFailed: not now.
        :raises errors.NoticeRefused: never.
        """


class WebhookSender(Protocol):
    """Servers of users."""

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Post a document.

        :raises errors.NoticeFailed: not now. :raises errors.NoticeRefused: never.
        """
