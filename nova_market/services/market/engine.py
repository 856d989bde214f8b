# SPDX-License-Identifier: Apache-2.0
"""The engine: while it leads, one round in each period, and every unfinished one before it completed.

Implements rules F1 to F4 of doc/source/specs/market.rst. Any number of engines may run; those that do not
lead do nothing. The number of a period is wall-clock time divided by its length, so all engines count alike.
An engine never stops or deletes a server. While no engine runs, hosts go back to their base weights.
"""

import logging
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Protocol

import numpy as np

from nova_market.core.ledger.money import MICRO
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.record import OPEN, RoundRecord, RoundState
from nova_market.core.market.settings import MarketSettings
from nova_market.core.rebalancing.problem import MarketView
from nova_market.errors import (
    CloudUnavailable,
    Conflict,
    DatabaseUnavailable,
    PeriodPurged,
    SchemaBehind,
)
from nova_market.outage_log import OutageLog
from nova_market.ports import Clock, Enforcement, Leadership, Notices, RoundStore
from nova_market.services.leader_loop import LeaderLoop
from nova_market.services.market.rounds import Decided, OpenRound, RoundRunner
from nova_market.services.set_aside import SetAsideReport

LOG = logging.getLogger(__name__)

OUTAGE = (CloudUnavailable, DatabaseUnavailable, SchemaBehind)

ATTEMPTS = 6
"""How often in a period its round is tried while the cloud or the database does not answer."""


class Rebalancing(Protocol):
    """What looks for migrations after a round."""

    def consider(self, view: MarketView) -> None:
        """Look for migrations in the view of a round that was decided. Returns soon."""

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


class Engine(LeaderLoop):
    """A turn at each tick: collects confirmations, and decides a round when a period begins."""

    away = OUTAGE
    noun = 'engine'

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
        aside: SetAsideReport | None = None,
        rebalancing: Rebalancing | None = None,
        observe: Callable[[Decided], None] = lambda decided: None,
    ) -> None:
        """aside: None: what is set aside is only logged. observe: called with each round decided here."""
        super().__init__(
            name=settings.name,
            leadership=leadership,
            clock=clock,
            outage=OutageLog(
                LOG, lost='rounds are skipped, servers run on', back='rounds are run again'
            ),
            pause=settings.period / ATTEMPTS,
        )
        self._aside = aside
        self._boundary = rounds.boundary
        self._rounds = rounds
        self._store = store
        self._enforcement = enforcement
        self._notices = notices
        self._settings = settings
        self._rebalancing = rebalancing or NoRebalancing()
        self._observe = observe
        # by period: that of this period, and those that may be confirmed late
        self._open: dict[int, OpenRound] = {}
        self._done = 0

    def period(self) -> int:
        """The period it is now."""
        return math.floor(self._clock.wall() / self._settings.period)

    def start(self) -> None:
        self._enforcement.start()
        super().start()

    def stop(self, *, ended: bool = True) -> None:
        super().stop(ended=ended)
        self._enforcement.stop()

    def tick(self) -> None:
        """As every leader loop; migrations go on at each tick, also while rounds wait."""
        super().tick()
        if self.leads:
            self._surviving(self._rebalancing.tick)

    def settle(self) -> None:
        """Finish the rounds of periods that are over without waiting for hosts, and begin no new one.

        :raises CloudUnavailable, DatabaseUnavailable: not now.
        """
        self._complete(self.period(), wait=False)

    def turn(self) -> None:
        """Collect what hosts confirm; in a new period finish the old rounds and decide one.

        :raises CloudUnavailable, DatabaseUnavailable, SchemaBehind: not now.
        """
        period = self.period()
        if period in self._open:
            self._collect(self._open[period])
            return
        if period == self._done:
            return
        with nullcontext() if self._aside is None else self._aside.kept():
            self._complete(period)
            if period not in self._open:
                self._decide(period)
        self._done = period
        self._outage.works(f'period {period}')

    def _lead_changed(self) -> None:
        self._open, self._done = {}, 0
        if self._aside is not None:
            self._aside.forget()
        self._rebalancing.forget()

    def _complete(self, period: int, *, wait: bool = True) -> None:
        """Finish every round before this period, and go on with this period's if another engine began it.

        wait: for confirmations that may still come: rounds in which one is missing stay open
        """
        for opened in self._open.values():
            self._collect(opened)
        still_open: dict[int, OpenRound] = {}
        for record in self._store.unfinished():
            left = known = self._open.get(record.period)
            with self._boundary.row('round', str(record.period), 'finish'):
                left = self._completed(record, known, period, wait=wait)
            if left is not None:
                still_open[record.period] = left
        self._open = still_open

    def _collect(self, opened: OpenRound) -> None:
        with self._boundary.row('round', str(opened.record.period), 'collect'):
            self._rounds.collect(opened)

    def _completed(
        self, record: RoundRecord, known: OpenRound | None, period: int, *, wait: bool
    ) -> OpenRound | None:
        """What of a round is still open after it was sent, or finished as far as can be."""
        if record.period == period:
            LOG.info('round %d, which %s began, goes on', period, record.leader)
            return self._rounds.send(record)
        if record.period > period:
            return None
        sent = known is not None
        missing = known.missing(period) if known and wait else {}
        try:
            became = self._rounds.finish(record, sent=sent, missing=missing)
        except (Conflict, PeriodPurged) as error:
            LOG.warning('round %d is left as it is: %s', record.period, error)
            return None
        LOG.log(logging.DEBUG if sent else logging.INFO, 'round %d is %s', record.period, became)
        if known is not None and became == RoundState.APPLIED:
            return replace(known, wanted=missing)
        return None

    def _decide(self, period: int) -> None:
        decided = self._rounds.decide(period)
        if decided.stored.state not in OPEN:
            LOG.info('round %d was completed by %s', period, decided.stored.leader)
            return
        self._open[period] = self._rounds.send(
            decided.stored, decided.plan.allocated if decided.ours else None
        )
        if not decided.ours:
            return
        _log(decided)
        for notice in decided.plan.notices:
            self._notices.tell(notice.event, notice.project_id, notice.payload)
        self._observe(decided)
        self._surviving(lambda: self._rebalancing.consider(decided.view))

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
        'round %d: %d servers on %d hosts, %s, largest error %.2f %%',
        inputs.period, len(inputs.servers), len(inputs.hosts), _prices(decided),
        100 * outcome.largest_error,
    )  # fmt: skip
    for row in np.flatnonzero(outcome.held):
        LOG.info(
            'round %d: the breaker holds the price of %s at %.6g credits, after %.6g; it would be %.6g',
            inputs.period, MARKET_RESOURCES[row],
            outcome.price[row] / MICRO, inputs.past.price[row] / MICRO, outcome.free_price[row] / MICRO,
        )  # fmt: skip
    if outcome.short.size:
        LOG.debug('bids scaled down: %s', ', '.join(inputs.payers[r] for r in outcome.short))
    for server, note in inputs.bids.notes.items():
        LOG.debug('bid of server %s is not understood: %s', server, note)


def _prices(decided: Decided) -> str:
    """For the log, in credits per period."""
    units = {'cpu': 'core', 'memory': 'MiB'}
    price = {one.resource: one.price for one in decided.plan.prices}
    return ', '.join(
        f'price {price[name] / MICRO:.6g} credits a {unit}'
        if name in price
        else f'{name} is not sold'
        for name, unit in units.items()
    )
