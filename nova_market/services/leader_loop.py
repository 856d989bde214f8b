# SPDX-License-Identifier: Apache-2.0
"""The loop of a service of which any number may run and one leads: the engine, the controller.

Implements rules F1 and F3 of doc/source/specs/market.rst. Units: seconds. At each tick the lead is asked for;
who does not lead does nothing. A turn that fails is logged and tried again after a pause: what is away is
logged once (outage_log), a defect with its traceback.
"""

import abc
import logging
import time
from collections.abc import Callable
from typing import ClassVar

from nova_market.errors import NovaMarketError
from nova_market.outage_log import OutageLog
from nova_market.ports import Clock, Leadership

LOG = logging.getLogger(__name__)

LEADS, STANDS_BY = 'leads', 'stands by'
"""Behind the name of the service in its log."""


class LeaderLoop(abc.ABC):
    """tick() often, from one thread. Waits for nothing but what a turn needs."""

    away: ClassVar[tuple[type[Exception], ...]]
    """Errors of a turn that are an outage; all others are defects."""

    noun: ClassVar[str]
    """What runs, for messages."""

    def __init__(
        self,
        *,
        name: str,
        leadership: Leadership,
        clock: Clock,
        outage: OutageLog,
        interval: float = 0.0,
        pause: float,
    ) -> None:
        """interval: from the beginning of a turn to the next one; 0: a turn at each tick.

        pause: from a turn that failed to the next one.
        """
        self._name = name
        self._leadership = leadership
        self._clock = clock
        self._outage = outage
        self._interval = interval
        self._pause = pause
        self._leads = False
        self._due = 0.0

    @property
    def leads(self) -> bool:
        """Did it lead at the last tick?"""
        return self._leads

    @property
    def outage(self) -> str:
        """What keeps turns from being done now; '' when nothing does."""
        return self._outage.reason

    def start(self) -> None:
        self._leadership.start()

    def stop(self, *, ended: bool = True) -> None:
        """Let another one lead; what is unfinished is stored.

        ended: False: a turn goes on still. It may end behind the next leader's back: what it writes has keys.
        """
        del ended
        self._leadership.stop()

    def tick(self) -> None:
        """Do what is due now. Raises nothing."""
        leads = self._leadership.leading()
        if leads != self._leads:
            LOG.info('%s %s', self._name, LEADS if leads else STANDS_BY)
            self._leads, self._due = leads, 0.0
            self._lead_changed()
        began = self._clock.monotonic()
        if not leads or began < self._due:
            return
        self._due = began + self._interval
        try:
            self.turn()
        except self.away as error:
            self._outage.failed(error)
            self._due = self._clock.monotonic() + self._pause
        except Exception:
            LOG.exception('%s: a turn failed; it is tried again', self._name)
            self._due = self._clock.monotonic() + self._pause

    def late(self) -> str:
        """As services.daemon.Work. `status` finds the rounds that are missing in the database."""
        return f'{self._name}: a turn'

    def await_lead(self, patience: float, sleep: Callable[[float], None] = time.sleep) -> None:
        """Tick until this one leads. The lead is asked for before the time is looked at, so that a patience
        of 0 is one attempt.

        :raises NovaMarketError: it has not got the lead after so many seconds.
        """
        began = self._clock.monotonic()
        while True:
            self.tick()
            if self._leads:
                return
            if self._clock.monotonic() - began >= patience:
                raise NovaMarketError(f'another {self.noun} leads, or nobody can: see the log')
            sleep(min(1.0, patience))

    @abc.abstractmethod
    def turn(self) -> None:
        """Do what is due. Ends the outage when it has found that what it needs is there."""

    @abc.abstractmethod
    def _lead_changed(self) -> None:
        """Forget what is known of an earlier lead: another one has led since."""
