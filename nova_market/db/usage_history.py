# SPDX-License-Identifier: Apache-2.0
"""Usage history as it is read. For rule U2 of doc/source/specs/usage.rst.

Of each span of time only the rows are read that hold a series of the answer; they are added up as they come.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from nova_market.core.row_check import checked
from nova_market.core.usage.history import KnownSeries, Sums, UsageFilter, UsageSums
from nova_market.core.usage.resolution import Resolution, points
from nova_market.core.usage.use import SERIES_BOUNDS, Series
from nova_market.db.database import Database
from nova_market.db.ledger import slices
from nova_market.db.sound_rows import sound_page, sound_rows
from nova_market.db.usage import KEY, TABLES, Packed, read_content, span_name
from nova_market.db.usage_tables import SHARD, usage_series
from nova_market.errors import BadUsageQuery

MOST_ROWS = 10_000
"""That one answer reads: each takes about a millisecond."""


class DatabaseUsageHistory:
    """Implements ports.UsageHistory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def series(
        self,
        chosen: UsageFilter,
        since: float,
        until: float,
        after: int = 0,
        limit: int | None = None,
    ) -> Sequence[KnownSeries]:
        return self._database.read(_series, chosen, since, until, after, limit)

    def by_span(
        self,
        found: Sequence[KnownSeries],
        chosen: UsageFilter,
        resolution: Resolution,
        since: float,
        until: float,
    ) -> UsageSums:
        return self._sums(found, chosen, resolution, since, until, by_series=False)

    def by_series(
        self,
        found: Sequence[KnownSeries],
        chosen: UsageFilter,
        resolution: Resolution,
        since: float,
        until: float,
    ) -> UsageSums:
        return self._sums(found, chosen, resolution, since, until, by_series=True)

    def _sums(
        self,
        found: Sequence[KnownSeries],
        chosen: UsageFilter,
        resolution: Resolution,
        since: float,
        until: float,
        *,
        by_series: bool,
    ) -> UsageSums:
        shards = sorted({one.number // SHARD for one in found})
        spans = points(resolution, since, until)
        if spans * len(shards) > MOST_ROWS:
            raise BadUsageQuery(
                f'{spans} spans of {resolution.value} s of {len(found)} servers are too much for one answer: '
                f'give an interval of at most {MOST_ROWS // len(shards) * resolution.value // 3600} h, a '
                'coarser resolution or fewer servers'
            )
        given = resolution, resolution.begin(since), until, found, chosen, by_series
        return self._database.read(_added_up, *given)


def _series(
    connection: Connection,
    chosen: UsageFilter,
    since: float,
    until: float,
    after: int,
    limit: int | None,
) -> list[KnownSeries]:
    table = usage_series.c
    query = select(usage_series).where(
        table.number > after, table.first_at < until, table.last_at > since
    )
    for column, wanted in (
        (table.project_id, chosen.project_id),
        (table.host, chosen.host),
        (table.lease_id, chosen.lease_id),
    ):
        if wanted is not None:
            query = query.where(column == wanted)
    query = query.order_by(table.number)
    if chosen.windows is None:
        return _known(connection, query, limit)
    found: list[KnownSeries] = []
    for part in slices(sorted(chosen.windows)):
        found += _known(connection, query.where(table.server_id.in_(part)), limit)
    return sorted(found, key=lambda one: one.number)[:limit]


def _known(connection: Connection, query: Select[Any], limit: int | None) -> list[KnownSeries]:
    if limit is not None:
        return sound_page(connection, 'usage series', query, limit, _series_of, _number)
    return sound_rows(connection, 'usage series', connection.execute(query), _series_of, _number)


def _series_of(row: Row[Any]) -> KnownSeries:
    series = checked(Series(**{name: getattr(row, name) for name in KEY}), SERIES_BOUNDS)
    return KnownSeries(number=row.number, series=series)


def _number(row: Row[Any]) -> str:
    return str(row.number)


def _added_up(
    connection: Connection,
    resolution: Resolution,
    begin: int,
    until: float,
    found: Sequence[KnownSeries],
    chosen: UsageFilter,
    by_series: bool,
) -> UsageSums:
    sums = Sums(found, chosen.windows, resolution.value)
    table = TABLES[resolution]
    for part in slices(sorted({one.number // SHARD for one in found})):
        where = (table.c.at >= begin, table.c.at < until, table.c.shard.in_(part))
        rows = connection.execute(select(table).where(*where))
        for at, content in sound_rows(
            connection, 'usage', rows, _content, partial(span_name, table)
        ):
            sums.add(at, *content, by_series=by_series)
    return sums.result()


def _content(row: Row[Any]) -> tuple[int, Packed]:
    return row.at, read_content(row)
