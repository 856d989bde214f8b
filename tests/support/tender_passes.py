# SPDX-License-Identifier: Apache-2.0
"""A tender queue over many passes of the pure selection: offers are accepted, jobs run, workers go."""

from dataclasses import dataclass, replace

from nova_market.core.job.expected_start import expected_starts
from nova_market.core.job.forecast import document_of, forecast_from, forecast_of
from nova_market.core.job.pass_steps import starting, steps_of
from nova_market.core.job.pe_line import Accepted, TenderFacts
from nova_market.core.job.queue import WorkerState
from nova_market.core.job.record import OPEN_ATTEMPT, AttemptState, JobState
from nova_market.core.tender.job_offer import JobNeed, Promise, behind
from nova_market.core.tender.place import Kind
from nova_market.core.tender.queue_offer import queue_offers
from tests.support.job_pass import Passes, host, server
from tests.support.job_records import id_of, job, queue

SIZES = {'small': (1.0, 1024.0, 0.0), 'large': (2.0, 2048.0, 0.0)}
STEP = 5.0
BOOT = 20.0
FACTS = TenderFacts(start_seconds=30.0, handover=15.0, prices={id_of('night'): (3600.0, 0.0, 0.0)})


@dataclass
class Deal:
    """What was promised to a job. runs: seconds that it runs indeed"""

    job_id: str
    kind: Kind
    start: float
    runs: float
    cost: int


class TenderPasses(Passes):
    """deals: by the number of the job; idle_seconds: after which a worker goes."""

    def __init__(self, hosts=(4.0, 4.0), share=1.0, idle_seconds=60.0, **more):
        night = queue('night', share=share, policy='tender', flavors=tuple(SIZES), **more)
        day = queue('day', share=1.0 - share, policy='flexible')
        super().__init__(
            [night, day], [host(f'h{n}', cores=cores) for n, cores in enumerate(hosts)]
        )
        self.tender, self.idle_seconds = FACTS, idle_seconds
        self.deals, self.promises, self.spans = [], [], []
        self.run()

    @property
    def night(self):
        return self.queues[0]

    def ask(self, flavor='small', servers=1, limit=100):
        """(offers, why, need)."""
        need = JobNeed(flavors={flavor: SIZES[flavor]}, servers=servers, time_limit=limit)
        with_room = [one for one in self.promises if one.how is not Kind.ACTIVE]
        found = queue_offers(
            need, self.night, self.forecast, promises=self.promises,
            calendar=behind(with_room, self.forecast.calendar, self.now), now=self.now,
        )  # fmt: skip
        return found.offers, found.why, need

    def accept(self, offers, row, need, runs=None):
        """Its job waits."""
        (flavor,) = need.flavors
        kind, seconds = Kind(int(offers.kind[row])), float(offers.seconds[row])
        number = len(self.jobs) + 1
        cores, memory, disk = SIZES[flavor]
        made = job(
            f'j{number}', number=number, flavor=flavor, cores=cores, memory_mib=memory,
            disk_gib=disk, servers=need.servers, time_limit=need.time_limit,
            state=JobState.WAITING, submitted_at=self.now, cost_limit=int(offers.cost[row]),
        )  # fmt: skip
        self.jobs.append(made)
        accepted = Accepted(flavor=flavor, waits=kind is not Kind.NEW)
        self.tender = replace(self.tender, accepted={**self.tender.accepted, made.id: accepted})
        self.promises.append(
            Promise(
                queue_id=self.night.id,
                flavor=flavor,
                size=SIZES[flavor],
                servers=need.servers,
                time_limit=need.time_limit,
                how=kind,
                until=self.now + seconds,
            )
        )
        start = self.now + seconds - need.time_limit
        runs = need.time_limit if runs is None else runs
        deal = Deal(made.id, kind, start, runs, int(offers.cost[row]))
        self.deals.append(deal)
        return deal

    def submit(self, name, cores=1.0, **more):
        """A job of the other queue."""
        number = len(self.jobs) + 1
        flavor = {'flavor': f'f{cores}', 'cores': cores, 'memory_mib': 512.0}
        made = job(name, 'day', number=number, state=JobState.WAITING, **flavor, **more)
        self.jobs.append(made)

    def run(self):
        """One pass, as services.job.jobs makes it, and what it leaves for offers."""
        seen = self.input()
        plan = self.plan(seen)
        expected = expected_starts(
            seen.snapshot, plan.starts, plan.placement, plan.code, plan.expected_start
        )
        plan = replace(plan, expected_start=expected.starts)
        by_id = {one.id: one for one in self.jobs}
        found = steps_of(
            plan, seen, jobs={name: by_id[name] for name in starting(plan, seen)},
            workers=self.workers, new_id=self.new_id, digest_of=lambda name: '', turn=self.turn,
            now=self.now,
        )  # fmt: skip
        self.apply(found)
        left = forecast_of(seen, plan, expected.calendar, self.tender.start_seconds)
        self.forecast, self.promises = forecast_from(document_of(left)), []
        self._serve()
        return found

    def step(self):
        """Time passes, agents act, workers that were idle for too long go, then a pass."""
        self.now += STEP
        self.turn += 1
        self.workers = [replace(one, seen_at=self.now) for one in self.workers]
        for one in list(self.jobs):
            self._advance(one)
        idle = [one for one in self.workers if one.state is WorkerState.IDLE]
        if not any(j.state is JobState.WAITING and j.queue_id == self.night.id for j in self.jobs):
            self._drop([one for one in idle if self.now - one.idle_since >= self.idle_seconds])
        self.run()

    def _serve(self):
        """Servers are there as soon as they are asked for; those that are to go are gone."""
        self._drop([one for one in self.workers if one.intention == 'gone'])
        there = {one.id for one in self.servers}
        for one in self.workers:
            if f's{one.id}' not in there:
                self.servers.append(
                    server(f's{one.id}', one.host, one.cores, one.memory_mib, worker_id=one.id)
                )

    def _drop(self, gone):
        ids = {one.id for one in gone}
        self.workers = [one for one in self.workers if one.id not in ids]
        self.servers = [one for one in self.servers if one.id[1:] not in ids]

    def _advance(self, one):
        if one.state not in (JobState.STARTING, JobState.RUNNING):
            return
        parts = [p for p in self.attempts[one.id] if p.state in OPEN_ATTEMPT]
        mine = {w.id: w for w in self.workers if w.job_id == one.id}
        if one.state is JobState.STARTING:
            if all(self.now >= mine[p.worker_id].created_at + BOOT for p in parts):
                self._replace(one, state=JobState.RUNNING, started_at=self.now)
                self.attempts[one.id] = [
                    replace(p, state=AttemptState.RUNNING, started_at=self.now) for p in parts
                ]
            return
        runs = next((d.runs for d in self.deals if d.job_id == one.id), one.time_limit)
        if self.now >= one.started_at + runs:
            self.spans += [(p.worker_id, one.started_at, self.now) for p in parts]
            self._replace(one, state=JobState.FINISHED, ended_at=self.now)
            self.attempts[one.id] = [replace(p, state=AttemptState.FINISHED) for p in parts]
            self.workers = [
                replace(w, state=WorkerState.IDLE, job_id='', idle_since=self.now, seen_at=self.now)
                if w.id in mine
                else w
                for w in self.workers
            ]

    def _replace(self, one, **changed):
        self.jobs[self.jobs.index(one)] = replace(one, **changed)
