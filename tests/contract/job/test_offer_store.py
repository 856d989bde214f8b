# SPDX-License-Identifier: Apache-2.0
"""What every database does for offers: kept, listed, promised, accepted once, held, released, closed."""

import threading
from dataclasses import replace

import pytest

from nova_market.core.job.pe_line import Accepted
from nova_market.core.job.queue import WorkerState
from nova_market.core.job.record import JobState, StoredAttempt
from nova_market.core.job.store_values import JobStep
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import MINT, Posting, Reason
from nova_market.core.tender.outlook import FORECAST, ForecastMark
from nova_market.core.tender.stored_offer import How, OfferFilter, OfferState, hold_posting
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.job_attempts import DatabaseJobAttempts
from nova_market.db.job_decisions import DatabaseJobDecisions
from nova_market.db.job_states import DatabaseJobStates
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.offers import DatabaseOffers
from nova_market.db.purge import purge
from nova_market.db.queues import DatabaseQueues
from nova_market.errors import BalanceTooLow, OfferEnded, PromisesChanged, TooManyOffers
from tests.support.job_records import QUOTAS, id_of, job, new_jobs, queue, worker
from tests.support.offer_builders import NOW, offer
from tests.support.servers.databases import Wall

ACCEPTED, HELD, OPEN = OfferState.ACCEPTED, OfferState.HELD, OfferState.OPEN


@pytest.fixture
def wall():
    return Wall(NOW)


@pytest.fixture
def store(database, wall):
    DatabaseQueues(database, wall).create(queue(), 9)
    return DatabaseOffers(database, wall)


def as_accepted(one, name=None):
    return replace(
        one, state=ACCEPTED, job_id=id_of(name or f'job {one.id}'), accepted_at=NOW, due_at=NOW + 60
    )


def accept(store, one, turn, name=None):
    """Accept it for a job of its own."""
    wanted = as_accepted(one, name)
    new = new_jobs(replace(job(), id=wanted.job_id))
    return store.accept(wanted, turn, new, QUOTAS)


def test_offers_are_kept_as_they_were_made(store):
    """Numbered in their order, and read again as they are; a page goes back in time."""
    made = [offer(name, deadline=NOW + 9, weight=0.25) for name in 'abc']
    stored = store.create(made, 10)
    assert [replace(one, number=0) for one in stored] == made
    assert [one.number for one in stored] == sorted(one.number for one in stored)
    assert store.offer(id_of('b')) == stored[1] and store.offer(id_of('x')) is None
    page = store.offers(OfferFilter(now=NOW), limit=2)
    assert list(page) == [stored[2], stored[1]]
    assert list(store.offers(OfferFilter(now=NOW), before=page[-1].number)) == [stored[0]]


def test_offers_are_chosen_by_project_queue_request_and_state(store, wall):
    """An offer whose time is over is expired, though nobody has written it."""
    store.create([offer('a'), offer('b', 'blue', valid_until=NOW + 10)], 10)
    store.release(id_of('a'))
    wall.now = NOW + 10

    def chosen(**more):
        return [one.project_id for one in store.offers(OfferFilter(now=wall.now, **more))]

    assert chosen(project_id='blue') == ['blue'] and chosen(queue_id='x') == []
    assert chosen(request_id=id_of('request a')) == ['red']
    assert chosen(states=(OfferState.RELEASED,)) == ['red']
    assert chosen(states=(OfferState.EXPIRED,)) == ['blue'] and chosen(states=(OPEN,)) == []


def test_a_project_has_at_most_so_many_open_offers(store, wall):
    """Others' do not count, nor those that have expired."""
    store.create([offer('a'), offer('b')], 2)
    with pytest.raises(TooManyOffers, match='would have 3'):
        store.create([offer('c')], 2)
    with pytest.raises(TooManyOffers, match='would have 3'):
        store.check('red', 2)
    store.check('red', 3)
    store.create([offer('c', 'blue')], 2)
    wall.now = NOW + 300
    store.create([offer('d')], 2)
    assert store.offer(id_of('c')).project_id == 'blue'


