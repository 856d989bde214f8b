# SPDX-License-Identifier: Apache-2.0
"""One active job with its attempt, workers and servers, whose steps are applied as the stores apply them."""

from dataclasses import replace

from nova_market.core.job.attempt import WorkerPace
from nova_market.core.job.part_fate import ActiveJob, ProgressSettings
from nova_market.core.job.progress import progress
from nova_market.core.job.queue import WorkerState
from nova_market.core.job.record import (
    ENDED,
    OPEN_ATTEMPT,
    AttemptState,
    JobState,
    StoredAttempt,
)
from nova_market.core.market.owner_server import OwnerServer, ServerState
from tests.support.job_records import id_of, job, worker

PACE = WorkerPace()
SETTINGS = ProgressSettings()
BEGAN = 1000.0


class Life:
    """A job in STARTING with new workers whose servers are being built, unless `more` is another state.

    now: of the service; listening_since, unknown: as `progress` takes them; host: of all servers
    """

    def __init__(self, servers=1, reuse=True, **more):
        given = {'state': JobState.STARTING, 'attempt': 1, 'changed_at': BEGAN, 'servers': servers}
        self.job = job(**given | more)
        self.now, self.listening_since, self.unknown, self.host = BEGAN, 0.0, (), None
        self.reuse = reuse
        self.attempts, self.workers, self.servers = {}, {}, {}
        self.events = []
        for rank in range(servers):
            self.part(rank, state=AttemptState.STARTING)

    def part(self, rank, number=None, **more):
        """A part of an attempt, with its worker and the server of that."""
        number = number or self.job.attempt
        name = id_of(f'w{number}{rank}')
        given = {'job_id': self.job.id, 'number': number, 'rank': rank, 'worker_id': name}
        self.attempts[number, rank] = StoredAttempt(**{**given, 'created_at': self.now, **more})
        self.workers[name] = replace(
            worker(), id=name, server_id=f's{number}{rank}', job_id=self.job.id, attempt=number,
            rank=rank, created_at=self.now,
        )  # fmt: skip
        self.server(rank, ServerState.BUILDING, number=number)

    def server(self, rank, state, fault='', number=None):
        """What Nova shows of it; None: nothing."""
        name = id_of(f'w{number or self.job.attempt}{rank}')
        if state is None:
            del self.servers[name]
        else:
            self.servers[name] = OwnerServer(
                id=self.workers[name].server_id, owner=self.job.queue_id, place=name, state=state,
                fault=fault,
            )  # fmt: skip

    def worker_of(self, rank=0):
        return self.workers[self.attempts[self.job.attempt, rank].worker_id]

    def state_of(self, rank=0):
        return self.attempts[self.job.attempt, rank].state

    def calls(self, rank=0):
        """Its agent asks for its job."""
        one = self.worker_of(rank)
        self.workers[one.id] = replace(one, seen_at=self.now)
        self.server(rank, ServerState.RUNNING)

    def reports(self, state=AttemptState.RUNNING, rank=0, **more):
        """A heartbeat or a result, kept as AttemptStore.report keeps it."""
        self.calls(rank)
        one = self.attempts[self.job.attempt, rank]
        assert one.state in OPEN_ATTEMPT
        changed = {'reported_at': self.now, 'started_at': one.started_at or self.now}
        if state not in OPEN_ATTEMPT:
            changed |= {'state': state, 'ended_at': self.now}
        elif one.state is AttemptState.STARTING:
            changed |= {'state': state}
        self.attempts[self.job.attempt, rank] = replace(one, **changed | more)

    def runs(self):
        """All of its servers have called and begun, and the job runs."""
        for rank in range(self.job.servers):
            self.reports(rank=rank)
        self.step()
        assert self.job.state is JobState.RUNNING
        return self

    def active(self):
        parts = [self.attempts[key] for key in sorted(self.attempts)]
        return ActiveJob(job=self.job, attempts=parts, workers=self.workers, reuse=self.reuse)

    def next_step(self):
        hosts = dict.fromkeys(self.workers, self.host) if self.host else {}
        return progress(
            self.active(), self.servers, now=self.now, listening_since=self.listening_since,
            pace=PACE, settings=SETTINGS, unknown=self.unknown, hosts=hosts,
        )  # fmt: skip

    def step(self, after=0.0):
        """The next step some seconds later, applied; None when there is none."""
        self.now += after
        found = self.next_step()
        if found is not None:
            self.apply(found)
        return found

    def settle(self, after=0.0):
        """All steps there are; the last one is None."""
        self.now += after
        found = []
        while (step := self.step()) is not None:
            found.append(step)
            assert len(found) < 5, f'no end: {found}'
        return found

    def apply(self, step):
        """As JobStore.decide does."""
        assert step.before is self.job.state
        assert step.changed.get('attempt', self.job.attempt) == self.job.attempt
        changed = dict(step.changed)
        if changed.get('state', self.job.state) is not self.job.state:
            changed['changed_at'] = self.now
        for one in step.attempts:
            old = self.attempts[one.number, one.rank]
            assert old.state in OPEN_ATTEMPT or old.state is one.state
            self.attempts[one.number, one.rank] = replace(
                old, state=one.state, ended_at=one.ended_at, exit_code=one.exit_code, text=one.text,
                by_cloud=one.by_cloud, excluded=one.excluded,
            )  # fmt: skip
        for one in step.workers:
            seen = self.workers[one.id].seen_at
            self.workers[one.id] = replace(one, seen_at=seen)
        self.job = replace(self.job, **changed)
        self.events += step.events

    def actions(self):
        """Words of what has happened, in order."""
        return [str(one.action) for one in self.events]

    @property
    def over(self):
        return self.job.state in ENDED

    def is_free(self, rank=0):
        """Is its worker idle, for the next job?"""
        one = self.worker_of(rank)
        return (one.state, one.job_id) == (WorkerState.IDLE, '')
