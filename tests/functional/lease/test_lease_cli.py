# SPDX-License-Identifier: Apache-2.0
"""Leases by SDK and commands against the real API over HTTP."""

import json

import pytest

from nova_market.core.ledger.posting import MINT, Posting, Reason
from nova_market.core.timestamp import stamp
from tests.support.job_bed import host
from tests.support.lease_bed import publish_hosts
from tests.support.lease_records import HOUR
from tests.support.market.api_server import ALICE, BOB, market_service
from tests.support.market.shell import connect, run, shown

pytestmark = pytest.mark.functional

__all__ = ['connect', 'market_service', 'run']


@pytest.fixture
def now(market_service):
    """The time; there are three hosts, and Alice has credits."""
    market = market_service.market
    publish_hosts(market.stores.states, market.wall(), [host(name) for name in 'abc'])
    credit = market_service.project('alice')
    market.stores.ledger.post(
        [Posting(key='g', reason=Reason.GRANT, debit=MINT, credit=credit, amount=10**9)]
    )
    return market.wall()


def at(now, hours):
    return stamp(now + hours * HOUR)


def book(run, *words):
    return shown(run, 'alice', 'lease', 'create', *words)


def test_the_sdk_has_leases(now, connect):
    """Booked once by one key, read, changed, listed, given, deleted, replanned."""
    market = connect('alice').market
    asked = {'cores': 2, 'duration': HOUR, 'earliest': at(now, 2)}
    one = market.create_lease(key='k', **asked)
    assert market.create_lease(key='k', **asked).id == one.id == market.get_lease(one.id).id
    assert market.update_lease(one.id, name='n').name == 'n'
    assert [found.name for found in market.leases(host='a')] == ['n']
    assert [found.action for found in market.lease_events(one.id)] == ['changed', 'booked']
    assert [found['host'] for found in market.lease_calendar().hosts] == ['a', 'b', 'c']
    done = connect('root').market.replan_leases(dry_run=True)
    assert (done.written, done.moves, done.leases) == (False, [], 0)
    assert connect('root').market.give_lease(one.id, BOB).project_id == BOB
    assert connect('bob').market.delete_lease(one.id).state == 'ended'


def test_a_lease_from_booking_to_its_end(now, run):
    """By commands: a window, a whole host, what is shown."""
    words = ('--whole', '--for', '2h', '--window', at(now, 2), at(now, 9), '--name', 'n')
    one = book(run, *words, '--purpose', 'figures', '--flexible')
    assert (one['state'], one['cost'], one['flexible']) == ('planned', 8_000_000, True)
    (line,) = shown(run, 'alice', 'lease', 'list', '--state', 'planned', '--host', 'a')
    assert line['ID'] == one['id'] == shown(run, 'alice', 'lease', 'show', one['id'])['id']
    changed = shown(run, 'alice', 'lease', 'set', '--fixed', '--name', 'm', one['id'])
    assert (changed['flexible'], changed['name']) == (False, 'm')
    given = shown(run, 'root', 'lease', 'give', one['id'], BOB)
    assert given['project_id'] == BOB
    over = shown(run, 'bob', 'lease', 'delete', one['id'])
    assert (over['state'], over['refunded']) == ('ended', 8_000_000)
    events = shown(run, 'bob', 'lease', 'events', one['id'])
    assert [row['Action'] for row in events] == ['deleted', 'given', 'changed', 'booked']


def test_limits_are_shown(now, run):
    """What there is of how much, in units that people use; as JSON in seconds."""
    book(run, '--cores', '2', '--for', '3h', '--start', at(now, 1))
    status, out, _ = run('alice', 'limits', 'show')
    assert status == 0
    for text in (
        'core_hours: 6, no limit',
        'cloud_core_hours: no limit',
        'leases: 1 of 100',
        'max_notice: 10m',
        'longest: 30d',
        'free: false',
    ):
        assert text in out
    found = shown(run, 'root', 'limits', 'show', '--project', ALICE)
    assert found['jobs']['max_notice'] == 600 and found['leases']['core_hours']['used'] == 6


def test_a_lease_is_named_by_its_name(now, run):
    """While it goes on; two of one name are refused with their ids, and one that ended is shown still."""
    words = (
        'lease',
        'create',
        '--name',
        'build',
        '--cores',
        '1',
        '--memory',
        '128M',
        '--for',
        '1h',
    )
    first, other = (shown(run, 'alice', *words)['id'] for _ in range(2))
    status, _, err = run('alice', 'lease', 'delete', 'build')
    assert status == 1 and '2 leases are named build: give the id of one: ' in err
    assert first in err and other in err
    shown(run, 'alice', 'lease', 'delete', first)
    assert shown(run, 'alice', 'lease', 'show', 'build')['id'] == other
    assert shown(run, 'alice', 'lease', 'delete', 'build')['id'] == other
    assert shown(run, 'alice', 'lease', 'events', 'build')[0]
    status, _, err = run('alice', 'lease', 'show', 'bu1ld')
    assert status == 1 and 'no lease is named bu1ld: "openstack market lease list" shows' in err


