# SPDX-License-Identifier: Apache-2.0
"""Applications on the market: deadlines, servers by price, starts on terms, ends, and what goes wrong.

Merkat (INRIA RR-8648), sections 2.3, 3.2.1, 3.3 and 3.4, on a real database, a cloud in memory and one clock.
"""

import logging
from dataclasses import replace
from math import inf

import pytest
from oslo_db.exception import DBConnectionError

from nova_market.adapters.leadership import SoleLeader
from nova_market.core.app.record import AppState, DesiredState
from nova_market.core.ledger.posting import account
from nova_market.core.timestamp import stamp
from nova_market.db.ledger import DatabaseLedger
from nova_market.errors import DatabaseUnavailable
from tests.support.app_bed import CREDIT, PERIOD, SETTINGS, Bed, component, host, template
from tests.support.market_bed import bidding
from tests.support.market_bed import server as other_server

pytestmark = pytest.mark.functional

HOUR = 3600.0


@pytest.fixture
def bed(database):
    return Bed(database)


def neighbours(count, cpu, *, cores=4):
    """Best-effort servers that bid the same all the time."""
    return [
        other_server(f'n{n}', 'blue', vcpus=cores, mib=900, metadata=bidding(cpu, 0.1))
        for n in range(count)
    ]


def deadline(at, work=None, **more):
    given = {'deadline': stamp(at)} | ({} if work is None else {'work_core_seconds': work})
    return given | more


def given(bed, name):
    """Core-seconds that hosts gave its servers, in periods that are over."""
    ids = [s for found in bed.own(name).values() for s in found]
    rows = [a for s in ids for a in bed.stores.history.allocations_of(s, limit=1000)]
    return sum(a.actual_cpu * PERIOD for a in rows if a.confirmed)


def sums_to_nothing(bed):
    assert list(DatabaseLedger(bed.database, bed.clock.wall).discrepancies()) == []


# deadlines


def test_a_deadline_that_is_moved(database):
    """Section 3.4: four neighbours; the deadline comes nearer, bid and share follow, it is met."""
    bed = Bed(database, servers=neighbours(4, 1))
    bed.market.grant('blue', 10_000)
    began, work = bed.clock.wall(), 4 * 900.0
    slo = deadline(began + 2400, work)
    bed.add('zephyr', template('full_deadline', slo=slo, components=[component(flavor='large')]))
    bed.run(8)
    before = (bed.bid('zephyr'), bed.cores('zephyr'))
    assert bed.app('zephyr').figures['lateness'] < 1
    sooner = {
        **bed.app('zephyr').template,
        'slo': {**deadline(began + 1740, work, low=0.75, reference=0.9, high=1.0)},
    }
    bed.change('zephyr', template=sooner)
    bed.run(5)
    after = (bed.bid('zephyr'), bed.cores('zephyr'))
    assert after[0] > 1.3 * before[0] and after[1] > 1.15 * before[1]
    bed.run(16)
    assert bed.clock.wall() == began + 1740 and given(bed, 'zephyr') >= work
    done = bed.app('zephyr')
    assert any('worse than it needs' in why for why in bed.reasons('zephyr', 'bid'))
    assert 0 < done.figures['spent'] < 1000 * CREDIT


def test_what_cannot_be_met_is_given_up(bed):
    """Not even full allocations would do: it never starts, or it ends; its money goes back."""
    now = bed.clock.wall()
    bed.add('late', template('full_deadline', slo=deadline(now + HOUR, 5 * HOUR)))
    bed.run(2)
    found = bed.app('late')
    assert (found.state, found.closed) == (AppState.DROPPED, True)
    assert bed.actions('late') == ['dropped']
    assert bed.market.balance('red') == 1000 * CREDIT
    assert bed.cloud.trusts == {} and bed.own('late') == {}


def test_it_waits_for_a_price_that_meets_the_deadline(database):
    """Suspended when its whole budget buys too little, resumed when the neighbours leave."""
    bed = Bed(database, hosts=[host(cores=1.0, mib=16384.0)])
    bed.market.grant('blue', 10_000)
    now = bed.clock.wall()
    slo = deadline(now + 3000, 1200.0)
    bed.add('job', template('full_deadline', slo=slo, components=[component()]), balance=50)
    bed.run(3)
    assert bed.app('job').state is AppState.RUNNING
    for one in neighbours(4, 50, cores=1):
        bed.market.cloud.put_server(one)
    bed.run(12)
    assert bed.app('job').state is AppState.SUSPENDED
    assert 'budget does not buy' in bed.reasons('job', 'suspended')[0]
    assert [s.status for s in bed.market.cloud.servers() if s.project_id == 'red'] == ['SUSPENDED']
    for n in range(4):
        bed.market.cloud.remove(f'n{n}')
    bed.run(4)
    assert bed.app('job').state is AppState.RUNNING and bed.cores('job') > 0.5
    assert bed.actions('job').count('resumed') == 1


