# SPDX-License-Identifier: Apache-2.0
"""Passwords, tokens and trusts of the playground, as its Keystone knows them.

Tokens last a day of the machine's clock, however fast the cloud's clock runs, and are gone when the
playground ends; trusts are kept. Implements ports.Trusts and ports.UserRoles.
"""

import hmac
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass

from nova_market.errors import TrustRefused
from nova_market.playground.people import PEOPLE, Person

UNAUTHENTICATED = 'The request you have made requires authentication.'
"""What Keystone and Nova answer to a request without a good token."""

LASTS = 86_400.0
"""Seconds for which a token is good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """person: whose it is, in his project; issued_at, expires_at: seconds since the epoch"""

    text: str
    person: Person
    methods: tuple[str, ...]
    issued_at: float
    expires_at: float


class Identity:
    """From many threads. trusts: projects by trust; shared with the cloud in memory, which acts by them."""

    def __init__(
        self,
        passwords: Mapping[str, str],
        trusts: MutableMapping[str, str],
        wall: Callable[[], float] = time.time,
    ) -> None:
        """passwords: by name of a user; wall: the machine's"""
        self._passwords = passwords
        self._trusts = trusts
        self._wall = wall
        self._lock = threading.Lock()
        self._tokens: dict[str, Token] = {}

    def login(self, name: str, password: str) -> Person | None:
        """Who it is; None: there is no such user, or it is not his password."""
        known = self._passwords.get(name, '')
        right = hmac.compare_digest(known.encode(), password.encode())
        return PEOPLE[name] if known and right else None

    def issue(self, person: Person, methods: Sequence[str] = ('password',)) -> Token:
        """A new token in his project."""
        now = self._wall()
        made = Token(
            text=secrets.token_urlsafe(32),
            person=person,
            methods=tuple(methods),
            issued_at=now,
            expires_at=now + LASTS,
        )
        with self._lock:
            self._tokens = {k: one for k, one in self._tokens.items() if one.expires_at > now}
            self._tokens[made.text] = made
        return made

    def token(self, text: str) -> Token | None:
        """None: there is none, or it is over."""
        with self._lock:
            found = self._tokens.get(text)
        return found if found is not None and found.expires_at > self._wall() else None

    def revoke(self, text: str) -> None:
        """It is worth nothing from now on."""
        with self._lock:
            self._tokens.pop(text, None)

    def roles(self, user_id: str, project_id: str) -> frozenset[str]:
        """As ports.UserRoles."""
        return frozenset(
            role
            for one in PEOPLE.values()
            if (one.id, one.project_id) == (user_id, project_id)
            for role in one.roles
        )

    def create(self, token: str, user_id: str, project_id: str, roles: Sequence[str]) -> str:
        """As ports.Trusts."""
        found = self.token(token)
        if found is None or found.person.id != user_id:
            raise TrustRefused('the token is not of the user who gives the trust')
        lacks = sorted(set(roles) - self.roles(user_id, project_id))
        if lacks or not roles:
            raise TrustRefused(f'the user lacks {", ".join(lacks) or "a role to hand on"}')
        made = uuid.uuid4().hex
        self._trusts[made] = project_id
        return made

    def delete(self, token: str, trust_id: str) -> None:
        """As ports.Trusts."""
        found = self.token(token)
        project = self._trusts.get(trust_id)
        if found is None or project not in (None, found.person.project_id):
            raise TrustRefused('the token is not of a user of the project of this trust')
        self._trusts.pop(trust_id, None)
