# SPDX-License-Identifier: Apache-2.0
"""Carrying out approved migration plans: one move after the other, each watched to its end.

Implements rules A3 and F1 of doc/source/specs/market.rst. Times in seconds.

Everything that must survive an engine is in the plan: a move is marked as moving before Nova is asked for it.
A leader that finds such a move which it has not asked for itself looks where the server is and how its
newest migration goes, and asks (again) only when neither shows that it was done: Nova refuses a
second migration of a server that is on its way.
"""

import logging
from dataclasses import dataclass
from functools import partial

from nova_market.core.rebalancing.plan import MoveState, PlanState, StoredMove, StoredPlan
from nova_market.core.rebalancing.problem import obstacle
from nova_market.core.rebalancing.progress import (
    Ended,
    NextStep,
    choice,
    is_under_way,
    next_step,
    plan_end,
    taken_over,
    watched,
)
from nova_market.core.rebalancing.settings import OFF, RebalancingSettings
from nova_market.core.resource import HostName
from nova_market.errors import CloudUnavailable, MigrationRefused
from nova_market.ports import Clock, MarketCloud, PlanStore
from nova_market.row_boundary import READ, RowBoundary

LOG = logging.getLogger(__name__)

PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The move that this engine waits for. newest: id of the server's last migration before it."""

    plan_id: str
    position: int
    newest: str
    at: float


class MigrationRunner:
    """Remembers only what it waits for; `forget` when another engine leads. For one thread."""

    def __init__(
        self,
        plans: PlanStore,
        cloud: MarketCloud,
        clock: Clock,
        settings: RebalancingSettings,
        boundary: RowBoundary,
    ) -> None:
        self._boundary = boundary
        self._plans = plans
        self._cloud = cloud
        self._clock = clock
        self._settings = settings
        self._asked: _Asked | None = None

    def step(self) -> bool:
        """Go on with the plan that runs, or begin one that is approved; returns whether there is one.

        :raises CloudUnavailable, DatabaseUnavailable: try again.
        :raises Conflict: another engine was faster; try again.
        """
        plan = self._running() or self._begun()
        if plan is None:
            return False
        step, position = next_step([move.state for move in plan.moves])
        if step == NextStep.WATCH:
            self._watch(plan, position)
        elif step == NextStep.START:
            self._start(plan, position)
        else:
            self._finish(plan)
        return True

    def forget(self) -> None:
        """Another engine leads; it finds by its plan what was requested."""
        self._asked = None

    def plan(self, plan_id: str) -> StoredPlan | None:
        """A plan with its moves; None: there is none, or it cannot be read."""
        work = partial(self._plans.plan, plan_id)
        return self._boundary.value('plan', plan_id, f'{READ} its moves', work, None)

    def _running(self) -> StoredPlan | None:
        listed = self._plans.list(PlanState.RUNNING, limit=PAGE)
        return next((plan for one in listed if (plan := self.plan(one.id)) is not None), None)

    def _begun(self) -> StoredPlan | None:
        """The newest approved plan begins, if it is young enough; the others are superseded."""
        approved = self._plans.list(PlanState.APPROVED, limit=PAGE)
        chosen = choice(approved, self._clock.wall(), self._settings)
        for plan in chosen.superseded:
            self._plans.advance(plan.id, PlanState.APPROVED, PlanState.SUPERSEDED)
            LOG.info('migration plan %s is superseded before it began', plan.id)
        if chosen.begins is None:
            return None
        plan = chosen.begins
        self._plans.advance(plan.id, PlanState.APPROVED, PlanState.RUNNING)
        LOG.info('migration plan %s, approved by %s, begins', plan.id, plan.decided_by)
        return self.plan(plan.id)

    def _start(self, plan: StoredPlan, position: int) -> None:
        move = plan.moves[position]
        why = self._obstacle(move)
        if why is not None:
            self._plans.move(plan.id, position, MoveState.WAITING, MoveState.DROPPED, why)
            LOG.info('plan %s: server %s stays: %s', plan.id, move.server_id, why)
            return
        self._plans.move(plan.id, position, MoveState.WAITING, MoveState.MOVING)
        self._ask(plan, position, again=False)

    def _obstacle(self, move: StoredMove) -> str | None:
        if self._settings.mode == OFF:
            return 'rebalancing was switched off'
        return obstacle(move, self._cloud.hosts(), self._cloud.servers())

    def _ask(self, plan: StoredPlan, position: int, *, again: bool) -> None:
        move = plan.moves[position]
        newest = self._cloud.migration(move.server_id)
        self._asked = _Asked(
            plan_id=plan.id,
            position=position,
            newest=newest.id if newest else '',
            at=self._clock.monotonic(),
        )
        try:
            self._cloud.migrate(move.server_id, HostName(move.destination))
            LOG.info('plan %s: %s', plan.id, move.reason or move.server_id)
        except CloudUnavailable:
            # Nova may have received it: look before asking once more
            self._asked = None
            raise
        except MigrationRefused as error:
            # asked before, so the refusal may be for our own migration that can't be seen yet
            if not again and not self._goes(move):
                self._end(plan, position, Ended(state=MoveState.FAILED, outcome=str(error)))

    def _goes(self, move: StoredMove) -> bool:
        """Is the server on its way to where it should go?"""
        return is_under_way(self._cloud.migration(move.server_id), move)

    def _watch(self, plan: StoredPlan, position: int) -> None:
        asked = self._asked
        if asked is None or (asked.plan_id, asked.position) != (plan.id, position):
            self._resume(plan, position)
            return
        move = plan.moves[position]
        found = self._cloud.migration(move.server_id)
        waited = self._clock.monotonic() - asked.at
        ended = watched(found, move, asked.newest, waited, self._settings)
        if ended is not None:
            self._end(plan, position, ended)

    def _resume(self, plan: StoredPlan, position: int) -> None:
        """A move begun by another engine, or in doubt because the cloud did not answer."""
        move = plan.moves[position]
        if self._goes(move):
            now = self._clock.monotonic()
            self._asked = _Asked(plan_id=plan.id, position=position, newest='', at=now)
            return
        host = {one.id: one.host for one in self._cloud.servers()}.get(move.server_id)
        ended = taken_over(move, host)
        if ended is None:
            self._ask(plan, position, again=True)
        else:
            self._end(plan, position, ended)

    def _end(self, plan: StoredPlan, position: int, ended: Ended) -> None:
        move = plan.moves[position]
        self._plans.move(plan.id, position, MoveState.MOVING, ended.state, ended.outcome)
        self._asked = None
        if ended.state == MoveState.DONE:
            LOG.info('plan %s: server %s is on %s', plan.id, move.server_id, move.destination)
        else:
            LOG.warning(
                'plan %s: server %s did not move: %s', plan.id, move.server_id, ended.outcome
            )

    def _finish(self, plan: StoredPlan) -> None:
        states = [move.state for move in plan.moves]
        end = plan_end(states)
        self._plans.advance(plan.id, PlanState.RUNNING, end)
        made = states.count(MoveState.DONE)
        LOG.info('migration plan %s is %s: %d of %d moves made', plan.id, end, made, len(states))
