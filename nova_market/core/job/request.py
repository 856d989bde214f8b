# SPDX-License-Identifier: Apache-2.0
"""Admission: what a submitter asks for, checked, as jobs that can be stored.

Implements the pre-processing of SVMSched, section 4.2.1 (rule J2 of doc/source/specs/jobs.rst): syntax,
limits of the queue, a flavor that exists and fits some host, the time limit, funds; beyond the paper arrays,
dependencies and gangs. Every refusal names the entry, its value, the limit and what to do.

An entry has passed the API's schema (JOB_NEW) already. Units: seconds, bytes, cores, MiB, GiB, micro-credits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nova_market.core.job.billing import new_holds
from nova_market.core.job.charge import HOUR, payable, reserve_of
from nova_market.core.job.dependency import named_after
from nova_market.core.job.operator_limits import LIMITED, job_in_force
from nova_market.core.job.queue import QueueState, StoredQueue
from nova_market.core.job.queue_access import Submitter, may_submit, no_queue
from nova_market.core.job.record import (
    DEFAULT_PRIORITY,
    AfterCondition,
    JobContent,
    JobKind,
    JobState,
    PreemptAction,
    StoredJob,
)
from nova_market.core.job.script import MAX_SCRIPT
from nova_market.core.job.store_values import NewJobs
from nova_market.core.ledger.money import MAX_AMOUNT, credit_text
from nova_market.core.text import shown
from nova_market.core.timestamp import FORM, both_texts, seconds
from nova_market.errors import BadJob, BadTime, BalanceTooLow, QueueClosed

MAX_ENVIRONMENT = 32_768
"""Bytes of names and values; Linux takes 128 KiB for one argument or variable."""

MAX_REQUEST = 1000
"""Jobs of one request where the operator sets no other number, the elements of arrays counted."""

COUNTED = ('servers', 'array', 'retries')
"""What is limited and is no length of time."""

RESERVED = 'MARKET_'

Size = tuple[float, float, float]
"""cores, memory_mib, disk_gib"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionFacts:
    """What admission decides by.

    queues:  by the reference that an entry has; only those that the submitter may see; limits in force
    invited: ids of queues of others that may be meant by a reference that is not among them
    flavors: sizes by name or id; those that do not exist are left out
    hosts:   sizes of the largest hosts of the cloud; (): not known, and not checked
    known:   ids of jobs and arrays that are stored -> their project
    balance: of the submitter's project
    most_jobs: of one request, the elements of arrays counted
    offered: cost of the offer that is accepted with this one job; None: no offer
    """

    queues: Mapping[str, StoredQueue]
    flavors: Mapping[str, Size]
    invited: Sequence[str] = ()
    hosts: Sequence[Size] = ()
    known: Mapping[str, str] = field(default_factory=dict)
    balance: int = 0
    most_jobs: int = MAX_REQUEST
    offered: int | None = None
    now: float


def admitted(
    entries: Sequence[Mapping[str, Any]],
    by: Submitter,
    facts: AdmissionFacts,
    identify: Callable[[str], str],
    digest: str = '',
) -> NewJobs:
    """The jobs of a request. identify: a UUID for a path such as `job/0/3`; digest: of the request.

    :raises BadJob: names what is wrong with which entry; nothing may be stored of the request.
    :raises BalanceTooLow: the project cannot pay what the jobs may cost.
    :raises QueueClosed: a queue takes no new jobs.
    """
    count = sum(len(indices(entry)) for entry in entries)
    if count > facts.most_jobs:
        raise BadJob(
            f'jobs: {count} with the elements of arrays: give at most {facts.most_jobs} in one request'
        )
    ids = [_entry_id(n, entry, identify) for n, entry in enumerate(entries)]
    after = named_after(entries, ids, facts.known, by.project_id)
    jobs: list[StoredJob] = []
    contents: list[JobContent] = []
    for n, entry in enumerate(entries):
        where = f'jobs[{n}]'
        contents.append(content_of(where, entry, ids[n], digest))
        one = _job(where, entry, by, facts, after=after[n])
        jobs.extend(_elements(n, one, entry, ids[n], identify))
    by_id = {one.id: one for one in facts.queues.values()}
    _check_funds(jobs, by_id, facts.balance)
    return NewJobs(
        jobs=tuple(jobs),
        contents=tuple(contents),
        holds=new_holds(jobs, by_id),
        generations={name: one.generation for name, one in by_id.items()},
    )


