# SPDX-License-Identifier: Apache-2.0
"""Who gets which notices, where and how often.

Implements rule N2 of doc/source/specs/notices.rst. Units: seconds since the epoch, seconds.
"""

import hashlib
import hmac
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from nova_market.core.notice.notice import Notice
from nova_market.core.row_check import COUNT, TIME, Bounds
from nova_market.core.text import shown
from nova_market.errors import BadNotice

ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+", re.ASCII
)
"""What mail clients accept without quotes (the form that HTML gives an input of type `email`)."""

MAX_ADDRESS = 254
"""Characters of an address (RFC 5321, section 4.5.3.1.3)."""

MAX_URL = 1000
MAX_STOPPED = 255
CODE_LASTS = 86_400.0


class Channel(StrEnum):
    """What carries a notice."""

    MAIL = 'mail'
    WEBHOOK = 'webhook'
    CONFIRM = 'confirm'
    """A mail with the code that confirms its address; nothing else is sent there before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """What a user wants to get of the events of a project.

    events: patterns as of a shell, such as `lease.*`; mine: only of what the user has made
    all_projects: of every project, and of what belongs to none
    mail, webhook: '' for none; confirmed: the address was; code_hash: of the code that confirms it
    secret: what requests to the webhook are signed with
    stopped: why nothing is sent now, the first MAX_STOPPED characters; '': nothing hinders it
    digest: seconds that an event waits for others, 0: none; at_most: messages an hour on each channel
    """

    project_id: str
    user_id: str
    events: tuple[str, ...]
    mail: str = ''
    confirmed: bool = False
    code_hash: str = ''
    code_until: float = 0.0
    webhook: str = ''
    secret: str = ''
    mine: bool = False
    all_projects: bool = False
    digest: float = 0.0
    at_most: int = 20
    changed_at: float = 0.0
    stopped: str = ''

    @property
    def rule(self) -> str:
        """By which its user has asked for it, and by which he goes on getting it (N8)."""
        return 'notices:all_projects' if self.all_projects else 'notices:own'

    def targets(self) -> list[tuple[Channel, str]]:
        """Where notices go now."""
        found = [(Channel.MAIL, self.mail)] if self.mail and self.confirmed else []
        return [*found, (Channel.WEBHOOK, self.webhook)] if self.webhook else found

    def wants(self, notice: Notice) -> bool:
        """Whether a notice is one of those asked for."""
        seen = self.all_projects or notice.project_id == self.project_id != ''
        own = not self.mine or notice.user_id in ('', self.user_id)
        return seen and own and any(fnmatchcase(notice.name, one) for one in self.events)


PREFERENCE_BOUNDS: Bounds = {
    **dict.fromkeys(('code_until', 'digest', 'changed_at'), TIME),
    'at_most': COUNT,
}


def check_events(patterns: Sequence[str], known: Collection[str]) -> None:
    """:raises BadNotice: a pattern that no event has."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise BadNotice(
                f'events: {shown(pattern)} matches no event; give names or patterns, such as lease.*, of: '
                + ', '.join(sorted(known))
            )


def check_mail(address: str, domains: Sequence[str]) -> None:
    """domains: patterns of those that mail may go to.

    :raises BadNotice: no address, or not one of these domains.
    """
    if len(address) > MAX_ADDRESS or not ADDRESS.fullmatch(address):
        raise BadNotice(f'mail: {shown(address)} is no address; give one such as ann@example.org')
    domain = address.rpartition('@')[2].lower()
    if not any(fnmatchcase(domain, pattern.lower()) for pattern in domains):
        allowed = ', '.join(domains) or 'none'
        raise BadNotice(
            f'mail: {domain!r} is not a domain that this cloud sends mail to: {allowed}'
        )


def check_webhook(url: str) -> None:
    """:raises BadNotice: not a URL of https. The address of its host is checked at each connection."""
    try:
        parts = urlsplit(url)
        good = parts.scheme == 'https' and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    printable = url.isascii() and url.isprintable() and ' ' not in url
    if not good or not printable or len(url) > MAX_URL:
        raise BadNotice(
            f'webhook: {shown(url)}: give a URL of https of at most {MAX_URL} characters, '
            'such as https://hooks.example.org/market'
        )
    if '@' in parts.netloc or parts.fragment:
        raise BadNotice(
            'webhook: a URL with a user, a password or a fragment (#) is not taken: the signature of each '
            'request shows who has sent it'
        )


def hash_of(code: str) -> str:
    """What is kept of a code."""
    return hashlib.sha256(code.encode()).hexdigest()


def confirms(preference: Preference, code: str, now: float) -> bool:
    """Whether this code confirms the address now."""
    same = hmac.compare_digest(hash_of(code), preference.code_hash)
    return bool(preference.code_hash) and same and now < preference.code_until