def test_what_reports_that_it_is_done_is_finished(bed):
    """Its servers go, what is left of its budget is its project's again, its trust is deleted."""
    now = bed.clock.wall()
    bed.add('job', template('full_deadline', slo=deadline(now + HOUR)))
    bed.run(2)
    bed.report('job', total=10.0, done=4.0, seconds_each=60.0)
    bed.run(2)
    assert bed.app('job').figures['remaining'] == pytest.approx(360.0, abs=130.0)
    bed.report('job', done=10.0)
    bed.run(3)
    found = bed.app('job')
    assert (found.state, found.closed, bed.own('job')) == (AppState.FINISHED, True, {})
    assert bed.stores.accounts.account(account('budget', 'job')).closed
    assert bed.stores.bids.list() == [] and bed.cloud.trusts == {}
    bed.run(2)
    spent = found.figures['spent']
    assert bed.market.balance('red') == pytest.approx(1000 * CREDIT - spent, abs=2 * CREDIT)
    sums_to_nothing(bed)
    bed.change('job', wish=DesiredState.DELETE)  # its trust is gone already
    bed.run(1)
    assert bed.app('job') is None


def test_the_work_of_all_servers_is_the_work(bed):
    """Each reports for itself: neither the first that is done, nor the loss of another, ends it."""
    bed.add('job', template(components=[component(count=(2, 2))]))
    bed.run(2)
    one, two = (bed.own('job')[f'worker-{n}'][0] for n in (1, 2))
    bed.report('job', server_id=one, total=100.0, done=100.0)
    bed.run(2)
    assert bed.app('job').state is AppState.RUNNING
    bed.report('job', server_id=two, total=100.0, done=10.0)
    bed.cloud.remove(two)
    bed.run(2)
    assert bed.app('job').state is AppState.RUNNING
    (new,) = bed.own('job')['worker-2']
    bed.report('job', server_id=new, total=100.0, done=100.0)
    bed.run(2)
    assert (bed.app('job').state, bed.own('job')) == (AppState.FINISHED, {})


def test_what_was_reported_before_the_start_ends_nothing(bed):
    bed.add('job', template(), balance=0)
    bed.report('job', total=1.0, done=1.0)
    bed.run(2)
    assert bed.app('job').state is AppState.WAITING
    bed.stores.accounts.set(account('budget', 'job'), {'renew_amount': 50 * CREDIT})
    bed.market.grant('red', 1000)
    bed.run(5)
    assert bed.app('job').state is AppState.RUNNING
    bed.report('job', done=1.0)
    bed.run(2)
    assert bed.app('job').state is AppState.FINISHED


# servers


@pytest.mark.parametrize(('memory', 'rounds'), [(0.0, 8), (0.7, 18)])
def test_servers_by_metric_and_price(database, memory, rounds):
    """Section 2.3.3: it grows while it is behind, shrinks when the price rises, and grows when it falls.

    The more past prices count, the later that is; and none of the new servers is given back.
    """
    settings = replace(SETTINGS, price_memory=memory)
    bed = Bed(database, hosts=[host(cores=8.0, mib=32768.0)], settings=settings, breaker=inf)
    bed.market.grant('blue', 100_000)
    given = template(
        'horizontal', components=[component(count=(1, 6))], budget={'renew_amount': 12 * CREDIT}
    )
    bed.add('web', given, balance=400, renew=12)
    for _ in range(8):
        bed.report('web', metric=3.0)
        bed.run(1)
    assert len(bed.own('web')) == 6 and bed.actions('web').count('grew') == 5
    for one in neighbours(6, 6):
        bed.market.cloud.put_server(one)
    for _ in range(6):
        bed.report('web', metric=3.0)
        bed.run(1)
    few = len(bed.own('web'))
    assert 1 <= few <= 4
    assert any('budget does not pay for all' in why for why in bed.reasons('web', 'shrank'))
    for one in neighbours(6, 0.01):
        bed.market.cloud.put_server(one)
    counts = []
    for _ in range(rounds):
        bed.report('web', metric=3.0)
        bed.run(1)
        counts.append(len(bed.own('web')))
    assert counts[-1] == 6 and (counts[7] == 6) == (memory == 0.0)
    assert counts == sorted(counts)
    for _ in range(4):
        bed.report('web', metric=0.1)
        bed.run(1)
    assert len(bed.own('web')) < 6
    assert sorted(bed.own('web')) == [f'worker-{n + 1}' for n in range(len(bed.own('web')))]


