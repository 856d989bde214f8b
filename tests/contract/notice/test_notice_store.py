# SPDX-License-Identifier: Apache-2.0
"""N2 to N4: what every database does for notices: stored, queued, claimed, sent, counted."""

import threading
from dataclasses import replace

import pytest

from nova_market.core.notice.delivery import Recipient
from nova_market.core.notice.preference import Channel, hash_of
from nova_market.core.rebalancing.plan import StoredPlan, waiting_notice
from nova_market.db.job_states import DatabaseJobStates
from nova_market.db.notice_outbox import DatabaseOutbox
from nova_market.db.notices import DatabaseNotices
from nova_market.db.plans import DatabasePlans
from nova_market.errors import TooManyCodes
from tests.support.notice_builders import MAIL, NOW, notice, preference
from tests.support.servers.databases import Wall

HOOK = Recipient(project_id='red', user_id='ann', channel=Channel.WEBHOOK)
URL = 'https://hooks.example.org/x'


@pytest.fixture
def store(database):
    return DatabaseNotices(database, Wall(NOW))


@pytest.fixture
def outbox(database):
    return DatabaseOutbox(database)


@pytest.fixture
def happens(database):
    states = DatabaseJobStates(database)

    def happen(number, *notices):
        before = {'number': number - 1} if number > 1 else {}
        return states.exchange('test', before, {'number': number}, notices)

    return happen


def keys(outbox, recipient=MAIL):
    return [one.key for one in outbox.waiting(recipient)]


def test_what_was_stored_last_is_read(store):
    """By project and user; pages."""
    one = preference(webhook=URL, secret='s', events=('lease.*', 'job.failed'), digest=60.5)
    store.set(preference(), None, 9)
    store.set(one, None, 9)
    store.set(preference(user_id='ben'), None, 9)
    store.set(preference(project_id='blue'), None, 9)
    assert store.preference('red', 'ann') == one and store.preference('red', 'x') is None
    found = store.preferences(None, None, ('', ''), 2)
    assert [(p.project_id, p.user_id) for p in found] == [('blue', 'ann'), ('red', 'ann')]
    (rest,) = store.preferences(None, None, ('red', 'ann'), 2)
    assert rest.user_id == 'ben'
    assert len(store.preferences('red', None, ('', ''), 9)) == 2
    assert store.unset('red', 'ann') and not store.unset('red', 'ann')


def test_why_nothing_is_sent_is_kept_until_he_asks_anew(store):
    """N8: however long the reason is."""
    store.set(preference(), None, 9)
    assert store.stop('red', 'ann', 'x' * 999) and not store.stop('red', 'ann', 'x' * 999)
    assert not store.stop('red', 'bob', 'nobody')
    assert store.preference('red', 'ann') == preference(stopped='x' * 255)
    store.stop('red', 'ann', '')
    assert store.preference('red', 'ann') == preference()
    store.stop('red', 'ann', 'why')
    store.set(preference(at_most=3), None, 9)
    assert store.preference('red', 'ann') == preference(at_most=3)


def test_queued_with_what_stores_the_place(store, outbox, happens):
    """Of two that store it one queues; whoever has not asked gets nothing."""
    store.set(preference(webhook=URL, events=('job.*',), digest=60), None, 9)
    assert happens(1, notice('k1'), notice('k2', 'lease.started'), notice('k3', project_id='blue'))
    assert not happens(1, notice('k1'))
    assert keys(outbox) == keys(outbox, HOOK) == ['k1']
    assert outbox.recipients(NOW + 59, 9) == []
    assert set(outbox.recipients(NOW + 60, 9)) == {MAIL, HOOK}
    (one,) = outbox.waiting(HOOK)
    assert (one.target, one.event, one.project_id) == (URL, 'market.job.failed', 'red')
    assert one.payload == notice('k1').payload and one.at == NOW


def test_a_plan_that_waits_is_for_who_watches_the_cloud(store, outbox, database):
    """Once, however often it is stored."""
    store.set(preference(all_projects=True), None, 9)
    store.set(preference(user_id='ben'), None, 9)
    plan = StoredPlan(id='p1', period=1, mode='advise', created_at=NOW)
    for _ in range(2):
        DatabasePlans(database, Wall(NOW)).add(plan, [waiting_notice(plan)])
    assert outbox.recipients(NOW, 9) == [MAIL] and keys(outbox) == ['plan:p1']


