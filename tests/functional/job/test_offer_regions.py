# SPDX-License-Identifier: Apache-2.0
"""Offers of several regions: APIs as processes in three levels and in a ring, and regions that misbehave."""

import json
import time

import pytest

from tests.support.market.region_processes import (
    Region,
    region_processes,
    send,
    stranger,
)
from tests.support.market.shell import shown

pytestmark = [pytest.mark.functional, pytest.mark.clock]

ASKED = {'queue': 'night', 'time_limit': 3600}
TIMEOUT = 4.0
"""[offers]child_timeout where a region does not answer."""


def seconds_of(work):
    """(what it returned, how long it took)."""
    began = time.monotonic()
    found = work()
    return found, time.monotonic() - began


def test_three_levels_in_a_ring(market_service, connect, run, tmp_path, empty_tables):
    """North asks East, East asks South, South asks North: each answers once; the best one is South's.

    It is accepted there by one command, whichever region was asked: the job and its cost are there alone.
    """
    regions = (
        Region(name='North', price=3, children=('East',)),
        Region(name='East', price=2, children=('South',)),
        Region(name='South', price=1, children=('North',)),
    )
    with region_processes(market_service, tmp_path, empty_tables, regions) as running:
        market = connect('alice').market
        for asked in ('North', 'South', 'East'):
            offers, why = market.in_region(asked).create_offers(**ASKED)
            assert [(one.region, one.cost) for one in offers] == [
                ('South', 1_000_000), ('East', 2_000_000), ('North', 3_000_000),
            ], why  # fmt: skip
            assert why == [] and len({one.request_id for one in offers}) == 1
        words = (
            'create',
            '--queue',
            'night',
            '--time-limit',
            '1h',
            '--accept',
            'best',
            '--wrap',
            'true',
        )
        market_service.regions['RegionOne'] = running['North'].url
        status, out, err = run('alice', 'offer', *words, '-f', 'json')
        assert status == 0 and 'is submitted in region South' in err
        best = json.loads(out)[0]
        assert (best['Region'], best['State']) == ('South', 'accepted')
        found = shown(run, 'alice', 'offer', 'show', best['ID'], '--region', 'South')
        assert found['region'] == 'South' and found['job_id']
        assert run('alice', 'offer', 'show', best['ID'], '--region', 'East')[0] != 0
        status, _, err = run('alice', 'offer', 'show', best['ID'], '--region', 'West')
        assert status != 0 and 'West region not found' in err
        jobs = {name: one.stores.jobs.job(found['job_id']) for name, one in running.items()}
        assert [name for name, job in jobs.items() if job is not None] == ['South']
        held = {
            name: one.stores.ledger.balances(['escrow'])['escrow'] for name, one in running.items()
        }
        assert held == {'North': 0, 'East': 0, 'South': 1_000_000}


def test_a_region_that_is_slow_gone_or_lies_is_left_out(
    market_service, connect, tmp_path, empty_tables
):
    """The offers of the others come in time, and the answer has the reason; each is logged once."""
    children = ('Slow', 'East', 'Dead', 'Liar')
    regions = (
        Region(name='North', price=3, children=children, timeout=TIMEOUT),
        Region(name='East', price=2),
    )
    with (
        stranger() as slow,
        stranger() as liar,
        region_processes(market_service, tmp_path, empty_tables, regions) as running,
    ):
        market_service.regions |= {'Slow': slow.url, 'Liar': liar.url, 'Dead': 'http://127.0.0.1:9'}
        slow.reply = trickle
        market = connect('alice').market.in_region('North')
        (offers, why), spent = seconds_of(lambda: market.create_offers(**ASKED))
        assert TIMEOUT <= spent < 2 * TIMEOUT
        assert [one.region for one in offers] == ['East', 'North']
        found = dict(one.split(': ', 1) for one in why)
        assert found['Slow'].startswith('did not answer') and 'Liar' in found
        assert 'ConnectFailure' in found['Dead']
        for reply, problem in LIES:
            liar.reply = reply
            (offers, why), spent = seconds_of(lambda: market.create_offers(**ASKED))
            assert [one.region for one in offers] == ['East', 'North'], why
            found = dict(one.split(': ', 1) for one in why)
            assert problem in found['Liar'] and len(found['Liar']) < 500, problem
        liar.reply = honest
        offers, _ = market.create_offers(**ASKED)
        assert [one.region for one in offers] == ['Liar', 'East', 'North']
        log = running['North'].log.read_text()
        for name in ('Slow', 'Dead', 'Liar'):
            assert log.count(f'region {name} makes no offers') == 1, name
        assert log.count('region Liar makes offers again') == 1
        assert liar.asked[0]['on_behalf']['path'] == ['North']


