# SPDX-License-Identifier: Apache-2.0
"""What Nova's scheduler is told: written by the engine with a round, published by the API."""

import numpy as np
import pytest

from nova_market.core.exchange.validation import MAX_AMOUNT
from nova_market.core.lease.reservation import reservation
from nova_market.core.scheduler.host_demand import newcomers_since
from nova_market.core.scheduler.publication import HEAVIEST, OperatorTerms
from nova_market.core.scheduler.snapshot import snapshot_from
from nova_market.core.scheduler.weights import by_heaviness
from nova_market.services.lease.observing import publish_reserved
from tests.support.job_records import id_of
from tests.support.lease_records import lease
from tests.support.market.api import OPERATOR, make_market
from tests.support.market.rounds import PERIOD, add_round
from tests.support.market_bed import CREDIT, Market, bidding, host, server
from tests.support.scheduler_builders import ask

pytestmark = pytest.mark.functional

PATH = '/v1/scheduler-snapshot'
SERVICE = f'service@{OPERATOR}'


def get(market, path=PATH):
    return market.call('GET', path, SERVICE)


def test_before_the_first_round_there_is_none(market):
    """The answer says so."""
    answer = get(market)
    assert answer.status_code == 404
    assert answer.json['errors'][0]['code'] == 'market.scheduler_snapshot.not_found'


def test_the_newest_round_is_returned_with_its_age(market):
    """The age is that of the round when it is asked for: clocks of others do not matter."""
    add_round(market)
    market.wall.now = PERIOD * 60.0 + 12.5
    found = snapshot_from(get(market).json['scheduler_snapshot'])
    assert (found.period, found.age) == (PERIOD, 12.5)


def test_who_has_the_newest_gets_its_age_only(market):
    """A scheduler that asks often does not read all hosts each time."""
    add_round(market)
    answer = get(market, f'{PATH}?known={PERIOD}').json['scheduler_snapshot']
    assert answer.keys() == {'period', 'age'}
    assert 'hosts' in get(market, f'{PATH}?known={PERIOD - 1}').json['scheduler_snapshot']


def test_a_round_of_the_engine_is_what_the_scheduler_reads(database):
    """Hosts, bids, prices and balances are those of the round; a silent host is not told."""
    hosts = [host('a'), host('b'), host('c', answering=False)]
    servers = [
        server('1', 'red', 'a', metadata=bidding(2, 1)),
        server('2', 'red', 'a', metadata=bidding(2, 1)),
        server('3', 'blue', 'b', metadata=bidding(1, 1)),
    ]
    bed = Market(database, hosts=hosts, servers=servers)
    bed.grant('red', 100)
    bed.grant('blue', 50)
    bed.run()
    service = make_market(database)
    service.wall.now = bed.clock.wall()
    found = snapshot_from(get(service).json['scheduler_snapshot'])
    outcome = bed.decided[-1].outcome
    assert set(found.hosts) == {'a', 'b'}
    assert np.allclose(found.price, outcome.price)
    a, b = found.hosts['a'], found.hosts['b']
    assert found.bids[:, [a, b]].tolist() == [[4 * CREDIT, CREDIT], [2 * CREDIT, CREDIT]]
    assert found.demand[-1, :, a] == pytest.approx(outcome.ideal[:, :2].sum(axis=1))
    red, blue = found.projects['red'], found.projects['blue']
    assert found.available[[red, blue]].tolist() == [100 * CREDIT, 50 * CREDIT]
    assert found.used[:, red].tolist() == [8.0, 8192.0]
    assert found.due[red] == outcome.due()[:2].sum()
    assert found.reserved is found.heaviness is found.watts is None
    assert np.isnan(found.share).all()


def test_nobody_has_come_while_nothing_changes(database):
    """Reserved CPUs, softly deleted servers and both sides of a resize are no newcomers: Nova says them.

    On b Nova does not say: the servers there are counted.
    """
    reserved, deleted, source = 8.0, 2.0, 4.0
    hosts = [
        host('a', vcpus_used=reserved + deleted + 4.0),
        host('b'),
        host('c', vcpus_used=source),
    ]
    servers = [
        server('1', 'red', 'a', status='VERIFY_RESIZE'),
        server('2', 'red', 'b'),
        server('3', 'red', 'b', status='SHUTOFF', vcpus=1),
    ]
    bed = Market(database, hosts=hosts, servers=servers)
    bed.run()
    found = snapshot_from(get(make_market(database)).json['scheduler_snapshot'])
    rows = np.array([found.hosts[name] for name in 'abc'])
    used = np.array([14.0, 5.0, 4.0])
    assert newcomers_since(found, ask(), rows, used).tolist() == [0.0, 0.0, 0.0]
    assert newcomers_since(found, ask(2.0), rows, used + 2.0).tolist() == [1.0, 1.0, 1.0]


