# SPDX-License-Identifier: Apache-2.0
"""What hosts have reported waits in a room of its own for each host: rules U1 and H31."""

from nova_market.core.usage.use import MinuteUse
from nova_market.core.usage.waiting import MOST_MINUTES, SPARE, WaitingReports
from tests.support.usage_builders import DAY_BEGIN, use

LATER = DAY_BEGIN + 86400.0
SETTLED, EARLY = 20.0, 120.0


def report(minute, *servers):
    return MinuteUse(at=DAY_BEGIN + 60 * minute, servers={server: use() for server in servers})


def due(waiting, wall=LATER):
    return [
        (host, (one.at - DAY_BEGIN) // 60, list(one.servers))
        for host, one in waiting.due(wall, SETTLED, EARLY)
    ]


def test_a_host_that_floods_costs_one_room_and_nobody_else_anything():
    waiting = WaitingReports()
    waiting.take('b', report(0, 's2'), ['s2'])
    for minute in range(500):
        waiting.take('a', report(minute, 's1'), ['s1'])
    found = due(waiting)
    assert ('b', 0, ['s2']) in found and len(found) == 1 + MOST_MINUTES
    assert min(minute for host, minute, _ in found if host == 'a') == 500 - MOST_MINUTES
    assert waiting.dropped == 500 - MOST_MINUTES


def test_a_report_has_the_servers_that_the_market_knows_and_some_more():
    waiting = WaitingReports()
    names = [f'invented{number}' for number in range(10_000)]
    waiting.take('a', report(0, *names, 's1'), ['s1', 'elsewhere'])
    assert due(waiting) == [('a', 0, ['s1', *names[:SPARE]])]
    assert waiting.dropped == 10_000 - SPARE


def test_of_two_reports_of_a_minute_the_first_counts():
    """Also when the first one has gone already."""
    waiting = WaitingReports()
    waiting.take('a', report(0, 's1'), ['s1'])
    waiting.take('a', report(0, 's1', 's2'), ['s1'])
    assert due(waiting) == [('a', 0, ['s1'])]
    waiting.take('a', report(0, 's1'), ['s1'])
    assert due(waiting) == [] and waiting.dropped == 3


def test_what_is_not_over_waits_and_what_is_far_ahead_is_dropped():
    waiting = WaitingReports()
    for minute in range(5):
        waiting.take('a', report(minute, 's1'), ['s1'])
    assert due(waiting, DAY_BEGIN + 60.0 + SETTLED) == [('a', 0, ['s1'])]
    assert waiting.dropped == 1, 'the fifth minute'
    assert [minute for _, minute, _ in due(waiting)] == [1, 2, 3]


def test_a_host_that_is_gone_is_forgotten_when_nothing_of_it_waits():
    waiting = WaitingReports()
    waiting.take('a', report(0, 's1'), ['s1'])
    waiting.forget({})
    assert len(due(waiting)) == 1
    waiting.forget({})
    waiting.take('a', report(0, 's1'), ['s1'])
    assert len(due(waiting)) == 1, 'it has a new room'
