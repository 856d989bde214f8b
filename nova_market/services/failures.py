# SPDX-License-Identifier: Apache-2.0
"""What fails for one owner of servers (an application, a queue) stops no other, and is logged once.

When the cloud answers no request for several projects in a row, the pass takes it to be down and sends no
more requests, so that it does not wait for one time-out after another. An answer that is an error does not
count: it concerns only the owner it was asked for. Work that needs no cloud is done in every pass. The
next pass begins with the first owner that was skipped, so that those whose requests time out do not keep the
others waiting for ever.
"""

import logging
import re
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from nova_market.errors import (
    AccessLost,
    CloudAway,
    CloudUnavailable,
    Conflict,
    DatabaseUnavailable,
    NovaMarketError,
    SchemaBehind,
)
from nova_market.outage_log import OutageLog

LOG = logging.getLogger(__name__)

Result = TypeVar('Result')


class Owner(Protocol):
    """Whoever servers are made for: a row of an application, or of a queue."""

    @property
    def id(self) -> str: ...

    @property
    def project_id(self) -> str: ...


Row = TypeVar('Row', bound=Owner)

DATABASE_AWAY = (DatabaseUnavailable, SchemaBehind)
PATIENCE = 3
"""Projects in a row without an answer, at most as many as there are, after which the cloud is down."""

AWAY = 'the cloud does not answer'

NAMES = re.compile(r'[0-9a-f-]{8,}|[0-9]+')
"""Ids, numbers, addresses: what differs between two texts of one trouble."""


class Failures(Generic[Row]):
    """One pass after the other; remembers what was logged."""

    def __init__(self, noun: str, note: Callable[[Row, str], None]) -> None:
        """noun: what an owner is, for the log; note: keeps what its project should know of a failure."""
        self._noun = noun
        self._note = note
        self._outages: dict[tuple[str, str], OutageLog] = {}
        self._silent: set[str] = set()
        self._in_a_row: set[str] = set()
        self._enough = PATIENCE
        self._first = ''
        self._left = ''

    def begin(self, owners: Sequence[Row]) -> None:
        """A pass over these begins: the cloud may answer again."""
        self._silent, self._in_a_row = set(), set()
        self._first, self._left = self._left, ''
        self._enough = max(min(PATIENCE, len({one.project_id for one in owners})), 1)

    def in_turn(self, owners: Sequence[Row]) -> list[Row]:
        """In the order of this pass; given by id."""
        behind = [one for one in owners if one.id >= self._first]
        return behind + [one for one in owners if one.id < self._first]

    def answered(self) -> None:
        """The cloud has answered a request for one project at least."""
        self._in_a_row = set()

    @property
    def cloud_away(self) -> bool:
        return len(self._in_a_row) >= self._enough

    @property
    def count(self) -> int:
        """Owners that something is wrong with."""
        return len({owner_id for owner_id, _ in self._outages})

    def keep(self, owner_ids: Sequence[str]) -> None:
        """Forget about all others: they are gone."""
        known = frozenset(owner_ids)
        self._outages = {key: one for key, one in self._outages.items() if key[0] in known}

    def asking(self, owner: Row, stage: str, work: Callable[[], Result]) -> Result | None:
        """As `surviving`, for work that needs the cloud: skipped while it is down, or for that project."""
        if self.cloud_away:
            self._left = self._left or owner.id
            return None
        if owner.project_id in self._silent:
            return None
        return self.surviving(owner, stage, work)

    def surviving(self, owner: Row, stage: str, work: Callable[[], Result]) -> Result | None:
        """Its result; None when it failed.

        :raises DatabaseUnavailable, SchemaBehind: that stops everything.
        """
        try:
            found = work()
        except DATABASE_AWAY:
            raise
        except Conflict as error:
            # its owner was faster: the next pass sees what he wants
            LOG.debug('%s %s: %s', self._noun, owner.id, error)
            return None
        except CloudAway as error:
            self._silent.add(owner.project_id)
            self._in_a_row.add(owner.project_id)
            # the whole text names hosts and accounts of the operator
            self._failed(owner, stage, f'{AWAY}: {error}', AWAY)
            return None
        except CloudUnavailable as error:
            self._failed(owner, stage, f'the cloud fails: {error}')
            return None
        except AccessLost as error:
            self._failed(owner, stage, f'its trust is not good any more: {error}')
            return None
        except NovaMarketError as error:
            self._failed(owner, stage, str(error))
            return None
        except Exception as error:
            if self._failed(owner, stage, f'{type(error).__name__}: {error}'):
                LOG.exception('%s %s fails; others go on', self._noun, owner.id)
            return None
        outage = self._outages.pop((owner.id, stage), None)
        if outage is not None:
            outage.works()
        return found

    def _failed(self, owner: Row, stage: str, trouble: str, shown: str = '') -> bool:
        """Log it and note it for its project, if it is news. shown: to its owner, instead of all."""
        outage = self._outages.get((owner.id, stage))
        if outage is None:
            name = f'{self._noun} {owner.id}'
            outage = OutageLog(LOG, lost=name, back=f'{name}: {stage} works again')
            self._outages[owner.id, stage] = outage
        if not outage.failed(trouble, kind=NAMES.sub('#', trouble)):
            return False
        self._note(owner, shown or trouble)
        return True
