# SPDX-License-Identifier: Apache-2.0
"""Usage history in the database, as the engine writes it.

For rule U1 of doc/source/specs/usage.rst. Writers take turns by the lock of one row, the progress. A series'
minute is counted when it is not there yet; ten minutes are rolled up, added to their day, and passed by the
progress in one transaction. So each minute counts once in each table, wherever a writer dies, and also where
the answer to a commit got lost. A row that cannot be read stays as it is, and costs the use of its servers in
its span.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import (
    Connection,
    Row,
    Select,
    Table,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from nova_market.core.resource import Values
from nova_market.core.timestamp import LATEST
from nova_market.core.usage.history import Counted, SeriesUse
from nova_market.core.usage.packing import kept, pack, unpack
from nova_market.core.usage.resolution import DAY, LATE, TEN_MINUTES, Keeping, Resolution
from nova_market.core.usage.use import AMOUNTS, MOST, Series, added
from nova_market.db.database import Database
from nova_market.db.ledger import slices
from nova_market.db.sound_rows import sound_rows
from nova_market.db.usage_tables import (
    SHARD,
    usage_days,
    usage_minutes,
    usage_progress,
    usage_series,
    usage_ten_minutes,
)
from nova_market.errors import BadRow

TABLES: Mapping[Resolution, Table] = {
    Resolution.MINUTE: usage_minutes,
    Resolution.TEN_MINUTES: usage_ten_minutes,
    Resolution.DAY: usage_days,
}
ROLLED = usage_progress.c.name == 'rolled'
BATCH = 500
"""Rows that one transaction of a purge takes away: about 1.5 MB."""

MOST_REMEMBERED = 200_000
"""Series whose numbers a writer remembers; beyond, it forgets all and reads them again."""

Packed = tuple[Values, Values]
"""Numbers of series, rising, and their amounts."""


class DatabaseUsage:
    """Implements ports.UsageStore. One thread uses it."""

    def __init__(self, database: Database, keep: Keeping | None = None) -> None:
        self._database = database
        self._keep = keep or Keeping()
        self._numbers: dict[Series, tuple[int, int]] = {}

    def add(self, used: Sequence[SeriesUse]) -> Counted:
        if len(self._numbers) > MOST_REMEMBERED:
            self._numbers = {}
        days: dict[Series, int] = {}
        first: dict[Series, int] = {}
        for one in used:
            end = Resolution.DAY.begin(one.at) + DAY
            days[one.series] = max(days.get(one.series, 0), end)
            first[one.series] = min(first.get(one.series, one.at), one.at)
        # one whose newest day is not noted yet is looked up, also when its number is known
        unknown = {s: (first[s], day) for s, day in days.items() if self._noted(s) < day}
        if unknown:
            self._numbers |= self._database.write(_numbers, unknown)
        rows = [(one.at, self._numbers[one.series][0], one.amounts) for one in used]
        return self._database.write(_add, rows)

    def roll(self, now: float) -> int:
        return self._database.write(_roll, now)

    def purge(self, now: float) -> int:
        gone = 0
        for resolution in Resolution:
            gone += self._database.write(_some_spans, resolution, now, self._keep)
        return gone + self._database.write(_some_series, now, self._keep.days)

    def _noted(self, series: Series) -> int:
        return self._numbers.get(series, (0, 0))[1]


def some_usage(connection: Connection, older_than: float, batch: int) -> int:
    """Of all resolutions, what ended before `older_than` and is rolled up; how many rows."""
    gone = 0
    for resolution in Resolution:
        gone += _before(connection, resolution, older_than, batch)
    return gone


def _numbers(
    connection: Connection, wanted: Mapping[Series, tuple[int, int]]
) -> dict[Series, tuple[int, int]]:
    """Series -> (number, end of its newest day), of series with their first minute and that end."""
    _locked(connection)
    found = _read(connection, wanted)
    new = [
        {**{name: getattr(one, name) for name in KEY}, 'first_at': at, 'last_at': end}
        for one, (at, end) in sorted(wanted.items())
        if one not in found
    ]
    if new:
        connection.execute(insert(usage_series), new)
        found = _read(connection, wanted)
    by_end: dict[int, list[int]] = {}
    for one, (_, end) in wanted.items():
        by_end.setdefault(end, []).append(found[one])
    for end, numbers in by_end.items():
        for part in slices(sorted(numbers)):
            mine = usage_series.c.number.in_(part) & (usage_series.c.last_at < end)
            connection.execute(update(usage_series).where(mine).values(last_at=end))
    return {one: (found[one], wanted[one][1]) for one in wanted}


KEY = ('server_id', 'project_id', 'host', 'vcpus', 'memory_mib', 'lease_id')


def _read(connection: Connection, wanted: Iterable[Series]) -> dict[Series, int]:
    servers = sorted({one.server_id for one in wanted})
    found: dict[Series, int] = {}
    for part in slices(servers):
        query = select(usage_series).where(usage_series.c.server_id.in_(part))
        for row in connection.execute(query):
            found[Series(**{name: getattr(row, name) for name in KEY})] = row.number
    return {one: found[one] for one in wanted if one in found}


def _locked(connection: Connection) -> int:
    """How far minutes are rolled up; nobody else writes history until this transaction ends."""
    found = _rolled(connection, select(usage_progress).where(ROLLED).with_for_update())
    if found is not None:
        return found
    try:
        connection.execute(insert(usage_progress).values(name='rolled', at=0))
    except DBDuplicateEntry as error:
        raise RetryRequest(error) from error
    return 0


def _rolled(connection: Connection, query: Select[tuple[object, ...]]) -> int | None:
    """The progress, or the end of the newest ten minutes where it cannot be read; None before the first."""
    rows = list(connection.execute(query))
    found = sound_rows(connection, 'usage progress', rows, _progress, lambda row: str(row.name))
    if found or not rows:
        return found[0] if found else None
    newest = connection.execute(select(func.max(usage_ten_minutes.c.at))).scalar()
    return 0 if newest is None else int(newest) + TEN_MINUTES


def _progress(row: Row[Any]) -> int:
    if not isinstance(row.at, int) or not 0 <= row.at <= LATEST:
        raise BadRow(f'at is {row.at!r:.80}: it must be a time')
    return row.at


def _add(connection: Connection, rows: Sequence[tuple[int, int, tuple[int, ...]]]) -> Counted:
    """rows: minute, number of the series, amounts."""
    rolled = _locked(connection)
    in_time = [row for row in rows if row[0] >= rolled]
    shards: dict[tuple[int, int], dict[int, tuple[int, ...]]] = {}
    for at, number, amounts in in_time:
        # the first of a series' minute counts: hosts repeat, they do not correct
        shards.setdefault((at, number // SHARD), {}).setdefault(number, amounts)
    before = _contents(connection, usage_minutes, list(shards))
    new = lost = 0
    for key, given in sorted(shards.items()):
        known = before.get(key, EMPTY)
        if known is None:
            lost += len(given)
            continue
        there = set(known[0].tolist())
        fresh = sorted(number for number in given if number not in there)
        if not fresh:
            continue
        new += len(fresh)
        more = kept(np.array([given[number] for number in fresh], dtype=np.int64))
        merged = _merged([known, (np.array(fresh, dtype=np.int64), more)])
        _put(connection, usage_minutes, key, merged, exact=False, there=key in before)
    again = len(in_time) - new - lost
    return Counted(new=new, again=again, late=len(rows) - len(in_time), lost=lost)


EMPTY: Packed = (np.zeros(0, dtype=np.int64), np.zeros((0, len(AMOUNTS)), dtype=np.int64))


def _roll(connection: Connection, now: float) -> int:
    rolled = _locked(connection)
    oldest = select(func.min(usage_minutes.c.at)).where(usage_minutes.c.at >= rolled)
    at = connection.execute(oldest).scalar()
    if at is None:
        return 0
    begin = Resolution.TEN_MINUTES.begin(at)
    end = begin + TEN_MINUTES
    if now < end + LATE:
        return 0
    query = select(usage_minutes).where(usage_minutes.c.at >= begin, usage_minutes.c.at < end)
    parts: dict[int, list[Packed]] = {}
    for shard, content in _sound(connection, usage_minutes, connection.execute(query)):
        parts.setdefault(shard, []).append(content)
    day = Resolution.DAY.begin(begin)
    days = _contents(connection, usage_days, [(day, shard) for shard in parts])
    for shard, found in sorted(parts.items()):
        sums = _merged(found)
        _put(connection, usage_ten_minutes, (begin, shard), sums, exact=True, there=False)
        known = days.get((day, shard), EMPTY)
        if known is not None:
            whole, there = _merged([known, sums]), (day, shard) in days
            _put(connection, usage_days, (day, shard), whole, exact=True, there=there)
    connection.execute(update(usage_progress).where(ROLLED).values(at=end))
    return end


def _contents(
    connection: Connection, table: Table, keys: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], Packed | None]:
    """What is stored under these (first second, shard); None where it cannot be read."""
    found: dict[tuple[int, int], Packed | None] = {}
    for part in slices(sorted(keys), 200):
        chosen = or_(*(and_(table.c.at == at, table.c.shard == shard) for at, shard in part))
        for row in connection.execute(select(table).where(chosen)):
            read = _sound(connection, table, [row])
            found[row.at, row.shard] = read[0][1] if read else None
    return found


def _sound(
    connection: Connection, table: Table, rows: Iterable[Row[Any]]
) -> list[tuple[int, Packed]]:
    """(shard, content) of rows of a table, without those that are set aside."""
    name = partial(span_name, table)
    return sound_rows(connection, 'usage', rows, lambda row: (row.shard, read_content(row)), name)


def span_name(table: Table, row: Any) -> str:
    """As a row of the history is named among what is set aside."""
    return f'{table.name}/{row.at}/{row.shard}'


def _merged(parts: Sequence[Packed]) -> Packed:
    """Amounts of the same series are added."""
    numbers = np.concatenate([one[0] for one in parts])
    amounts = np.concatenate([one[1] for one in parts])
    unique, groups = np.unique(numbers, return_inverse=True)
    return unique, added(amounts, groups, len(unique))


def _put(
    connection: Connection,
    table: Table,
    key: tuple[int, int],
    packed: Packed,
    *,
    exact: bool,
    there: bool,
) -> None:
    at, shard = key
    numbers, amounts = packed
    content = pack(numbers - shard * SHARD, amounts, exact=exact)
    if there:
        own = (table.c.at == at) & (table.c.shard == shard)
        connection.execute(update(table).where(own).values(content=content))
    else:
        connection.execute(insert(table).values(at=at, shard=shard, content=content))


def _some_spans(connection: Connection, resolution: Resolution, now: float, keep: Keeping) -> int:
    """What is older than is kept, by the newest day at most: a clock that is wrong takes nothing away."""
    newest = connection.execute(select(func.max(usage_days.c.at))).scalar()
    if newest is None:
        return 0
    cut = min(now, newest + 2 * DAY) - keep.of(resolution)
    return _before(connection, resolution, cut, BATCH)


def _before(connection: Connection, resolution: Resolution, cut: float, batch: int) -> int:
    """Rows of spans that ended before `cut`, about `batch` of them; minutes only when they are rolled up."""
    table = TABLES[resolution]
    last = cut - resolution.value
    if resolution is Resolution.MINUTE:
        rolled = _rolled(connection, select(usage_progress).where(ROLLED)) or 0
        last = min(last, rolled - resolution.value)
    query = select(table.c.at).where(table.c.at <= last).order_by(table.c.at).limit(batch)
    found = list(connection.execute(query).scalars())
    if not found:
        return 0
    return int(connection.execute(delete(table).where(table.c.at <= found[-1])).rowcount)


def _some_series(connection: Connection, now: float, kept_for: float) -> int:
    """Series without use in any day that is kept."""
    newest = connection.execute(select(func.max(usage_days.c.at))).scalar()
    if newest is None:
        return 0
    cut = min(now, newest + 2 * DAY) - kept_for - DAY
    query = select(usage_series.c.number).where(usage_series.c.last_at < cut).limit(BATCH)
    numbers = list(connection.execute(query).scalars())
    if numbers:
        connection.execute(delete(usage_series).where(usage_series.c.number.in_(numbers)))
    return len(numbers)


def read_content(row: Any) -> Packed:
    """The numbers of series, as usage_series has them, and their amounts, of a row of any of the tables.

    :raises BadRow, ArithmeticError, LookupError, ValueError, lzma.LZMAError: it is damaged.
    """
    numbers, amounts = unpack(row.content)
    if np.any(np.diff(numbers, prepend=-1) <= 0) or np.any(numbers >= SHARD):
        raise BadRow(f'its series are not {SHARD} numbers that rise from 0')
    if np.any((amounts < 0) | (amounts > MOST)):
        raise BadRow(f'an amount is not from 0 to {MOST}')
    return numbers + row.shard * SHARD, amounts