def test_memory_is_typed_with_its_unit(now, run):
    """As for jobs and bids; a bare number is MiB."""
    assert run('alice', 'lease', 'create', '--cores', '1', '--memory', '1G', '--for', '1h')[0] == 0
    (line,) = shown(run, 'alice', 'lease', 'list')
    assert shown(run, 'alice', 'lease', 'show', line['ID'])['nodes'][0]['memory_mib'] == 1024
    status, _, err = run(
        'alice', 'lease', 'create', '--cores', '1', '--memory', '1x', '--for', '1h'
    )
    assert status == 2 and "'1x': give memory with its unit, such as 512M or 4G" in err


def test_a_refusal_has_the_option_and_the_units_that_were_typed(now, run):
    """And the value, of times that are past too."""
    for words, expected in (
        (('--for', '900d'), '--for: 900d is too long: give at most '),
        (
            ('--for', '1h', '--start', '2020-01-01'),
            '--start: 2020-01-01T00:00:00Z is past: give a time after',
        ),
    ):
        status, _, err = run('alice', 'lease', 'create', '--cores', '1', '--memory', '128', *words)
        assert status == 1 and expected in err
        assert '(market.lease' in err and '864' not in err


def test_a_refusal_is_shown_with_what_is_near(now, run):
    """Each fault and each option is a line on standard error."""
    book(run, '--host', 'a', '--cores', '3', '--start', at(now, 2), '--for', '1h')
    words = ('--host', 'a', '--host', 'b', '--cores', '2', '--start', at(now, 2), '--for', '1h')
    status, _, err = run('alice', 'lease', 'create', *words)
    assert status != 0 and 'market.lease.refused' in err and 'at most 1 are free on host a' in err
    assert 'instead (other hosts): b, c from' in err and 'for 4 credits' in err
    assert 'instead (fewer nodes): b' in err and 'instead (later): a, b' in err


def test_the_calendar_in_the_terminal_and_as_a_plot(now, run, tmp_path):
    """A character for each hour; a panel for each host."""
    book(run, '--host', 'a', '--cores', '1', '--start', at(now, 1), '--for', '2h')
    book(run, '--host', 'b', '--whole', '--start', at(now, 2), '--for', '1h')
    path = tmp_path / 'day.svg'
    words = ('calendar', '--since', at(now, 0), '--plot', str(path))
    rows = shown(run, 'alice', 'lease', *words)
    (title,) = [name for name in rows[0] if name.endswith('1 h each')]
    assert [row[title] for row in rows] == [
        '.22' + 21 * '.', '..#' + 21 * '.', 24 * '.',
    ]  # fmt: skip
    assert [row['Leases'] for row in rows] == [1, 1, 0]
    assert path.read_text().count('booked') == 3 and '>a<' in path.read_text()
    week = shown(run, 'alice', 'lease', 'calendar', '--view', 'week', '--host', 'b')
    assert len(week) == 1 and any(len(str(value)) == 28 for value in week[0].values())
    status, _, err = run('alice', 'lease', 'calendar', '--plot', 'day.png')
    assert status != 0 and '.svg' in err


def test_a_replan_says_what_it_saves(now, run):
    """One row for each lease that moves; only for operators."""
    words = ('--for', '1h', '--start', at(now, 3))
    first = book(run, '--host', 'a', '--cores', '4', *words)
    second = book(run, '--cores', '2', '--flexible', *words)
    book(run, '--host', 'c', '--cores', '1', *words)
    shown(run, 'alice', 'lease', 'delete', first['id'])
    status, out, err = run(
        'root', 'lease', 'replan', '--dry-run', '--algorithm', 'exact', '-f', 'json'
    )
    (row,) = json.loads(out)
    assert status == 0 and row['Lease'] == second['id'] and row['New']['hosts'] == ['c']
    assert '1 of 1 leases would move by exact for power' in err and 'kWh' in err
    status, _, err = run('alice', 'lease', 'replan')
    assert status != 0 and 'market.policy.forbidden' in err
    status, _, err = run('alice', 'lease', 'set', second['id'])
    assert status != 0 and 'nothing to change' in err
