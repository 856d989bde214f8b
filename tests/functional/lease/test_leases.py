# SPDX-License-Identifier: Apache-2.0
"""L1, L4, L6, L8: leases start and end on time, are charged, move where a host is lost, are replanned."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.calendar.booking import bookings
from nova_market.core.calendar.calendar import booked, unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.job.forecast import Forecast, document_of
from nova_market.core.lease.record import LeaseState
from nova_market.core.ledger.posting import Posting, Reason
from nova_market.core.market.inventory import CloudServer
from nova_market.core.scheduler.reserved import read_reserved
from nova_market.core.timestamp import stamp
from nova_market.db.accounts import DatabaseAccounts
from nova_market.errors import PromisesChanged
from nova_market.services.lease.booking import Refused
from nova_market.services.lease.observing import RESERVED
from nova_market.services.lease.replanning import replan
from tests.support.lease_bed import CREDITS
from tests.support.lease_records import HOUR
from tests.support.lease_settings import SETTINGS

pytestmark = pytest.mark.functional

WHOLE_LIFE = ['booked', 'starting', 'started', 'ending', 'ended']
MINUTE = 60.0


def hosts_of(lease):
    return [node.host for node in lease.nodes]


def states_at(bed, lease, *times):
    """Its state at so many seconds after its start."""
    found = []
    for at in times:
        bed.run(lease.start + at - bed.clock.wall(), HOUR / 4)
        found.append(str(bed.read(lease).state))
    return found


def test_a_lease_starts_and_ends_on_time(bed):
    """And its owner is told, once, also that it ends soon."""
    one = bed.book(duration=2 * HOUR, name='n')
    found = states_at(bed, one, -10, 0, HOUR, 2 * HOUR - 900, 2 * HOUR)
    assert found == ['planned', 'active', 'active', 'ending', 'ended']
    assert bed.actions(one) == WHOLE_LIFE and bed.read(one).ended_at == one.end
    bed.run(MINUTE)
    sent = [(event, project) for event, project, _ in bed.notices.sent]
    assert sent == [(f'market.lease.{action}', 'red') for action in WHOLE_LIFE]
    assert bed.notices.sent[-1][2]['name'] == 'n'


def test_a_lease_is_charged_each_period_and_never_more_than_it_costs(bed):
    """Two cores for two and a half hours."""
    one = bed.book(duration=2.5 * HOUR)
    charged = []
    for at in (0, HOUR - 10, HOUR, 2 * HOUR + 10, 2.5 * HOUR, 4 * HOUR):
        states_at(bed, one, at)
        charged.append(bed.read(one).charged / 1e6)
    assert charged == [0, 0, 2, 4, 5, 5]
    assert bed.balance('bank') == 5 and bed.balance('escrow') == 0
    assert bed.balance('red') == CREDITS - 5 and bed.ledger.discrepancies() == []


def test_a_service_that_was_away_charges_what_has_passed(bed):
    """In one pass: it starts and charges two hours; behind the end, all of it."""
    one = bed.book(duration=3 * HOUR)
    bed.clock.advance(one.start - bed.clock.wall() + 2 * HOUR)
    bed.run()
    assert (bed.read(one).state, bed.read(one).charged) == (LeaseState.ACTIVE, 4_000_000)
    bed.clock.advance(5 * HOUR)
    bed.run()
    assert (bed.read(one).state, bed.read(one).charged) == (LeaseState.ENDED, one.cost)


def test_a_lease_that_nobody_has_started_has_failed_and_is_free(bed):
    """The service was away for all of its time."""
    one = bed.book()
    bed.clock.advance(9 * HOUR)
    bed.run()
    over = bed.read(one)
    assert (over.state, over.refunded) == (LeaseState.FAILED, one.cost)
    assert bed.balance('red') == CREDITS and bed.actions(one)[-1] == 'failed'


def test_a_clock_that_is_set_back_takes_nothing_back(bed):
    """An hour back in the middle: it stays active, is charged no second time, and ends when its end comes."""
    one = bed.book(duration=3 * HOUR)
    states_at(bed, one, 1.5 * HOUR)
    before = bed.read(one)
    bed.clock.set_wall(bed.clock.wall() - 2 * HOUR)
    bed.run(MINUTE)
    assert bed.read(one) == before and before.charged == 2_000_000
    assert states_at(bed, one, 3 * HOUR) == ['ended']
    assert bed.read(one).charged == one.cost and bed.actions(one) == WHOLE_LIFE


def test_while_the_cloud_is_away_nothing_starts_or_fails(bed):
    """What has begun goes on and ends."""
    first, second = bed.book(duration=HOUR), bed.book(after=3.5 * HOUR)
    states_at(bed, first, MINUTE)
    bed.cloud.available = False
    assert states_at(bed, first, HOUR) == ['ended']
    assert states_at(bed, second, 0.25 * HOUR) == ['starting']
    bed.cloud.available = True
    assert states_at(bed, second, 0.25 * HOUR + 10) == ['active']


def test_a_planned_lease_leaves_a_host_that_is_lost(bed):
    """After a minute, not for a restart of nova-compute; with all that it costs as booked."""
    one = bed.book(nodes=2, whole=True)
    (gone, kept) = hosts_of(one)
    bed.change_host(gone, answering=False)
    bed.run(SETTINGS.lost_after - 10)
    assert bed.read(one) == one
    bed.run(20)
    moved = bed.read(one)
    assert gone not in hosts_of(moved) and kept in hosts_of(moved) and len(moved.nodes) == 2
    assert (moved.start, moved.cost) == (one.start, one.cost)
    assert bed.actions(one) == ['booked', 'moved']
    bed.run(MINUTE)
    assert bed.notices.sent[-1][0] == 'market.lease.moved'


def test_a_lease_that_has_begun_keeps_its_other_nodes(bed):
    """The lost one is elsewhere for the rest of the time."""
    one = bed.book(nodes=2, whole=True, duration=4 * HOUR)
    states_at(bed, one, HOUR)
    gone, kept = hosts_of(one)
    bed.change_host(gone, enabled=False)
    bed.run(2 * MINUTE)
    assert sorted(hosts_of(bed.read(one))) == sorted({'a', 'b', 'c'} - {gone})
    assert kept in hosts_of(bed.read(one)) and bed.read(one).state is LeaseState.ACTIVE


def test_without_room_a_lease_that_has_begun_fails_and_the_rest_comes_back(bed):
    one = bed.book(nodes=3, whole=True, duration=4 * HOUR)
    states_at(bed, one, HOUR)
    bed.change_host('a', answering=False)
    bed.run(2 * MINUTE)
    over = bed.read(one)
    assert over.state is LeaseState.FAILED and over.charged + over.refunded == one.cost
    assert over.charged == pytest.approx(one.cost / 4, rel=0.02)
    assert bed.balance('red') == CREDITS - over.charged / 1e6


def test_a_manual_lease_waits_for_its_host_and_its_owner_is_told_once(bed):
    """The host is back in time; without that it fails, and all of it comes back."""
    first, second = bed.book(hosts=['a']), bed.book(hosts=['b'])
    for name in 'ab':
        bed.change_host(name, answering=False)
    bed.run(HOUR, MINUTE)
    assert bed.actions(first) == ['booked', 'host_lost']
    bed.change_host('a', answering=True)
    assert states_at(bed, first, 10) == ['active']
    assert states_at(bed, second, 20) == ['starting']
    bed.run(SETTINGS.life.start_patience)
    over = bed.read(second)
    assert (over.state, over.refunded) == (LeaseState.FAILED, second.cost)


def test_a_server_of_the_lease_is_in_its_room(bed):
    """Only one of the project that has it: any other one takes what is left."""
    one = bed.book(hosts=['a'], cores=2, duration=4 * HOUR)
    states_at(bed, one, 0)
    taken = {'VCPU': 2.0, 'MEMORY_MB': 512.0}
    for number, project in enumerate(('red', 'blue')):
        bed.cloud.put_server(
            CloudServer(
                id=f's{number}', project_id=project, host='a', vcpus=2, memory_mib=512,
                metadata={'market:lease': one.id}, counted=taken,
            )
        )  # fmt: skip
        bed.run()
        free = 2 - 2 * number
        if free:
            assert bed.book(hosts=['a'], cores=free, after=HOUR, duration=60).id
        else:
            with pytest.raises(Refused):
                bed.book(hosts=['a'], cores=1, after=HOUR, duration=60)


def test_jobs_end_as_their_forecast_has_it(bed):
    """A server that stays is in the way, a job until its end; an old forecast counts no more."""
    now = bed.clock.wall()
    whole = np.array([[4.0] * 3, [8192.0] * 3, [100.0] * 3])
    held = bookings(host=[0], start=[now], end=[now + HOUR], amounts=np.array([[4.0], [0], [0]]))
    forecast = Forecast(
        at=now, calendar=booked(unbooked(capacity(whole)), held), aggregates={},
        names=('a', 'b', 'c'),
    )  # fmt: skip
    job = CloudServer(
        id='s', project_id='p', host='a', vcpus=4, memory_mib=0, counted={'VCPU': 4.0}
    )
    bed.cloud.put_server(job)
    bed.run()
    with pytest.raises(Refused):
        bed.book(hosts=['a'], cores=4)
    bed.states.write('forecast', document_of(forecast))
    bed.run()
    assert bed.book(hosts=['a'], cores=4).id


def spread(bed):
    """Two flexible leases on two hosts, as no algorithm of ours would leave them."""
    now = bed.clock.wall()
    more = {'flexible': True, 'finish': stamp(now + 20 * HOUR), 'memory_mib': 1024}
    first = bed.book(hosts=['a'], cores=4, after=3 * HOUR)
    second, third = bed.book(after=3 * HOUR, **more), bed.book(after=3 * HOUR, cores=4, **more)
    bed.requests().delete(first)
    return second, third


def test_replanning_saves_watts_and_says_what_changes(bed):
    """A dry run changes nothing; then it is the same, written; then there is nothing more to do."""
    leases = spread(bed)
    dry = replan(bed.stores, bed.settings, 'op', algorithm='exact', dry_run=True)
    assert [bed.read(one) for one in leases] == list(leases) and not dry.written
    wet = replan(bed.stores, bed.settings, 'op', algorithm='exact')
    assert wet.steps == dry.steps and wet.leases == 2
    for step in wet.steps:
        found = bed.read(step.before)
        assert (found.nodes, found.start) == (step.after.nodes, step.after.start)
    assert wet.plan.after.cost <= wet.plan.before.cost
    again = replan(bed.stores, bed.settings, 'op', algorithm='exact')
    assert again.plan.moves == ()


def test_what_is_fixed_or_begins_soon_does_not_move(bed):
    """A lease that is not flexible; one within the hour."""
    bed.book(after=HOUR / 2, flexible=True)
    bed.book(after=5 * HOUR)
    assert replan(bed.stores, bed.settings, 'op').leases == 0


class Late:
    """A store with which somebody else replans between the reading and the writing."""

    def __init__(self, leases, other):
        self._leases, self._other = leases, other

    def __getattr__(self, name):
        return getattr(self._leases, name)

    def change(self, *given):
        other, self._other = self._other, None
        if other:
            other()
        return self._leases.change(*given)


def test_of_two_operators_who_replan_at_once_one_gets_a_conflict(bed):
    """And the leases are where the first one has put them."""
    first = bed.book(hosts=['a'], cores=4, after=3 * HOUR, duration=HOUR)
    second = bed.book(after=3 * HOUR, flexible=True)
    assert hosts_of(second) != ['a']
    third = bed.book(hosts=['c'], cores=1, after=3 * HOUR)
    assert third.nodes
    bed.requests().delete(first)

    def other():
        bed.clock.advance(1)
        replan(bed.stores, bed.settings, 'one', algorithm='exact')

    stores = replace(bed.stores, leases=Late(bed.leases, other))
    with pytest.raises(PromisesChanged):
        replan(stores, bed.settings, 'two', algorithm='exact')
    moved = bed.read(second)
    assert hosts_of(moved) == ['c'] and bed.actions(second) == ['booked', 'moved']


def test_a_payer_whose_account_is_closed_keeps_nobody_waiting(bed):
    """What is charged and returned goes to the bank."""
    one = bed.book(duration=HOUR)
    left = bed.ledger.balances(['project:red'])['project:red']
    given = {'debit': 'project:red', 'credit': 'project:blue', 'amount': left}
    bed.ledger.post([Posting(key='t', reason=Reason.TRANSFER, **given)])
    DatabaseAccounts(bed.database).close('project:red')
    assert states_at(bed, one, HOUR + 10) == ['ended']
    assert bed.balance('escrow') == 0 and bed.balance('bank') == 2
    assert bed.ledger.discrepancies() == []


def test_the_refund_of_others_does_not_go_to_the_bank(bed):
    """Two leases lose their host in one pass; the payer of one of them has closed its account."""
    own = bed.book(hosts=['a'], duration=4 * HOUR)
    other = bed.book('blue', hosts=['a'], duration=4 * HOUR)
    left = bed.ledger.balances(['project:blue'])['project:blue']
    given = {'debit': 'project:blue', 'credit': 'project:red', 'amount': left}
    bed.ledger.post([Posting(key='t', reason=Reason.TRANSFER, **given)])
    DatabaseAccounts(bed.database).close('project:blue')
    states_at(bed, own, HOUR)
    before = bed.balance('red')
    bed.change_host('a', answering=False)
    bed.run(2 * MINUTE)
    own, other = bed.read(own), bed.read(other)
    assert own.state is other.state is LeaseState.FAILED
    assert bed.balance('red') == before + own.refunded / 1e6
    assert bed.balance('escrow') == 0 and bed.ledger.discrepancies() == []


def test_when_no_host_answers_no_lease_fails(bed, caplog):
    """It is rather what they talk through that is away; said once."""
    one = bed.book(nodes=3, whole=True, duration=4 * HOUR)
    states_at(bed, one, HOUR)
    for name in 'abc':
        bed.change_host(name, answering=False)
    bed.run(20 * MINUTE)
    assert bed.read(one).state is LeaseState.ACTIVE
    assert sum('no compute host answers' in line.message for line in caplog.records) == 1
    for name in 'abc':
        bed.change_host(name, answering=True)
    assert states_at(bed, one, 4 * HOUR) == ['ended']


def test_a_flexible_lease_does_not_begin_before_its_room(bed):
    """Its host is lost just before its start, and others have room only later."""
    one = bed.book(whole=True, flexible=True)
    for name in 'abc':
        if name not in hosts_of(one):
            bed.book(hosts=[name], whole=True, duration=6 * HOUR)
    states_at(bed, one, -30)
    bed.change_host(hosts_of(one)[0], answering=False)
    found = states_at(bed, one, MINUTE, HOUR - MINUTE)
    now = bed.read(one)
    assert found[0] == 'starting' and (now.state, now.refunded) == (LeaseState.FAILED, one.cost)


def test_a_server_gives_back_no_more_than_its_node_has(bed):
    """What it takes beyond that is not reserved, and others do not get it twice."""
    one = bed.book(hosts=['a'], cores=1, duration=4 * HOUR)
    states_at(bed, one, 0)
    bed.cloud.put_server(
        CloudServer(
            id='s', project_id='red', host='a', vcpus=4, memory_mib=512,
            metadata={'market:lease': one.id}, counted={'VCPU': 4.0, 'MEMORY_MB': 512.0},
        )
    )  # fmt: skip
    bed.run()
    with pytest.raises(Refused):
        bed.book(hosts=['a'], cores=1, after=HOUR, duration=60)


def test_a_lease_that_could_not_begin_is_deleted_for_nothing(bed):
    """It waits for its host; a planned one of the same day gets back its part only."""
    first, second = bed.book(hosts=['a']), bed.book(hosts=['b'], after=4 * HOUR)
    bed.change_host('a', answering=False)
    assert states_at(bed, first, 60) == ['starting']
    assert bed.requests().delete(bed.read(first)).refunded == first.cost
    assert bed.requests().delete(bed.read(second)).refunded == second.cost * 9 // 10


def test_a_lease_that_nobody_starts_is_deleted_for_nothing(bed):
    """The service is away since before its start; within its patience a part comes back only."""
    first, second = bed.book(), bed.book()
    bed.clock.advance(first.start - bed.clock.wall() + 10)
    assert bed.requests().delete(first).refunded == first.cost * 9 // 10
    bed.clock.advance(SETTINGS.life.start_patience)
    assert bed.requests().delete(second).refunded == second.cost


def test_what_ends_on_a_lost_host_is_not_offered(bed):
    """A job there ends within the hour; the host is silent, and nobody gets its room."""
    now = bed.clock.wall()
    whole = np.array([[4.0] * 3, [8192.0] * 3, [100.0] * 3])
    held = bookings(host=[0], start=[now], end=[now + HOUR], amounts=np.array([[4.0], [0], [0]]))
    forecast = Forecast(
        at=now, calendar=booked(unbooked(capacity(whole)), held), aggregates={},
        names=('a', 'b', 'c'),
    )  # fmt: skip
    job = CloudServer(
        id='s', project_id='p', host='a', vcpus=4, memory_mib=0, counted={'VCPU': 4.0}
    )
    bed.cloud.put_server(job)
    bed.states.write('forecast', document_of(forecast))
    bed.change_host('a', answering=False)
    bed.run()
    with pytest.raises(Refused):
        bed.book(hosts=['a'], cores=4, memory_mib=0)


def test_a_host_that_nova_leaves_out_is_not_lost_at_once(bed):
    """Its answers have a part of the hosts while a part of it is down; after ten times as long it is lost."""
    one = bed.book(nodes=3, whole=True, duration=9 * HOUR)
    states_at(bed, one, HOUR)
    gone = bed.cloud.take_host('a')
    bed.run(5 * SETTINGS.lost_after)
    bed.cloud.put_host(gone)
    bed.run(MINUTE)
    assert bed.read(one).state is LeaseState.ACTIVE
    bed.cloud.take_host('a')
    bed.run(10 * SETTINGS.lost_after + 20)
    assert bed.read(one).state is LeaseState.FAILED


def test_what_is_reserved_is_published_in_each_pass(bed):
    """Without what servers of the lease take, also by a hint; and no more when the lease is over."""

    def published():
        found = read_reserved(bed.states.read(RESERVED))
        assert found.at == bed.clock.wall()
        return {
            (found.leases[row], node): amount
            for row, node, amount in zip(
                found.node_lease, found.nodes.host, found.nodes.amounts[0], strict=True
            )
        }, found.carriers

    assert published() == ({}, {})
    one = bed.book(hosts=['a'], cores=2, duration=HOUR)
    bed.run()
    assert published() == ({(one.id, 0): 2.0}, {})
    states_at(bed, one, 0)
    bed.cloud.put_server(
        CloudServer(
            id='s', project_id='red', host='a', vcpus=1, memory_mib=512,
            hints={'market_lease': one.id}, counted={'VCPU': 1.0, 'MEMORY_MB': 512.0},
        )
    )  # fmt: skip
    bed.run()
    assert published() == ({(one.id, 0): 1.0}, {'s': 0})
    states_at(bed, one, HOUR)
    assert published() == ({}, {})
