# SPDX-License-Identifier: Apache-2.0
"""Rounds: what was decided, how far it was carried out, and the history that is served.

Implements rules P3, P4, A4 and F2 of doc/source/specs/market.rst. Whoever stores a period's round first has
decided it; a leader that comes later reads that one and completes it, so that nothing is charged twice with
different amounts. Units: as in core.market.record.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, Row, Select, Table, func, insert, or_, select, update

from nova_market.core.ledger.posting import Posting
from nova_market.core.market.record import (
    ALLOCATION_BOUNDS,
    PRICE_BOUNDS,
    ROUND_BOUNDS,
    AllocationRecord,
    EconomyRecord,
    PowerRecord,
    PriceRecord,
    RoundRecord,
    RoundState,
)
from nova_market.core.market.round_sections import section_of, sections, seen_by, whole
from nova_market.core.notice.notice import Notice
from nova_market.core.row_check import checked
from nova_market.db.database import Database
from nova_market.db.ledger import MAX_PAGE, hold, slices
from nova_market.db.ledger_tables import UUID_LENGTH, horizons
from nova_market.db.market_tables import (
    allocations,
    prices,
    purchasing_powers,
    rounds,
)
from nova_market.db.market_tables import economy as economy_table
from nova_market.db.notice_queue import queue_notices
from nova_market.db.period_rows import in_periods
from nova_market.db.round_documents import packed_section, packed_sections, store_sections, unpacked
from nova_market.db.sound_rows import sound_page, sound_row, sound_rows, unknown_word
from nova_market.errors import Conflict, PeriodPurged
from nova_market.row_boundary import READ

Value = TypeVar('Value')

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
        packed = [packed_section(one) for one in sections(record.document)]
        rows = (
            (prices, price_list),
            (allocations, allocated),
            (economy_table, [economy] if economy else []),
            (purchasing_powers, powers),
        )
        given = rows, holds, tuple(notices), self._wall()
        return self._database.write(_begin, record, packed, *given)

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

    def round_for(self, period: int, project_id: str) -> RoundRecord | None:
        """The same with what everybody may see of the document, and with the lines of some projects.

        project_id: of which all lines are among them
        """
        return self._database.read(_round_for, period, project_id)

    def rounds(self, before: int | None = None, limit: int = 100) -> Sequence[RoundRecord]:
        """Rounds without their documents, newest first; `before`: last period of a page."""
        query = select(rounds)
        if before is not None:
            query = query.where(rounds.c.period < before)
        newest = query.order_by(rounds.c.period.desc())
        return self._database.read(_sound, newest, min(limit, MAX_PAGE), _listed)

    def prices(
        self,
        first: int,
        last: int,
        resource: str | None = None,
        after: str = '',
        limit: int = MAX_PAGE,
        *,
        newest_first: bool = False,
    ) -> Sequence[PriceRecord]:
        """Prices of the periods first to last, inclusive, by period and resource.

        after: last resource of a page that ended within the period that is read first
        """
        chosen = None if resource is None else prices.c.resource == resource
        given = prices.c.resource, after, chosen
        query = in_periods(prices, first, last, *given, newest_first=newest_first)
        return self._database.read(_sound, query, min(limit, MAX_PAGE), _price)

    def economy(
        self, first: int, last: int, limit: int = MAX_PAGE, *, newest_first: bool = False
    ) -> Sequence[EconomyRecord]:
        """The economy of the periods first to last, inclusive, by period."""
        query = in_periods(economy_table, first, last, newest_first=newest_first)
        return self._database.read(_sound, query, limit, _economy)

    def powers(
        self,
        first: int,
        last: int,
        project_id: str | None = None,
        after: str = '',
        limit: int = MAX_PAGE,
        *,
        newest_first: bool = False,
    ) -> Sequence[PowerRecord]:
        """What projects could buy in the periods first to last, by period and project.

        after: last project of a page that ended within the period that is read first
        """
        column = purchasing_powers.c.project_id
        chosen = None if project_id is None else column == project_id
        given = column, after, chosen
        query = in_periods(purchasing_powers, first, last, *given, newest_first=newest_first)
        return self._database.read(_sound, query, limit, _power)

    def allocations(
        self, period: int, after: str = '', limit: int = MAX_PAGE, project_id: str | None = None
    ) -> Sequence[AllocationRecord]:
        """Allocations of one period by server id, of one project or all; `after`: last server of a page."""
        query = select(allocations).where(
            allocations.c.period == period, allocations.c.server_id > after
        )
        if project_id is not None:
            query = query.where(allocations.c.project_id == project_id)
        query = query.order_by(allocations.c.server_id)
        return self._database.read(_sound, query, min(limit, MAX_PAGE), _allocation)

    def allocations_of(
        self, server_id: str, before: int | None = None, limit: int = 100
    ) -> Sequence[AllocationRecord]:
        """Allocations of one server, newest first; `before`: last period of a page."""
        query = select(allocations).where(allocations.c.server_id == server_id)
        if before is not None:
            query = query.where(allocations.c.period < before)
        newest = query.order_by(allocations.c.period.desc())
        return self._database.read(_sound, newest, min(limit, MAX_PAGE), _allocation)


def next_period(connection: Connection) -> int:
    """The period after the newest round; 0 without a market.

    Its charges are counted by a round that is decided at least a period later, so what the transaction of
    the caller charges in it is there by then.
    """
    newest = connection.execute(select(func.max(rounds.c.period))).scalar()
    return 0 if newest is None else int(newest) + 1


def _begin(
    connection: Connection,
    record: RoundRecord,
    packed: Sequence[bytes],
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
    store_sections(connection, record.period, packed)
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
    mine = or_(rounds.c.state.in_(OPEN), unknown_word(rounds.c.state, RoundState))
    query = select(rounds).where(mine).order_by(rounds.c.period)
    whole = [
        (row, packed_sections(connection, row.period)) for row in list(connection.execute(query))
    ]
    return sound_rows(connection, 'round', whole, _whole, lambda one: str(one[0].period))


def _round(connection: Connection, period: int) -> RoundRecord | None:
    row = connection.execute(select(rounds).where(rounds.c.period == period)).first()
    if row is None:
        return None
    whole = row, packed_sections(connection, period)
    return sound_row(connection, 'round', whole, _whole, lambda one: str(one[0].period))


def _round_for(connection: Connection, period: int, project_id: str) -> RoundRecord | None:
    row = connection.execute(select(rounds).where(rounds.c.period == period)).first()
    if row is None:
        return None
    head = row, packed_sections(connection, period, 0, 0)
    seen, number = sound_row(
        connection,
        'round',
        head,
        lambda one: _head(one, project_id),
        lambda one: str(one[0].period),
        f'{READ} what all see of it',
    )
    if number is None:
        return seen
    own = seen, packed_sections(connection, period, number, number)
    return sound_row(connection, 'part of round', own, _seen, lambda one: f'{period}/{number}')


def _whole(found: tuple[Row[Any], Sequence[bytes]]) -> RoundRecord:
    """Of a row of rounds and what is stored of its document."""
    row, encoded = found
    return _record(row, whole([unpacked(one) for one in encoded]) if encoded else {})


def _head(
    found: tuple[Row[Any], Sequence[bytes]], project_id: str
) -> tuple[RoundRecord, int | None]:
    """With section 0 of its document alone, which is all of an older one; the section of a project."""
    row, encoded = found
    document = unpacked(encoded[0]) if encoded else {}
    return _record(row, document), section_of(project_id, document)


def _seen(found: tuple[RoundRecord, Sequence[bytes]]) -> RoundRecord:
    """With the lines of some projects. found: section 0, and theirs"""
    record, encoded = found
    (own,) = map(unpacked, encoded)
    return replace(record, document=seen_by(record.document, own))


def _record(row: Row[Any], document: Mapping[str, object]) -> RoundRecord:
    made = RoundRecord(
        period=row.period,
        leader=row.leader,
        started_at=row.started_at,
        state=RoundState(row.state),
        document=document,
    )
    return checked(made, ROUND_BOUNDS)


def _listed(row: Row[Any]) -> RoundRecord:
    return _record(row, {})


def _price(row: Row[Any]) -> PriceRecord:
    return checked(PriceRecord(**{name: getattr(row, name) for name in PRICE}), PRICE_BOUNDS)


def _economy(row: Row[Any]) -> EconomyRecord:
    return checked(EconomyRecord(**row._mapping))


def _power(row: Row[Any]) -> PowerRecord:
    return checked(PowerRecord(**row._mapping))


def _allocation(row: Row[Any]) -> AllocationRecord:
    made = AllocationRecord(**{name: getattr(row, name) for name in ALLOCATION})
    return checked(made, ALLOCATION_BOUNDS)


KIND: Mapping[Callable[[Row[Any]], Any], tuple[str, tuple[str, ...]]] = {
    _listed: ('round', ('period',)),
    _price: ('price', ('period', 'resource')),
    _economy: ('economy', ('period',)),
    _power: ('purchasing power', ('period', 'project_id')),
    _allocation: ('allocation', ('period', 'server_id')),
}
"""By what makes a value of a row: how the row is called where it is set aside."""


def _sound(
    connection: Connection, query: Select[Any], limit: int, value_of: Callable[[Row[Any]], Value]
) -> list[Value]:
    kind, key = KIND[value_of]

    def name_of(row: Row[Any]) -> str:
        return '/'.join(str(getattr(row, name)) for name in key)

    stage = f'{READ} in a list' if value_of is _listed else READ
    return sound_page(connection, kind, query, limit, value_of, name_of, stage)
