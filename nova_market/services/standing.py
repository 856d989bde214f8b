# SPDX-License-Identifier: Apache-2.0
"""What users may still do for whom a service goes on acting: their roles, asked of Keystone again and again.

For rules N8 of doc/source/specs/notices.rst, T7 of tender.rst and M8 of market.rst. The rule of the API by
which a user has asked for it decides. An answer by which he may counts for `ask_every`, and while Keystone
does not answer for `keep`; one by which he may not counts for DENIED. Then nobody can tell. Units: seconds.
"""

import logging
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from nova_market.errors import CloudAway, CloudUnavailable
from nova_market.outage_log import OutageLog
from nova_market.ports import Clock, UserRoles

LOG = logging.getLogger(__name__)

PAUSE = 30.0
"""After a request that failed: each waits for its time limit. For all users where Keystone is away."""

DENIED = 10.0
"""For which a denial counts: what waits for him is given up, and he may have got a role since."""

MOST = 10_000
"""Answers that are remembered, the newest ones."""

LOCKS = 64
"""So many requests at once; two at the same time for one user are one."""

Allows = Callable[[str, str, str, frozenset[str]], bool]
"""allows(rule, user, project, roles): whether the policies of the API let him."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingSettings:
    """ask_every, keep: of group [roles]"""

    ask_every: float = 300.0
    keep: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """roles: that he has now; why: he may not, '' if he may; known: False: nobody can tell now"""

    roles: frozenset[str] = frozenset()
    why: str = ''
    known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """again: before which it is not asked again; 0: the last request did not fail"""

    roles: frozenset[str] = frozenset()
    at: float = -math.inf
    again: float = 0.0


class Standings:
    """Of all users. For many threads; remembers the answers."""

    def __init__(
        self, source: UserRoles, allows: Allows, clock: Clock, settings: StandingSettings
    ) -> None:
        self._source = source
        self._allows = allows
        self._clock = clock
        self._settings = settings
        self._lock = threading.Lock()
        self._asking = [threading.Lock() for _ in range(LOCKS)]
        self._known: dict[tuple[str, str], _Answer] = {}
        self._again = 0.0
        self._outage = OutageLog(
            LOG,
            lost='Keystone does not tell which roles users have: the last answers count for some time',
            back='Keystone tells again which roles users have',
        )
        self._errors = OutageLog(
            LOG,
            lost='Keystone does not tell which roles some users have: their last answers count for some time',
            back='Keystone tells again which roles such a user has',
        )

    def ask(self, rule: str, user_id: str, project_id: str) -> Standing:
        """Whether he may do this in his project now. rule: as the API has it, without prefix"""
        key, settings = (user_id, project_id), self._settings
        with self._asking[hash(key) % LOCKS]:
            now = self._clock.monotonic()
            known = self._known.get(key, _Answer())
            may = self._allows(rule, *key, known.roles)
            due = known.at + (settings.ask_every if may else DENIED)
            if now >= max(due, known.again, self._again):
                known = self._asked(key, known, now)
                may = self._allows(rule, *key, known.roles)
        if now - known.at >= (settings.keep if may else DENIED):
            why = f'Keystone does not tell now which roles user {user_id} has'
            return Standing(why=why, known=False)
        if not may:
            return Standing(
                roles=known.roles,
                why=f'user {user_id} has no role in project {project_id} any more that allows market:{rule}',
            )
        return Standing(roles=known.roles)

    def _asked(self, key: tuple[str, str], known: _Answer, now: float) -> _Answer:
        """What is known after another request."""
        try:
            found = _Answer(roles=self._source.roles(*key), at=now)
        except CloudAway as error:
            self._again = self._clock.monotonic() + PAUSE
            self._outage.failed(error)
            return known
        except CloudUnavailable as error:
            found = replace(known, again=self._clock.monotonic() + PAUSE)
            self._errors.failed(f'user {key[0]} in project {key[1]}: {error}')
        else:
            self._outage.works()
            if known.again:
                self._errors.works()
        with self._lock:
            self._known.pop(key, None)
            self._known[key] = found
            if len(self._known) > MOST:
                del self._known[next(iter(self._known))]
        return found
