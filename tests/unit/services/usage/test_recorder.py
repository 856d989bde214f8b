# SPDX-License-Identifier: Apache-2.0
"""U1: what hosts report reaches the history, also when the database is away; nothing waits without end."""

import logging

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.core.market.inventory import CloudServer
from nova_market.core.usage import waiting as module
from nova_market.core.usage.history import Counted
from nova_market.core.usage.resolution import DAY, LATE
from nova_market.core.usage.use import MinuteUse
from nova_market.core.usage.waiting import SPARE
from nova_market.errors import DatabaseUnavailable
from nova_market.services.usage.recorder import EARLY, SETTLED, UsageRecorder
from tests.support.usage_builders import DAY_BEGIN, use


class Store:
    """Remembers what is counted; away: the database does not answer."""

    def __init__(self):
        self.rows, self.away, self.rolled = {}, False, 0

    def add(self, used):
        if self.away:
            raise DatabaseUnavailable('it is being restarted')
        new = [one for one in used if (one.at, one.series) not in self.rows]
        self.rows |= {(one.at, one.series): one for one in new}
        return Counted(new=len(new), again=len(used) - len(new))

    def roll(self, now):
        self.rolled += 1
        return 0

    def purge(self, now):
        return 0

    @property
    def found(self):
        return sorted((at - DAY_BEGIN, s.server_id, s.host) for at, s in self.rows)


class Desk:
    def __init__(self):
        self.clock = ManualClock(wall=DAY_BEGIN + 60.0)
        self.store, self.leading = Store(), True
        self.recorder = UsageRecorder(self.store, self.clock, lambda: self.leading)
        self.place(s1='h1', s2='h1')

    def place(self, lease='l1', **hosts):
        self.recorder.know(
            CloudServer(
                id=server, project_id='red', host=host, vcpus=2, memory_mib=512,
                metadata={'market:lease': lease} if server == 's2' else {},
            )
            for server, host in hosts.items()
        )  # fmt: skip

    def report(self, host, minute=0, *servers):
        uses = {server: use() for server in servers or ('s1', 's2')}
        self.recorder.take(host, MinuteUse(at=DAY_BEGIN + 60 * minute, servers=uses))

    def turn(self, seconds=0.0):
        self.clock.advance(seconds)
        self.recorder.turn()


@pytest.fixture
def desk():
    return Desk()


def test_a_minute_is_written_when_hosts_had_time_to_report_it(desk):
    desk.report('h1')
    desk.turn()
    assert desk.store.found == []
    desk.turn(SETTLED)
    assert desk.store.found == [(0, 's1', 'h1'), (0, 's2', 'h1')]
    assert {s.server_id: s.lease_id for _, s in desk.store.rows} == {'s1': '', 's2': 'l1'}
    assert desk.store.rolled


