# SPDX-License-Identifier: Apache-2.0
"""What the stores and the cloud hold when a pass of the selection begins, of rows; and the whole pass."""

from dataclasses import replace
from functools import partial

from nova_market.core.job.cloud_room import Cloud, cloud_room
from nova_market.core.job.pass_input import PassMemory, StoredWork, gathered
from nova_market.core.job.pass_steps import starting, steps_of
from nova_market.core.job.pe_line import TenderFacts
from nova_market.core.job.policies.easy import easy
from nova_market.core.job.policies.flexible import flexible
from nova_market.core.job.policies.tender import tender
from nova_market.core.job.queue import WORKER_MARKS
from nova_market.core.job.record import JobState
from nova_market.core.job.selection import decide
from nova_market.core.market.inventory import CloudHost, CloudServer
from tests.support.job_records import id_of, waiting_rows

POLICIES = {'flexible': flexible, 'easy': easy, 'tender': tender}
NOW = 100_000.0


def host(name='h', cores=8.0, memory=32_768.0, **more):
    counted = {'VCPU': cores, 'MEMORY_MB': memory, 'DISK_GB': 1000.0}
    return CloudHost(name=name, cores=cores, memory_mib=memory, **{'counted': counted, **more})


def server(name, on='h', cores=1.0, memory=1024.0, worker_id='', **more):
    """A server of anybody; worker_id: the worker that it is."""
    metadata = {WORKER_MARKS.place: worker_id} if worker_id else {}
    return CloudServer(
        id=name, project_id='red', host=on, vcpus=int(cores), memory_mib=int(memory),
        metadata=metadata, counted={'VCPU': cores, 'MEMORY_MB': memory}, **more,
    )  # fmt: skip


class Passes:
    """jobs, workers, attempts: rows by id, in lists; hosts, servers, aggregates: of the cloud."""

    def __init__(self, queues, hosts=(), servers=(), aggregates=None, jobs=(), workers=()):
        self.queues, self.jobs, self.workers = list(queues), list(jobs), list(workers)
        self.hosts, self.servers = list(hosts), list(servers)
        self.aggregates, self.attempts = aggregates or {}, {}
        self.lifecycles, self.memory, self.now, self.turn = {}, PassMemory(), NOW, 0
        self.tender = TenderFacts()
        self._made = 0

    def room(self):
        cloud = Cloud(hosts=self.hosts, servers=self.servers, aggregates=self.aggregates)
        return cloud_room(cloud, self.workers, [one.aggregate for one in self.queues])

    def input(self, jobs=None):
        jobs = self.jobs if jobs is None else jobs
        waiting = [one for one in jobs if one.state is JobState.WAITING]
        waiting.sort(key=lambda one: one.number)
        work = StoredWork(
            waiting=waiting_rows(waiting),
            active=[one for one in jobs if one.state not in (JobState.WAITING, JobState.HELD)],
            attempts=self.attempts, workers=self.workers, queues=self.queues,
            lifecycles=self.lifecycles, tender=self.tender,
        )  # fmt: skip
        return gathered(work, self.room(), self.memory, now=self.now)

    def plan(self, seen):
        policies = [partial(POLICIES[name], **dict(given)) for name, given in seen.policies]
        return decide(seen.snapshot, policies)

    def new_id(self):
        self._made += 1
        return id_of(f'new{self._made}')

    def steps(self, stale=None):
        """One pass; stale: jobs as they were when the waiting ones were read."""
        seen = self.input(stale)
        plan = self.plan(seen)
        by_id = {one.id: one for one in self.jobs}
        jobs = {name: by_id[name] for name in starting(plan, seen) if name in by_id}
        return steps_of(
            plan, seen, jobs=jobs, workers=self.workers, new_id=self.new_id,
            digest_of=lambda name: f'digest of {name}', turn=self.turn, now=self.now,
        )  # fmt: skip

    def apply(self, found):
        """As the stores do: a step whose job has left `before` is passed over; what was written."""
        written = []
        for step in found.steps:
            job = next(one for one in self.jobs if one.id == step.job_id)
            if job.state is not step.before:
                continue
            self.jobs[self.jobs.index(job)] = replace(job, **step.changed)
            parts = {(one.number, one.rank): one for one in self.attempts.get(job.id, ())}
            parts |= {(one.number, one.rank): one for one in step.attempts}
            self.attempts[job.id] = [parts[key] for key in sorted(parts)]
            rows = {one.id: one for one in self.workers} | {one.id: one for one in step.workers}
            self.workers = sorted(rows.values(), key=lambda one: one.id)
            written.append(step)
        self.memory = found.memory
        return written

    def run(self):
        """One pass, written; its steps."""
        found = self.steps()
        self.apply(found)
        return found

    def job(self, name):
        return next(one for one in self.jobs if one.name == name)
