# SPDX-License-Identifier: Apache-2.0
"""O1, O2 for leases and servers through the API: made, accepted, gone, refused; who sees what."""

import threading

import pytest

from nova_market.core.timestamp import seconds, stamp
from tests.functional.api.test_leases import ADMIN, MINE, THEIRS, ask, book, cloud
from tests.support.job_bed import host
from tests.support.lease_bed import publish_hosts
from tests.support.lease_records import HOUR
from tests.support.market.api import ALICE

pytestmark = pytest.mark.functional

__all__ = ['cloud']

PART = {'cores': 2, 'memory_mib': 1024, 'duration': HOUR}
JOB = {'job': {'script': '#!/bin/sh\ntrue\n', 'name': 'frame'}}


def offered(market, token=MINE, status=201, **lease):
    """The answer to a request for a lease: two cores for an hour, unless it is said otherwise."""
    size = {'duration': HOUR} if 'whole' in lease else PART
    body = {'kind': 'lease', 'lease': {**size, **lease}}
    return ask(market, 'POST', 'offers', status, token, body)


def servers(market, status=201, **server):
    body = {'kind': 'server', 'server': {'flavor': 'small', 'duration': HOUR, **server}}
    return ask(market, 'POST', 'offers', status, body=body)


def accept(market, offer, status=201, token=MINE, key=None, body=None):
    headers = {'Idempotency-Key': key} if key else {}
    path = f'offers/{offer["id"]}/accept'
    return ask(market, 'POST', path, status, token, body or {}, headers=headers)


def window(market, begin, end):
    now = market.wall()
    return {'earliest': stamp(now + begin * HOUR), 'finish': stamp(now + end * HOUR)}


def money(market):
    """(Alice's, escrow's) micro-credits."""
    found = market.stores.ledger.balances([f'project:{ALICE}', 'escrow'])
    assert market.stores.ledger.discrepancies() == []
    return found[f'project:{ALICE}'], found['escrow']


def test_an_offer_for_a_lease_is_accepted_and_its_cost_is_held(cloud):
    """It is no booking until then; the lease is as any other one."""
    before, _ = money(cloud)
    (offer,) = offered(cloud, nodes=2, name='n')['offers']
    assert (offer['cost'], offer['seconds'], offer['nodes']) == (4_000_000, HOUR, 2)
    assert (offer['at_once'], offer['cores'], offer['how']) == (True, 4, 'reserved_hosts')
    assert ask(cloud, 'GET', 'leases')['leases'] == [] and money(cloud) == (before, 0)
    done = accept(cloud, offer)
    assert (done['offer']['state'], done['offer']['lease_id']) == ('accepted', done['lease']['id'])
    assert (done['lease']['name'], done['lease']['cost']) == ('n', 4_000_000)
    assert ask(cloud, 'GET', 'leases')['leases'] == [done['lease']]
    assert money(cloud) == (before - 4_000_000, 4_000_000)
    assert accept(cloud, offer, 409)['code'] == 'market.offer.ended'


def test_the_same_key_is_one_acceptance(cloud):
    (offer,) = offered(cloud)['offers']
    first = accept(cloud, offer, key='k')
    assert accept(cloud, offer, 200, key='k') == first
    assert len(ask(cloud, 'GET', 'leases')['leases']) == 1


def test_a_window_has_offers_of_several_starts(cloud):
    """The soonest first; one of them can be accepted, at the start that it has."""
    offers = offered(cloud, **window(cloud, 2, 11))['offers']
    starts = [(seconds(one['start']) - cloud.wall()) / HOUR for one in offers]
    assert starts == [2, 4, 6, 8] and not offers[0]['at_once']
    assert accept(cloud, offers[2])['lease']['start'] == offers[2]['start']
    assert accept(cloud, offers[0], 409)['code'] == 'market.offer.ended'
    cheap = {'kind': 'lease', 'lease': {**PART, **window(cloud, 2, 11)}, 'utility': 'fastest'}
    assert ask(cloud, 'POST', 'offers', 201, body=cheap)['offers'][0]['start'] == offers[0]['start']