def test_a_server_that_names_another_lease_each_minute_makes_few_series(desk):
    """Its owner writes what it names, and each series is kept for years; the next day it may name others."""
    for minute in range(30):
        desk.place(s2='h1', lease=f'l{minute}')
        desk.report('h1', minute, 's2')
        desk.turn(60)
    assert len(desk.store.found) == 30
    assert {one.lease_id for _, one in desk.store.rows} == {'', *(f'l{n}' for n in range(7))}
    desk.clock.advance(DAY)
    desk.place(s2='h1', lease='next')
    desk.report('h1', DAY // 60 + 30, 's2')
    desk.turn(120)
    assert 'next' in {one.lease_id for _, one in desk.store.rows}


def test_who_stands_by_writes_what_it_has_and_rolls_up_nothing(desk):
    desk.leading = False
    desk.report('h1')
    desk.turn(SETTLED)
    assert len(desk.store.found) == 2
    assert desk.store.rolled == 0


def test_a_server_counts_only_where_the_market_knows_it(desk, caplog):
    """A host cannot report for servers of others; one that was just moved counts where it was."""
    desk.place(s1='h2', s2='h1')
    desk.report('h1', 0, 's1')
    desk.report('h3', 0, 's1', 's2')
    desk.turn(SETTLED)
    assert desk.store.found == [(0, 's1', 'h1')]
    desk.turn(LATE + 60)
    assert '2 minutes of servers were dropped' in caplog.text


def test_a_server_that_the_market_does_not_know_yet_waits(desk):
    desk.report('h1', 0, 's9')
    desk.turn(SETTLED)
    desk.place(s9='h1')
    desk.turn(30)
    assert desk.store.found == [(0, 's9', 'h1')]


def test_a_database_that_is_away_is_logged_once_and_all_is_written_later(desk, caplog):
    caplog.set_level(logging.INFO)
    desk.store.away = True
    for minute in range(5):
        desk.report('h1', minute)
        desk.turn(60)
    assert len([r for r in caplog.records if r.levelno == logging.WARNING]) == 1
    desk.store.away = False
    desk.turn(60)
    assert len(desk.store.found) == 10
    assert 'usage history is written again' in caplog.text


def test_what_waits_too_long_is_dropped_oldest_first_and_said_once(desk, caplog, monkeypatch):
    monkeypatch.setattr(module, 'MOST_MINUTES', 3)
    desk.store.away = True
    for minute in range(5):
        desk.report('h1', minute)
        desk.turn(60)
    desk.store.away = False
    desk.turn(60)
    assert [at for at, _, _ in desk.store.found] == [120, 120, 180, 180, 240, 240]
    (line,) = [r.getMessage() for r in caplog.records if 'dropped' in r.getMessage()]
    assert '4 minutes of servers' in line
    desk.turn(60)
    assert caplog.text.count('dropped') == 1


def test_what_one_host_sends_pushes_out_nothing_of_another(desk, caplog):
    """26 messages of one host, of 10,000 servers that it does not have, lost the minutes of everybody."""
    desk.place(s1='h1', s2='h1', s3='h2')
    desk.report('h1')
    desk.report('h2', 0, 's3')
    names = [f'invented{number}' for number in range(10_000)]
    for minute in range(30):
        desk.report('h2', -minute, *names)
    desk.turn(SETTLED)
    assert desk.store.found == [(0, 's1', 'h1'), (0, 's2', 'h1'), (0, 's3', 'h2')]


def test_a_host_has_room_for_its_servers_and_some_more(desk):
    """Those that the market does not know yet wait, but not without end; its own are never left out."""
    names = [f'new{number:05}' for number in range(SPARE + 50)]
    desk.report('h1', 0, *names, 's1', 's2')
    desk.place(**dict.fromkeys(names, 'h1'), s1='h1', s2='h1')
    desk.turn(SETTLED)
    assert len(desk.store.found) == SPARE + 2
    assert {'s1', 's2'} <= {server for _, server, _ in desk.store.found}


def test_of_several_reports_of_one_minute_the_first_counts(desk):
    """Also when it has been written already: the others cost no question to the database."""
    asked = []
    add = desk.store.add
    desk.store.add = lambda rows: asked.append(len(rows)) or add(rows)
    for _ in range(5):
        desk.report('h1')
        desk.turn(SETTLED)
    assert asked == [2]


def test_minutes_of_a_clock_that_is_ahead_are_dropped(desk, caplog):
    desk.report('h1', 2 + (EARLY // 60), 's1')
    desk.turn()
    desk.turn()
    assert '1 minutes of servers were dropped' in caplog.text


@pytest.mark.usefixtures('defects')
def test_a_defect_of_the_store_ends_nothing(desk, caplog):
    desk.store.add = None
    desk.report('h1')
    desk.turn(SETTLED)
    assert 'use of server s1 is set aside (write)' in caplog.text
    del desk.store.add
    desk.turn()
    assert len(desk.store.found) == 2


def test_its_thread_ends(desk):
    desk.recorder.start()
    desk.recorder.stop()
