# SPDX-License-Identifier: Apache-2.0
"""The selection of one pass: core.job.selection with the policies of the queues.

Implements rules J3, J4 and J6 of doc/source/specs/jobs.rst. A policy that is not installed, whose parameters
it does not take, or that fails, starts nothing in its queues; all others go on. Where the whole selection
fails, the queues and jobs with which it does are found and left out (R2 of doc/source/specs/passes.rst).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from nova_market.core.job.cloud_room import CloudRoom
from nova_market.core.job.columns import Placement
from nova_market.core.job.expected_start import expected_starts
from nova_market.core.job.forecast import Forecast, forecast_of
from nova_market.core.job.pass_input import (
    PassInput,
    PassMemory,
    Policy,
    StoredWork,
    gathered,
    part_of,
    selection_of,
)
from nova_market.core.job.pass_steps import PassSteps, starting, steps_of
from nova_market.core.job.policy_interface import JobPolicy, JobSnapshot, Selection
from nova_market.core.job.reason import WIDTH
from nova_market.core.job.record import JobReason
from nova_market.core.job.room import room_of
from nova_market.core.job.selection import decide
from nova_market.core.job.store_values import JobExplanation
from nova_market.errors import BadSnapshot
from nova_market.outage_log import OutageLog
from nova_market.ports import JobStore
from nova_market.row_boundary import OUTAGES, RowBoundary
from nova_market.services.job.settings import JobsSettings

LOG = logging.getLogger(__name__)

ROUNDING = 1e-6
"""Sums of fractions of cores may miss by less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """steps: what is to be stored; more: reasons that the selection does not know of

    forecast: what it leaves, for offers
    """

    steps: PassSteps
    more: Sequence[JobExplanation]
    forecast: Forecast


class Selecting:
    """One selection after the other; remembers which policies are broken."""

    def __init__(
        self,
        jobs: JobStore,
        settings: JobsSettings,
        new_id: Callable[[], str],
        boundary: RowBoundary,
    ) -> None:
        self._boundary = boundary
        self._jobs = jobs
        self._settings = settings
        self._new_id = new_id
        self._outages: dict[Policy, OutageLog] = {}

    def chosen(
        self,
        work: StoredWork,
        room: CloudRoom,
        memory: PassMemory,
        held: Mapping[str, str],
        *,
        turn: int,
        now: float,
    ) -> Chosen:
        """held: queues whose jobs are not started now, by id, and why."""

        def decide(queues: Sequence[str], jobs: Sequence[str]) -> Chosen:
            some = part_of(work, queues, jobs)
            return self._chosen(some, room, memory, held, turn=turn, now=now)

        def decidable(queues: Sequence[str]) -> Sequence[str]:
            decide(queues, ())
            return queues

        # of a policy that no queue has any more nothing is remembered
        had = {selection_of(one) for one in work.queues}
        self._outages = {one: of for one, of in self._outages.items() if one in had}
        everyone = [one.id for one in work.queues]
        every = [*work.waiting.ids, *(one.id for one in work.active)]
        if not self._boundary.at('selection'):
            try:
                return decide(everyone, every)
            except OUTAGES:
                raise
            except Exception as error:
                LOG.debug('the selection fails: %s', error)
        largest = self._boundary.largest
        queues = largest('queue', everyone, 'selection', decidable)
        return largest('job', every, 'selection', partial(decide, queues))

    def _chosen(
        self,
        work: StoredWork,
        room: CloudRoom,
        memory: PassMemory,
        held: Mapping[str, str],
        *,
        turn: int,
        now: float,
    ) -> Chosen:
        seen = gathered(work, room, memory, now=now, settings=self._settings.selection)
        stops = np.array([one.id in held for one in seen.queues], dtype=np.bool_)
        snapshot = seen.snapshot
        if stops.any():
            free = snapshot.candidates & ~stops[snapshot.waiting.queue]
            snapshot = replace(snapshot, candidates=free)
        broken: dict[int, str] = {}
        policies = [self._policy(n, one, broken) for n, one in enumerate(seen.policies)]
        plan = decide(snapshot, policies)
        expected = expected_starts(
            snapshot, plan.starts, plan.placement, plan.code, plan.expected_start
        )
        plan = replace(plan, expected_start=expected.starts)
        steps = steps_of(
            plan,
            seen,
            jobs=self._jobs.by_ids(starting(plan, seen)),
            workers=work.workers,
            new_id=self._new_id,
            digest_of=_none_yet,
            turn=turn,
            now=now,
            pace=self._settings.pace,
        )
        return Chosen(
            steps=steps,
            more=_explained(seen, held, broken),
            forecast=forecast_of(seen, plan, expected.calendar),
        )

    def _policy(self, number: int, policy: Policy, broken: dict[int, str]) -> JobPolicy:
        """The policy, which starts nothing when it fails, and says why in `broken`."""
        name, parameters = policy
        plugin = self._settings.policies.get(name)

        def run(seen: JobSnapshot) -> Selection:
            try:
                if plugin is None:
                    installed = ', '.join(sorted(self._settings.policies))
                    raise LookupError(
                        'it is not installed here, or the operator does not allow it ([jobs]policies): '
                        f'choose one of {installed}'
                    )
                found = _checked(partial(plugin, **dict(parameters))(seen), seen)
            except Exception as error:
                broken[number] = f'{name}: {error}'
                self._failed(policy, error)
                return _nothing(seen)
            if (outage := self._outages.pop(policy, None)) is not None:
                outage.works()
            return found

        return run

    def _failed(self, policy: Policy, error: Exception) -> None:
        outage = self._outages.setdefault(
            policy,
            OutageLog(
                LOG,
                lost=f'queues with the policy {policy[0]} and {dict(policy[1])} start no jobs',
                back=f'queues with the policy {policy[0]} start jobs again',
            ),
        )
        outage.failed(error, kind=type(error).__name__)


