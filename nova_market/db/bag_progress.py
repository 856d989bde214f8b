# SPDX-License-Identifier: Apache-2.0
"""How far bags are, and that they have ended.

For rule T5 of doc/source/specs/tender.rst. The tasks of a bag that goes on are summed for each question.
Those of one that has ended do not change any more: their sums are kept with the bag, so a list of a thousand
old bags of ten thousand tasks reads a thousand rows.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, func, or_, select, update

from nova_market.core.job.record import QUEUED
from nova_market.core.tender.bag import BagProgress, BagState, StoredBag, TaskState
from nova_market.db.apps import packed
from nova_market.db.bag_rows import LIVE_STATES
from nova_market.db.bag_tables import bag_tasks, bags
from nova_market.db.job_tables import jobs
from nova_market.db.ledger import slices
from nova_market.db.sound_rows import unknown_word

KNOWN = frozenset(map(str, TaskState))


def read_progress(connection: Connection, ids: Sequence[str]) -> dict[str, BagProgress]:
    """How far these bags are, by id."""
    kept: dict[str, BagProgress] = {}
    for part in slices(ids):
        query = select(bags.c.id, bags.c.totals).where(bags.c.id.in_(part))
        ended = connection.execute(query.where(bags.c.totals.is_not(None)))
        kept |= {row.id: _progress_from(json.loads(row.totals)) for row in ended}
    return kept | _counted(connection, [one for one in ids if one not in kept])


def end_if_over(connection: Connection, bag: StoredBag, now: float) -> None:
    """A bag without a task that waits or has a job that goes on has ended."""
    if bag.state is BagState.FILLING or bag.ended_at:
        return
    goes_on = or_(bag_tasks.c.state.in_(LIVE_STATES), unknown_word(bag_tasks.c.state, TaskState))
    live = (bag_tasks.c.bag_id == bag.id) & goes_on
    if connection.execute(select(bag_tasks.c.row).where(live).limit(1)).first() is not None:
        return
    values: dict[str, Any] = {'ended_at': now, 'next_at': 0.0, 'round_at': 0.0, 'again': False}
    if bag.state is BagState.OPEN:
        values |= {'state': str(BagState.DONE), 'changed_at': now, 'reason': ''}
    values['totals'] = packed(_document_of(_counted(connection, [bag.id])[bag.id]))
    connection.execute(update(bags).where(bags.c.id == bag.id).values(**values))


def _document_of(progress: BagProgress) -> Mapping[str, Any]:
    """Of a bag that has ended: nothing is queued or committed any more."""
    return {
        'counts': {str(state): count for state, count in progress.counts.items()},
        'why': dict(progress.why),
        'spent': progress.spent,
        'succeeded': progress.succeeded,
        'failed': progress.failed,
    }


def _progress_from(document: Mapping[str, Any]) -> BagProgress:
    counts = {TaskState(state): count for state, count in document['counts'].items()}
    return BagProgress(**{**document, 'counts': counts})


def _counted(connection: Connection, ids: Sequence[str]) -> dict[str, BagProgress]:
    table = bag_tasks.c
    queued: dict[str, int] = {}
    rows: dict[str, list[Any]] = {one: [] for one in ids}
    for part in slices(ids):
        sums = (
            func.count().label('tasks'),
            func.sum(table.cost).label('cost'),
            func.sum(table.spent).label('spent'),
            func.sum(table.importance).label('importance'),
        )
        query = select(table.bag_id, table.state, table.why, *sums).where(table.bag_id.in_(part))
        for row in connection.execute(query.group_by(table.bag_id, table.state, table.why)):
            rows[row.bag_id].append(row)
        waits = (
            select(table.bag_id, func.count().label('tasks'))
            .join(jobs, jobs.c.id == table.job_id)
            .where(
                table.bag_id.in_(part),
                table.state == str(TaskState.PLACED),
                jobs.c.state.in_([str(state) for state in QUEUED]),
            )
            .group_by(table.bag_id)
        )
        queued |= {row.bag_id: int(row.tasks) for row in connection.execute(waits)}
    # others are set aside where they are read
    return {
        name: _summed([row for row in found if row.state in KNOWN], queued.get(name, 0))
        for name, found in rows.items()
    }


def _summed(rows: Sequence[Any], queued: int) -> BagProgress:
    counts: dict[TaskState, int] = {}
    why: dict[str, int] = {}
    committed, spent, succeeded, failed = 0, 0, 0.0, 0.0
    for row in rows:
        state = TaskState(row.state)
        # one that is being taken waits until it is placed
        shown_as = TaskState.WAITING if state is TaskState.TAKING else state
        counts[shown_as] = counts.get(shown_as, 0) + int(row.tasks)
        if row.why and state in (TaskState.WAITING, TaskState.DROPPED):
            why[row.why] = why.get(row.why, 0) + int(row.tasks)
        if state in (TaskState.PLACED, TaskState.TAKING):
            committed += int(row.cost)
        spent += int(row.spent)
        if state is TaskState.DONE:
            succeeded += float(row.importance)
        elif str(state) not in LIVE_STATES:
            failed += float(row.importance)
    return BagProgress(
        counts=counts, queued=queued, why=why, committed=committed, spent=spent,
        succeeded=succeeded, failed=failed,
    )  # fmt: skip
