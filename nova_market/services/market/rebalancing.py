# SPDX-License-Identifier: Apache-2.0
"""Rebalancing: from a round's allocation errors to migration plans, and to their end.

Implements rules A2, A3 and A4 of doc/source/specs/market.rst (Merkat, INRIA RR-8648, section 2.2.4). The
search and the order of its moves are in core.rebalancing.tabu_search and core.rebalancing.move_order; here
is when to search, what becomes of a result, and that there is one plan at a time. Modes as in
conf/rebalancing.py.

A search takes seconds at thousands of hosts, so it runs beside the engine's thread; everything else,
the database included, is done in `consider` and `tick`.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace

from nova_market.core.rebalancing.cool_down import resting
from nova_market.core.rebalancing.plan import PlanState, StoredMove, waiting_notice
from nova_market.core.rebalancing.problem import MarketView
from nova_market.core.rebalancing.proposal import (
    Search,
    agreement,
    proposal,
    search,
    search_due,
    summary,
)
from nova_market.core.rebalancing.settings import AUTO, OFF, RebalancingSettings
from nova_market.errors import CloudUnavailable, Conflict, DatabaseUnavailable
from nova_market.outage_log import OutageLog
from nova_market.ports import Clock, MarketCloud, Notices, PlanStore
from nova_market.row_boundary import RowBoundary
from nova_market.services.market.migration_runner import PAGE, MigrationRunner

LOG = logging.getLogger(__name__)

BUSY = (PlanState.RUNNING, PlanState.APPROVED)
ENDED = (PlanState.DONE, PlanState.FAILED)


class Rebalancing:
    """For the engine's thread, while it leads. Nothing here raises when the cloud or the database is down."""

    def __init__(
        self,
        plans: PlanStore,
        cloud: MarketCloud,
        clock: Clock,
        settings: RebalancingSettings,
        executor: Executor | None = None,
        notices: Notices | None = None,
        boundary: RowBoundary | None = None,
    ) -> None:
        """boundary: of the plans' database."""
        self._plans = plans
        self._clock = clock
        self._settings = settings
        self._notices = notices
        self._executor = executor or ThreadPoolExecutor(1, 'rebalancing')
        self._run = MigrationRunner(plans, cloud, clock, settings, boundary or RowBoundary())
        self._search: Future[Search] | None = None
        self._searched: int | None = None
        self._ended: dict[str, tuple[StoredMove, ...]] = {}
        self._outage = OutageLog(LOG, lost='rebalancing waits', back='rebalancing goes on')

    def consider(self, view: MarketView) -> None:
        """A round is over: look for a better placement when it is time to."""
        settings = self._settings
        if settings.mode == OFF or self._search is not None:
            return
        if not search_due(self._searched, view.period, settings):
            return
        self._surviving(lambda: self._begin(view))

    def tick(self) -> None:
        """Look after what goes on: a search that has ended, a plan that runs. Cheap; call it often."""
        self._surviving(self._look)

    def forget(self) -> None:
        """Another engine leads now."""
        self._run.forget()
        self._search = None
        self._searched = None

    def stop(self) -> None:
        """The engine ends; a running migration goes on, and the next leader watches it."""
        self.forget()
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _begin(self, view: MarketView) -> None:
        listed = (one for state in BUSY for one in self._plans.list(state, limit=PAGE))
        if any(self._run.plan(one.id) is not None for one in listed):
            return
        rest = resting(self._moves(), self._clock.wall(), self._settings.cool_down)
        self._search = self._executor.submit(search, view, rest, self._settings)
        self._searched = view.period

    def _moves(self) -> Sequence[StoredMove]:
        """Moves of the plans that have ended, of as many as a page holds; each is read once."""
        found = [plan.id for state in ENDED for plan in self._plans.list(state, limit=PAGE)]
        self._ended = {
            plan_id: self._ended.get(plan_id) or self._read(plan_id) for plan_id in found
        }
        return [move for moves in self._ended.values() for move in moves]

    def _read(self, plan_id: str) -> tuple[StoredMove, ...]:
        plan = self._run.plan(plan_id)
        return plan.moves if plan else ()

    def _look(self) -> None:
        if self._run.step():
            # a search from before these moves started from a placement that has changed
            self._search = None
            return
        if self._search is None or not self._search.done():
            return
        error = self._search.exception()
        if error is not None:
            # a defect of the search must not end the engine; the next search may do better
            LOG.error('the search for a better placement failed', exc_info=error)
        else:
            self._try_to_propose(self._search.result())
        self._search = None

    def _try_to_propose(self, found: Search) -> None:
        """Once, unless the database does not answer: what an administrator has decided on a plan stays."""
        try:
            self._propose(found)
        except Conflict as error:
            LOG.info(
                'the result of the search of period %d is not used: %s', found.view.period, error
            )

    def _propose(self, found: Search) -> None:
        new = proposal(found, self._settings, self._clock.wall())
        listed = self._plans.list(PlanState.PROPOSED, limit=PAGE)
        old = [replace(p, moves=self._read(p.id)) for p in listed if p.id != new.id]
        agreed = agreement(new, old)
        for plan in agreed.superseded:
            self._plans.advance(plan.id, PlanState.PROPOSED, PlanState.SUPERSEDED)
        if agreed.proposed is None:
            LOG.debug('period %d: no migration is worth it', new.period)
            return
        if agreed.proposed is new:
            waits = [waiting_notice(new)] if self._settings.mode != AUTO else []
            self._plans.add(new, waits)
            if self._notices is not None:
                for one in waits:
                    self._notices.tell(one.event, one.project_id, one.payload)
            LOG.info('migration plan %s: %s', new.id, summary(found.plan))
        if self._settings.mode == AUTO:
            chosen = agreed.proposed.id
            self._plans.advance(chosen, PlanState.PROPOSED, PlanState.APPROVED, by=AUTO)

    def _surviving(self, work: Callable[[], None]) -> None:
        """An outage is logged once, and work goes on when it is over."""
        try:
            work()
        except Conflict as error:
            # an administrator or another leader was faster: the next look sees what they did
            LOG.debug('%s', error)
        except (CloudUnavailable, DatabaseUnavailable) as error:
            kind = 'cloud' if isinstance(error, CloudUnavailable) else 'database'
            self._outage.failed(error, kind=kind)
        else:
            self._outage.works()
