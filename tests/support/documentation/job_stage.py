# SPDX-License-Identifier: Apache-2.0
"""Where the sessions on jobs run: the real API and its stores; JobService plays the service and its workers.

Steps: `NAME waits for room`, `NAME waits for others`, `NAME starts`, `NAME writes TEXT`, `NAME ends with
CODE`, `NAME is preempted`, where NAME is the newest job of that name, or NAME/INDEX an element of the newest
array; `after N minutes`; `the service runs what comes`: the next command meets a service that works; `QUEUE
has worked for N hours`, `all queues have worked for N hours`.
"""

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.core.job.dependency import release
from nova_market.core.job.reason import ReasonCode, sentence
from nova_market.core.job.record import HeldJob, JobState, StoredJob
from nova_market.core.job.store_values import JobFilter
from tests.support.documentation.stages import START, Stage
from tests.support.market.api_server import PEOPLE
from tests.support.market.job_service import JobService, working

HOUR, MINUTE = 3600, 60


class JobsBed:
    """A clock: there is no market behind these pages."""

    def __init__(self, database: Any) -> None:
        self.database = database
        self.clock = ManualClock(wall=START)


class Jobs(Stage):
    """Operations has a queue `render`, which takes jobs of astronomy for a price; Alice has 1000 credits.

    accepted: her project calls it so already
    """

    accepted = False

    def prepare(self) -> None:
        self._jobs = JobService(self.service.market.stores, self.bed.clock.wall)
        self._working = False
        self.must('root', 'account', 'grant', 'astronomy', '1000')
        self.must(
            'root', 'queue', 'create', 'render', '--flavor', 'small', '--flavor', 'big',
            '--image', 'debian-13', '--submitter', PEOPLE['alice'].project_id, '--price', '0.06',
            '--share', '0.33',
        )  # fmt: skip
        if self.accepted:
            (queue,) = self.service.market.stores.queues.named('render')
            self.must('alice', 'queue', 'accept', queue.id)

    def step(self, text: str) -> None:
        if found := re.fullmatch(r'after (\d+) minutes', text):
            self.bed.clock.advance(int(found[1]) * MINUTE)
        elif text == 'the service runs what comes':
            self._working = True
        elif found := re.fullmatch(r'([\w-]+)(?: has| queues have) worked for (\d+) hours', text):
            self._has_worked(found[1], int(found[2]))
        elif found := re.fullmatch(
            r'([\w./-]+) (waits|starts|writes|ends|is preempted)\b ?(.*)', text
        ):
            self._step_of(self._job(found[1]), found[2], found[3])
        else:
            super().step(text)

    def command(self, words: list[str]) -> tuple[int, str]:
        busy = self._working and '--wait' in words
        newest = self._newest()
        self._creating = words[2:4] in (['job', 'create'], ['bag', 'create'])
        with self._at_work(newest) if busy else nullcontext():
            status, text = super().command(words)
        if words[2:4] == ['queue', 'create']:
            # the next thing that is done is done later
            self.bed.clock.advance(MINUTE)
        # refusals name the file as it was given
        return status, text.replace(f'{self.folder}/', '')

    def argument(self, word: str) -> str:
        # elsewhere the name of a script is that of a job
        return super().argument(word) if self._creating else word

    def _at_work(self, before: int) -> Any:
        def find() -> StoredJob | None:
            (job,) = self.service.market.stores.jobs.jobs(JobFilter(), limit=1)
            return job if job.number > before else None

        return working(self._jobs, self.service, find)

    def _newest(self) -> int:
        found = self.service.market.stores.jobs.jobs(JobFilter(), limit=1)
        return found[0].number if found else 0

    def _step_of(self, job: StoredJob, action: str, rest: str) -> None:
        now = self.bed.clock.wall()
        if action == 'waits':
            if rest == 'for others':
                held = HeldJob(
                    id=job.id, condition=job.after_condition, states=[JobState.WAITING] * 8
                )
                _, reason = release(held)
                assert reason is not None
                self._jobs.waits(job, reason.code, reason.text)
                return
            assert rest == 'for room', rest
            text = sentence(ReasonCode.ROOM, (0, job.cores, 0, job.servers))
            self._jobs.waits(job, 'room', text, now + 4 * MINUTE)
        elif action == 'starts':
            self._jobs.starts(job)
        elif action == 'writes':
            self._jobs.writes(job, f'{rest}\n'.encode())
        elif action == 'ends':
            queue = self.service.market.stores.queues.queue(job.queue_id)
            assert queue is not None
            core_hours = job.cores * job.servers * (now - job.started_at) / HOUR
            code = int(rest.removeprefix('with '))
            self._jobs.ends(job, code, charged=round(core_hours * queue.price_core_hour))
        else:
            self._jobs.is_preempted(job)

    def _job(self, text: str) -> StoredJob:
        name, _, index = text.partition('/')
        found = self.service.market.stores.jobs.jobs(JobFilter(name=name))
        chosen = [one for one in found if not index or str(one.array_index) == index]
        assert chosen, f'there is no job {text}'
        return chosen[0]

    def _has_worked(self, name: str, hours: int) -> None:
        """A morning: it fills, and is above its share for an hour with short jobs."""
        queue = next(iter(self.service.market.stores.queues.named(name)), None)
        assert queue is not None or name == 'all'
        last = int(self.bed.clock.wall()) // HOUR * 60
        cores = (4.0, 12.0, 20.0, 16.0)
        self._jobs.has_worked(
            queue.id if queue else '',
            {
                last - 60 * (hours - hour) + minute: {
                    'cores': cores[hour % 4], 'share': cores[hour % 4] / 48, 'running': int(cores[hour % 4]),
                    'waiting': 5 * hour, 'started': minute % 2, 'finished': minute % 2,
                }
                for hour in range(hours)
                for minute in range(60)
            },
        )  # fmt: skip


def scripts(page: Path) -> dict[str, str]:
    """Name -> text, of every shell block of a page below a line that names its file."""
    text = page.read_text(encoding='utf-8')
    blocks = re.findall(
        r'^``([\w.-]+)``:\n\n\.\. code-block:: shell\n\n((?:   .*\n|\n)+)', text, re.MULTILINE
    )
    return {
        name: '\n'.join(line[3:] for line in body.splitlines()).strip() + '\n'
        for name, body in blocks
    }


class FromSlurm(Jobs):
    """The same, with a job `prepare` that others come after."""

    accepted = True

    def prepare(self) -> None:
        super().prepare()
        self.must(
            'alice', 'job', 'create', '--queue', 'render', '--time-limit', '5m', '--name', 'prepare',
            '--wrap', 'true',
        )  # fmt: skip


STAGES: dict[str, type[Stage]] = {'jobs': Jobs, 'slurm': FromSlurm}
BEDS = {'jobs': JobsBed, 'slurm': JobsBed}
