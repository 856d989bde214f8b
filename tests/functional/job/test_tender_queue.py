# SPDX-License-Identifier: Apache-2.0
"""A queue of policy tender: tasks of two users by accepted offers, on workers that come and go (T1 to T4)."""

from datetime import datetime

import pytest

from nova_market.core.job.record import JobState
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import ESCROW, MINT, Posting, Reason
from nova_market.core.timestamp import seconds
from tests.support.job_bed import JobBed, host, id_of
from tests.support.market.api import ALICE, BOB
from tests.support.market.api import OPERATOR as CAROL

pytestmark = pytest.mark.functional

HOUR = 3600
PRICE = 3_600_000
"""1000 micro-credits for a core-second."""

CREDITS = 10**9


@pytest.fixture
def bed(fast):
    """Two hosts of four cores, and Alice's queue, to which Bob and Carol submit."""
    return tender_bed(fast)


def tender_bed(base, *hosts, **more):
    made = JobBed(base, hosts=list(hosts or (host('a'), host('b'))))
    given = {
        'projects': (BOB, CAROL), 'price_core_hour': PRICE, 'share': 1.0, 'policy': 'tender',
        'flavors': ('small',), 'parameters': {'price_period': 50.0}, 'projects_trust_each_other': True,
    }  # fmt: skip
    made.add_queue('day', ALICE, **given | more)
    made.accounts.open(
        [Account(id=f'project:{name}', project_id=name) for name in (ALICE, BOB, CAROL)]
    )
    for name in (BOB, CAROL):
        credit = f'project:{name}'
        made.ledger.post(
            [Posting(key=name, reason=Reason.GRANT, debit=MINT, credit=credit, amount=CREDITS)]
        )
    made.pass_()
    return made


def ask(bed, user=BOB, **more):
    asked = {'queue': id_of('day'), 'time_limit': 100, 'utility': 'fastest', **more}
    answer = bed.market.call('POST', '/v1/offers', f'member@{user}', json=asked)
    assert answer.status_code == 201, answer.json
    return answer.json


def accept(bed, offer, user=BOB, sleep=100.0, name='task'):
    """(status, answer)."""
    job = {'name': name, 'script': f'#!/bin/sh\nsleep {sleep}\nexit 0\n', 'notice': 0}
    path = f'/v1/offers/{offer["id"]}/accept'
    answer = bed.market.call('POST', path, f'member@{user}', json={'job': job})
    return answer.status_code, answer.json


def workers(bed):
    return len(bed.stores.attempts.workers())


def test_a_job_without_an_offer_is_refused(bed):
    """With what to do instead."""
    job = {'queue': id_of('day'), 'script': '#!/bin/sh\ntrue\n', 'time_limit': 60}
    answer = bed.market.call('POST', '/v1/jobs', f'member@{BOB}', json={'jobs': [job]})
    assert answer.status_code == 400, answer.json
    assert 'openstack market offer create --queue day' in answer.json['errors'][0]['detail']


def test_busy_and_new_workers_are_offered_for_one_flavor(bed):
    """Behind the task that runs, and at once on a worker that is made; then on one that is idle."""
    first = ask(bed)['offers']
    assert [(one['how'], one['count'], one['cost']) for one in first] == [
        ('new_worker', 8, 100_000)
    ]
    assert accept(bed, first[0])[0] == 201
    # before any pass: behind what was promised, and seven more
    hows = {one['how']: one for one in ask(bed)['offers']}
    assert {name: one['count'] for name, one in hows.items()} == {'new_worker': 7, 'busy_worker': 1}
    bed.run(6)
    hows = {one['how']: one for one in ask(bed)['offers']}
    assert set(hows) == {'new_worker', 'busy_worker'}
    # nobody keeps an old price, or goes before those who wait behind him, by running again
    runs = bed.market.call('GET', '/v1/jobs', f'member@{BOB}').json['jobs'][0]
    again = bed.market.call('POST', f'/v1/jobs/{runs["id"]}/requeue', f'member@{BOB}')
    assert again.status_code == 400 and 'accept a new offer' in again.json['message']
    assert hows['busy_worker']['seconds'] > hows['new_worker']['seconds']
    bed.until(bed.all_ended)
    hows = {one['how']: one for one in ask(bed)['offers']}
    assert hows['idle_worker']['seconds'] == 115.0 and hows['idle_worker']['count'] == 1
    # it does not run again for an old price
    ended = bed.market.call('GET', '/v1/jobs', f'member@{BOB}').json['jobs'][0]
    again = bed.market.call('POST', f'/v1/jobs/{ended["id"]}/requeue', f'member@{BOB}')
    assert again.status_code == 400 and 'accept a new offer' in again.json['message']


