# SPDX-License-Identifier: Apache-2.0
"""What an owner asks for of a bag, checked, as rows that can be stored.

Implements the owner's part of rule T5 of doc/source/specs/tender.rst. Every refusal names the entry, its
value, the limit and what to do. A request has passed the API's schema already. Units as in bag.py.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.queue_access import Submitter
from nova_market.core.job.request import content_of
from nova_market.core.tender.bag import (
    LONGEST_POLL,
    POLL_SECONDS,
    SHORTEST_POLL,
    BagState,
    StoredBag,
    StoredTask,
)
from nova_market.core.tender.negotiation import Order
from nova_market.core.text import shown
from nova_market.core.timestamp import seconds, stamp
from nova_market.errors import BadBag, BadJob, BadTime

CONTENT = ('script', 'checkpoint', 'retries', 'notice', 'preempt_action', 'output_url')
"""Entries of a task that its job is submitted with, but for the environment."""

CHANGEABLE = ('name', 'utility', 'weight', 'order', 'retry', 'alternatives', 'poll', 'budget')

Content = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTasks:
    """contents: by digest; equal ones are one."""

    tasks: tuple[StoredTask, ...]
    contents: Mapping[str, Content]


@dataclass(frozen=True, slots=True, kw_only=True)
class BagFacts:
    """utilities: names of those that are installed; most_tasks: of one bag; queues: that the bag asks"""

    utilities: Collection[str]
    most_tasks: int
    now: float
    queues: Sequence[StoredQueue] = ()


def new_bag(body: Mapping[str, Any], bag_id: str, by: Submitter, facts: BagFacts) -> StoredBag:
    """The bag without its tasks.

    :raises BadBag: names what is wrong.
    """
    _check_utility(body.get('utility'), facts)
    _check_poll(body.get('poll'))
    return StoredBag(
        id=bag_id,
        project_id=by.project_id,
        user_id=by.user_id,
        roles=by.roles,
        name=body.get('name', ''),
        queues=tuple(dict.fromkeys(one.id for one in facts.queues)),
        utility=body.get('utility', 'cost_time'),
        weight=float(body.get('weight', 0.5)),
        order=Order(body.get('order', Order.RISK)),
        retry=body.get('retry', True),
        alternatives=body.get('alternatives', True),
        poll=float(body.get('poll', POLL_SECONDS)),
        budget=body.get('budget'),
        defaults=body.get('defaults', {}),
        digest=digest_of(by, body),
        state=BagState.FILLING if body.get('more', False) else BagState.OPEN,
        next_at=facts.now,
        created_at=facts.now,
        changed_at=facts.now,
    )


def new_tasks(
    entries: Sequence[Mapping[str, Any]], bag: StoredBag, first: int, facts: BagFacts
) -> NewTasks:
    """Tasks of a request. first: row of the first of them.

    :raises BadBag: names the entry, and what is wrong with it.
    """
    if first + len(entries) > facts.most_tasks:
        raise BadBag(
            f'tasks: {first + len(entries)}: a bag has at most {facts.most_tasks}: make several bags'
        )
    tasks: list[StoredTask] = []
    contents: dict[str, Content] = {}
    for n, entry in enumerate(entries):
        where = f'tasks[{first + n}]'
        whole = {**bag.defaults, **entry}
        if 'deadline' in entry or 'within' in entry:
            # one of its own stands for the default's of either form
            for name in {'deadline', 'within'} - entry.keys():
                whole.pop(name, None)
        content = _content(where, whole)
        digest = _digest(content)
        contents[digest] = content
        task = _task(where, whole, bag, first + n, digest, facts.now)
        _check_queues(where, task, facts.queues)
        tasks.append(task)
    _check_names(tasks, first)
    return NewTasks(tasks=tuple(tasks), contents=contents)


def changes(body: Mapping[str, Any], facts: BagFacts) -> Mapping[str, Any]:
    """Columns of a bag that its owner changes.

    :raises BadBag: names what is wrong.
    """
    _check_utility(body.get('utility'), facts)
    _check_poll(body.get('poll'))
    return {name: body[name] for name in CHANGEABLE if name in body}


def deadline_of(where: str, entry: Mapping[str, Any], now: float, time_limit: float = 0) -> float:
    """Seconds since the epoch; 0: none.

    :raises BadBag: it is past, or before a task of this time limit could end.
    """
    if entry.get('deadline') is not None and entry.get('within') is not None:
        raise BadBag(f'{where}: deadline and within are both given: give one of them')
    if entry.get('within') is not None:
        at, name, text = now + float(entry['within']), 'within', f'{entry["within"]:g} s'
    elif entry.get('deadline') is not None:
        try:
            at = seconds(entry['deadline'])
        except BadTime as error:
            raise BadBag(f'{where}.deadline: {error}') from None
        name, text = 'deadline', stamp(at)
    else:
        return 0.0
    if at <= now:
        raise BadBag(f'{where}.{name}: {text} is past: give a time after {stamp(now)}')
    if at <= now + time_limit:
        raise BadBag(
            f'{where}.{name}: {text}: the task takes {time_limit:g} s: give a time after '
            f'{stamp(now + time_limit)}'
        )
    return at


def _task(
    where: str, entry: Mapping[str, Any], bag: StoredBag, row: int, content: str, now: float
) -> StoredTask:
    if 'time_limit' not in entry:
        raise BadBag(f'{where}.time_limit: not given, nor in defaults: give its seconds')
    time_limit = int(entry['time_limit'])
    return StoredTask(
        bag_id=bag.id,
        row=row,
        name=entry.get('name', f'task-{row}'),
        flavors=tuple(entry.get('flavors', ())),
        time_limit=time_limit,
        deadline=deadline_of(where, entry, now, time_limit),
        importance=float(entry.get('importance', 1.0)),
        environment=dict(entry.get('environment', {})),
        content=content,
    )


def _check_queues(where: str, task: StoredTask, queues: Sequence[StoredQueue]) -> None:
    """Some queue may run it."""
    longest = max((one.limits.max_time_limit for one in queues), default=task.time_limit)
    if task.time_limit > longest:
        raise BadBag(
            f'{where}.time_limit: {task.time_limit}: no queue of the bag takes more than {longest}: give less'
        )
    known = {name for one in queues for name in one.flavors}
    for name in task.flavors:
        if queues and name not in known:
            raise BadBag(
                f'{where}.flavors: {shown(name)} is of no queue of the bag: give some of '
                + ', '.join(sorted(known))
            )


def _content(where: str, entry: Mapping[str, Any]) -> Content:
    if 'script' not in entry:
        raise BadBag(f'{where}.script: not given, nor in defaults: give what it runs')
    try:
        content_of(where, entry, '', '')
    except BadJob as error:
        raise BadBag(str(error)) from None
    return {name: entry[name] for name in CONTENT if name in entry}


def _check_names(tasks: Sequence[StoredTask], first: int) -> None:
    count = Counter(one.name for one in tasks)
    for n, one in enumerate(tasks):
        if count[one.name] > 1:
            raise BadBag(
                f'tasks[{first + n}].name: {shown(one.name)}: {count[one.name]} tasks have this name: give '
                'each its own'
            )


def _check_utility(name: str | None, facts: BagFacts) -> None:
    if name is not None and name not in facts.utilities:
        known = ', '.join(sorted(facts.utilities))
        raise BadBag(f'utility: {shown(name)} is not installed: give {known}')


def _check_poll(poll: float | None) -> None:
    if poll is not None and not SHORTEST_POLL <= poll <= LONGEST_POLL:
        raise BadBag(f'poll: {poll:g} s: give {SHORTEST_POLL:g} to {LONGEST_POLL:g}')


def digest_of(by: Submitter, body: Mapping[str, Any]) -> str:
    """Of a request for a bag: one that is repeated has the same."""
    return _digest([by.user_id, body])


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()
