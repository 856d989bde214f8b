# SPDX-License-Identifier: Apache-2.0
"""What hosts are sent of a round, which confirmations are new, and which rounds count."""

from dataclasses import replace

import pytest

from nova_market.core.ledger.posting import account
from nova_market.core.market.delivery import (
    delivery,
    ended_at,
    may_be_late,
    newly_confirmed,
    valid_until,
    was_carried_out,
)
from nova_market.core.market.enforced import Confirmed
from nova_market.core.market.record import AllocationRecord, RoundRecord, RoundState

HOSTS = [
    {'name': 'a', 'answering': True},
    {'name': 'b', 'answering': False},
    {'name': 'c', 'answering': True},
]
RECORD = RoundRecord(period=5, leader='x', started_at=0.0, document={'hosts': HOSTS})


def allocated(name, host, owner='red', *, confirmed=False):
    return AllocationRecord(
        period=5, server_id=name, project_id=owner, host=host, ideal_cpu=2.0, actual_cpu=2.0,
        ideal_memory_mib=100.0, actual_memory_mib=100.0, error=0.0, charge_cpu=1, charge_memory=1,
        confirmed=confirmed,
    )  # fmt: skip


def test_each_host_gets_its_servers():
    """Also one that does not answer, whose confirmations are not waited for; an empty one gets nothing."""
    found = delivery(RECORD, [allocated('1', 'a'), allocated('2', 'b')], {})
    sent = {host: [(a.server_id, a.cores) for a in all_] for host, all_ in found.by_host.items()}
    assert sent == {'a': [('1', 2.0)], 'b': [('2', 2.0)], 'c': []}
    assert found.wanted == {'1': 'a'}


def test_a_halted_server_is_sent_as_one_that_gets_nothing():
    """F6: to hosts that take part; its confirmation is not waited for."""
    document = {'hosts': HOSTS, 'halted': {'a': ['9'], 'b': ['8'], '': ['7']}}
    found = delivery(replace(RECORD, document=document), [allocated('1', 'a')], {})
    sent = {
        host: [(one.server_id, one.cores, one.memory_mib > 0) for one in given]
        for host, given in found.by_host.items()
    }
    assert sent == {'a': [('1', 2.0, True), ('9', 0.0, False)], 'c': []}
    assert found.wanted == {'1': 'a'}


def test_who_has_moved_credits_away_gets_the_part_that_was_held():
    """A quarter of both resources; other payers get all of theirs."""
    both = [allocated('1', 'a'), allocated('2', 'a', 'blue')]
    found = delivery(RECORD, both, {account('project', 'red'): 0.25})
    assert [(a.cores, a.memory_mib) for a in found.by_host['a']] == [(0.5, 25.0), (2.0, 100.0)]


def test_allocations_are_valid_for_three_periods_more():
    """Period 5 of 60 s ends at 360 s."""
    assert valid_until(5, 60.0) == 540.0


def test_a_server_that_has_left_its_host_is_not_confirmed():
    """Nor one that nobody waits for, nor one that is confirmed already."""
    hosts = {'1': 'a', '2': 'other', '3': 'a', '4': 'a'}
    reported = {server: Confirmed(host=name, since=300.0) for server, name in hosts.items()}
    found = newly_confirmed(reported, {'1': 'a', '2': 'a', '4': 'a'}, {'4'}, 360.0)
    assert found == {'1': reported['1']}


def test_what_was_in_force_in_its_period_counts_whenever_that_is_known():
    """F2: period 5 of 60 s ends at 360 s."""
    reported = {
        name: Confirmed(host='a', since=since)
        for name, since in {'1': 300.0, '2': 359.0, '3': 360.0, '4': 400.0}.items()
    }
    found = newly_confirmed(reported, dict.fromkeys('1234', 'a'), set(), ended_at(5, 60.0))
    assert set(found) == {'1', '2'}
    assert [now for now in range(5, 12) if may_be_late(5, now)] == [5, 6, 7, 8]


def test_late_confirmations_are_waited_for_where_a_host_has_confirmed_before():
    """F2: a host on which nothing confirms does not keep the credits of its payers."""
    document = {'hosts': [{**one, 'stated': one['name'] != 'c'} for one in HOSTS]}
    found = delivery(
        replace(RECORD, document=document), [allocated('1', 'a'), allocated('3', 'c')], {}
    )
    assert found.wanted == {'1': 'a', '3': 'c'} and found.stated == {'a', 'b'}
    assert delivery(RECORD, [allocated('1', 'a')], {}).stated == set(), 'of the version before'


@pytest.mark.parametrize(
    ('state', 'sent', 'confirmed', 'counts'),
    [
        (RoundState.PLANNED, False, False, False),
        (RoundState.PLANNED, False, True, True),
        (RoundState.PLANNED, True, False, True),
        (RoundState.APPLIED, False, False, True),
    ],
)
def test_a_round_counts_when_hosts_had_the_chance(state, sent, confirmed, counts):
    """F1: one that was stored only is undone."""
    of = [allocated('1', 'a', confirmed=confirmed)]
    assert was_carried_out(state, of, sent=sent) is counts
