# SPDX-License-Identifier: Apache-2.0
"""What services have set aside, where owners and operators see it.

Implements rule R3 of doc/source/specs/passes.rst. What is set aside anew is an event of the thing too, where
it has events, and the reason of a job that waits. Whose it is stands in the thing's own row, also where
nothing else in it can be read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, Select, delete, insert, select, tuple_, update

from nova_market.core.app.record import AppEvent
from nova_market.core.job.record import JobEvent, JobReason
from nova_market.core.lease.record import LeaseEvent
from nova_market.core.set_aside import SetAside
from nova_market.core.tender.bag import BagEvent
from nova_market.db.app_events import APP_EVENTS
from nova_market.db.app_tables import apps
from nova_market.db.bag_rows import BAG_EVENTS
from nova_market.db.bag_tables import bags
from nova_market.db.database import Database
from nova_market.db.job_events import JOB_EVENTS
from nova_market.db.job_rows import changed_values
from nova_market.db.job_submission import WAIT
from nova_market.db.job_tables import job_queues, job_workers, jobs
from nova_market.db.lease_rows import LEASE_EVENTS
from nova_market.db.lease_tables import leases
from nova_market.db.ledger import MAX_PAGE
from nova_market.db.ledger_tables import UUID_LENGTH, accounts
from nova_market.db.market_tables import bids
from nova_market.db.notice_tables import notice_outbox, notice_preferences
from nova_market.db.offer_tables import offers
from nova_market.db.set_aside_tables import NAME_LENGTH, set_aside

ACTION = 'set_aside'
COLUMNS = tuple(one.name for one in fields(SetAside))
KEY = ('kind', 'id', 'stage')


def _of(column: Any, key: Any) -> Callable[[str], Select[Any]]:
    """column: of the project; key: what the id begins with."""
    return lambda name: select(column).where(key == name.partition('/')[0]).limit(1)


def _of_worker(name: str) -> Select[Any]:
    query = select(job_queues.c.project_id).join(
        job_workers, job_workers.c.queue_id == job_queues.c.id
    )
    return query.where(job_workers.c.id == name)


def _of_notice(name: str) -> Select[Any]:
    return select(notice_outbox.c.project_id).where(notice_outbox.c.number == int(name))


WANTED = notice_preferences.c.project_id
OWNER: Mapping[str, Callable[[str], Select[Any]]] = {
    'account': _of(accounts.c.project_id, accounts.c.id),
    'app': _of(apps.c.project_id, apps.c.id),
    'bag': _of(bags.c.project_id, bags.c.id),
    'bid': _of(bids.c.project_id, bids.c.server_id),
    'hooks': _of(apps.c.project_id, apps.c.id),
    'job': _of(jobs.c.project_id, jobs.c.id),
    'lease': _of(leases.c.project_id, leases.c.id),
    'notice': _of_notice,
    'offer': _of(offers.c.project_id, offers.c.id),
    'preference': _of(WANTED, WANTED),
    'queue': _of(job_queues.c.project_id, job_queues.c.id),
    'recipient': _of(notice_outbox.c.project_id, notice_outbox.c.project_id),
    'report': _of(apps.c.project_id, apps.c.id),
    'task': _of(bags.c.project_id, bags.c.id),
    'worker': _of_worker,
}
"""By kind: the project of a row, by the row's id, which begins with that of what it belongs to."""


class DatabaseSetAside:
    """Implements ports.SetAsideStore."""

    def __init__(self, database: Database, wall: Callable[[], float]) -> None:
        self._database = database
        self._wall = wall

    def keep(self, service: str, rows: Sequence[SetAside]) -> None:
        """These are set aside by this service now, and no others."""
        cut = [(one, one.id[:NAME_LENGTH], one.project_id[:UUID_LENGTH]) for one in rows]
        made = tuple(replace(one, service=service, id=a, project_id=b) for one, a, b in cut)
        self._database.write(_keep, service, made, self._wall())

    def list(
        self,
        project_id: str | None = None,
        service: str | None = None,
        after: Sequence[str] = (),
        limit: int = 1000,
    ) -> Sequence[SetAside]:
        """Those of one project or of all, of one service or of all, by service, kind, stage and id.

        after: these four of the last one of the page before this one
        """
        given = project_id, service, tuple(after), min(limit, MAX_PAGE)
        return self._database.read(_list, *given)