def test_what_offers_are_made_by_is_read_at_once(store, database, wall):
    """The queue, by id or full name, idle workers by flavor, hosts, promises; no forecast that is known."""
    states, queues = DatabaseJobStates(database), DatabaseQueues(database, wall)
    before = store.outlook('red:night', 'red', ForecastMark())
    assert (before.queue, before.hosts, before.idle) == (queues.queue('red:night'), [], {})
    assert (before.version, before.forecast, before.turn) == (0, {}, 0)
    assert store.outlook('red:day', 'red', ForecastMark()) is None
    idle = WorkerState.IDLE
    DatabaseJobAttempts(database).put(
        [
            worker('a', state=idle, project_id='red'), worker('b', state=idle, project_id='red'),
            worker('c', state=idle, flavor='big', project_id='red'),
            worker('theirs', state=idle, project_id='blue'), worker('both', state=idle),
            worker('busy', state=idle, job_id=id_of('x')), worker('new'),
        ]
    )  # fmt: skip
    queues.note_hosts([(8.0, 1024.0, 9.0)])
    states.write(FORECAST, {'at': NOW - 5})
    first = store.outlook(id_of('night'), 'red', ForecastMark())
    assert (first.idle, first.hosts) == ({'small': 2, 'big': 1}, [(8.0, 1024.0, 9.0)])
    assert (first.version, first.forecast) == (1, {'at': NOW - 5})
    assert store.outlook(id_of('night'), 'blue', ForecastMark()).idle == {'small': 1}
    assert store.outlook(id_of('night'), 'green', ForecastMark()).idle == {}
    known = ForecastMark(version=first.version, at=NOW - 5)
    (made,) = store.create([offer()], 9)
    accept(store, made, 0)
    again = store.outlook('red:night', 'red', known)
    assert again.forecast is None and (again.version, again.turn) == (1, 1)
    assert [one.id for one in again.promised] == [made.id]
    queues.change(id_of('night'), {'projects_trust_each_other': True}, 1)
    assert store.outlook('red:night', 'green', known).idle == {'small': 4, 'big': 1}
    states.write(FORECAST, {'at': NOW + 5})
    newest = store.outlook('red:night', 'red', known)
    assert (newest.version, newest.forecast, newest.promised) == (2, {'at': NOW + 5}, [])


def test_an_accepted_offer_is_a_job_and_a_promise(store, database, wall):
    """Its job is stored with it, and it stands among what was promised since."""
    (one,) = store.create([offer()], 9)
    turn, promised = store.promised(NOW)
    assert promised == []
    found, stored = accept(store, one, turn)
    assert found == store.offer(one.id) and found.state is ACCEPTED
    assert stored == DatabaseJobDecisions(database, wall).job(stored.id)
    assert store.promised(NOW) == (turn + 1, [found])
    assert store.promised(NOW + 1) == (turn + 1, [])
    with pytest.raises(OfferEnded, match='accepted'):
        accept(store, one, turn + 1)
    with pytest.raises(OfferEnded, match='cancel its job'):
        store.release(one.id)


def test_of_one_request_one_offer_is_accepted(store):
    """Another offer of it is none any more; nothing of the second job is stored."""
    first, second = store.create([offer('a', request_id='r'), offer('b', request_id='r')], 9)
    accept(store, first, 0)
    with pytest.raises(OfferEnded, match='another offer'):
        accept(store, second, 1, 'else')
    assert store.promised(NOW)[0] == 1


def test_who_decided_by_what_has_changed_decides_again(store):
    """A turn is taken once; a hold takes one too."""
    first, second = store.create([offer('a'), offer('b')], 9)
    accept(store, first, 0)
    with pytest.raises(PromisesChanged):
        accept(store, second, 0)
    with pytest.raises(PromisesChanged):
        store.hold(replace(second, state=HELD, holds=1), 0, [])
    assert store.offer(second.id).state is OPEN


