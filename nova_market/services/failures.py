# SPDX-License-Identifier: Apache-2.0
"""What fails for one owner of servers (an application, a queue) stops no other, and is logged once.

A failure of the owner's own rows sets it aside (rule R2 of doc/source/specs/passes.rst); what follows is
about failures of the cloud.

When the cloud answers no request for several projects in a row, the pass takes it to be down and sends no
more requests, so that it does not wait for one time-out after another. An answer that is an error does not
count: it concerns only the owner it was asked for. Work that needs no cloud is done in every pass. The
next pass begins with the first owner that was skipped, so that those whose requests time out do not keep the
others waiting for ever.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from nova_market.errors import (
    AccessLost,
    CloudAway,
    CloudRefused,
    CloudUnavailable,
    Conflict,
    DatabaseUnavailable,
    SchemaBehind,
)
from nova_market.outage_log import OutageLog
from nova_market.row_boundary import NAMES, RowBoundary

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


class Failures(Generic[Row]):
    """One pass after the other; remembers what was logged."""

    def __init__(self, noun: str, note: Callable[[Row, str], None], boundary: RowBoundary) -> None:
        """noun: what an owner is; note: keeps what its project should know of a failure of the cloud."""
        self._noun = noun
        self._note = note
        self._boundary = boundary
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
        aside = {one.id for one in self._boundary.listed() if one.kind == self._noun}
        return len({owner_id for owner_id, _ in self._outages} | aside)

    def keep(self, owner_ids: Sequence[str]) -> None:
        """Forget about all others: they are gone."""
        known = frozenset(owner_ids)
        self._outages = {key: one for key, one in self._outages.items() if key[0] in known}
        self._boundary.keep(self._noun, known)

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
            self._failed(owner, stage, f'it may not act for its user any more: {error}')
            return None
        except CloudRefused as error:
            self._failed(owner, stage, str(error))
            return None
        except Exception as error:
            self._boundary.failed(self._noun, owner.id, stage, error)
            return None
        self._boundary.works(self._noun, owner.id, stage)
        outage = self._outages.pop((owner.id, stage), None)
        if outage is not None:
            outage.works()
        return found

    def _failed(self, owner: Row, stage: str, trouble: str, shown: str = '') -> None:
        """Log it and note it for its project, if it is news. shown: to its owner, instead of all."""
        outage = self._outages.get((owner.id, stage))
        if outage is None:
            name = f'{self._noun} {owner.id}'
            outage = OutageLog(LOG, lost=name, back=f'{name}: {stage} works again')
            self._outages[owner.id, stage] = outage
        if outage.failed(trouble, kind=NAMES.sub('#', trouble)):
            self._note(owner, shown or trouble)
