# SPDX-License-Identifier: Apache-2.0
"""What fails for one application stops no other, and is said once, until it works again.

Units: none. A cloud that does not answer for several applications in a row is taken to be away, so that a
pass does not wait for one time-out after another.
"""

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from nova_market.core.app_record import AppEvent, StoredApp
from nova_market.errors import (
    AccessLost,
    CloudUnavailable,
    Conflict,
    DatabaseUnavailable,
    NovaMarketError,
    SchemaBehind,
)
from nova_market.ports import Clock, EventStore

LOG = logging.getLogger(__name__)

Result = TypeVar('Result')

DATABASE_AWAY = (DatabaseUnavailable, SchemaBehind)
PATIENCE = 3


class Troubles:
    """One pass after the other; remembers what was said."""

    def __init__(self, events: EventStore, clock: Clock) -> None:
        self._events = events
        self._clock = clock
        self._said: dict[tuple[str, str], str] = {}
        self._silent = 0

    def begin(self) -> None:
        """A pass begins: the cloud may answer again."""
        self._silent = 0

    @property
    def cloud_away(self) -> bool:
        return self._silent >= PATIENCE

    @property
    def count(self) -> int:
        """Applications that something is wrong with."""
        return len({app_id for app_id, _ in self._said})

    def keep(self, app_ids: Sequence[str]) -> None:
        """Forget about all others: they are gone."""
        known = frozenset(app_ids)
        self._said = {key: said for key, said in self._said.items() if key[0] in known}

    def surviving(self, app: StoredApp, stage: str, work: Callable[[], Result]) -> Result | None:
        """Its result; None when it failed, or the cloud is away.

        :raises DatabaseUnavailable, SchemaBehind: that stops everything.
        """
        if self.cloud_away:
            return None
        try:
            found = work()
        except DATABASE_AWAY:
            raise
        except Conflict as error:
            # its owner was faster: the next pass sees what he wants
            LOG.debug('app %s: %s', app.id, error)
            return None
        except CloudUnavailable as error:
            self._silent += 1
            self._say(app, stage, f'the cloud does not answer: {error}')
            return None
        except AccessLost as error:
            self._say(app, stage, f'its trust is not good any more: {error}')
            return None
        except NovaMarketError as error:
            self._say(app, stage, str(error))
            return None
        except Exception as error:
            if (app.id, stage) not in self._said:
                LOG.exception('app %s fails; others go on', app.id)
            self._say(app, stage, f'{type(error).__name__}: {error}')
            return None
        self._silent = 0
        if self._said.pop((app.id, stage), None) is not None:
            LOG.info('app %s: %s works again', app.id, stage)
        return found

    def _say(self, app: StoredApp, stage: str, trouble: str) -> None:
        before = self._said.get((app.id, stage))
        self._said[app.id, stage] = trouble
        if before is not None:
            return
        LOG.warning('app %s: %s', app.id, trouble)
        event = AppEvent(
            app_id=app.id,
            at=self._clock.wall(),
            period=app.period,
            action='troubled',
            reason=trouble,
        )
        self._events.tell([event])