def test_a_credential_that_can_do_more_is_sent_to_nobody(
    market_service, connect, tmp_path, empty_tables
):
    """O6: the region is not asked, users and operators see why, and its own offers are made."""
    everything = {'method': 'GET', 'path': '/v1/accounts', 'service': 'market'}
    market_service.access_rules = (*market_service.access_rules, everything)
    regions = (Region(name='North', price=3, children=('Spy',)),)
    with (
        stranger() as spy,
        region_processes(market_service, tmp_path, empty_tables, regions) as running,
    ):
        market_service.regions['Spy'] = spy.url
        offers, why = connect('alice').market.in_region('North').create_offers(**ASKED)
        assert [one.region for one in offers] == ['North']
        assert 'access rule for GET /v1/accounts of market' in why[0]
        assert spy.asked == []
        assert 'the credential of [regions] cannot be used' in running['North'].log.read_text()


def trickle(asked, handler):
    """A byte of the status line each tenth of a second, for longer than anybody waits."""
    for byte in b'HTTP/1.1 201 ' + b'C' * 80:
        handler.wfile.write(bytes([byte]))
        time.sleep(0.1)


def true_offer(asked, **more):
    """An offer for what was asked."""
    given = asked['on_behalf']
    return {
        'id': '00000000-0000-4000-8000-000000000001', 'number': 1, 'region': 'Liar',
        'request_id': given['request_id'], 'project_id': given['project_id'],
        'user_id': given['user_id'], 'queue_id': '00000000-0000-4000-8000-000000000002',
        'queue': 'night', 'state': 'open', 'flavor': 'small', 'servers': 1,
        'time_limit': asked['time_limit'], 'how': 'idle_worker', 'count': 1, 'cost': 1,
        'prices': {'core_hour': 1}, 'seconds': 3600.0, 'start': '2026-11-22T00:00:00Z',
        'finish': '2026-11-22T01:00:00Z', 'utility': 'cost_time', 'weight': 0.5, 'deadline': None,
        'created_at': '2026-11-22T00:00:00Z', 'valid_until': '2026-11-22T00:05:00Z', 'fees': 0,
        'accepted_at': None, 'job_id': None, 'refunded': 0, **more,
    }  # fmt: skip


def answer(handler, asked, offers, **more):
    body = {'request_id': asked['on_behalf']['request_id'], 'offers': offers, 'why': [], **more}
    send(handler, 201, json.dumps(body).encode())


def honest(asked, handler):
    answer(handler, asked, [true_offer(asked)])


def with_offer(**more):
    """A lie in an offer that is true otherwise."""
    return lambda asked, handler: answer(handler, asked, [true_offer(asked, **more)])


def many(asked, handler):
    ids = [f'00000000-0000-4000-8000-{n:012x}' for n in range(501)]
    answer(handler, asked, [true_offer(asked, id=one) for one in ids])


def endless(asked, handler):
    """100 MB."""
    handler.send_response(201)
    handler.send_header('Content-Length', str(100 * 2**20))
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b' ' * 2**20)


OTHER = '00000000-0000-4000-8000-0000000000ff'
LIES = (
    (with_offer(request_id=OTHER), 'request_id is '),
    (lambda asked, handler: answer(handler, asked, [], request_id=OTHER), 'request_id is '),
    (with_offer(project_id='f' * 32), 'project_id is '),
    (with_offer(time_limit=7200), 'time_limit is 7200'),
    (with_offer(servers=2), 'servers is 2'),
    (with_offer(region='North'), 'which was asked already'),
    (with_offer(cost=float('nan')), 'no JSON'),
    (with_offer(cost=10**30), 'cost'),
    (with_offer(cost=-1), 'cost'),
    (with_offer(cost='1'), 'cost'),
    (with_offer(seconds=1e308), 'seconds'),
    (with_offer(seconds=0), 'seconds'),
    (with_offer(finish='soon'), 'time'),
    (with_offer(id='../../token'), 'id'),
    (with_offer(state='accepted'), 'state'),
    (lambda asked, handler: answer(handler, asked, [true_offer(asked)] * 2), 'the same id'),
    (many, 'offers'),
    (endless, 'longer than 1048576 bytes'),
    (lambda asked, handler: send(handler, 201, b'[' * 100_000), 'Expected'),
    (lambda asked, handler: send(handler, 201, b'{}', Content_Encoding='gzip'), 'packed'),
    (lambda asked, handler: send(handler, 302, b'', Location='http://127.0.0.1:9/'), 'HTTP 302'),
    (lambda asked, handler: send(handler, 500, b'no'), 'HTTP 500'),
)
