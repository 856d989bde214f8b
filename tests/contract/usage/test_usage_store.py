# SPDX-License-Identifier: Apache-2.0
"""U1 and U2: what every database does for usage history: counted once, rolled up, purged, read."""

import threading

import pytest

from nova_market.core.usage.history import Counted, UsageFilter
from nova_market.core.usage.resolution import DAY, LATE, TEN_MINUTES, Keeping, Resolution
from nova_market.core.usage.use import AMOUNTS, LONGEST, MOST
from nova_market.db.usage import DatabaseUsage
from nova_market.db.usage_history import MOST_ROWS, DatabaseUsageHistory
from nova_market.errors import BadUsageQuery
from tests.support.usage_builders import DAY_BEGIN, as_uses, series, used

ALL = UsageFilter()
BEGIN, END = DAY_BEGIN, DAY_BEGIN + DAY


@pytest.fixture
def store(database):
    return DatabaseUsage(database)


@pytest.fixture
def history(database):
    return DatabaseUsageHistory(database)


def spans(history, resolution=Resolution.MINUTE, chosen=ALL, since=BEGIN, until=END):
    found = history.series(chosen, since, until)
    sums = history.by_span(found, chosen, resolution, since, until)
    rows = as_uses(sums.amounts)
    return {
        key: row['core_ms'] for key, row in zip(sums.keys.tolist(), rows, strict=True)
    }, sums.asked.tolist()


def test_a_minute_counts_once(database, store, history):
    """Also by another engine, and with another amount: the first one counts."""
    assert store.add([used(BEGIN), used(BEGIN, series('s2'))]) == Counted(new=2)
    assert store.add([used(BEGIN, core_ms=64_000), used(BEGIN + 60)]) == Counted(new=1, again=1)
    other = DatabaseUsage(database)
    assert other.add([used(BEGIN), used(BEGIN, series('s3'))]) == Counted(new=1, again=1)
    found, asked = spans(history)
    assert found == {BEGIN: 3 * 29_952, BEGIN + 60: 29_952}
    assert asked == [[3 * 2 * 60, 3 * 512 * 60], [120, 512 * 60]]


def test_ten_minutes_are_rolled_up_when_they_are_over_and_only_once(store, history):
    for minute in range(11):
        store.add([used(BEGIN + 60 * minute, core_ms=100)])
    end = BEGIN + TEN_MINUTES
    assert store.roll(end + LATE - 1) == 0
    assert store.roll(end + LATE) == end
    assert store.roll(end + LATE) == 0
    assert spans(history, Resolution.TEN_MINUTES)[0] == {BEGIN: 1000}
    assert spans(history, Resolution.DAY)[0] == {BEGIN: 1000}
    late = store.add([used(BEGIN, series('s9')), used(end + 60, core_ms=100)])
    assert late == Counted(new=1, late=1)
    assert store.roll(end + TEN_MINUTES + LATE) == end + TEN_MINUTES
    assert spans(history, Resolution.DAY)[0] == {BEGIN: 1200}


