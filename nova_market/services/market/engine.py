# SPDX-License-Identifier: Apache-2.0
"""The engine: while it leads, one round in each period, and every unfinished one before it completed.

Implements rules F1 to F4 of doc/source/specs/market.rst. Any number of engines may run; those that don't
lead do nothing. The period is wall-clock time over its length, so all of them count alike. Nothing here
stops or deletes a server: the worst an engine can do is to be away, and then hosts go back to weights of
their own.
"""

import logging
import math
from collections.abc import Callable
from typing import Protocol

from nova_market.core.market.record import RoundState
from nova_market.core.market.settings import MarketSettings
from nova_market.core.rebalancing.problem import MarketView
from nova_market.errors import (
    CloudUnavailable,
    Conflict,
    DatabaseUnavailable,
    PeriodPurged,
    SchemaBehind,
)
from nova_market.ports import Clock, Enforcement, Leadership, Notices, RoundStore
from nova_market.services.market.rounds import Decided, OpenRound, RoundRunner

LOG = logging.getLogger(__name__)

OUTAGE = (CloudUnavailable, DatabaseUnavailable, SchemaBehind)
OPEN = frozenset({RoundState.PLANNED, RoundState.APPLIED})

ATTEMPTS = 6
"""Tries in a period to decide its round while the cloud or the database does not answer."""


class Rebalancing(Protocol):
    """What looks for migrations after a round."""

    def consider(self, view: MarketView) -> None:
        """A round was decided on this. Returns soon."""

    def tick(self) -> None:
        """Go on with the migrations under way."""

    def forget(self) -> None:
        """Another engine leads now."""


class NoRebalancing:
    """Servers stay where they are."""

    def consider(self, view: MarketView) -> None:
        """Nothing."""

    def tick(self) -> None:
        """Nothing."""

    def forget(self) -> None:
        """Nothing."""


class Engine:
    """tick() often, from one thread. Waits for nothing but the cloud and the database."""

    def __init__(
        self,
        *,
        rounds: RoundRunner,
        store: RoundStore,
        enforcement: Enforcement,
        leadership: Leadership,
        notices: Notices,
        clock: Clock,
        settings: MarketSettings,
        rebalancing: Rebalancing | None = None,
        observe: Callable[[Decided], None] = lambda decided: None,
    ) -> None:
        """observe: called with each round that this engine has decided."""
        self._rounds = rounds
        self._store = store
        self._enforcement = enforcement
        self._leadership = leadership
        self._notices = notices
        self._clock = clock
        self._settings = settings
        self._rebalancing = rebalancing or NoRebalancing()
        self._observe = observe
        self._leads = False
        self._open: OpenRound | None = None
        self._done = 0
        self._retry = 0.0
        self._outage = ''

    @property
    def leads(self) -> bool:
        return self._leads

    @property
    def outage(self) -> str:
        """What keeps rounds from being run now; '' when nothing does."""
        return self._outage

    def period(self) -> int:
        """The period it is now."""
        return math.floor(self._clock.wall() / self._settings.period)

    def start(self) -> None:
        self._enforcement.start()
        self._leadership.start()

    def stop(self) -> None:
        """Let another one lead; what is unfinished is stored."""
        self._leadership.stop()
        self._enforcement.stop()

    def tick(self) -> None:
        """Do what is due now. Raises nothing: what goes wrong is logged, an outage once."""
        leads = self._leadership.leading()
        if leads != self._leads:
            LOG.info('%s %s', self._settings.name, 'leads' if leads else 'stands by')
            self._leads = leads
            self._open, self._done, self._retry = None, 0, 0.0
            self._rebalancing.forget()
        if not leads:
            return
        try:
            self._step()
        except OUTAGE as error:
            self._wait_after(error)
        except Exception:
            LOG.exception('this round failed; it is tried again')
            self._wait()
        self._surviving(self._rebalancing.tick)

    def settle(self) -> None:
        """Finish the rounds of periods that are over, and begin no new one.

        :raises CloudUnavailable, DatabaseUnavailable: not now.
        """
        if self._open is not None:
            self._rounds.collect(self._open)
        self._complete(self.period())

    def _step(self) -> None:
        period = self.period()
        if self._open is not None and self._open.record.period == period:
            self._rounds.collect(self._open)
            return
        if period == self._done or self._clock.monotonic() < self._retry:
            return
        if self._open is not None:
            self._rounds.collect(self._open)
        found = self._complete(period)
        if found is not None:
            self._open = found
        else:
            self._decide(period)
        self._done = period
        self._retry = 0.0
        if self._outage:
            LOG.info('rounds go on with period %d', period)
            self._outage = ''

    def _complete(self, period: int) -> OpenRound | None:
        """Finish every round before this period; that of this period, where another engine began it."""
        current = None
        for record in self._store.unfinished():
            if record.period == period:
                LOG.info('round %d, which %s began, goes on', period, record.leader)
                current = self._rounds.send(record)
            elif record.period < period:
                sent = self._open is not None and self._open.record.period == record.period
                try:
                    became = self._rounds.finish(record, sent=sent)
                except (Conflict, PeriodPurged) as error:
                    LOG.warning('round %d is left as it is: %s', record.period, error)
                    continue
                LOG.log(
                    logging.DEBUG if sent else logging.INFO, 'round %d is %s', record.period, became
                )
        self._open = None
        return current

    def _decide(self, period: int) -> None:
        decided = self._rounds.decide(period)
        if decided.stored.state not in OPEN:
            LOG.info('round %d was completed by %s', period, decided.stored.leader)
            return
        self._open = self._rounds.send(
            decided.stored, decided.plan.allocated if decided.ours else None
        )
        if not decided.ours:
            return
        _log(decided)
        for notice in decided.plan.notices:
            self._notices.tell(notice.event, notice.project_id, notice.payload)
        self._observe(decided)
        self._surviving(lambda: self._rebalancing.consider(decided.view))

    def _wait_after(self, error: Exception) -> None:
        if not self._outage:
            LOG.warning('rounds are skipped, servers run on: %s', error)
        self._outage = str(error)
        self._wait()

    def _wait(self) -> None:
        self._retry = self._clock.monotonic() + self._settings.period / ATTEMPTS

    def _surviving(self, work: Callable[[], None]) -> None:
        try:
            work()
        except OUTAGE as error:
            LOG.debug('rebalancing waits: %s', error)
        except Exception:
            LOG.exception('rebalancing failed; rounds go on')


def _log(decided: Decided) -> None:
    outcome, inputs = decided.outcome, decided.inputs
    LOG.info(
        'round %d: %d servers on %d hosts, price %.6g a core and %.6g a MiB, largest error %.2f %%',
        inputs.period, len(inputs.servers), len(inputs.hosts),
        outcome.price[0], outcome.price[1], 100 * outcome.largest_error,
    )  # fmt: skip
    if outcome.short.size:
        LOG.debug('bids scaled down: %s', ', '.join(inputs.payers[r] for r in outcome.short))
    for server, note in inputs.bids.notes.items():
        LOG.debug('bid of server %s is not understood: %s', server, note)