def test_whole_hosts_are_offered_by_size(cloud):
    """The cheaper one is offered too; who accepts the larger one gets no smaller one."""
    hosts = [host('a', cores=8.0), host('b', cores=2.0), host('c', cores=8.0)]
    publish_hosts(cloud.stores.states, cloud.wall(), hosts)
    offers = offered(cloud, whole=True)['offers']
    assert sorted(one['cores'] for one in offers) == [2, 8]
    (large,) = (one for one in offers if one['cores'] == 8)
    book(cloud, hosts=['a'], whole=True, after=0, duration=2 * HOUR)
    assert accept(cloud, large)['lease']['nodes'][0]['host'] == 'c'
    error = accept(cloud, (offered(cloud, whole=True)['offers'])[0], 201)
    assert error['lease']['nodes'][0]['host'] == 'b'


def test_what_cannot_be_had_has_near_options_that_can_be_accepted(cloud):
    """Why it cannot, and fewer nodes or a later start instead."""
    book(cloud, hosts=['a'], cores=3, after=0, duration=3 * HOUR)
    answer = offered(cloud, nodes=3)
    assert 'at most 2 fit at the same time' in answer['why'][0]
    found = {one['change']: one for one in answer['offers']}
    assert set(found) == {'later', 'fewer_nodes'}
    assert (found['fewer_nodes']['nodes'], found['fewer_nodes']['cost']) == (2, 4_000_000)
    later = accept(cloud, found['later'])['lease']
    assert len(later['nodes']) == 3 and seconds(later['start']) >= cloud.wall() + 3 * HOUR


def test_an_offer_that_is_gone_has_alternatives(cloud):
    """Somebody else has booked the room; nothing is charged."""
    before, _ = money(cloud)
    (offer,) = offered(cloud, whole=True, nodes=3)['offers']
    book(cloud, hosts=['b'], after=0, token=THEIRS, duration=2 * HOUR)
    error = accept(cloud, offer, 409)
    assert error['code'] == 'market.offer.gone' and 'nothing was charged' in error['detail']
    assert {one['change'] for one in error['alternatives']} == {'later', 'fewer_nodes'}
    assert money(cloud)[0] == before
    assert accept(cloud, error['alternatives'][0])['lease']['nodes']


def test_a_start_that_has_passed_is_gone(cloud):
    """An offer is good until its start; one that starts at once moves with its acceptance."""
    now = cloud.wall()
    soon = offered(cloud, earliest=stamp(now + 60))['offers'][0]
    assert seconds(soon['valid_until']) == now + 60
    at_once = offered(cloud)['offers'][0]
    cloud.wall.now += 90
    publish_hosts(cloud.stores.states, cloud.wall(), [host(name) for name in 'abc'])
    shown = ask(cloud, 'GET', f'offers/{at_once["id"]}')['offer']
    assert (shown['start'], shown['finish']) == (at_once['start'], at_once['finish'])
    assert accept(cloud, soon, 409)['code'] == 'market.offer.ended'
    assert seconds(accept(cloud, at_once)['lease']['start']) == now + 90


def test_an_offer_in_a_window_does_not_end_after_it(cloud):
    """It would start at once, and too late by now."""
    offers = offered(cloud, **window(cloud, 0, 1.01))['offers']
    (at_once,) = (one for one in offers if one['at_once'])
    cloud.wall.now += 60
    publish_hosts(cloud.stores.states, cloud.wall(), [host(name) for name in 'abc'])
    assert 'after its window' in accept(cloud, at_once, 409)['detail']