def test_sixty_tasks_of_two_users(bed):
    """Workers grow with the demand and go after the idle time; offers are honoured, or refused with
    alternatives; none starts late; each pays for its seconds, no more than was offered."""
    honoured, gone, most_workers = {}, 0, 0
    prices = []
    for n in range(60):
        user = (BOB, CAROL)[n % 2]
        deadline = bed.clock.wall() + 1500.0
        text = datetime.fromtimestamp(deadline).astimezone().isoformat()
        offers = ask(bed, user, deadline=text)['offers']
        if offers:
            prices.append(offers[0]['cost'])
            status, answer = accept(bed, offers[0], user, sleep=80.0, name=f't{n}')
            if status == 201:
                honoured[answer['job']['id']] = answer['offer']
                # once more: it is not honoured twice
                assert accept(bed, offers[0], user)[0] == 409
            else:
                assert status == 409 and answer['errors'][0]['code'] == 'market.offer.gone'
                gone += 1
        if n % 3 == 2:
            bed.run(1)
            most_workers = max(most_workers, workers(bed))
    assert len(honoured) > 40 and most_workers == 8
    assert max(prices) > min(prices), 'the price follows the demand'
    bed.until(bed.all_ended, passes=600)
    bed.run(1)
    check_ends(bed, honoured)
    bed.until(lambda: workers(bed) == 0, passes=40)
    assert not bed.owners.made


def check_ends(bed, honoured):
    """All that was promised was kept, and the money is where it belongs."""
    charged = {}
    for job_id, offer in honoured.items():
        job = bed.job(job_id)
        assert job.state is JobState.FINISHED
        begins = seconds(offer['start'])
        assert job.started_at <= begins + 1.0, (job.started_at - begins, offer['how'])
        assert job.cost_limit == offer['cost'] and job.charged <= offer['cost']
        ran = job.ended_at - job.started_at
        assert abs(job.charged - offer['cost'] * ran / 100.0) <= 1
        charged[job.project_id] = charged.get(job.project_id, 0) + job.charged
    assert bed.ledger.discrepancies() == [] and bed.balance(ESCROW) == 0
    assert bed.balance(f'project:{ALICE}') == sum(charged.values())
    for user in (BOB, CAROL):
        assert bed.balance(f'project:{user}') == CREDITS - charged.get(user, 0)


def test_memory_and_disk_are_paid_too(fast):
    """The price has three parts, and what is paid follows all of them."""
    bed = tender_bed(fast, parameters={'memory_price': 3600.0})
    offer = ask(bed)['offers'][0]
    # 1 core x 100 s x 1000, and 1024 MiB x 100 s x 1
    assert offer['cost'] == 100_000 + 102_400
    assert accept(bed, offer, sleep=50.0)[0] == 201
    bed.until(bed.all_ended)
    paid = bed.balance(f'project:{ALICE}')
    assert 50 * 2024 <= paid <= 60 * 2024


def test_a_line_without_workers_gets_a_new_one(fast):
    """The only worker dies: what was promised it is not forgotten, and a server is made for it."""
    bed = tender_bed(fast, host('a', cores=1.0))
    assert accept(bed, ask(bed)['offers'][0], sleep=100.0, name='a')[0] == 201
    bed.run(6)
    busy = next(one for one in ask(bed)['offers'] if one['how'] == 'busy_worker')
    status, answer = accept(bed, busy, sleep=20.0, name='b')
    assert status == 201
    job_id = answer['job']['id']
    bed.run(2)
    reason = bed.job(job_id).reason
    assert (reason.code, reason.numbers['place'], reason.numbers['workers']) == ('worker', 1, 1)
    assert workers(bed) == 1
    (server,) = bed.owners.made
    bed.guests.mute.add(server)
    bed.until(lambda: bed.job(job_id).state is JobState.FINISHED)
    assert len({run.server_id for run in bed.guests.runs}) == 2


def test_nobody_is_preempted_for_a_task(bed):
    """Best-effort jobs have all of the room: no new worker is offered, and none goes."""
    bed.add_queue('night', ALICE, flavors=('small',), share=0.0)
    for n in range(8):
        bed.submit(f'low-{n}', 'night', sleep=400.0, best_effort=True)
    bed.run(3)
    answer = ask(bed)
    assert answer['offers'] == [] and 'no host has room for 1 more' in answer['why'][0]
    assert bed.active() == 8