def test_a_host_that_states_what_it_likes_spoils_no_sum_of_others(store, history):
    """Sums that would run over stay at the most there is: the rows they share with others can be read."""
    wild = series('wild', host='h9', project_id='blue', memory_mib=2**20)
    most = dict.fromkeys(AMOUNTS, LONGEST)
    for minute in range(DAY // 60):
        at = BEGIN + 60 * minute
        store.add([used(at, core_ms=1000), used(at, wild, **most)])
        store.roll(at)
    while store.roll(BEGIN + 2 * DAY):
        pass
    red = UsageFilter(project_id='red')
    assert spans(history, Resolution.DAY, red) == ({BEGIN: 1_440_000}, [[2 * DAY, 512 * DAY]])
    assert spans(history, Resolution.DAY) == ({BEGIN: MOST}, [[MOST, MOST]])
    minutes, asked = spans(history)
    assert set(minutes.values()) == {LONGEST + 1000}
    assert asked[0] == [2 * LONGEST + 120, MOST]


def test_rolling_up_skips_hours_without_use(store):
    store.add([used(BEGIN)])
    store.add([used(BEGIN + 36_000)])
    now = BEGIN + 2 * DAY
    assert store.roll(now) == BEGIN + 600
    assert store.roll(now) == BEGIN + 36_600
    assert store.roll(now) == 0


def test_what_is_old_goes_in_steps_and_no_minute_before_it_is_rolled_up(database, history):
    store = DatabaseUsage(database, Keeping(minutes=3600.0, ten_minutes=DAY, days=3 * DAY))
    for day in range(6):
        store.add([used(BEGIN + day * DAY, series(f's{day}'), core_ms=64)])
    now = BEGIN + 6 * DAY
    assert store.purge(now) == 0, 'nothing is rolled up: nothing may go'
    while store.roll(now):
        pass
    assert store.purge(now) > 0
    while store.purge(now):
        pass
    everything = {'since': BEGIN, 'until': BEGIN + 7 * DAY}
    assert spans(history, Resolution.MINUTE, since=BEGIN + DAY, until=now)[0] == {}
    assert list(spans(history, Resolution.DAY, **everything)[0]) == [
        BEGIN + day * DAY for day in (3, 4, 5)
    ]
    left = history.series(ALL, BEGIN, now + DAY)
    assert [one.series.server_id for one in left] == ['s1', 's2', 's3', 's4', 's5']


def test_a_clock_far_ahead_takes_nothing_away(store, history):
    """What is old is counted from the newest day with use."""
    store.add([used(BEGIN)])
    store.roll(BEGIN + DAY)
    assert store.purge(BEGIN + 10_000 * DAY) <= 1, 'minutes are kept for a day'
    assert spans(history, Resolution.TEN_MINUTES)[0] == {BEGIN: 29_952}


def test_series_are_chosen_and_paged(store, history):
    store.add(
        [
            used(BEGIN, series('s1')),
            used(BEGIN, series('s1', host='h2')),
            used(BEGIN, series('s2', project_id='blue')),
            used(BEGIN, series('s3', lease_id='l1')),
        ]
    )

    def servers(**chosen):
        found = history.series(UsageFilter(**chosen), BEGIN, END)
        return [(one.series.server_id, one.series.host) for one in found]

    assert servers(project_id='blue') == [('s2', 'h1')]
    assert servers(host='h2') == [('s1', 'h2')]
    assert servers(lease_id='l1') == [('s3', 'h1')]
    assert servers(windows={'s1': [(BEGIN, END)]}) == [('s1', 'h1'), ('s1', 'h2')]
    assert servers(windows={}) == []
    page = history.series(ALL, BEGIN, END, limit=3)
    assert len(page) == 3
    rest = history.series(ALL, BEGIN, END, after=page[-1].number)
    assert len(rest) == 1
    assert history.series(ALL, BEGIN - DAY, BEGIN) == []


def test_use_outside_of_windows_does_not_count(store, history):
    """As of a server on which several jobs ran one after the other."""
    for minute in range(10):
        store.add([used(BEGIN + 60 * minute, core_ms=64)])
    chosen = UsageFilter(windows={'s1': [(BEGIN + 120, BEGIN + 240), (BEGIN + 485, BEGIN + 490)]})
    found, _ = spans(history, chosen=chosen)
    assert list(found) == [BEGIN + 120, BEGIN + 180, BEGIN + 480]


def test_more_than_one_answer_takes_is_refused_before_it_is_read(store, history):
    store.add([used(BEGIN)])
    found = history.series(ALL, BEGIN, END)
    with pytest.raises(BadUsageQuery, match=f'{MOST_ROWS + 1} spans of 60 s of 1 servers'):
        history.by_span(found, ALL, Resolution.MINUTE, BEGIN, BEGIN + 60 * (MOST_ROWS + 1))


def test_engines_that_write_at_the_same_time_count_everything_once(database, history):
    """Four of them, each with its own servers and some that all have."""

    def write(name):
        store = DatabaseUsage(database)
        for minute in range(3):
            at = BEGIN + 60 * minute
            store.add([used(at, series(f'{name}{n}'), core_ms=64) for n in range(5)])
            store.add([used(at, series(f'x{n}'), core_ms=64) for n in range(5)])

    threads = [threading.Thread(target=write, args=(name,)) for name in 'abcd']
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    found, _ = spans(history)
    assert found == {BEGIN + 60 * minute: 25 * 64 for minute in range(3)}