def indices(entry: Mapping[str, Any]) -> Sequence[int]:
    """The indices of an entry's jobs, in order: of an array those that it names, or as many from 0 on."""
    array = entry.get('array', 1)
    return range(array) if isinstance(array, int) else sorted(array)


def content_of(where: str, entry: Mapping[str, Any], content_id: str, digest: str) -> JobContent:
    """What a job runs.

    :raises BadJob: a script or the environment is too long, or is none.
    """
    checkpoint = entry.get('checkpoint', '')
    return JobContent(
        id=content_id,
        script=_script(f'{where}.script', entry['script']),
        environment=_environment(f'{where}.environment', entry.get('environment', {})),
        checkpoint=_script(f'{where}.checkpoint', checkpoint) if checkpoint else '',
        output_url=entry.get('output_url', ''),
        digest=digest,
    )


def flavors_of(
    where: str, entry: Mapping[str, Any], queue: StoredQueue, facts: AdmissionFacts
) -> list[str]:
    """Flavors that a job's servers may have: the one it names, or all of the queue that have what it needs.

    The preferred one is first.

    :raises BadJob: there is none, or it fits no host.
    """
    given, allowed = entry.get('flavor'), ', '.join(queue.flavors)
    if given is not None and 'resources' in entry:
        raise BadJob(f'{where}: flavor and resources are both given: give one of them')
    if given is not None and given not in queue.flavors:
        raise BadJob(f'{where}.flavor: {shown(given)} is not of queue {queue.name}: give {allowed}')
    known = [one for one in queue.flavors if one in facts.flavors and given in {None, one}]
    if not known:
        raise BadJob(f'{where}.flavor: the cloud has no flavor {given or allowed}: tell its owner')
    least = _least(entry.get('resources', {}))
    enough = [one for one in known if _fits(least, facts.flavors[one])]
    if not enough:
        raise BadJob(
            f'{where}.resources: {_text(least)}: no flavor of queue {queue.name} has that; it has '
            + '; '.join(f'{one} with {_text(facts.flavors[one])}' for one in known)
        )
    fitting = [
        one
        for one in enough
        if not facts.hosts or any(_fits(facts.flavors[one], host) for host in facts.hosts)
    ]
    if fitting:
        return fitting
    raise BadJob(
        f'{where}.flavor: {enough[0]} takes {_text(facts.flavors[enough[0]])} and fits no host; the largest '
        f'has {_text(max(facts.hosts))}: choose a smaller flavor'
    )