def test_servers_by_queue(bed):
    """Section 3.3: a quarter more at a time, for each task one; back to the least when nothing waits."""
    given = template('queue_driven', slo={'queue': True}, components=[component(count=(1, 4))])
    bed.add('batch', given)
    bed.run(1)
    sizes = []
    for _ in range(4):
        bed.report('batch', waiting=9, busy=1)
        bed.run(1)
        sizes.append(len(bed.own('batch')))
    assert sizes == [2, 3, 4, 4]
    bed.report('batch', waiting=0, busy=0)
    bed.run(2)
    assert len(bed.own('batch')) == 1


def test_two_components_share_a_budget(bed):
    """Each is a virtual cluster of its own; both run, both bid, within what there is."""
    parts = [component('front', count=(2, 2)), component('data', flavor='large')]
    bed.add('site', template(components=parts), balance=60)
    bed.run(4)
    assert sorted(bed.own('site')) == ['data-1', 'front-1', 'front-2']
    bids = bed.stores.bids.list()
    assert sum(b.cpu + b.memory for b in bids) <= bed.app('site').figures['budget'] * 1.05
    assert {b.payer for b in bids} == {account('budget', 'site')}


def test_a_bid_changed_by_hand_is_set_back(bed):
    """The policy decides; one that is right is not written again."""
    bed.add('app', template())
    bed.run(3)
    (bid,) = bed.stores.bids.list()
    bed.stores.bids.put(replace(bid, cpu=1))
    bed.run(1)
    (after,) = bed.stores.bids.list()
    assert after.cpu == bid.cpu and after.generation == bid.generation + 2
    bed.run(2)
    assert bed.stores.bids.list() == [after]


# terms and wishes


def test_it_starts_when_the_price_is_low_enough(database):
    """Section 3.1.2: not before, and what keeps it is shown."""
    bed = Bed(database, servers=neighbours(4, 40))
    bed.market.grant('blue', 100_000)
    start = {'price_below': {'cpu': 5.0 * CREDIT}}
    bed.add('patient', template(start=start))
    bed.run(3)
    assert bed.app('patient').state is AppState.WAITING and bed.own('patient') == {}
    assert 'not below 5e+06' in bed.app('patient').figures['reason']
    for n in range(4):
        bed.market.cloud.remove(f'n{n}')
    bed.run(3)
    assert bed.app('patient').state is AppState.RUNNING and len(bed.own('patient')) == 1


def test_it_is_cancelled_when_it_cannot_start_in_time(database):
    """Nothing was made, nothing is kept, and it says why."""
    bed = Bed(database, servers=neighbours(4, 40))
    bed.market.grant('blue', 100_000)
    start = {
        'price_below': {'cpu': 5.0 * CREDIT},
        'before': stamp(bed.clock.wall() + 3 * PERIOD),
        'else': 'cancel',
    }
    bed.add('late', template(start=start))
    bed.run(5)
    found = bed.app('late')
    assert (found.state, found.closed) == (AppState.CANCELLED, True)
    assert 'the price of cpu is' in bed.reasons('late', 'cancelled')[0]
    assert ('create', 'worker-1') not in bed.cloud.asked


def test_without_money_nothing_starts(bed):
    bed.add('poor', template(), balance=0)
    bed.run(3)
    assert bed.app('poor').state is AppState.WAITING and bed.own('poor') == {}


def test_nothing_starts_in_a_cloud_without_hosts(database):
    """A round without prices is free only where there are hosts that do not sell (B5)."""
    bed = Bed(database, hosts=[])
    bed.add('app', template('horizontal'))
    bed.run(3)
    assert bed.stores.history.rounds(limit=1) and bed.stores.history.prices(0, 10**9) == []
    assert bed.app('app').state is AppState.WAITING and bed.own('app') == {}