def _none_yet(worker_id: str) -> str:
    """No credential: services.job.worker_reconciler makes one for each request to Nova."""
    return ''


def _checked(found: Selection, seen: JobSnapshot) -> Selection:
    """What a policy gave, if it keeps to what core.job.policy_interface asks of it.

    :raises BadSnapshot: it starts no candidate, or more than there is room for.
    """
    if len(found.starts) and not bool(seen.candidates[found.starts].all()):
        raise BadSnapshot('the policy starts a job that is no candidate')
    taken = room_of(found.placement, seen.waiting.amount, len(seen.hosts))
    if bool((taken > seen.hosts.free + ROUNDING).any()):
        raise BadSnapshot('the policy puts more on a host than is free there')
    return found


def _nothing(seen: JobSnapshot) -> Selection:
    """Nobody starts."""
    rows = np.zeros(0, dtype=np.intp)
    jobs = len(seen.waiting)
    return Selection(
        starts=rows,
        placement=Placement(job=rows, host=rows, servers=np.zeros(0, dtype=np.int64)),
        code=np.zeros(jobs, dtype=np.int64),
        numbers=np.zeros((jobs, WIDTH)),
        state=seen.state,
    )


def _explained(
    seen: PassInput, held: Mapping[str, str], broken: Mapping[int, str]
) -> list[JobExplanation]:
    """Jobs that wait for their queue alone; those that have that reason already are left out."""
    of_queue: dict[int, JobReason] = {}
    policy = seen.snapshot.queues.policy.tolist()
    for row, queue in enumerate(seen.queues):
        if queue.id in held:
            of_queue[row] = JobReason(code='cloud', text=f'cloud: {held[queue.id]}')
        elif policy[row] in broken:
            of_queue[row] = JobReason(code='policy', text=f'policy: {broken[policy[row]]}')
    if not of_queue:
        return []
    waiting = seen.snapshot.waiting
    rows = np.flatnonzero(np.isin(waiting.queue, list(of_queue)) & ~waiting.best_effort)
    held_rows = np.flatnonzero(
        np.isin(waiting.queue, [row for row, one in of_queue.items() if one.code == 'cloud'])
    )
    found = []
    first_suspended = len(seen.job_ids) - len(seen.suspended)
    for job in np.union1d(rows, held_rows).tolist():
        reason = of_queue[int(waiting.queue[job])]
        if job < first_suspended and seen.reasons[job] != reason.code:
            found.append(JobExplanation(job_id=seen.job_ids[job], reason=reason))
    return found
