# SPDX-License-Identifier: Apache-2.0
"""What users ask to get of events: checked, stored, confirmed.

Implements rule N2 of doc/source/specs/notices.rst. Units: seconds.
"""

import secrets
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from nova_market.core.job.notices import ACTIONS
from nova_market.core.lease.record import LeaseAction
from nova_market.core.notice.notice import PREFIX, Notice
from nova_market.core.notice.preference import (
    CODE_LASTS,
    Preference,
    check_events,
    check_mail,
    check_webhook,
    hash_of,
)
from nova_market.core.notice.signature import SECRET_BYTES, secret_text
from nova_market.errors import BadNotice
from nova_market.ports import NoticeStore
from nova_market.services.notice.settings import NoticeLimits

EVENTS = frozenset(
    {f'job.{action}' for action in ACTIONS}
    | {f'lease.{action}' for action in LeaseAction}
    | {'credit.low', 'bid.scaled', 'plan.waiting'}
)
"""All that there are, as people write them."""

CONFIRM = f'{PREFIX}notice.confirm'
CODE_BYTES = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeRequests:
    """What the API does for one user of a project. wall: seconds since the epoch"""

    notices: NoticeStore
    limits: NoticeLimits
    wall: Callable[[], float]

    def set(self, project_id: str, user_id: str, body: Mapping[str, Any]) -> tuple[Preference, str]:
        """Store it in place of what there is; (what is stored, the webhook's secret if it is a new one).

        :raises BadNotice: names the entry and what to give.
        :raises TooManyCodes: no code can be sent to the address now.
        """
        wanted = Preference(
            project_id=project_id,
            user_id=user_id,
            changed_at=self.wall(),
            **{**body, 'events': tuple(body['events'])},
        )
        self._check(wanted)
        before = self.notices.preference(project_id, user_id)
        wanted, secret = _with_secret(wanted, before)
        wanted, code = self._with_code(wanted, before)
        self.notices.set(wanted, code, self.limits.max_codes)
        return wanted, secret

    def confirm(self, project_id: str, user_id: str, code: str) -> Preference:
        """:raises BadNotice: the code is wrong, or too old."""
        found = self.notices.confirm(project_id, user_id, code)
        if found is None:
            raise BadNotice(
                'code: not the one that was sent to the address last, or older than a day; '
                '"openstack market notice set --mail" sends a new one'
            )
        return found

    def _check(self, wanted: Preference) -> None:
        check_events(wanted.events, EVENTS)
        if not wanted.mail and not wanted.webhook:
            raise BadNotice('mail, webhook: both are empty; give at least one')
        if wanted.at_most > self.limits.max_per_hour:
            raise BadNotice(
                f'at_most: {wanted.at_most}; this cloud sends at most {self.limits.max_per_hour} an hour'
            )
        if wanted.mail:
            check_mail(wanted.mail, self.limits.mail_domains)
        if wanted.webhook:
            check_webhook(wanted.webhook)
            host = (urlsplit(wanted.webhook).hostname or '').lower()
            allowed = self.limits.webhook_hosts
            if not any(fnmatchcase(host, pattern.lower()) for pattern in allowed):
                raise BadNotice(
                    f'webhook: {host!r:.100} is not a host that this cloud sends to: '
                    f'{", ".join(allowed) or "none"}'
                )

    def _with_code(
        self, wanted: Preference, before: Preference | None
    ) -> tuple[Preference, Notice | None]:
        """An address that is not confirmed yet gets a code: the newest one counts."""
        if not wanted.mail:
            return wanted, None
        now = self.wall()
        if before is not None and before.mail == wanted.mail and before.confirmed:
            return replace(wanted, confirmed=True), None
        # of hexadecimal digits: one that begins with a hyphen would be an option of the command
        code = secrets.token_hex(CODE_BYTES)
        notice = Notice(
            event=CONFIRM,
            project_id=wanted.project_id,
            payload={'code': code},
            key=f'confirm:{uuid.uuid4()}',
            at=now,
            user_id=wanted.user_id,
        )
        return replace(wanted, code_hash=hash_of(code), code_until=now + CODE_LASTS), notice


def _with_secret(wanted: Preference, before: Preference | None) -> tuple[Preference, str]:
    """The secret stays with the URL."""
    if not wanted.webhook:
        return wanted, ''
    if before is not None and before.webhook == wanted.webhook:
        return replace(wanted, secret=before.secret), ''
    made = secret_text(secrets.token_bytes(SECRET_BYTES))
    return replace(wanted, secret=made), made