def test_a_round_tells_how_heavy_projects_are(database):
    """As the hosts said: of each project, and of each host the mean over its servers; null where unknown."""
    hosts = [host('a'), host('b'), host('c'), host('d')]
    servers = [
        server('1', 'red', 'a', metadata=bidding(2, 1)),
        server('2', 'red', 'a', metadata=bidding(2, 1)),
        server('3', 'blue', 'a', metadata=bidding(1, 1)),
        server('4', 'blue', 'b', metadata=bidding(1, 1)),
        server('5', 'new', 'd', metadata=bidding(1, 1)),
    ]
    bed = Market(database, hosts=hosts, servers=servers)
    for owner in sorted({one.project_id for one in servers}):
        bed.grant(owner, 100)
    bed.enforcement.heavy = {'red': 1.5, 'blue': -0.75, 'a stranger': 7.0}
    bed.run()
    service = make_market(database)
    service.wall.now = bed.clock.wall()
    found = snapshot_from(get(service).json['scheduler_snapshot'])
    of_project = dict(zip(found.projects, found.heaviness.tolist(), strict=True))
    of_host = dict(zip(found.hosts, found.host_heaviness.tolist(), strict=True))
    assert of_project == pytest.approx({'red': 1.5, 'blue': -0.75, 'new': np.nan}, nan_ok=True)
    expected = {'a': 0.75, 'b': -0.75, 'c': np.nan, 'd': np.nan}
    assert of_host == pytest.approx(expected, nan_ok=True)
    request = ask(project_id='red')
    rows = np.array([found.hosts[name] for name in 'abcd'])
    # as heavy as red: nobody's host; then a, where red is half of it
    assert by_heaviness(found, request, rows) == pytest.approx([-0.75 / 1.75, -2.25 / 3.25, 0, 0])


def test_a_host_that_says_nonsense_spoils_no_snapshot(database):
    """The largest heaviness that a message may carry is more than readers of the snapshot take."""
    bed = Market(database, hosts=[host('a')], servers=[server('1', 'red', 'a')])
    bed.grant('red', 100)
    bed.enforcement.heavy = {'red': MAX_AMOUNT}
    bed.run()
    found = snapshot_from(get(make_market(database)).json['scheduler_snapshot'])
    assert found.heaviness.tolist() == found.host_heaviness.tolist() == [HEAVIEST]


def test_shares_and_watts_are_the_operators(database):
    """A project or host that is not named has none; those of a core are its part of a full host's."""
    hosts = [host('a', cores=4.0), host('b', cores=0.0)]
    terms = OperatorTerms(
        shares={'red': 0.25, 'nobody': 1.0},
        watts=lambda names: (np.full(len(names), 160.0), np.full(len(names), 120.0)),
    )
    bed = Market(database, hosts=hosts, servers=[server('1', 'red', 'a')], terms=terms)
    bed.grant('red', 100)
    bed.grant('blue', 100)
    bed.run()
    found = snapshot_from(get(make_market(database)).json['scheduler_snapshot'])
    of_project = dict(zip(found.projects, found.share.tolist(), strict=True))
    assert of_project == pytest.approx({'red': 0.25, 'blue': np.nan}, nan_ok=True)
    of_host = {name: found.watts[:, row].tolist() for name, row in found.hosts.items()}
    assert of_host['a'] == [160.0, 30.0] and np.isnan(of_host['b'][1])


def test_what_leases_reserve_is_answered_with_every_round(market):
    """As the service of leases has it now; who has this version gets the time at which it was true."""
    add_round(market)
    assert 'reserved' not in get(market).json['scheduler_snapshot']
    first = reserve(market, 100.0)
    found = get(market).json['scheduler_snapshot']
    assert snapshot_from(found).reserved.leases == (id_of('a'),)
    known = f'{PATH}?known={PERIOD}&known_reserved='
    answer = get(market, known + first).json['scheduler_snapshot']
    assert answer.keys() == {'period', 'age', 'reserved_at'} and answer['reserved_at'] == 100.0
    second = reserve(market, 110.0, lease('a'), lease('b'))
    answer = get(market, known + first).json['scheduler_snapshot']
    assert answer.keys() == {'period', 'age', 'reserved'}
    assert answer['reserved']['version'] == second != first


def reserve(market, at, *leases):
    """What a pass of the service of leases publishes; its version."""
    found = reservation(leases or (lease('a'),), (), now=at, ahead=1e12)
    publish_reserved(market.stores.states, found)
    return found.table.version
