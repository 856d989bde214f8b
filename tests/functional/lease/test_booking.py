# SPDX-License-Identifier: Apache-2.0
"""L1, L2, L6: leases are booked, refused with what could be had, changed, deleted, given."""

import threading
from dataclasses import replace

import pytest

from nova_market.core.lease.billing import LeasePrices
from nova_market.core.lease.limit import LeaseLimits
from nova_market.core.lease.record import LeaseState
from nova_market.core.market.inventory import CloudServer
from nova_market.core.timestamp import stamp
from nova_market.db.leases import some_leases
from nova_market.errors import (
    BadLease,
    BalanceTooLow,
    KeyReused,
    LeaseLimitReached,
    LeaseOver,
    LeaseRefused,
    LeasesOff,
    TooManyLeases,
)
from nova_market.services.lease.booking import Refused
from tests.support.lease_bed import CREDITS, LeaseBed
from tests.support.lease_records import HOUR, NOW
from tests.support.lease_settings import SETTINGS

pytestmark = pytest.mark.functional


def hosts_of(lease):
    return [node.host for node in lease.nodes]


def test_a_lease_is_booked_and_its_price_is_held(bed):
    """Two nodes of two cores for an hour at a credit for a core-hour."""
    one = bed.book(nodes=2, name='test', purpose='figures')
    assert (one.state, len(set(hosts_of(one)))) == (LeaseState.PLANNED, 2)
    assert (one.start, one.end) == (bed.clock.wall() + 2 * HOUR, bed.clock.wall() + 3 * HOUR)
    assert (one.algorithm, one.objective) == ('greedy_consistent', 'power')
    assert bed.balance('escrow') == 4 and bed.balance('red') == CREDITS - 4
    assert bed.read(one) == one and bed.actions(one) == ['booked']


def test_leases_are_put_together(bed):
    """For power: the second one on the host of the first, the third where there is room."""
    first, second, third = (bed.book() for _ in range(3))
    assert hosts_of(first) == hosts_of(second) != hosts_of(third)


def test_the_same_key_books_once(bed):
    assert bed.book(key='k').id == bed.book(key='k').id != bed.book('blue', key='k').id
    assert bed.balance('red') == CREDITS - 2


def test_a_key_is_of_one_lease(bed):
    """Not of one that is asked for otherwise, is over, or was purged: for that nothing would be held."""
    one = bed.book(key='k')
    with pytest.raises(KeyReused):
        bed.book(key='k', nodes=2)
    bed.run(4 * HOUR, HOUR / 4)
    assert bed.read(one).over
    with pytest.raises(KeyReused):
        bed.book(key='k')
    bed.database.write(some_leases, bed.clock.wall() + 1, 10)
    with pytest.raises(KeyReused):
        bed.book(key='k')
    assert bed.leases.lease(one.id) is None and bed.balance('escrow') == 0


def test_a_whole_host_is_nobody_elses(bed):
    """Of the three hosts one has a server: two can be had whole, and cost what they have."""
    bed.cloud.put_server(
        CloudServer(
            id='s', project_id='p', host='a', vcpus=1, memory_mib=512,
            counted={'VCPU': 1.0, 'MEMORY_MB': 512.0},
        )
    )  # fmt: skip
    bed.run()
    one = bed.book(whole=True, nodes=2)
    assert sorted(hosts_of(one)) == ['b', 'c'] and one.cost == 8_000_000
    with pytest.raises(Refused, match='a whole host is wanted') as caught:
        bed.book(whole=True)
    assert [fault.requirement for fault in caught.value.faults] == ['whole']
    (later,) = caught.value.options
    assert later.start == one.end and later.cost == 4_000_000