def test_its_owner_suspends_and_resumes_it(bed):
    """It stays as he wants it, whatever the price; what is suspended costs nothing."""
    bed.add('app', template())
    bed.run(3)
    bed.change('app', wish=DesiredState.SUSPEND)
    bed.run(3)
    assert bed.app('app').state is AppState.SUSPENDED and bed.cores('app') == 0
    spent = bed.app('app').figures['spent']
    bed.run(2)
    assert bed.app('app').figures['spent'] == spent
    bed.change('app', wish=DesiredState.RUN)
    bed.run(3)
    assert bed.app('app').state is AppState.RUNNING and bed.cores('app') > 0
    assert len(bed.own('app')) == 1
    assert bed.reasons('app', 'suspended') == ['its owner asked for it']


def test_what_is_deleted_is_forgotten_with_its_servers(database):
    """At any time, also while servers are still being made; the money goes back."""
    bed = Bed(database, boot=100.0)
    bed.add('app', template(components=[component(count=(2, 2))]))
    bed.run(1)
    bed.change('app', wish=DesiredState.DELETE)
    bed.run(2)
    assert (bed.app('app'), bed.own('app'), bed.cloud.trusts) == (None, {}, {})
    assert bed.market.balance('red') == 1000 * CREDIT
    assert bed.stores.slots.all() == {}
    sums_to_nothing(bed)


# what goes wrong


def test_a_server_that_fails_is_made_again_later_each_time(bed):
    """It says why; the pauses grow."""
    bed.add('app', template())
    bed.cloud.failing = {'worker-1'}
    bed.run(2)
    assert len(bed.own('app')) == 1 and bed.actions('app').count('created') == 2
    assert 'no valid host' in bed.reasons('app', 'failed')[0]
    bed.cloud.quota = 0
    for server_id in bed.own('app')['worker-1']:
        bed.cloud.remove(server_id)
    bed.run(10)
    refused = [e for e in bed.stores.events.events('app', limit=1000) if e.action == 'refused']
    pauses = [e.numbers['next_in'] for e in reversed(refused)]
    assert pauses[:4] == [15.0, 30.0, 60.0, 120.0] and 'quota' in refused[0].reason


def test_a_server_that_its_owner_deleted_is_made_again(bed):
    bed.add('app', template())
    bed.run(2)
    (old,) = bed.own('app')['worker-1']
    bed.cloud.remove(old)
    bed.run(2)
    (new,) = bed.own('app')['worker-1']
    assert new != old and 'lost' in bed.actions('app')
    assert [bid.server_id for bid in bed.stores.bids.list()] == [new]


def test_an_answer_that_got_lost_makes_no_second_server(bed):
    """The server is found by its marks."""
    bed.cloud.lost_answers = 1
    bed.add('app', template(components=[component(count=(2, 2))]))
    bed.run(2)
    assert {slot: len(ids) for slot, ids in bed.own('app').items()} == {
        'worker-1': 1,
        'worker-2': 1,
    }


@pytest.mark.parametrize('skips', [True, False])
def test_servers_of_a_cell_that_is_away_are_not_replaced(bed, skips):
    """What nobody can tell of is there, listed or not; nothing new is made while something is not known."""
    bed.cloud.skips = skips
    bed.add('app', template(components=[component(count=(2, 2))]))
    bed.run(2)
    (first,) = bed.own('app')['worker-1']
    (second,) = bed.own('app')['worker-2']
    bed.cloud.hide(first)
    bed.cloud.remove(second)
    made = bed.actions('app').count('created')
    bed.run(2)
    assert bed.actions('app').count('created') == made
    assert bed.stores.slots.slots('app')[0].server_id == first
    bed.cloud.hide(first, False)
    bed.run(2)
    assert bed.own('app')['worker-1'] == [first] and len(bed.own('app')['worker-2']) == 1
    assert 'deleted' not in bed.actions('app')


def test_an_application_waits_for_its_servers_of_a_cell_that_is_away(bed):
    """Deleted meanwhile, it keeps row and trust until they can be deleted too."""
    bed.add('app', template())
    bed.run(2)
    (only,) = bed.own('app')['worker-1']
    bed.cloud.hide(only)
    bed.change('app', wish=DesiredState.DELETE)
    bed.run(2)
    assert bed.app('app').state is AppState.DELETING and only in bed.cloud.made
    bed.cloud.hide(only, False)
    bed.run(2)
    assert (bed.app('app'), bed.cloud.made, bed.cloud.trusts) == (None, {}, {})


