# SPDX-License-Identifier: Apache-2.0
"""What fails for one application stops no other, and is logged once until it works again.

When the cloud answers no request for several projects in a row, the pass takes it to be down and sends no
more requests, so that it does not wait for one time-out after another. An answer that is an error does not
count: it concerns only the application it was asked for. Work that needs no cloud is done in every pass. The
next pass begins with the first application that was skipped, so that applications whose requests time out
do not keep the others waiting for ever.
"""

import logging
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from nova_market.core.app.record import AppEvent, StoredApp
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
from nova_market.ports import Clock, EventStore

LOG = logging.getLogger(__name__)

Result = TypeVar('Result')

DATABASE_AWAY = (DatabaseUnavailable, SchemaBehind)
PATIENCE = 3
"""Projects in a row without an answer, at most as many as there are, after which the cloud is down."""

AWAY = 'the cloud does not answer'

NAMES = re.compile(r'[0-9a-f-]{8,}|[0-9]+')
"""Ids, numbers, addresses: what differs between two texts of one trouble."""


class AppFailures:
    """One pass after the other; remembers what was logged."""

    def __init__(self, events: EventStore, clock: Clock) -> None:
        self._events = events
        self._clock = clock
        self._outages: dict[tuple[str, str], OutageLog] = {}
        self._silent: set[str] = set()
        self._in_a_row: set[str] = set()
        self._enough = PATIENCE
        self._first = ''
        self._left = ''

    def begin(self, apps: Sequence[StoredApp]) -> None:
        """A pass over these begins: the cloud may answer again."""
        self._silent, self._in_a_row = set(), set()
        self._first, self._left = self._left, ''
        self._enough = max(min(PATIENCE, len({app.project_id for app in apps})), 1)

    def in_turn(self, apps: Sequence[StoredApp]) -> list[StoredApp]:
        """In the order of this pass; given by id."""
        behind = [app for app in apps if app.id >= self._first]
        return behind + [app for app in apps if app.id < self._first]

    def answered(self) -> None:
        """The cloud has answered a request for one project at least."""
        self._in_a_row = set()

    @property
    def cloud_away(self) -> bool:
        return len(self._in_a_row) >= self._enough

    @property
    def count(self) -> int:
        """Applications that something is wrong with."""
        return len({app_id for app_id, _ in self._outages})

    def keep(self, app_ids: Sequence[str]) -> None:
        """Forget about all others: they are gone."""
        known = frozenset(app_ids)
        self._outages = {key: one for key, one in self._outages.items() if key[0] in known}

    def asking(self, app: StoredApp, stage: str, work: Callable[[], Result]) -> Result | None:
        """As `surviving`, for work that needs the cloud: skipped while it is down, or for that project."""
        if self.cloud_away:
            self._left = self._left or app.id
            return None
        if app.project_id in self._silent:
            return None
        return self.surviving(app, stage, work)

    def surviving(self, app: StoredApp, stage: str, work: Callable[[], Result]) -> Result | None:
        """Its result; None when it failed.

        :raises DatabaseUnavailable, SchemaBehind: that stops everything.
        """
        try:
            found = work()
        except DATABASE_AWAY:
            raise
        except Conflict as error:
            # its owner was faster: the next pass sees what he wants
            LOG.debug('app %s: %s', app.id, error)
            return None
        except CloudAway as error:
            self._silent.add(app.project_id)
            self._in_a_row.add(app.project_id)
            # the whole text names hosts and accounts of the operator
            self._failed(app, stage, f'{AWAY}: {error}', AWAY)
            return None
        except CloudUnavailable as error:
            self._failed(app, stage, f'the cloud fails: {error}')
            return None
        except AccessLost as error:
            self._failed(app, stage, f'its trust is not good any more: {error}')
            return None
        except NovaMarketError as error:
            self._failed(app, stage, str(error))
            return None
        except Exception as error:
            if self._failed(app, stage, f'{type(error).__name__}: {error}'):
                LOG.exception('app %s fails; others go on', app.id)
            return None
        outage = self._outages.pop((app.id, stage), None)
        if outage is not None:
            outage.works()
        return found

    def _failed(self, app: StoredApp, stage: str, trouble: str, shown: str = '') -> bool:
        """Log it and note it among the app's events, if it is news. shown: to its owner, instead of all."""
        outage = self._outages.get((app.id, stage))
        if outage is None:
            outage = OutageLog(LOG, lost=f'app {app.id}', back=f'app {app.id}: {stage} works again')
            self._outages[app.id, stage] = outage
        if not outage.failed(trouble, kind=NAMES.sub('#', trouble)):
            return False
        event = AppEvent(
            app_id=app.id,
            at=self._clock.wall(),
            period=app.period,
            action='troubled',
            reason=shown or trouble,
        )
        self._events.tell([event])
        return True
