# SPDX-License-Identifier: Apache-2.0
"""Offers for leases and servers by SDK and commands against the real API over HTTP."""

import json

import pytest

from tests.functional.lease.test_lease_cli import at, connect, market_service, now, run
from tests.support.lease_records import HOUR
from tests.support.market.shell import shown

pytestmark = pytest.mark.functional

__all__ = ['connect', 'market_service', 'now', 'run']

LEASE = ('offer', 'create', '--lease', '--cores', '2', '--for', '1h')


def test_the_sdk_has_offers_for_leases(now, connect):
    """Made, read, listed by kind, accepted once by one key, released."""
    market = connect('alice').market
    asked = {'cores': 2, 'duration': HOUR}
    (offer,), why = market.create_offers(kind='lease', lease=asked)
    assert (offer.kind, offer.nodes, offer.cost, list(why)) == ('lease', 1, 2_000_000, [])
    assert market.get_offer(offer.id).cores == 2
    accepted = market.accept_offer(offer.id, key='k')
    assert market.accept_offer(offer.id, key='k').lease_id == accepted.lease_id
    assert market.get_lease(accepted.lease_id).state == 'planned'
    (other,), _ = market.create_offers(kind='server', server={'flavor': 'small', 'duration': HOUR})
    assert market.release_offer(other.id).state == 'released'
    assert [one.id for one in market.offers(kind='server')] == [other.id]


def test_an_offer_is_asked_for_and_accepted_by_commands(now, run):
    """Two starts of a window; the second is accepted, and shown with its lease."""
    status, out, _ = run('alice', *LEASE, '--window', at(now, 2), at(now, 7), '-f', 'json')
    found = json.loads(out)
    assert status == 0 and [one['Start'] for one in found] == [at(now, n) for n in (2, 3, 4, 5)]
    accepted = shown(run, 'alice', 'offer', 'accept', found[1]['ID'])
    assert (accepted['state'], accepted['start'], accepted['kind']) == (
        'accepted', at(now, 3), 'lease',
    )  # fmt: skip
    lease = shown(run, 'alice', 'lease', 'show', accepted['lease_id'])
    assert lease['start'] == at(now, 3)
    status, out, _ = run(
        'alice', 'offer', 'list', '--kind', 'lease', '--state', 'open', '-f', 'json'
    )
    assert status == 0 and len(json.loads(out)) == 3


def test_the_best_offer_is_booked_at_once(now, run):
    """Room for two servers; and a lease that cannot be had shows what can."""
    words = ('offer', 'create', '--server', 'small', '--servers', '2', '--for', '2h')
    status, out, err = run('alice', *words, '--accept', 'best', '-f', 'json')
    assert status == 0 and 'is booked' in err and json.loads(out)[0]['State'] == 'accepted'
    status, out, err = run('alice', *LEASE, '--whole', '-f', 'json')
    assert status and 'whole host or has amounts' in err
    words = ('offer', 'create', '--lease', '--whole', '--nodes', '3', '--for', '1h')
    status, out, err = run('alice', *words, '-f', 'json')
    assert 'no offer: 3 nodes are wanted, at most' in err
    assert {one['Change'] for one in json.loads(out)} == {'later', 'fewer_nodes'}


@pytest.mark.parametrize(
    ('words', 'match'),
    [
        (('--lease',), '--for: it is missing'),
        (('--lease', '--for', '1h', '--flavor', 'small'), '--flavor: not for a lease'),
        (('--server', 'small', '--for', '1h', '--cores', '2'), '--cores: not for a server'),
        (('--queue', 'q', '--time-limit', '1h', '--host', 'a'), '--host: not for a job'),
        (('--queue', 'q'), '--time-limit: it is missing'),
    ],
)
def test_options_of_another_kind_are_refused(now, run, words, match):
    status, _, err = run('alice', 'offer', 'create', *words)
    assert status and match in err
