# SPDX-License-Identifier: Apache-2.0
"""Offers by SDK and commands against the real API over HTTP; a forecast stands for the service of jobs."""

import json
from dataclasses import replace

import pytest
from openstack.exceptions import ConflictException

from nova_market.core.job.forecast import document_of
from nova_market.services.job.forecasting import STATE
from tests.support.job_records import id_of
from tests.support.market.shell import shown
from tests.support.offer_builders import forecast

pytestmark = pytest.mark.functional


@pytest.fixture
def render(market_service, connect):
    """A queue of Alice's project on one host of one core."""
    made = connect('alice').market.create_queue(
        name='render', flavors=['small', 'big'], image='debian', price_core_hour=3_600_000
    )
    stores = market_service.market.stores
    seen = forecast(at=market_service.market.wall(), cores=(1.0,))
    queues = {made.id: seen.queues[id_of('night')]}
    stores.states.write(STATE, document_of(replace(seen, queues=queues)))
    return made


ASKED = ('offer', 'create', '--queue', 'render', '--time-limit', '10m')


def test_the_sdk_has_offers(render, connect):
    """Made, read, held, released, accepted once by one key."""
    market = connect('alice').market
    (offer,), why = market.create_offers(queue='render', time_limit=600)
    assert (offer.cost, offer.how, offer.flavor) == (600_000, 'new_worker', 'small')
    assert why == ['big: no hosts will have room for 1 such servers']
    assert market.get_offer(offer.id).id == offer.id
    assert market.hold_offer(offer.id, 60).state == 'held'
    assert market.release_offer(offer.id).state == 'released'
    (offer,), _ = market.create_offers(queue='render', time_limit=600)
    accepted = market.accept_offer(offer.id, key='k', script='#!/bin/sh\ntrue\n')
    assert market.accept_offer(offer.id, key='k', script='#!/bin/sh\ntrue\n').id == accepted.id
    assert market.get_job(accepted.job_id).time_limit == 600
    with pytest.raises(ConflictException):
        market.accept_offer(offer.id, script='#!/bin/sh\ntrue\n')
    assert [one.state for one in market.offers()] == ['accepted', 'released']
    assert [one.id for one in market.offers(state='accepted', max_items=1)] == [offer.id]


def test_an_offer_is_asked_for_and_accepted_by_commands(render, run, tmp_path):
    """A table by utility, and why there is none of the other flavor; the script becomes a job."""
    status, out, err = run('alice', *ASKED, '-f', 'json')
    assert status == 0 and 'no offer: big: no hosts will have room' in err
    (line,) = json.loads(out)
    assert (line['Cost'], line['How'], line['Places'], line['State']) == (
        600_000, 'new_worker', 1, 'open',
    )  # fmt: skip
    path = tmp_path / 'frame.sh'
    path.write_text('#!/bin/sh\ntrue\n')
    words = ('offer', 'accept', line['ID'], str(path), '--env', 'A=1')
    accepted = shown(run, 'alice', *words)
    assert accepted['state'] == 'accepted'
    job = shown(run, 'alice', 'job', 'show', accepted['job_id'])
    assert job['name'] == 'frame.sh' and job['id'] == accepted['job_id']
    assert shown(run, 'alice', 'offer', 'show', line['ID'])['job_id'] == accepted['job_id']


def test_the_best_offer_is_accepted_at_once(render, run):
    """In one command; the next one is behind it. Alternatives of an offer that is gone are shown."""
    (early,) = shown(run, 'alice', *ASKED)
    status, out, err = run('alice', *ASKED, '--accept', 'best', '--wrap', 'true', '-f', 'json')
    assert status == 0 and 'is submitted' in err and json.loads(out)[0]['State'] == 'accepted'
    status, _, err = run('alice', 'offer', 'accept', early['ID'], '--wrap', 'true')
    assert status != 0 and 'market.offer.gone' in err and 'instead: ' in err
    assert 'costs 0.6' in err and 'on small' in err
    lines = shown(run, 'alice', 'offer', 'list', '--state', 'open')
    assert [line['How'] for line in lines] == ['busy_worker', 'new_worker']


def test_holding_and_releasing_by_commands(render, run):
    """For a duration as people write it."""
    (line,) = shown(run, 'alice', *ASKED)
    assert shown(run, 'alice', 'offer', 'hold', line['ID'], '--for', '2m')['state'] == 'held'
    assert shown(run, 'alice', *ASKED)[0]['How'] == 'busy_worker'
    assert shown(run, 'alice', 'offer', 'release', line['ID'])['state'] == 'released'


@pytest.mark.parametrize(
    ('words', 'text'),
    [
        (('frame.sh',), 'without --accept best'),
        (('--accept', 'best'), 'give a script, or --wrap'),
        (('--accept', 'best', '--wrap', 'true', '--servers', '9'), 'there is no offer to accept'),
        (('--weight', 'nan'), 'give a weight'),
        (('--deadline', '2001-01-01T00:00:00'), 'is past'),
    ],
)
def test_what_cannot_be_is_said(render, run, words, text):
    """On standard error, with a status; nothing is submitted."""
    status, _, err = run('alice', *ASKED, *words)
    assert status != 0 and text in err
    assert shown(run, 'alice', 'job', 'list') == []