def test_only_what_has_marks_and_a_row_is_touched(bed):
    """A server of another application's name, of a slot without a row, or of nobody's stays."""
    flavor = bed.cloud.flavors['small']
    marks = {'market:app': 'app', 'market:slot': 'worker-7'}
    for name, metadata in (
        ('row-less', marks),
        ('stranger', {'market:app': 'nobody', 'market:slot': 'worker-1'}),
        ('plain', {}),
    ):
        bed.cloud.put(name, 'red', metadata, flavor)
    bed.add('app', template())
    bed.run(3)
    bed.change('app', wish=DesiredState.DELETE)
    bed.run(3)
    assert bed.app('app') is None
    assert sorted(bed.cloud.made) == ['plain', 'row-less', 'stranger']


def test_one_application_that_fails_stops_no_other(bed, caplog, defects):
    """Its trust or its flavor is gone, its policy raises: said once, the rest is served."""

    def broken(seen):
        raise ZeroDivisionError('not today')

    policies = {**SETTINGS.policies, 'broken': broken}
    bed.controller = bed.another(bed.leader, settings=replace(SETTINGS, policies=policies))
    bed.add('a-trust', template())
    bed.cloud.trusts.clear()
    bed.add('b-flavor', template(components=[component(flavor='huge')]))
    bed.add('c-policy', template('broken'))
    bed.add('d-policy', template('nowhere'))
    bed.add('fine', template())
    with caplog.at_level(logging.WARNING):
        bed.run(3)
    assert bed.app('fine').state is AppState.RUNNING and len(bed.own('fine')) == 1
    for name, expected in (
        ('a-trust', 'trust'),
        ('b-flavor', "no flavor 'huge'"),
        ('c-policy', 'not today'),
        ('d-policy', "'nowhere' is not installed"),
    ):
        (why,) = bed.reasons(name, 'troubled')
        assert expected in why
    assert sum('d-policy' in r.message for r in caplog.records) == 1
    assert bed.seen[-1].troubled == 4


def test_a_cloud_that_is_away_is_logged_once(bed, caplog):
    """Servers run on; bids are decided and written, and what is due is done when it is back."""
    names = [f'app-{n}' for n in range(5)]
    for name in names:
        bed.add(name, template())
    bed.run(2)
    bed.cloud.available = False
    for n in range(3):
        bed.add(f'a-new-{n}', template())
    before = {name: bed.bid(name) for name in names}
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            for name in names:
                bed.report(name, metric=1.8)
            bed.run(1)
        for name in names:
            decided = bed.app(name).figures['components'][0]['bid_cpu'] / CREDIT
            assert before[name] < bed.bid(name) == decided
        assert sum('not looked after' in r.message for r in caplog.records) == 1
        assert bed.controller.outage
        bed.cloud.available = True
        bed.run(1)
        assert sum('looked after again' in r.message for r in caplog.records) == 1
    assert all(len(bed.own(name)) == 1 for name in names)


def test_a_database_that_is_away_is_logged_once(bed, caplog):
    bed.add('app', template())
    bed.run(2)

    class Away:
        def __getattr__(self, name):
            return self.ask

        def ask(self, *_, **__):
            raise DatabaseUnavailable('gone') from DBConnectionError()

    controller = bed.another(bed.leader, stores=replace(bed.stores, apps=Away()))
    with caplog.at_level(logging.WARNING):
        bed.run(2, controller)
    assert sum('gone' in r.message for r in caplog.records) == 1
    assert controller.outage == 'gone' and len(bed.own('app')) == 1


def test_who_does_not_lead_does_nothing(bed):
    bed.add('app', template())
    bed.run(3, bed.another(SoleLeader(leads=False)))
    assert bed.app('app').period == 0 and bed.cloud.asked == []


def test_a_monitor_that_is_away_changes_nothing(bed):
    """A report that is too old does not count; with a new one it grows again."""
    given = template('horizontal', components=[component(count=(1, 3))])
    bed.add('web', given)
    bed.run(2)
    bed.report('web', metric=5.0)
    bed.run(2)
    grown = len(bed.own('web'))
    assert grown > 1
    bed.run(8)
    assert len(bed.own('web')) <= 3
    size = len(bed.own('web'))
    bed.run(4)
    assert len(bed.own('web')) == size and bed.app('web').figures['performance'] is None