def test_claimed_by_one_and_counted_when_sent(store, outbox, happens):
    """A claim is seen by others at once; what was sent is gone, and its payload with it."""
    store.set(preference(), None, 9)
    happens(1, notice('k1'), notice('k2'))
    batch = outbox.waiting(MAIL)
    assert outbox.claim(batch, 'm', NOW, NOW + 30)
    assert not outbox.claim(batch, 'other', NOW, NOW + 30)
    again = outbox.waiting(MAIL)
    assert {(one.message, one.tries, one.tried_at, one.due_at) for one in again} == {
        ('m', 1, NOW, NOW + 30)
    }
    assert outbox.claim(again, 'm', NOW + 30, NOW + 90)
    (first, second) = outbox.waiting(MAIL)
    assert first.tried_at == second.tried_at == NOW
    outbox.done([first, second], NOW + 31, sent=True)
    assert outbox.recent(MAIL, NOW) == [NOW + 31] and outbox.recent(MAIL, NOW + 31) == []
    assert outbox.counts(NOW) == {'waiting': 0, 'sent': 2, 'given_up': 0}
    assert outbox.purge(NOW + 31) == 0 and outbox.purge(NOW + 32) == 2


def test_of_several_that_claim_at_once_one_does(store, outbox, happens):
    store.set(preference(), None, 9)
    happens(1, *(notice(f'k{number}') for number in range(20)))
    batch, won = outbox.waiting(MAIL), []

    def claim(name):
        if outbox.claim(batch, name, NOW, NOW + 30):
            won.append(name)

    threads = [threading.Thread(target=claim, args=(f'm{n}',)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(won) == 1 and {one.message for one in outbox.waiting(MAIL)} == set(won)


def test_postponed(store, outbox, happens):
    store.set(preference(), None, 9)
    happens(1, notice('k1'))
    assert outbox.oldest() == NOW
    outbox.postpone(MAIL, NOW + 100)
    assert outbox.recipients(NOW + 99, 9) == [] and outbox.recipients(NOW + 100, 9) == [MAIL]


def test_as_many_webhooks_as_mails_are_seen(store, outbox, happens):
    """However many wait for a mail server that is away, and the other way round."""
    by_mail = [replace(MAIL, user_id=f'u{number}') for number in range(3)]
    by_hook = [replace(HOOK, user_id=f'v{number}') for number in range(3)]
    for one in by_mail:
        store.set(preference(user_id=one.user_id), None, 9)
    for one in by_hook:
        store.set(preference(user_id=one.user_id, mail='', webhook=URL), None, 9)
    happens(1, notice('k1'))
    assert outbox.recipients(NOW, 2) == [*by_mail[:2], *by_hook[:2]]
    outbox.postpone(by_mail[0], NOW + 1)
    assert outbox.recipients(NOW, 2) == [*by_mail[1:], *by_hook[:2]]


def test_what_waits_goes_with_its_address(store, outbox, happens):
    """Another address gets none of it; a channel that stays keeps its own."""
    store.set(preference(webhook=URL), None, 9)
    happens(1, notice('k1'))
    store.set(preference(mail='b@example.org', webhook=URL), None, 9)
    assert keys(outbox) == [] and keys(outbox, HOOK) == ['k1']
    assert store.unset('red', 'ann') and keys(outbox, HOOK) == []
    assert outbox.oldest() == 0


def test_codes_count_for_a_day_whatever_else_is_changed(store, outbox):
    """For an address, whoever asks; nothing is stored of what is refused."""
    new = preference(confirmed=False, code_hash=hash_of('c'), code_until=NOW + 9)
    code = notice('c1', 'notice.confirm', payload={'code': 'c'})
    store.set(new, code, 1)
    store.unset('red', 'ann')
    other = replace(new, user_id='ben', mail='ANN@example.org')
    with pytest.raises(TooManyCodes, match='1 codes were sent'):
        store.set(other, replace(code, user_id='ben'), 1)
    assert store.preference('red', 'ben') is None
    (waiting,) = outbox.waiting(replace(MAIL, channel=Channel.CONFIRM))
    assert waiting.target == 'ann@example.org'
    assert store.confirm('red', 'ann', 'c') is None
    store.set(other, replace(code, user_id='ben'), 2)
    confirmed = store.confirm('red', 'ben', 'c')
    assert confirmed is not None and confirmed.confirmed and confirmed.code_hash == ''