@pytest.mark.parametrize('one', [True, False], ids=['one offer', 'one room'])
def test_twenty_clients_accept_at_once_and_one_gets_it(cloud, one):
    """The same offer, or twenty offers for all hosts."""
    offers = [offered(cloud, whole=True, nodes=3)['offers'][0] for _ in range(1 if one else 20)] * (
        20 if one else 1
    )
    answers, together = [], threading.Barrier(20)

    def client(offer):
        together.wait()
        answers.append(cloud.call('POST', f'/v1/offers/{offer["id"]}/accept', MINE, json={}))

    threads = [threading.Thread(target=client, args=(offer,)) for offer in offers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(answer.status_code for answer in answers) == [201, *[409] * 19]
    (lease,) = ask(cloud, 'GET', 'leases')['leases']
    assert money(cloud)[1] == lease['cost']


def test_room_for_servers_is_evenly_on_hosts(cloud):
    """Four servers on three hosts: two on each of two, or all on one; of no known flavor none."""
    answer = servers(cloud, count=4)
    found = {one['nodes']: one for one in answer['offers']}
    assert set(found) == {1, 2}
    assert {(one['servers'], one['flavor'], one['cores']) for one in found.values()} == {
        (4, 'small', 4)
    }
    lease = accept(cloud, found[2])['lease']
    assert [node['cores'] for node in lease['nodes']] == [2, 2]
    assert 'no public flavor' in servers(cloud, 400, flavor='x')['detail']


def test_hosts_are_shown_to_operators(cloud):
    """A tenant sees how many."""
    (offer,) = offered(cloud)['offers']
    assert 'hosts' not in ask(cloud, 'GET', f'offers/{offer["id"]}')['offer']
    assert len(ask(cloud, 'GET', f'offers/{offer["id"]}', token=ADMIN)['offer']['hosts']) == 1


def test_offers_are_listed_released_and_not_held(cloud):
    """By kind; those of others are not seen; a job is not theirs to run."""
    (offer,) = offered(cloud)['offers']
    (other,) = servers(cloud)['offers']
    assert [one['id'] for one in ask(cloud, 'GET', 'offers')['offers']] == [
        other['id'],
        offer['id'],
    ]
    assert ask(cloud, 'GET', 'offers?kind=lease')['offers'] == [offer]
    ask(cloud, 'GET', f'offers/{offer["id"]}', 404, THEIRS)
    error = ask(cloud, 'POST', f'offers/{offer["id"]}/hold', 400, body={'seconds': 60})
    assert 'cannot be held: accept it' in error['detail']
    assert 'runs no job' in accept(cloud, offer, 400, body=JOB)['detail']
    path = f'offers/{offer["id"]}/release'
    assert ask(cloud, 'POST', path)['offer']['state'] == 'released'
    assert accept(cloud, offer, 409)['code'] == 'market.offer.ended'
    lease = accept(cloud, other)['lease']
    error = ask(cloud, 'POST', f'offers/{other["id"]}/release', 409)
    assert f'delete lease {lease["id"]}' in error['detail']


def test_older_versions_see_offers_for_jobs_only(cloud):
    (offer,) = offered(cloud)['offers']
    old = {'headers': {'OpenStack-API-Version': 'market 1.10'}}
    assert ask(cloud, 'GET', 'offers', **old)['offers'] == []
    ask(cloud, 'GET', f'offers/{offer["id"]}', 404, **old)
    body = {'kind': 'lease', 'lease': PART}
    assert 'from version 1.12 on' in ask(cloud, 'POST', 'offers', 400, body=body, **old)['detail']


@pytest.mark.parametrize(
    ('body', 'match'),
    [
        ({'kind': 'lease'}, 'lease: it is missing'),
        ({'kind': 'job'}, 'queue: it is missing'),
        ({'kind': 'lease', 'lease': PART, 'queue': 'q'}, 'queue: not for kind lease'),
        ({'kind': 'server', 'lease': PART, 'server': {}}, 'flavor is missing'),
        ({'kind': 'lease', 'lease': {**PART, 'hosts': ['x']}}, 'no host x'),
        ({'kind': 'lease', 'lease': PART, 'utility': 'luck'}, 'luck'),
        ({'kind': 'lease', 'lease': {'duration': 60}}, 'whole host or has amounts'),
    ],
)
def test_nonsense_is_refused(cloud, body, match):
    assert match in ask(cloud, 'POST', 'offers', 400, body=body)['detail']


def test_without_hosts_there_is_a_reason(market):
    """The service of leases has not run."""
    answer = ask(market, 'POST', 'offers', 201, body={'kind': 'lease', 'lease': PART})
    assert answer['offers'] == [] and 'has not read the hosts yet' in answer['why'][0]
