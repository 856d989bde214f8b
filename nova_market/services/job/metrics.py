# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics of the service of jobs, from its last pass. Units: seconds, counts, parts.

Series of a queue carry its name and its project. The MOST_QUEUES oldest queues have series of their own; the
others are added up in the queue `(others)`, which no queue can be called.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from nova_market.core.job.minutes import ALL, PassRead
from nova_market.core.job.queue import StoredQueue, WorkerState
from nova_market.core.job.record import ACTIVE, JobAction, JobKind, JobState
from nova_market.services.job.pass_seen import PassSeen

PREFIX = 'nova_market_jobs'
QUEUE = 'nova_market_queue'
MOST_QUEUES = 100
STATES = (JobState.WAITING, *ACTIVE)
HAPPENED = {
    JobAction.STARTED: ('starts', 'Attempts whose servers were all there.'),
    JobAction.FINISHED: ('finished', 'Jobs that have finished.'),
    JobAction.FAILED: ('failed', 'Jobs that have failed.'),
    JobAction.CANCELLED: ('cancelled', 'Jobs that the service has cancelled while they ran.'),
    JobAction.PREEMPTED: ('preemptions', 'Jobs whose servers were taken from them.'),
    JobAction.LOST: ('lost', 'Attempts whose worker was silent or gone.'),
}
"""Counters, by what they count."""

Label = tuple[str, str]
"""Queue, project."""

OTHERS: Label = ('(others)', '')