def _keep(connection: Connection, service: str, rows: Sequence[SetAside], now: float) -> None:
    table = set_aside.c
    mine = select(set_aside).where(table.service == service).with_for_update()
    there = {(row.kind, row.id, row.stage): row.reason for row in connection.execute(mine)}
    wanted = {(one.kind, one.id, one.stage): one for one in rows}
    for key in sorted(there.keys() - wanted.keys()):
        connection.execute(delete(set_aside).where(*_at(service, key)))
    for key in sorted(there.keys() & wanted.keys()):
        if there[key] != wanted[key].reason:
            change = update(set_aside).where(*_at(service, key))
            connection.execute(change.values(reason=wanted[key].reason))
            _tell(connection, replace(wanted[key], service=service, since=now))
    new = [
        _with_owner(connection, wanted[key], now) for key in sorted(wanted.keys() - there.keys())
    ]
    if not new:
        return
    try:
        values = [{name: getattr(one, name) for name in COLUMNS} for one in new]
        connection.execute(insert(set_aside), values)
    except DBDuplicateEntry as error:
        raise RetryRequest(error) from error
    for one in new:
        _tell(connection, one)


def _at(service: str, key: tuple[str, str, str]) -> list[Any]:
    values = {'service': service, **dict(zip(KEY, key, strict=True))}
    return [set_aside.c[name] == value for name, value in values.items()]


def _with_owner(connection: Connection, one: SetAside, now: float) -> SetAside:
    owner = one.project_id
    if not owner and one.kind in OWNER:
        owner = str(connection.execute(OWNER[one.kind](one.id)).scalar() or '')
    return replace(one, project_id=owner, since=now)


def _tell(connection: Connection, one: SetAside) -> None:
    """An event of the thing, which is nobody's where it is gone; once, whoever sets it aside."""
    same = [set_aside.c[name] == getattr(one, name) for name in (*KEY, 'reason')]
    others = select(set_aside.c.service).where(*same, set_aside.c.service != one.service)
    if connection.execute(others.limit(1)).first() is not None:
        return
    reason = f'{one.stage}: {one.reason}'
    if one.kind == 'job':
        event = JobEvent(job_id=one.id, at=one.since, action=ACTION, reason=reason)
        JOB_EVENTS.insert(connection, [event])
        shown = changed_values({'reason': JobReason(code=ACTION, text=f'set aside: {reason}')})
        waits = (jobs.c.id == one.id, jobs.c.state.in_(WAIT))
        connection.execute(update(jobs).where(*waits).values(**shown))
    elif one.kind == 'lease':
        lease = LeaseEvent(lease_id=one.id, at=one.since, action=ACTION, reason=reason)
        LEASE_EVENTS.insert(connection, [lease])
    elif one.kind == 'bag':
        bag = BagEvent(bag_id=one.id, at=one.since, action=ACTION, reason=reason)
        BAG_EVENTS.insert(connection, [bag])
    elif one.kind == 'app':
        for period in connection.execute(
            select(apps.c.period).where(apps.c.id == one.id)
        ).scalars():
            app = AppEvent(
                app_id=one.id, at=one.since, period=period, action='troubled', reason=one.reason
            )
            APP_EVENTS.insert(connection, [app])


def _list(
    connection: Connection,
    project_id: str | None,
    service: str | None,
    after: tuple[str, ...],
    limit: int,
) -> list[SetAside]:
    order = [set_aside.c[name] for name in ('service', 'kind', 'stage', 'id')]
    query = select(set_aside)
    if len(after) == len(order):
        query = query.where(tuple_(*order) > after)
    if project_id is not None:
        query = query.where(set_aside.c.project_id == project_id)
    if service is not None:
        query = query.where(set_aside.c.service == service)
    rows = connection.execute(query.order_by(*order).limit(limit))
    return [SetAside(**{name: getattr(row, name) for name in COLUMNS}) for row in rows]