def test_twenty_accept_one_offer_and_one_gets_it(store):
    """At the same moment, each by the newest turn; one job, one turn."""
    (one,) = store.create([offer()], 9)
    ends, together = [], threading.Barrier(20)

    def client():
        together.wait()
        while True:
            try:
                accept(store, one, store.promised(NOW)[0])
                ends.append('accepted')
            except PromisesChanged:
                continue
            except OfferEnded:
                ends.append('ended')
            return

    threads = [threading.Thread(target=client) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(ends) == ['accepted', *['ended'] * 19]
    assert store.promised(NOW)[0] == 1


def test_a_hold_is_paid_at_once_or_is_none(store, database, wall):
    """The fee and the state in one transaction; a held offer is promised until its end."""
    accounts, ledger = DatabaseAccounts(database), DatabaseLedger(database, wall)
    names = ('red', 'blue')
    accounts.open([Account(id=f'project:{name}', project_id=name) for name in names])
    (one,) = store.create([offer()], 9)
    held = replace(one, state=HELD, holds=1, valid_until=NOW + 600, fees=50)
    fee = hold_posting(one, 'blue', 50)
    with pytest.raises(BalanceTooLow):
        store.hold(held, 0, [fee])
    assert store.offer(one.id) == one and store.promised(NOW) == (0, [])
    ledger.post([Posting(key='g', reason=Reason.GRANT, debit=MINT, credit=fee.debit, amount=80)])
    assert store.hold(held, 0, [fee]) == held == store.offer(one.id)
    assert ledger.balances([fee.debit, fee.credit]) == {fee.debit: 30, fee.credit: 50}
    assert store.promised(NOW) == (1, [held])
    wall.now = NOW + 600
    assert store.promised(NOW) == (1, [])
    with pytest.raises(OfferEnded, match='expired'):
        accept(store, held, 1)
    assert ledger.discrepancies() == []


def test_offers_whose_jobs_have_ended_are_due_once(store, database, wall):
    """With the job as it ended; closed ones are kept with what came back."""
    jobs = DatabaseJobDecisions(database, wall)
    (one,) = store.create([offer()], 9)
    accepted, made = accept(store, one, 0)
    assert store.due() == []
    changed = {'state': JobState.FINISHED, 'ended_at': NOW + 99, 'charged': 7}
    jobs.decide([JobStep(job_id=made.id, before=JobState.WAITING, changed=changed)])
    ((due, ended),) = store.due()
    assert due == accepted and (ended.charged, ended.ended_at) == (7, NOW + 99)
    # a pass noticed the end late
    part = StoredAttempt(
        job_id=made.id, number=made.attempt, worker_id=id_of('w'), created_at=NOW, ended_at=NOW + 55
    )
    jobs.decide([JobStep(job_id=made.id, before=JobState.FINISHED, attempts=(part,))])
    ((_, ended),) = store.due()
    assert ended.ended_at == NOW + 55
    store.close(one.id, 3)
    assert store.due() == []
    assert store.offer(one.id) == replace(accepted, state=OfferState.CLOSED, refunded=3)


def test_old_offers_are_purged(store, database):
    """But not accepted ones, whose money is not settled yet."""
    old, kept, new = store.create(
        [offer('old'), offer('kept'), offer('new', valid_until=NOW + 900)], 9
    )
    accept(store, kept, 0)
    assert purge(database, NOW + 400).rows['offers'] == 1
    assert store.offer(old.id) is None
    assert store.offer(kept.id) is not None and store.offer(new.id) is not None


def test_how_jobs_were_accepted(store):
    """By job, of the queues that are asked for, until the offer is closed; prices are kept."""
    new = offer('new', prices=(3600.0, 0.5, 0.25))
    sizes = {'large': (2.0, 2048.0, 0.0)}
    busy = offer('busy', how=How.BUSY_WORKER, flavor='large', flavors=sizes)
    made = store.create([new, busy, offer('open')], 10)
    assert made[0].prices == (3600.0, 0.5, 0.25) and made[1].prices == ()
    for turn, one in enumerate(made[:2]):
        accept(store, replace(one, request_id=id_of(one.id)), turn)
    assert store.accepted([id_of('night')]) == {
        id_of(f'job {made[0].id}'): Accepted(flavor='small', waits=False),
        id_of(f'job {made[1].id}'): Accepted(flavor='large', waits=True),
    }
    assert store.accepted([id_of('day')]) == {} == store.accepted([])
    store.close(made[0].id, 0)
    assert set(store.accepted([id_of('night')])) == {id_of(f'job {made[1].id}')}