class JobsCollector(Collector):
    """leads: does this service lead now?"""

    def __init__(self, leads: Callable[[], bool]) -> None:
        self._leads = leads
        self._seen: PassSeen | None = None
        self._label: dict[str, Label] = {}
        self._queue_of: dict[str, str] = {}
        self._passes = 0
        self._happened: Counter[tuple[Label, str]] = Counter()

    def observe(self, seen: PassSeen) -> None:
        self._label = labels(seen.read.queues)
        there = {OTHERS, *self._label.values()}
        kept = Counter({key: n for key, n in self._happened.items() if key[0] in there})
        kept.update(self._counted(seen))
        self._happened = kept
        self._passes += 1
        self._seen = seen

    def registry(self) -> CollectorRegistry:
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    def collect(self) -> Iterator[Metric]:
        yield _gauge(f'{PREFIX}_leader', 'Whether this service leads.', float(self._leads()))
        passes = CounterMetricFamily(f'{PREFIX}_passes', 'Passes that this service has made.')
        passes.add_metric([], self._passes)
        yield passes
        seen = self._seen
        # a standby would go on showing what it saw when it led
        if seen is None or not self._leads():
            return
        for name, text, value in (
            ('last_pass_timestamp_seconds', 'When the last pass began.', seen.read.now),
            ('pass_seconds', 'How long the last pass took.', seen.seconds),
            ('selection_seconds', 'How long its selection took.', seen.selection_seconds),
            ('troubled_queues', 'Queues that something is wrong with.', seen.troubled),
        ):
            yield _gauge(f'{PREFIX}_{name}', text, value)
        yield from self._of_queues(seen)
        for action, (name, text) in HAPPENED.items():
            counter = CounterMetricFamily(f'{QUEUE}_{name}', text, labels=['queue', 'project'])
            for label in self._shown():
                counter.add_metric(label, self._happened[label, str(action)])
            yield counter

    def _of_queues(self, seen: PassSeen) -> Iterator[Metric]:
        read = seen.read
        jobs = Counter((self._of(job.queue_id), str(job.state)) for job in read.active)
        waits = str(JobState.WAITING)
        for queue_id, count in Counter(read.waiting.queue_ids).items():
            jobs[self._of(queue_id), waits] += count
        workers = Counter((self._of(one.queue_id), str(one.state)) for one in seen.workers)
        yield self._by_state('jobs', 'Jobs, by where they are.', STATES, jobs)
        yield self._by_state('workers', 'Servers that run jobs.', tuple(WorkerState), workers)
        granted: defaultdict[Label, float] = defaultdict(float)
        used: defaultdict[Label, float] = defaultdict(float)
        for queue in read.queues:
            granted[self._of(queue.id)] += queue.share
        for queue_id, part in share_used(read).items():
            used[self._of(queue_id)] += part
        for name, text, values in (
            ('share_granted', 'Share, 0 to 1 of the cloud or the aggregate.', granted),
            ('share_used', 'What its production jobs hold of the same.', used),
            ('oldest_waiting_seconds', 'For how long its oldest job waits.', self._oldest(read)),
        ):
            family = GaugeMetricFamily(f'{QUEUE}_{name}', text, labels=['queue', 'project'])
            for label in self._shown():
                family.add_metric(label, values[label])
            yield family

    def _by_state(
        self, name: str, text: str, states: Sequence[str], values: Counter[tuple[Label, str]]
    ) -> Metric:
        family = GaugeMetricFamily(f'{QUEUE}_{name}', text, labels=['queue', 'project', 'state'])
        for label in self._shown():
            for state in states:
                family.add_metric([*label, str(state)], values[label, str(state)])
        return family

    def _oldest(self, read: PassRead) -> Mapping[Label, float]:
        """Jobs that may not start yet do not wait for the cloud."""
        since = np.maximum(read.waiting.submitted_at, read.waiting.not_before)
        found: defaultdict[Label, float] = defaultdict(float)
        for queue_id, at in zip(read.waiting.queue_ids, since.tolist(), strict=True):
            label = self._of(queue_id)
            found[label] = max(found[label], read.now - at)
        return found

    def _counted(self, seen: PassSeen) -> Counter[tuple[Label, str]]:
        """Events by queue. A job that has ended is not among those that were read."""
        read = seen.read
        known = self._queue_of | {job.id: job.queue_id for job in read.active}
        changed = {step.job_id for step in seen.steps} - known.keys()
        if changed:
            pairs = zip(read.waiting.ids, read.waiting.queue_ids, strict=True)
            known |= {name: queue_id for name, queue_id in pairs if name in changed}
        for step in seen.steps:
            # its servers name it, where an earlier leader has started the job
            for one in step.workers[:1]:
                known.setdefault(step.job_id, one.queue_id)
        going = {*(job.id for job in read.active), *(step.job_id for step in seen.steps)}
        self._queue_of = {name: queue_id for name, queue_id in known.items() if name in going}
        return Counter(
            (self._of(known.get(step.job_id, '')), str(event.action))
            for step in seen.steps
            for event in step.events
            if event.action in HAPPENED
        )

    def _of(self, queue_id: str) -> Label:
        return self._label.get(queue_id, OTHERS)

    def _shown(self) -> list[Label]:
        return [*self._label.values(), OTHERS]


def labels(queues: Sequence[StoredQueue]) -> dict[str, Label]:
    """Of the queues that have series of their own, by id: the oldest, so that these stay the same."""
    oldest = sorted(queues, key=lambda one: (one.created_at, one.id))[:MOST_QUEUES]
    return {one.id: (one.name, one.project_id) for one in oldest}


def share_used(read: PassRead) -> dict[str, float]:
    """By queue: the greater of the parts of cores and of memory that production jobs hold (rule J3)."""
    held: dict[str, tuple[float, float]] = {}
    for job in read.active:
        if job.kind is JobKind.PRODUCTION:
            cores, memory = held.get(job.queue_id, (0.0, 0.0))
            cores += job.servers * job.cores
            held[job.queue_id] = cores, memory + job.servers * job.memory_mib
    found = {}
    for queue in read.queues:
        whole = read.capacity.get(queue.aggregate or ALL, (0.0, 0.0))
        parts = zip(held.get(queue.id, (0.0, 0.0)), whole, strict=True)
        found[queue.id] = max(own / all_of if all_of > 0 else 0.0 for own, all_of in parts)
    return found


def _gauge(name: str, text: str, value: float) -> Metric:
    family = GaugeMetricFamily(name, text)
    family.add_metric([], value)
    return family