def most_cost(queue: StoredQueue, size: Size, servers: int, time_limit: int) -> int:
    """Micro-credits for all of its servers until the time limit, rounded up."""
    core_seconds = size[0] * servers * time_limit
    return -int(-(core_seconds * queue.price_core_hour) // HOUR)


def _job(
    where: str,
    entry: Mapping[str, Any],
    by: Submitter,
    facts: AdmissionFacts,
    *,
    after: tuple[str, ...],
) -> StoredJob:
    queue = _queue(where, entry, by, facts)
    if queue.is_tender and facts.offered is None:
        raise BadJob(
            f'{where}.queue: {queue.name} takes jobs for offers only: ask for them with "openstack market '
            f'offer create --queue {queue.name}" and accept one'
        )
    flavor = flavors_of(where, entry, queue, facts)[0]
    size = facts.flavors[flavor]
    servers, time_limit = int(entry.get('servers', 1)), int(entry['time_limit'])
    job = StoredJob(
        id='',
        queue_id=queue.id,
        project_id=by.project_id,
        user_id=by.user_id,
        name=entry.get('name', ''),
        kind=JobKind(entry.get('kind', JobKind.PRODUCTION)),
        priority=_priority(where, entry, by, queue),
        weight=float(queue.weights.get(by.project_id, 1.0)),
        flavor=flavor,
        cores=size[0],
        memory_mib=size[1],
        disk_gib=size[2],
        servers=servers,
        time_limit=time_limit,
        after=after,
        after_condition=AfterCondition(entry.get('after_condition', AfterCondition.SUCCESS)),
        retries=int(entry.get('retries', 1)),
        least_run_time=int(entry.get('least_run_time', 0)),
        notice=int(entry.get('notice', 30)),
        preempt_action=PreemptAction(entry.get('preempt_action', PreemptAction.REQUEUE)),
        value=int(entry.get('value', 0)),
        not_before=_begin(where, entry.get('begin')),
        cost_limit=_cost_limit(where, queue, facts, size, servers, time_limit),
        submitted_at=facts.now,
        changed_at=facts.now,
        state=JobState.HELD if after else JobState.WAITING,
        saves=bool(entry.get('checkpoint')),
        by_offer=facts.offered is not None,
    )
    job = job_in_force(job, queue.limits)  # what is left out is within the limits too
    return replace(job, reserve=reserve_of(job, queue))


def _cost_limit(
    where: str,
    queue: StoredQueue,
    facts: AdmissionFacts,
    size: Size,
    servers: int,
    time_limit: int,
) -> int:
    if facts.offered is not None:
        return facts.offered
    cost = most_cost(queue, size, servers, time_limit)
    if cost > MAX_AMOUNT:
        raise BadJob(
            f'{where}.time_limit: {time_limit} s at the price of {queue.name} may cost {credit_text(cost)} '
            f'credits, and no account holds more than {credit_text(MAX_AMOUNT)}: give a shorter one'
        )
    return cost


def _queue(
    where: str, entry: Mapping[str, Any], by: Submitter, facts: AdmissionFacts
) -> StoredQueue:
    queue = facts.queues.get(entry['queue'])
    if queue is None or not may_submit(queue, by):
        raise BadJob(f'{where}.queue: {no_queue(entry["queue"], facts.invited)}')
    if queue.state is not QueueState.OPEN:
        raise QueueClosed(f'{where}.queue: {queue.name} is {queue.state}: name another one')
    check_limits(where, entry, queue)
    return queue


def check_limits(where: str, entry: Mapping[str, Any], queue: StoredQueue) -> None:
    """:raises BadJob: the queue takes no jobs that are so long, or so many, or keep their room so long."""
    limits = queue.limits
    for name, limit in (
        ('time_limit', limits.max_time_limit),
        ('servers', limits.max_servers),
        ('array', limits.max_array),
        *((name, getattr(limits, limit)) for name, limit in LIMITED.items()),
    ):
        given = len(indices(entry)) if name == 'array' else int(entry.get(name, 0))
        if limit is not None and given > limit:
            text = str if name in COUNTED else both_texts
            raise BadJob(
                f'{where}.{name}: {text(given)}: queue {queue.name} takes at most {text(limit)}: give less'
            )
    if (entry.get('kind'), entry.get('preempt_action')) == (
        JobKind.BEST_EFFORT,
        PreemptAction.SUSPEND,
    ):
        raise BadJob(
            f'{where}.preempt_action: suspend keeps the room of a server: give shelve or requeue'
        )


def _priority(where: str, entry: Mapping[str, Any], by: Submitter, queue: StoredQueue) -> int:
    given = int(entry.get('priority', DEFAULT_PRIORITY))
    if given < DEFAULT_PRIORITY and queue.id not in by.prioritizes:
        raise BadJob(
            f'{where}.priority: {given} goes before the jobs of others in queue {queue.name}, which its own '
            f'project may do: give {DEFAULT_PRIORITY} or more'
        )
    return given


def _begin(where: str, given: str | None) -> float:
    if given is None:
        return 0.0
    try:
        return max(seconds(given), 0.0)
    except BadTime:
        raise BadJob(f'{where}.begin: {shown(given)}: give {FORM}') from None


def _script(where: str, text: str) -> str:
    size = _bytes(where, text)
    if size > MAX_SCRIPT:
        raise BadJob(
            f'{where}: {size} bytes: give at most {MAX_SCRIPT}, and have it fetch what is longer'
        )
    if not text.startswith('#!'):
        raise BadJob(f'{where}: begins with {shown(text[:20])}: begin with #! and an interpreter')
    return text


def _environment(where: str, given: Mapping[str, str]) -> dict[str, str]:
    for name in given:
        if name.startswith(RESERVED):
            raise BadJob(f'{where}.{name}: names that begin with {RESERVED} are set by the worker')
    size = sum(_bytes(f'{where}.{n}', n) + _bytes(f'{where}.{n}', v) for n, v in given.items())
    if size > MAX_ENVIRONMENT:
        raise BadJob(
            f'{where}: {size} bytes of names and values: give at most {MAX_ENVIRONMENT}, or write a file in '
            'the script'
        )
    return dict(given)


def _bytes(where: str, text: str) -> int:
    if '\0' in text:
        raise BadJob(f'{where}: has a NUL character, which no variable or script can have')
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise BadJob(f'{where}: {shown(text)}: give a text of UTF-8') from None


def _entry_id(n: int, entry: Mapping[str, Any], identify: Callable[[str], str]) -> str:
    """What others name when they come after it: its array, or itself."""
    return identify(f'array/{n}' if 'array' in entry else f'job/{n}/0')


def _elements(
    n: int,
    one: StoredJob,
    entry: Mapping[str, Any],
    entry_id: str,
    identify: Callable[[str], str],
) -> list[StoredJob]:
    # dataclasses.replace checks every field for each of a thousand elements: twice as slow
    values = {name: getattr(one, name) for name in StoredJob.__slots__}
    if 'array' not in entry:
        return [StoredJob(**{**values, 'id': entry_id})]
    values |= {'array_id': entry_id, 'array_size': len(indices(entry))}
    return [
        StoredJob(**{**values, 'id': identify(f'job/{n}/{index}'), 'array_index': index})
        for index in indices(entry)
    ]


def _check_funds(
    jobs: Sequence[StoredJob], queues: Mapping[str, StoredQueue], balance: int
) -> None:
    needed = payable(jobs, queues)
    if needed > balance:
        reserve = sum(job.reserve for job in jobs)
        held = f' and hold {credit_text(reserve)} for jobs that they displace' if reserve else ''
        raise BalanceTooLow(
            f'the jobs may cost {credit_text(needed - reserve)} credits until their time limits{held}, your '
            f'project has {credit_text(balance)}: give shorter time limits, ask for credits, or submit them '
            'as best effort, for which nothing more is held'
        )


def _least(given: Mapping[str, Any]) -> Size:
    return (
        float(given.get('cores', 0.0)),
        float(given.get('memory_mib', 0.0)),
        float(given.get('disk_gib', 0.0)),
    )


def _fits(wanted: Size, room: Size) -> bool:
    return all(need <= there for need, there in zip(wanted, room, strict=True))


def _text(size: Size) -> str:
    """What there is of it: of what is asked for, the rest was not."""
    units = ('core' if size[0] == 1 else 'cores', 'MiB', 'GiB')
    return ', '.join(
        f'{amount:.12g} {unit}' for amount, unit in zip(size, units, strict=True) if amount
    )