def test_a_manual_request_is_refused_with_the_host_and_what_is_near(bed):
    """Figure 7: other hosts, later, fewer nodes; nothing was booked or charged."""
    bed.book(hosts=['a'], cores=3)
    before = bed.balance('red')
    with pytest.raises(Refused, match='at most 1 are free on host a') as caught:
        bed.book(hosts=['a', 'b'])
    (fault,) = caught.value.faults
    assert (fault.host, fault.requirement, fault.free) == ('a', 'cores', 1.0)
    options = {str(one.change): one for one in caught.value.options}
    assert sorted(options) == ['fewer_nodes', 'later', 'other_hosts']
    assert options['other_hosts'].hosts == ('b', 'c')
    assert options['later'].start == bed.clock.wall() + 3 * HOUR
    assert bed.balance('red') == before and len(bed.leases.calendar()[1]) == 1


def test_a_window_finds_the_first_hole(bed):
    """All hosts are taken for an hour from two o'clock on."""
    bed.book(whole=True, nodes=3)
    now = bed.clock.wall()
    one = bed.book(whole=True, finish=stamp(now + 9 * HOUR))
    assert one.start == now + 3 * HOUR


def test_disabled_and_silent_hosts_are_not_leased(bed):
    bed.change_host('a', enabled=False)
    bed.change_host('b', answering=False)
    bed.run()
    assert hosts_of(bed.book(whole=True)) == ['c']
    with pytest.raises(Refused):
        bed.book(hosts=['a'])


def test_what_is_not_known_is_not_booked(fast):
    """No service has read the hosts; or that is long ago."""
    bed = LeaseBed(fast)
    with pytest.raises(LeaseRefused, match='not read the hosts yet'):
        bed.book()
    bed.run()
    bed.clock.advance(SETTINGS.view_age + 1)
    with pytest.raises(LeaseRefused, match='s ago'):
        bed.book()


def test_nonsense_is_refused_with_what_is_allowed(bed):
    now = bed.clock.wall()
    for body, match in (
        ({'earliest': 'x'}, 'earliest: time'),
        (
            {'earliest': stamp(now - HOUR)},
            f'earliest: {stamp(now - HOUR)} is past: give a time after',
        ),
        ({'duration': 1e9}, r'duration: 1000000000 \(11574d1h46m40s\) is too long: give at most'),
        ({'finish': stamp(now + 2 * HOUR + 60)}, 'shorter than the duration'),
        ({'finish': stamp(now + 1e9)}, 'too far away'),
        ({'hosts': ['a', 'a']}, 'each of them once'),
        ({'hosts': ['x']}, 'no host x'),
        ({'hosts': ['a'], 'nodes': 2}, 'hosts or nodes'),
        ({'utilisation': 2}, 'utilisation'),
    ):
        with pytest.raises(BadLease, match=match):
            bed.book(**body)
    assert bed.leases.calendar()[1] == []


def test_who_cannot_pay_gets_nothing(bed):
    with pytest.raises(BalanceTooLow):
        bed.book(whole=True, nodes=3, duration=100 * HOUR)
    assert bed.leases.calendar() == (0, [])


def test_a_project_has_at_most_so_many(fast):
    bed = LeaseBed(fast, settings=replace(SETTINGS, limits=LeaseLimits(leases=1)))
    bed.run()
    bed.book()
    with pytest.raises(TooManyLeases):
        bed.book()
    bed.book('blue')


def test_what_costs_nothing_is_off_until_there_is_a_limit(fast):
    """As everything is in the default configuration: one call would have the whole cloud."""
    free = LeaseBed(fast, settings=replace(SETTINGS, prices=LeasePrices()))
    free.run()
    with pytest.raises(
        LeasesOff, match=r'a limit \(\[leases\]max_core_hours, or max_part below 1\)'
    ):
        free.book(whole=True, nodes=3, duration=30 * 24 * HOUR)
    with pytest.raises(LeasesOff):
        free.book(nodes=99)  # more than there are, which is not looked at
    assert free.leases.calendar() == (0, [])
    limits = LeaseLimits(core_seconds=4 * HOUR)
    bounded = LeaseBed(fast, settings=replace(free.settings, limits=limits))
    assert bounded.book(whole=True).cost == 0
    with pytest.raises(LeaseLimitReached, match='takes 2 core-hours, the project has 4 ahead'):
        bounded.book()
    paid = LeaseBed(fast, settings=replace(SETTINGS, prices=LeasePrices(core_hour=1)))
    with pytest.raises(LeasesOff):
        paid.book(cores=0, memory_mib=8192)  # memory has no price


