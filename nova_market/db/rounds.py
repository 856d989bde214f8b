# SPDX-License-Identifier: Apache-2.0
"""Rounds: what was decided, how far it was carried out, and the history that is served.

Implements rules P3, P4, A4 and F2 of doc/source/specs/market.rst. Whoever stores a period's round first has
decided it; a leader that comes later reads that one and completes it, so that nothing is charged twice with
different amounts. Units: as in core.market.record.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, Row, Table, insert, or_, select, update

from nova_market.core.ledger.posting import Posting
from nova_market.core.market.record import (
    AllocationRecord,
    EconomyRecord,
    PowerRecord,
    PriceRecord,
    RoundRecord,
    RoundState,
)
from nova_market.core.notice.notice import Notice
from nova_market.db.database import Database
from nova_market.db.ledger import MAX_PAGE, hold, slices
from nova_market.db.ledger_tables import UUID_LENGTH, horizons
from nova_market.db.market_tables import (
    PART_BYTES,
    allocations,
    prices,
    purchasing_powers,
    round_documents,
    rounds,
)
from nova_market.db.market_tables import economy as economy_table
from nova_market.db.notice_queue import queue_notices
from nova_market.errors import Conflict, PeriodPurged

ALLOCATION = tuple(field.name for field in fields(AllocationRecord))
PRICE = tuple(field.name for field in fields(PriceRecord))
OPEN = (str(RoundState.PLANNED), str(RoundState.APPLIED))
NEXT: Mapping[RoundState, frozenset[RoundState]] = {
    RoundState.PLANNED: frozenset({RoundState.APPLIED, RoundState.UNDONE}),
    RoundState.APPLIED: frozenset({RoundState.SETTLED, RoundState.UNDONE}),
    RoundState.SETTLED: frozenset(),
    RoundState.UNDONE: frozenset(),
}


class DatabaseRounds:
    """Implements ports.RoundStore and ports.History."""

    def __init__(self, database: Database, wall: Callable[[], float]) -> None:
        self._database = database
        self._wall = wall

    def begin(
        self,
        record: RoundRecord,
        price_list: Sequence[PriceRecord],
        allocated: Sequence[AllocationRecord],
        holds: Sequence[Posting] = (),
        economy: EconomyRecord | None = None,
        powers: Sequence[PowerRecord] = (),
        notices: Sequence[Notice] = (),
    ) -> RoundRecord:
        """Store a round with all that belongs to it, or return the one that is stored for its period.

        holds: posted in the same transaction (M1), each at most what its account has by then
        notices: queued with it for those who want them by mail or to a webhook
        """
        encoded = zlib.compress(json.dumps(record.document, separators=(',', ':')).encode(), 1)
        rows = (
            (prices, price_list),
            (allocations, allocated),
            (economy_table, [economy] if economy else []),
            (purchasing_powers, powers),
        )
        given = rows, holds, tuple(notices), self._wall()
        return self._database.write(_begin, record, encoded, *given)

    def charged(self, period: int, amount: int) -> None:
        """Note what a round has charged in all (P4); it may be noted again."""
        self._database.write(_charged, period, amount)

    def advance(self, period: int, before: RoundState, after: RoundState) -> None:
        """Take a round from one state to the next; nothing happens when it is there already.

        :raises Conflict: it is in another state, or there is no such step.
        """
        if after not in NEXT[before]:
            raise Conflict(f'round {period} cannot go from {before} to {after}')
        self._database.write(_advance, period, before, after, self._wall())

    def confirm(
        self,
        period: int,
        server_ids: Sequence[str],
        unenforced: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Note that hosts have applied the allocations of these servers: they can be charged (F2).

        unenforced: resource -> servers whose hosts do not control it: they are not charged for it (B5)
        """
        self._database.write(_confirm, period, tuple(server_ids), unenforced or {})

    def unfinished(self) -> Sequence[RoundRecord]:
        """Rounds that are neither settled nor undone, oldest first."""
        return self._database.read(_unfinished)

    def round(self, period: int) -> RoundRecord | None:
        """One round with its document; None when there was none or it was purged."""
        return self._database.read(_round, period)

    def rounds(self, before: int | None = None, limit: int = 100) -> Sequence[RoundRecord]:
        """Rounds without their documents, newest first; `before`: last period of a page."""
        query = select(rounds)
        if before is not None:
            query = query.where(rounds.c.period < before)
        query = query.order_by(rounds.c.period.desc()).limit(min(limit, MAX_PAGE))
        return [_record(row, {}) for row in self._database.read(_rows, query)]

    def prices(self, first: int, last: int, resource: str | None = None) -> Sequence[PriceRecord]:
        """Prices of the periods first to last, inclusive, oldest first; at most 10,000."""
        query = select(prices).where(prices.c.period.between(first, last))
        if resource is not None:
            query = query.where(prices.c.resource == resource)
        query = query.order_by(prices.c.period, prices.c.resource).limit(MAX_PAGE)
        rows = self._database.read(_rows, query)
        return [PriceRecord(**{name: getattr(row, name) for name in PRICE}) for row in rows]

    def economy(self, first: int, last: int, limit: int = MAX_PAGE) -> Sequence[EconomyRecord]:
        """The economy of the periods first to last, inclusive, oldest first."""
        query = select(economy_table).where(economy_table.c.period.between(first, last))
        query = query.order_by(economy_table.c.period).limit(limit)
        return [EconomyRecord(**row._mapping) for row in self._database.read(_rows, query)]

    def powers(
        self,
        first: int,
        last: int,
        project_id: str | None = None,
        after: str = '',
        limit: int = MAX_PAGE,
    ) -> Sequence[PowerRecord]:
        """What projects could buy in the periods first to last, by period and project.

        after: last project of a page that ended within `first`
        """
        column = purchasing_powers.c
        query = select(purchasing_powers).where(
            column.period.between(first, last),
            or_(column.period > first, column.project_id > after),
        )
        if project_id is not None:
            query = query.where(column.project_id == project_id)
        query = query.order_by(column.period, column.project_id).limit(limit)
        return [PowerRecord(**row._mapping) for row in self._database.read(_rows, query)]

    def allocations(
        self, period: int, after: str = '', limit: int = MAX_PAGE, project_id: str | None = None
    ) -> Sequence[AllocationRecord]:
        """Allocations of one period by server id, of one project or all; `after`: last server of a page."""
        query = select(allocations).where(
            allocations.c.period == period, allocations.c.server_id > after
        )
        if project_id is not None:
            query = query.where(allocations.c.project_id == project_id)
        query = query.order_by(allocations.c.server_id).limit(min(limit, MAX_PAGE))
        return [_allocation(row) for row in self._database.read(_rows, query)]

    def allocations_of(
        self, server_id: str, before: int | None = None, limit: int = 100
    ) -> Sequence[AllocationRecord]:
        """Allocations of one server, newest first; `before`: last period of a page."""
        query = select(allocations).where(allocations.c.server_id == server_id)
        if before is not None:
            query = query.where(allocations.c.period < before)
        query = query.order_by(allocations.c.period.desc()).limit(min(limit, MAX_PAGE))
        return [_allocation(row) for row in self._database.read(_rows, query)]


