# SPDX-License-Identifier: Apache-2.0
"""Bags of tasks as the service of jobs sees them: what is due, what was decided, what has ended.

For rule T5 of doc/source/specs/tender.rst and rule F5 of doc/source/specs/jobs.rst: that a task takes an
offer is stored with the offer, before it is accepted.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, or_, select, update

from nova_market.core.job.record import ENDED, JobWish, StoredJob
from nova_market.core.tender.bag import (
    BagState,
    BagStep,
    StoredBag,
    StoredTask,
    TaskChange,
    TaskState,
    WaitingTasks,
)
from nova_market.core.tender.stored_offer import StoredOffer
from nova_market.db.bag_progress import end_if_over
from nova_market.db.bag_rows import (
    BAG_EVENTS,
    changed_values,
    locked_bag,
    stored_bag,
    stored_task,
    task_name,
    waiting_tasks,
)
from nova_market.db.bag_tables import bag_contents, bag_tasks, bags
from nova_market.db.bags import DatabaseOwnBags
from nova_market.db.job_submission import jobs_by_ids
from nova_market.db.job_tables import jobs
from nova_market.db.ledger import slices
from nova_market.db.offer_rows import SETTLED
from nova_market.db.offer_tables import offers
from nova_market.db.offers import open_offer, release_offer
from nova_market.db.sound_rows import boundary_of, sound_row, sound_rows, unknown_word

OVER = tuple(str(state) for state in ENDED)
PLACED, WAITING, TAKING = TaskState.PLACED, TaskState.WAITING, TaskState.TAKING


class DatabaseBags(DatabaseOwnBags):
    """Implements ports.BagStore."""

    def due(self, now: float, limit: int = 100) -> Sequence[StoredBag]:
        """Open bags whose next try is due, the one that waits longest first."""
        return self._database.read(_due, now, limit)

    def waiting(self, bag_id: str) -> WaitingTasks:
        """All tasks that wait."""
        return self._database.read(waiting_tasks, bag_id)

    def task(self, bag_id: str, row: int) -> StoredTask | None:
        """One task."""
        return self._database.read(_task, bag_id, row)

    def content(self, bag_id: str, digest: str) -> Mapping[str, Any]:
        """What tasks run."""
        return self._database.read(_content, bag_id, digest)

    def taking(self, limit: int = 1000) -> Sequence[StoredTask]:
        """Tasks of all bags whose offer was being accepted when somebody stopped."""
        return self._database.read(_taking, limit)

    def ended(self, limit: int = 1000) -> Sequence[tuple[StoredTask, StoredJob | None, int]]:
        """(placed tasks whose jobs have ended, the job, what came back of its charge); None: it is gone."""
        return self._database.read(_ended, limit)

    def unwanted(self, limit: int = 1000) -> Sequence[str]:
        """Ids of jobs of cancelled bags that are to be cancelled still."""
        return self._database.read(_unwanted, limit)

    def decide(
        self,
        task: StoredTask,
        offer: StoredOffer,
        cost: int,
        release: str = '',
        seen: float | None = None,
    ) -> StoredOffer | None:
        """Store that a task takes this offer, with the offer; None: it is not as given any more."""
        return self._database.write(_decide, task, offer, cost, release, seen, self._wall())

    def write(self, step: BagStep) -> int:
        """How many tasks were changed. A bag without tasks that wait or run has ended."""
        return self._database.write(_write, step, self._wall())


def _due(connection: Connection, now: float, limit: int) -> list[StoredBag]:
    mine = (bags.c.state == str(BagState.OPEN)) & (bags.c.next_at > 0) & (bags.c.next_at <= now)
    most = limit + boundary_of(connection).count('bag')
    query = select(bags).where(or_(mine, unknown_word(bags.c.state, BagState)))
    rows = connection.execute(query.order_by(bags.c.next_at, bags.c.number).limit(most))
    return sound_rows(connection, 'bag', rows, stored_bag)


def _task(connection: Connection, bag_id: str, row: int) -> StoredTask | None:
    found = connection.execute(select(bag_tasks).where(_of(bag_id, row))).first()
    return sound_row(connection, 'task', found, stored_task, task_name) if found else None


def _content(connection: Connection, bag_id: str, digest: str) -> dict[str, Any]:
    mine = (bag_contents.c.bag_id == bag_id) & (bag_contents.c.digest == digest)
    found = connection.execute(select(bag_contents.c.document).where(mine)).scalar()
    return dict(json.loads(found)) if found else {}


def _taking(connection: Connection, limit: int) -> list[StoredTask]:
    query = select(bag_tasks).where(bag_tasks.c.state == str(TAKING))
    most = limit + boundary_of(connection).count('task')
    rows = connection.execute(query.order_by(bag_tasks.c.bag_id, bag_tasks.c.row).limit(most))
    return sound_rows(connection, 'task', rows, stored_task, task_name)


def _ended(connection: Connection, limit: int) -> list[tuple[StoredTask, StoredJob | None, int]]:
    # an offer that is accepted still waits for what comes back of a late job (services.tender.settling)
    settled = offers.c.state.in_(SETTLED)
    query = (
        select(bag_tasks, offers.c.refunded)
        .outerjoin(jobs, jobs.c.id == bag_tasks.c.job_id)
        .outerjoin(offers, offers.c.id == bag_tasks.c.offer_id)
        .where(
            bag_tasks.c.state == str(PLACED),
            or_(
                jobs.c.id.is_(None),
                and_(jobs.c.state.in_(OVER), or_(offers.c.id.is_(None), settled)),
            ),
        )
        .order_by(bag_tasks.c.bag_id, bag_tasks.c.row)
        .limit(limit + boundary_of(connection).count('task'))
    )

    def ended(row: Row[Any]) -> tuple[StoredTask, int]:
        return stored_task(row), int(row.refunded or 0)

    rows = connection.execute(query)
    found = sound_rows(connection, 'task', rows, ended, task_name)
    there = jobs_by_ids(connection, [task.job_id for task, _ in found])
    # a job that cannot be read is not gone
    unread = boundary_of(connection).unread('job')
    return [
        (task, there.get(task.job_id), refunded)
        for task, refunded in found
        if task.job_id not in unread
    ]


def _unwanted(connection: Connection, limit: int) -> list[str]:
    query = (
        select(jobs.c.id)
        .join(bag_tasks, bag_tasks.c.job_id == jobs.c.id)
        .join(bags, bags.c.id == bag_tasks.c.bag_id)
        .where(
            bag_tasks.c.state == str(PLACED),
            bags.c.state == str(BagState.CANCELLED),
            bags.c.cancel_jobs,
            jobs.c.state.notin_(OVER),
            jobs.c.wish != str(JobWish.CANCEL),
        )
    )
    return list(connection.execute(query.order_by(jobs.c.number).limit(limit)).scalars())


def _decide(
    connection: Connection,
    task: StoredTask,
    offer: StoredOffer,
    cost: int,
    release: str,
    seen: float | None,
    now: float,
) -> StoredOffer | None:
    bag = locked_bag(connection, task.bag_id)
    if bag is None or bag.state is not BagState.OPEN or seen not in (None, bag.changed_at):
        return None
    before = TAKING if release else WAITING
    mine = and_(
        _of(task.bag_id, task.row),
        bag_tasks.c.state == str(before),
        bag_tasks.c.tries == task.tries,
    )
    values = {
        'state': str(TAKING), 'tries': task.tries + 1, 'offer_id': offer.id, 'queue_id': offer.queue_id,
        'cost': cost, 'tried_at': now,
    }  # fmt: skip
    if not connection.execute(update(bag_tasks).where(mine).values(**values)).rowcount:
        return None
    if release:
        release_offer(connection, release, now)
    return open_offer(connection, offer)


def _write(connection: Connection, step: BagStep, now: float) -> int:
    bag = locked_bag(connection, step.bag_id)
    if bag is None:
        return 0
    unchanged = step.seen is None or step.seen == bag.changed_at
    # what was decided of tasks that wait goes by the bag as it was
    count = sum(
        _changed(connection, step.bag_id, one)
        for one in step.tasks
        if unchanged or one.before is not WAITING
    )
    if step.changed and bag.state is BagState.OPEN and unchanged:
        values = changed_values(step.changed)
        connection.execute(update(bags).where(bags.c.id == bag.id).values(**values))
        bag = replace(bag, **step.changed)
    BAG_EVENTS.insert(connection, step.events)
    if any(one.changed.get('state') is not None for one in step.tasks):
        end_if_over(connection, bag, now)
    return count


def _changed(connection: Connection, bag_id: str, change: TaskChange) -> int:
    count = 0
    for part in slices(change.rows):
        mine = and_(
            bag_tasks.c.bag_id == bag_id,
            bag_tasks.c.row.in_(part),
            bag_tasks.c.state == str(change.before),
        )
        if change.tries is not None:
            mine = and_(mine, bag_tasks.c.tries == change.tries)
        values = changed_values(change.changed)
        count += int(connection.execute(update(bag_tasks).where(mine).values(**values)).rowcount)
    return count


def _of(bag_id: str, row: int) -> ColumnElement[bool]:
    return and_(bag_tasks.c.bag_id == bag_id, bag_tasks.c.row == row)