def test_all_of_the_memory_is_all_of_the_cloud(fast):
    """Of three hosts of four cores and 8 GiB, half may be one project's at once."""
    bed = LeaseBed(fast, settings=replace(SETTINGS, limits=LeaseLimits(part=0.5)))
    bed.run()
    bed.book(cores=0.1, memory_mib=8192)
    with pytest.raises(LeaseLimitReached, match='takes 4 cores, the project has up to 4 meanwhile'):
        bed.book(cores=0.1, memory_mib=8192)
    bed.book(cores=0.1, memory_mib=4096)
    bed.book('blue', cores=0.1, memory_mib=8192)
    bed.book(cores=0.1, memory_mib=8192, after=9 * HOUR)


def test_many_who_book_at_once_get_each_room_once(bed):
    """Ten threads, three hosts."""
    together, ends = threading.Barrier(10), []

    def client():
        together.wait()
        try:
            ends.append(hosts_of(bed.book(whole=True))[0])
        except Refused:
            ends.append('refused')

    threads = [threading.Thread(target=client) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(ends) == ['a', 'b', 'c', *['refused'] * 7]


def test_deleted_early_a_part_comes_back(bed):
    """All of it minutes after it was booked; nine tenths later, also of one that begins in a month."""
    requests = bed.requests()
    begun = bed.book(duration=2 * HOUR)
    far, soon, mistake = bed.book(after=720 * HOUR), bed.book(), bed.book()
    assert requests.delete(mistake).refunded == mistake.cost
    bed.run(bed.settings.life.full_refund_within + 300.0, 60.0)
    assert requests.delete(far).refunded == 0.9 * far.cost
    assert requests.delete(soon).refunded == 0.9 * soon.cost
    bed.run(3 * HOUR - 600.0, HOUR / 4)
    over = requests.delete(bed.read(begun))
    assert (over.state, over.charged + over.refunded) == (LeaseState.ENDED, begun.cost)
    assert over.refunded == pytest.approx(0.9 * begun.cost / 2)
    assert bed.balance('escrow') == 0 and bed.ledger.discrepancies() == []
    with pytest.raises(LeaseOver):
        requests.delete(over)


def test_the_room_of_a_deleted_lease_is_free(bed):
    one = bed.book(whole=True, nodes=3)
    bed.requests().delete(one)
    assert bed.book(whole=True, nodes=3).id != one.id


def test_name_purpose_and_flexible_can_be_changed(bed):
    requests = bed.requests()
    one = requests.change(bed.book(), {'name': 'n', 'flexible': True})
    assert (one.name, one.flexible, one.revision) == ('n', True, 1)
    assert requests.change(one, {'name': 'n'}) == one
    assert bed.actions(one) == ['booked', 'changed']


def test_a_lease_that_is_given_is_paid_by_who_booked_it(bed):
    """Nobody gets a bill that he has not ordered; what comes back is the payer's."""
    requests = bed.requests()
    one = requests.give(bed.book(), 'blue')
    assert (one.project_id, one.payer_id) == ('blue', 'red')
    with pytest.raises(BadLease, match='already'):
        requests.give(one, 'blue')
    bed.clock.advance(bed.settings.life.full_refund_within + 1)
    bed.requests('blue').delete(one)
    assert bed.balance('blue') == CREDITS and bed.balance('red') == CREDITS - 0.2


def test_a_lease_over_a_change_of_the_clock_is_as_long_as_it_was_booked(bed):
    """From Saturday noon to Sunday noon in Berlin, 28 March 2027: the day has 23 hours."""
    bed.clock.advance(1_805_900_000.0 - NOW)  # 2027-03-24
    bed.run()
    given = {'earliest': '2027-03-27T12:00:00+01:00', 'finish': '2027-03-28T12:00:00+02:00'}
    one = bed.book(duration=23 * HOUR, **given)
    assert one.end - one.start == 23 * HOUR
    with pytest.raises(BadLease, match='shorter than the duration'):
        bed.book(duration=24 * HOUR, **given)