def _begin(
    connection: Connection,
    record: RoundRecord,
    encoded: bytes,
    belongings: Iterable[tuple[Table, Sequence[Any]]],
    holds: Sequence[Posting],
    notices: Sequence[Notice],
    now: float,
) -> RoundRecord:
    found = _round(connection, record.period)
    if found is not None:
        return found
    horizon = connection.execute(select(horizons.c.period)).scalar() or 0
    if record.period <= horizon:
        raise PeriodPurged(f'round {record.period}: periods up to {horizon} were purged')
    row = {
        'period': record.period, 'state': str(record.state), 'leader': record.leader,
        'started_at': record.started_at, 'changed_at': now,
    }  # fmt: skip
    try:
        connection.execute(insert(rounds), row)
    except DBDuplicateEntry as error:
        raise RetryRequest(error) from error
    parts = slices(encoded, PART_BYTES)
    documents = [
        {'period': record.period, 'part': number, 'content': bytes(part)}
        for number, part in enumerate(parts)
    ]
    connection.execute(insert(round_documents), documents)
    for table, records in belongings:
        names = table.columns.keys()
        for some in slices(records, MAX_PAGE):
            values = [{name: getattr(one, name) for name in names} for one in some]
            connection.execute(insert(table), values)
    hold(connection, holds, record.leader[:UUID_LENGTH], now)
    queue_notices(connection, notices)
    return record


def _advance(
    connection: Connection, period: int, before: RoundState, after: RoundState, now: float
) -> None:
    change = update(rounds).where(rounds.c.period == period, rounds.c.state == str(before))
    if connection.execute(change.values(state=str(after), changed_at=now)).rowcount:
        return
    found = connection.execute(select(rounds.c.state).where(rounds.c.period == period)).scalar()
    if found != after:
        raise Conflict(f'round {period} is {found or "not stored"}, not {before}: read it again')


def _charged(connection: Connection, period: int, amount: int) -> None:
    change = update(economy_table).where(economy_table.c.period == period)
    connection.execute(change.values(charged=amount))


def _confirm(
    connection: Connection,
    period: int,
    server_ids: Sequence[str],
    unenforced: Mapping[str, Sequence[str]],
) -> None:
    changes: list[tuple[Sequence[str], dict[str, object]]] = [(server_ids, {'confirmed': True})]
    changes += [(servers, {f'charge_{name}': 0}) for name, servers in sorted(unenforced.items())]
    for servers, values in changes:
        for part in slices(sorted(servers)):
            change = update(allocations).where(
                allocations.c.period == period, allocations.c.server_id.in_(part)
            )
            connection.execute(change.values(**values))


def _unfinished(connection: Connection) -> list[RoundRecord]:
    query = select(rounds).where(rounds.c.state.in_(OPEN)).order_by(rounds.c.period)
    found = list(connection.execute(query))
    return [_record(row, _document(connection, row.period)) for row in found]


def _round(connection: Connection, period: int) -> RoundRecord | None:
    row = connection.execute(select(rounds).where(rounds.c.period == period)).first()
    return _record(row, _document(connection, period)) if row else None


def _document(connection: Connection, period: int) -> Mapping[str, object]:
    query = select(round_documents.c.content).where(round_documents.c.period == period)
    query = query.order_by(round_documents.c.part)
    encoded = b''.join(connection.execute(query).scalars())
    document: Mapping[str, object] = json.loads(zlib.decompress(encoded)) if encoded else {}
    return document


def _record(row: Row[Any], document: Mapping[str, object]) -> RoundRecord:
    return RoundRecord(
        period=row.period,
        leader=row.leader,
        started_at=row.started_at,
        state=RoundState(row.state),
        document=document,
    )


def _allocation(row: Row[Any]) -> AllocationRecord:
    return AllocationRecord(**{name: getattr(row, name) for name in ALLOCATION})


def _rows(connection: Connection, query: object) -> list[Row[Any]]:
    return list(connection.execute(query))  # type: ignore[call-overload]
