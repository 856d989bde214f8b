# SPDX-License-Identifier: Apache-2.0
"""What the tests under a real Nova decide without one: what is removed, how long is waited, what is shown."""

from pathlib import Path

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from tests.integration.cloud.leftovers import CloudSnapshot, removals
from tests.integration.cloud.service_logs import LINES, MOST_BYTES, ServiceLogs
from tests.integration.cloud.waiting import printers, until


@pytest.fixture
def printed():
    """Lines of progress."""
    lines = []
    printers.append(lines.append)
    yield lines
    printers.pop()


def test_of_a_clean_cloud_nothing_is_removed():
    """As `tools/cloud up` makes it: hosts that take servers, the port of DHCP, the gate of the market API."""
    found = CloudSnapshot(
        hosts={'n1': True, 'n2': True}, ports={'p1': 'network:dhcp', 'p2': 'nova-market:gate'}
    )
    assert removals(found) == []


def test_what_a_killed_run_has_left_is_removed_in_this_order():
    """An aggregate first loses its hosts; ids of a kind in order."""
    found = CloudSnapshot(
        hosts={'n1': True, 'n2': False},
        aggregates={'7': ['h1', 'h2']},
        claims={'c2', 'c1'},
        guests=[('h1', 'instance-1')],
        marked={'h1'},
        ports={'p1': 'network:dhcp', 'p3': '', 'p2': 'compute:nova'},
        trusts=['t1'],
    )
    assert [' '.join(one) for one in removals(found)] == [
        'enable n2',
        'leave 7 h1',
        'leave 7 h2',
        'delete_aggregate 7',
        'delete_guest h1 instance-1',
        'delete_claim c1',
        'delete_claim c2',
        'unmark h1',
        'delete_port p2',
        'delete_port p3',
        'delete_trust t1',
    ]


def test_waiting_ends_when_the_condition_holds(printed):
    """Who waits for longer than half a minute prints the line of the test, once in half a minute."""
    clock = ManualClock()
    since = clock.monotonic()
    passed = until(
        lambda: clock.monotonic() - since >= 70.0, monotonic=clock.monotonic, sleep=clock.advance
    )
    assert passed == pytest.approx(70.0, abs=0.3)
    assert [line.partition(',')[0] for line in printed] == ['waits for 30 s', 'waits for 60 s']
    assert all('test_cloud_tests.py' in line and 'until(' in line for line in printed)


def test_what_never_comes_true_fails_after_the_limit(printed):
    clock = ManualClock()
    since = clock.monotonic()
    with pytest.raises(AssertionError, match=r'not within 40 s: test_cloud_tests.py:\d+: until\('):
        until(lambda: False, 40.0, monotonic=clock.monotonic, sleep=clock.advance)
    assert clock.monotonic() - since == pytest.approx(40.0, abs=0.3)
    assert len(printed) == 1


def test_logs_show_what_came_since_the_test_began(tmp_path: Path):
    """Of logs that have grown, are new, or began again; no more than so many lines."""
    (tmp_path / 'below').mkdir()
    quiet, grown, again = (tmp_path / name for name in ('quiet.log', 'grown.log', 'again.log'))
    for one in (quiet, grown, again):
        one.write_text('of another test\n' * 3)
    logs = ServiceLogs([tmp_path])
    logs.begin()
    with grown.open('a') as stream:
        stream.write(''.join(f'line {n}\n' for n in range(LINES + 5)))
    again.write_text('begins again\n')
    (tmp_path / 'below' / 'new.log').write_text('x' * MOST_BYTES + '\nnew\n')
    shown = logs.tails()
    assert 'of another test' not in shown
    assert str(quiet) not in shown
    assert f'line {LINES + 4}' in shown and 'line 4\n' not in shown
    assert f'--- {again}\nbegins again' in shown
    assert '\nnew' in shown
