# SPDX-License-Identifier: Apache-2.0
"""U1: rollups equal the sum of the minutes, and nothing counts twice, wherever a writer is killed."""

import functools
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event
from sqlalchemy.exc import PendingRollbackError

from nova_market.core.usage.history import UsageFilter
from nova_market.core.usage.packing import kept
from nova_market.core.usage.resolution import DAY, Resolution
from nova_market.core.usage.use import AMOUNTS, MEMORY_MAX
from nova_market.db import schema
from nova_market.db.database import Database
from nova_market.db.usage import DatabaseUsage
from nova_market.db.usage_history import DatabaseUsageHistory
from tests.support.usage_builders import DAY_BEGIN, series, used

SERIES = (series('s1'), series('s2'), series('s1', host='h2'))
minutes = st.tuples(
    st.sampled_from(SERIES),
    st.integers(0, 180),
    st.integers(0, 10**12),
    st.integers(0, 10**6),
)


@functools.cache
def empty():
    """A database with the tables, as a file."""
    with tempfile.TemporaryDirectory() as directory:
        made = Database({'connection': f'sqlite:///{directory}/x', 'sqlite_synchronous': False})
        schema.sync(made)
        made.close()
        return Path(directory, 'x').read_bytes()


class Killed(BaseException):
    """The process ends here: the transaction is never committed."""


class Writer:
    """A process that writes history and is killed before a given statement of the database."""

    def __init__(self, url, life):
        self.database = Database({'connection': url, 'sqlite_synchronous': False})
        self.left = life
        event.listen(self.database.engine, 'before_cursor_execute', self._statement)
        self.store = DatabaseUsage(self.database)

    def _statement(self, _connection, cursor, *_):
        self.left -= 1
        if self.left == 0:
            # as the database does when its client dies: without, its lock is held until nobody has it
            cursor.connection.rollback()
            raise Killed

    def run(self, rows, now):
        """Everything from the beginning, as a writer does that does not know how far it came."""
        try:
            for at in sorted({one.at for one in rows}):
                self.store.add([one for one in rows if one.at == at])
            while self.store.roll(now):
                pass
        except PendingRollbackError as error:
            # of the connection on which the statement was that the process did not survive
            raise Killed from error
        finally:
            self.database.close()


@settings(max_examples=12, deadline=None)
@given(
    st.lists(minutes, min_size=1, max_size=25),
    st.lists(st.integers(1, 60), max_size=4),
)
def test_each_minute_counts_once(given_minutes, lives):
    """Writers are killed before their n-th statement; the last one comes to the end."""
    first = {}
    for one, minute, core_ms, memory in given_minutes:
        first.setdefault(
            (minute, one),
            used(DAY_BEGIN + 60 * minute, one, core_ms=core_ms, memory_mib_max=memory),
        )
    rows = list(first.values())
    now = DAY_BEGIN + DAY
    with tempfile.TemporaryDirectory() as directory:
        url = f'sqlite:///{directory}/x'
        Path(directory, 'x').write_bytes(empty())
        made = Database({'connection': url, 'sqlite_synchronous': False})
        for life in [*lives, 0]:
            with suppress(Killed):
                Writer(url, life).run(rows, now)
        check(DatabaseUsageHistory(made), rows)
        made.close()


def check(history, rows):
    chosen = UsageFilter()
    begin, end = DAY_BEGIN, DAY_BEGIN + DAY
    found = history.series(chosen, begin, end)
    assert {one.series for one in found} == {one.series for one in rows}
    for resolution in Resolution:
        sums = history.by_span(found, chosen, resolution, begin, end)
        spans = {}
        for one in rows:
            spans.setdefault(resolution.begin(one.at), []).append(one)
        assert sums.keys.tolist() == sorted(spans)
        for key, row in zip(sums.keys.tolist(), sums.amounts.tolist(), strict=True):
            assert row == total(spans[key])
        each = history.by_series(found, chosen, resolution, begin, end)
        for number, row in zip(each.keys.tolist(), each.amounts.tolist(), strict=True):
            (own,) = [one.series for one in found if one.number == number]
            assert row == total([one for one in rows if one.series == own])


def total(rows):
    """Sums, and the largest of the maxima, of what is kept of each minute."""
    amounts = kept(np.array([one.amounts for one in rows], dtype=np.int64))
    result = amounts.sum(axis=0)
    result[MEMORY_MAX] = amounts[:, MEMORY_MAX].max()
    assert len(result) == len(AMOUNTS)
    return result.tolist()
