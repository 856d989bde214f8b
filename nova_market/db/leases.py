# SPDX-License-Identifier: Apache-2.0
"""Leases in the database.

For rules L2, L4, L6, L10 of doc/source/specs/leases.rst. Where a lease has room is decided by what was read
(core.lease); `calendar` gives a turn with it, and whoever books or moves writes only if nobody has taken a
turn since. So of two that book the last room at once one decides again. A lease, its nodes, its money and
its events change in one transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, exists, func, insert, select, update

from nova_market.core.calendar.axes import AXES
from nova_market.core.lease.limit import LeaseQuota, Span, problem
from nova_market.core.lease.record import (
    OVER,
    LeaseChanges,
    LeaseEvent,
    LeaseFilter,
    LeaseStep,
    StoredLease,
)
from nova_market.core.ledger.posting import Posting, dated
from nova_market.db.database import Database
from nova_market.db.lease_rows import (
    LEASE_EVENTS,
    held_leases,
    lease_values,
    put_nodes,
    remove_leases,
    stored_leases,
)
from nova_market.db.lease_tables import lease_nodes, leases
from nova_market.db.ledger import MAX_PAGE, post_in, slices
from nova_market.db.rounds import next_period
from nova_market.db.sound_rows import boundary_of, filled
from nova_market.db.turns import LEASES, read_turn, take_turn
from nova_market.errors import BadRow, KeyReused, LeaseChanged, LeaseLimitReached, TooManyLeases

LIVE = leases.c.state.not_in([str(state) for state in OVER])
NEVER = ('number', 'id', 'payer_id', 'user_id', 'created_at')


class DatabaseLeases:
    """Implements ports.LeaseStore."""

    def __init__(self, database: Database, wall: Callable[[], float]) -> None:
        self._database = database
        self._wall = wall

    def book(
        self,
        lease: StoredLease,
        turn: int,
        postings: Sequence[Posting],
        events: Sequence[LeaseEvent],
        quota: LeaseQuota,
    ) -> StoredLease:
        """Store a new lease with what is held for it; as it is stored. With its id twice: as it was then.

        :raises PromisesChanged: somebody has taken a turn since it was read; decide again.
        :raises TooManyLeases: its project has as many that are not over as it may.
        :raises LeaseLimitReached: more would be reserved ahead than the quota allows.
        :raises BalanceTooLow, UnknownAccount: it cannot be paid.
        """
        given = lease, turn, tuple(postings), tuple(events), quota, self._wall()
        return self._database.write(book_in, *given)

    def lease(self, lease_id: str) -> StoredLease | None:
        """One lease; None when there is none."""
        return self._database.read(_lease, lease_id)

    def leases(
        self, chosen: LeaseFilter, before: int = 0, limit: int = 1000
    ) -> Sequence[StoredLease]:
        """Newest first; before: number of the last one of a page."""
        return self._database.read(_page, chosen, before, min(limit, MAX_PAGE))

    def turn(self) -> int:
        """Of the calendar: who decides by what was read after it is refused when others have booked since."""
        return self._database.read(read_turn, LEASES)

    def calendar(self) -> tuple[int, Sequence[StoredLease]]:
        """(the turn, all leases that are not over, by number; what one may hold that cannot be read)."""
        return self._database.read(_calendar)

    def changes(self, known: Mapping[str, tuple[int, int]]) -> LeaseChanges:
        """What has changed of the leases that are not over. known: StoredLease.mark of each, by id"""
        return self._database.read(_changes, dict(known))

    def check(self, payer_id: str, most: int) -> None:
        """:raises TooManyLeases: the project that pays has `most` that are not over."""
        self._database.read(_check_count, payer_id, most)

    def spans(self, payer_id: str) -> Sequence[Span]:
        """What the leases take that a project has booked, and that are not over."""
        return self._database.read(_spans, leases.c.payer_id == payer_id)

    def change(
        self,
        steps: Sequence[LeaseStep],
        turn: int | None = None,
        by: str = '',
        quota: LeaseQuota | None = None,
    ) -> Sequence[StoredLease]:
        """Write all of these steps or none; the leases as they are stored.

        turn: needed where one of them books room; by: in statements
        quota: where a lease may not take more than this allows, and then a turn is needed too

        :raises LeaseLimitReached: as book.
        :raises LeaseChanged: a lease is not what it was read as.
        :raises PromisesChanged: as book.
        :raises BalanceTooLow, UnknownAccount: as book.
        """
        if not steps:
            return ()
        return self._database.write(_change, tuple(steps), turn, by, quota, self._wall())

    def events(
        self, lease_id: str, before: int | None = None, limit: int = 100
    ) -> Sequence[LeaseEvent]:
        """Newest first; `before`: number of the last one of a page."""
        return self._database.read(LEASE_EVENTS.page, lease_id, before, min(limit, MAX_PAGE))

    def events_since(self, after: int, limit: int = 1000) -> Sequence[LeaseEvent]:
        """Of all leases, oldest first."""
        return self._database.read(LEASE_EVENTS.since, after, min(limit, MAX_PAGE))

    def by_ids(self, ids: Sequence[str]) -> dict[str, StoredLease]:
        """Those that are there, by id."""
        return self._database.read(_by_ids, tuple(ids))


def some_leases(connection: Connection, older_than: float, batch: int) -> int:
    """Delete leases that were over before; how many."""
    over = and_(leases.c.state.in_([str(one) for one in OVER]), leases.c.ended_at < older_than)
    query = select(leases.c.id).where(over).order_by(leases.c.number).limit(batch)
    found = list(connection.execute(query.with_for_update()).scalars())
    remove_leases(connection, found)
    return len(found)


def book_in(
    connection: Connection,
    lease: StoredLease,
    turn: int,
    postings: Sequence[Posting],
    events: Sequence[LeaseEvent],
    quota: LeaseQuota,
    now: float,
) -> StoredLease:
    """As DatabaseLeases.book, in the transaction of something else."""
    before = _lease(connection, lease.id)
    if before is not None:
        return before
    # who takes the turn is alone until the end: nobody books between the count and the insert
    take_turn(connection, LEASES, turn)
    _check_quota(connection, lease, None, quota)
    connection.execute(insert(leases).values(**lease_values(lease)))
    put_nodes(connection, lease, there=False)
    if post_in(connection, postings, lease.user_id, now) < len(postings):
        # its row was purged, and its postings stay: nothing would be held for it
        raise KeyReused('Idempotency-Key: a lease that is kept no longer had it: choose a new key')
    LEASE_EVENTS.insert(connection, events)
    (stored,) = _by_ids(connection, [lease.id]).values()
    return stored


def _check_count(connection: Connection, payer_id: str, most: int) -> None:
    own = and_(leases.c.payer_id == payer_id, LIVE)
    query = select(func.count()).select_from(leases).where(own)
    if (connection.execute(query).scalar() or 0) >= most:
        raise TooManyLeases(
            f'the project has {most} leases that are not over, which is the limit: delete some, or wait'
        )


def _check_quota(
    connection: Connection, lease: StoredLease, before: StoredLease | None, quota: LeaseQuota
) -> None:
    """By the leases that are there. before: the same one as it is stored; None: it is new

    :raises TooManyLeases, LeaseLimitReached: it may not be booked.
    """
    payer = leases.c.payer_id
    if before is None:
        _check_count(connection, lease.payer_id, quota.limits.leases)
    own = _spans(connection, and_(payer == lease.payer_id, leases.c.id != lease.id))
    others: Sequence[Span] = ()
    if quota.limits.bounds_all:
        others = _spans(connection, payer != lease.payer_id)
    old = None if before is None else before.span
    if found := problem(lease.span, own, others, quota, old):
        raise LeaseLimitReached(found)


def _spans(connection: Connection, chosen: ColumnElement[bool]) -> list[Span]:
    """Of leases that are not over."""
    row = [leases.c[name] for name in ('number', 'start', 'end', 'count', *AXES)]
    all_nodes = [func.sum(lease_nodes.c[name]).label(f'all_{name}') for name in AXES]
    query = select(*row, *all_nodes).outerjoin(lease_nodes, lease_nodes.c.lease_id == leases.c.id)
    found = []
    for one in connection.execute(query.where(LIVE, chosen).group_by(*row)):
        given = one._mapping
        placed = given['all_cores'] is not None
        amounts = tuple(
            float(given[f'all_{name}'] if placed else given[name] * given['count']) for name in AXES
        )
        found.append(Span(start=one.start, end=one.end, amounts=amounts, placed=placed))
    return found


def _lease(connection: Connection, lease_id: str) -> StoredLease | None:
    """:raises BadRow: it is there, and cannot be read."""
    found = _by_ids(connection, [lease_id]).get(lease_id)
    if found is None and lease_id in boundary_of(connection).unread('lease'):
        raise BadRow(f'lease {lease_id} cannot be read')
    return found


def _by_ids(connection: Connection, ids: Sequence[str]) -> dict[str, StoredLease]:
    rows = connection.execute(select(leases).where(leases.c.id.in_(ids)))
    return {one.id: one for one in stored_leases(connection, rows)}


def _page(
    connection: Connection, chosen: LeaseFilter, before: int, limit: int
) -> list[StoredLease]:
    query = select(leases)
    if chosen.project_id is not None:
        query = query.where(leases.c.project_id == chosen.project_id)
    if chosen.states:
        query = query.where(leases.c.state.in_([str(state) for state in chosen.states]))
    if chosen.host is not None:
        there = lease_nodes.c.lease_id == leases.c.id
        query = query.where(exists().where(there, lease_nodes.c.host == chosen.host))
    if chosen.since is not None:
        query = query.where(leases.c.end > chosen.since)
    if chosen.until is not None:
        query = query.where(leases.c.start < chosen.until)
    if before:
        query = query.where(leases.c.number < before)
    newest = query.order_by(leases.c.number.desc())
    return filled(connection, newest, limit, partial(stored_leases, connection))


def _calendar(connection: Connection) -> tuple[int, list[StoredLease]]:
    # the turn first: what is booked after it was read is refused
    turn = read_turn(connection, LEASES)
    rows = connection.execute(select(leases).where(LIVE).order_by(leases.c.number))
    return turn, held_leases(connection, rows)


def _changes(connection: Connection, known: Mapping[str, tuple[int, int]]) -> LeaseChanges:
    turn = read_turn(connection, LEASES)
    query = select(leases.c.id, leases.c.number, leases.c.revision).where(LIVE)
    live = {row.id: (row.number, row.revision) for row in connection.execute(query)}
    # what cannot be read may be mended without a new revision
    unread = boundary_of(connection).unread('lease')
    new = [name for name, mark in live.items() if known.get(name) != mark or name in unread]
    found: list[StoredLease] = []
    for part in slices(sorted(new)):
        found += held_leases(
            connection, connection.execute(select(leases).where(leases.c.id.in_(part)))
        )
    return LeaseChanges(
        turn=turn,
        # what is over when it is read a moment later is not there any more either
        gone=frozenset(known.keys() - live.keys()) | {one.id for one in found if one.over},
        leases=[one for one in found if not one.over],
    )


def _is_done(
    connection: Connection, steps: Sequence[LeaseStep], afters: Mapping[str, StoredLease]
) -> bool:
    """Whether an earlier try was written and its answer got lost; not whether others have done the same."""
    if _by_ids(connection, list(afters)) != afters:
        return False
    for step in steps:
        newest = LEASE_EVENTS.page(connection, step.before.id, None, 1)
        if step.events and [replace(one, number=0) for one in newest] != [step.events[-1]]:
            return False
    return True


def _change(
    connection: Connection,
    steps: Sequence[LeaseStep],
    turn: int | None,
    by: str,
    quota: LeaseQuota | None,
    now: float,
) -> list[StoredLease]:
    afters = {
        step.before.id: replace(step.after, revision=step.before.revision + 1) for step in steps
    }
    if _is_done(connection, steps, afters):
        return [afters[step.before.id] for step in steps]
    if quota is not None or any(step.books for step in steps):
        if turn is None:
            raise LeaseChanged('a lease gets other room: read the calendar and give its turn')
        take_turn(connection, LEASES, turn)
    for step in sorted(steps, key=lambda step: step.before.id):
        after = afters[step.before.id]
        if quota is not None and not after.over:
            _check_quota(connection, after, step.before, quota)
        own = and_(leases.c.id == step.before.id, leases.c.revision == step.before.revision)
        values: dict[str, Any] = lease_values(after)
        for name in NEVER:
            values.pop(name, None)
        if connection.execute(update(leases).where(own).values(**values)).rowcount != 1:
            raise LeaseChanged(f'lease {step.before.id} was changed meanwhile: try again')
        if after.nodes != step.before.nodes:
            put_nodes(connection, after, there=True)
    period = next_period(connection)
    post_in(connection, [dated(one, period) for step in steps for one in step.postings], by, now)
    LEASE_EVENTS.insert(connection, [one for step in steps for one in step.events])
    return [afters[step.before.id] for step in steps]
