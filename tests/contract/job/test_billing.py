# SPDX-License-Identifier: Apache-2.0
"""The money of jobs on every database: held, charged, compensated, released; each once (J2, J4, F5)."""

import threading
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from nova_market.core.job.billing import new_holds
from nova_market.core.job.charge import EndedRun
from nova_market.core.job.record import AttemptState, JobKind, JobState, JobWish
from nova_market.core.job.store_values import JobQuotas, JobStep
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import ESCROW, MINT, Posting, Reason, account
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.job_decisions import DatabaseJobDecisions
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.ledger_tables import postings
from nova_market.db.queues import DatabaseQueues
from nova_market.errors import BalanceTooLow
from nova_market.services.job.billing import Billing
from tests.support.job_records import QUOTAS, attempt, id_of, job, new_jobs, queue
from tests.support.servers.databases import Wall

PRICE = 3600
"""Micro-credits per core and hour: one per core-second."""

START = 1_800_000_000.0
NIGHT = queue(price_core_hour=PRICE, projects=('blue', 'green'))
RED, BLUE, GREEN = (account('project', name) for name in ('red', 'blue', 'green'))
RUNNING, WAITING, FINISHED = JobState.RUNNING, JobState.WAITING, JobState.FINISHED


@pytest.fixture
def wall():
    return Wall(START)


@pytest.fixture
def ledger(database, wall):
    """Blue and green have 1,000 micro-credits each; the queue's project has no account yet."""
    DatabaseAccounts(database).open(
        [Account(id=name, project_id=name.partition(':')[2]) for name in (BLUE, GREEN)]
    )
    made = DatabaseLedger(database, wall)
    for name in (BLUE, GREEN):
        made.post([grant(name, 1000)], by='admin')
    yield made
    assert made.discrepancies() == []


@pytest.fixture
def store(database, wall, ledger):
    DatabaseQueues(database, wall).create(NIGHT, most=9)
    return DatabaseJobDecisions(database, wall)


@pytest.fixture
def billing(database, ledger):
    return Billing(ledger, DatabaseAccounts(database), database.boundary)


def grant(name, amount, key='first'):
    return Posting(
        key=f'grant:0:{key}:{name}', reason=Reason.GRANT, debit=MINT, credit=name, amount=amount
    )


def priced(name='a', project='blue', **more):
    """Best effort, so that nothing is held but what one run may cost."""
    given = {'kind': JobKind.BEST_EFFORT, 'cost_limit': 600, **more}
    return job(name, project=project, **given)


def displacer(project='green'):
    """A production job, which takes the room of others; what it may owe is held beside its run."""
    more = {'kind': JobKind.PRODUCTION, 'time_limit': 300}
    return priced('d', project, cost_limit=300, reserve=300, **more)


def submitted(store, *jobs):
    """Stored with what is held for them, as admission does it."""
    new = new_jobs(*jobs)
    return store.submit(replace(new, holds=new_holds(jobs, {NIGHT.id: NIGHT})), QUOTAS)


def active(store, name='a'):
    """It runs, in its next attempt."""
    one = store.job(id_of(name))
    step = JobStep(
        job_id=one.id, before=one.state, changed={'state': RUNNING, 'attempt': one.attempt + 1}
    )
    assert store.decide([step]) == [one.id]
    return store.job(one.id)


def ended(one, seconds, state=AttemptState.FINISHED, then=FINISHED, **more):
    part = attempt(one.name, one.attempt, state=state, given_at=START, ended_at=START + seconds)
    return EndedRun(job=one, queue=NIGHT, then=then, parts=(part,), **more)


def displaced(store, owed, by='d'):
    """Job `a` runs, and is ordered to go for another one."""
    one = active(store)
    changed = {'state': JobState.PREEMPTING, 'displaced_by': id_of(by), 'owed': owed}
    step = JobStep(job_id=one.id, before=RUNNING, changed=changed, displacer=id_of(by))
    assert store.decide([step]) == [one.id]
    return store.job(one.id)


def preempted(store, one, seconds, then=WAITING, by='d', state=AttemptState.PREEMPTED):
    """It has gone, so many seconds after it got its script."""
    return ended(one, seconds, state, then, displacer=store.job(id_of(by)))


def stored(store, run, found):
    """What the service does next: the step with the columns."""
    step = JobStep(
        job_id=run.job.id, before=run.job.state, changed={'state': run.then, **found.changed}
    )
    assert store.decide([step]) == [run.job.id]
    return store.job(run.job.id)


def money(ledger):
    """What blue, green, red and the escrow have."""
    found = ledger.balances([BLUE, GREEN, RED, ESCROW])
    return tuple(found.get(name, 0) for name in (BLUE, GREEN, RED, ESCROW))


def test_a_job_is_held_charged_and_released(store, ledger, billing):
    """Its project's statement has all of it; the queue's project, which had no account, gets the charge."""
    submitted(store, priced())
    assert money(ledger) == (400, 1000, 0, 600)
    run = ended(active(store), 100)
    found = billing.settle([run])[id_of('a')]
    assert found.changed == {'charged': 100, 'compensation': 0, 'owed': 0, 'reserve': 0}
    assert stored(store, run, found).charged == 100
    assert money(ledger) == (900, 1000, 100, 0)
    lines = [(one.posting.reason, one.change) for one in ledger.statement(BLUE)]
    assert lines[:4] == [('release', 500), ('charge', -100), ('release', 100), ('hold', -600)]
    assert {one.by for one in ledger.statement(RED)} == {'nova-market-jobs'}
    assert ledger.statement(RED)[0].posting.key == f'charge:0:job/{id_of("a")}/1/0'


def test_who_is_killed_before_storing_settles_again(store, ledger, billing):
    """Nothing is posted twice, and the first amount counts, as the second has a later end."""
    submitted(store, priced())
    one = active(store)
    first = billing.settle([ended(one, 100)])
    assert billing.settle([ended(one, 130)]) == first
    assert money(ledger) == (900, 1000, 100, 0)


def test_nothing_is_submitted_without_funds(store, ledger):
    """Also where they went between the check and the transaction; nothing is stored then."""
    submitted(store, priced())
    with pytest.raises(BalanceTooLow, match=r'has 0\.0004 credits left'):
        submitted(store, priced('b'))
    assert store.job(id_of('b')) is None
    with pytest.raises(BalanceTooLow):
        submitted(store, priced('c', 'green'), priced('d', 'green'))
    assert money(ledger) == (400, 1000, 0, 600)
    assert submitted(store, priced())[1] is False
    assert money(ledger) == (400, 1000, 0, 600)


def test_a_job_that_is_cancelled_before_it_starts_costs_nothing(store, ledger):
    """Run again, it is held again, as often as its owner wants it, and as far as he can pay."""
    submitted(store, priced())
    for _ in range(2):
        store.want(id_of('a'), JobWish.CANCEL, 'by u')
        store.want(id_of('a'), JobWish.CANCEL, 'by u')
        assert money(ledger) == (1000, 1000, 0, 0)
        store.want(id_of('a'), JobWish.REQUEUE, 'by u')
        assert money(ledger) == (400, 1000, 0, 600)
    store.want(id_of('a'), JobWish.CANCEL, 'by u')
    ledger.post([replace(grant(BLUE, 401, 'away'), debit=BLUE, credit=MINT)])
    with pytest.raises(BalanceTooLow):
        store.want(id_of('a'), JobWish.REQUEUE, 'by u')
    assert store.job(id_of('a')).state is JobState.CANCELLED


def test_a_job_that_has_ended_is_charged_for_its_next_run_too(store, ledger, billing):
    """Each run may cost its limit, and `charged` is what all of them have cost."""
    submitted(store, priced())
    run = ended(active(store), 500)
    stored(store, run, billing.settle([run])[id_of('a')])
    ledger.post([grant(BLUE, 100, 'more')])
    again = store.want(id_of('a'), JobWish.REQUEUE, 'by u')
    assert (again.charged, money(ledger)) == (500, (0, 1000, 500, 600))
    run = ended(active(store), 600)
    assert billing.settle([run])[id_of('a')].charged == 1100
    assert money(ledger) == (0, 1000, 1100, 0)


def test_a_production_job_holds_as_much_again_for_others(store, ledger, billing):
    """At its submission, and when it is run again; it comes back when it has ended."""
    submitted(store, displacer())
    assert money(ledger) == (1000, 400, 0, 600)
    run = ended(active(store, 'd'), 50)
    assert stored(store, run, billing.settle([run])[id_of('d')]).reserve == 0
    assert money(ledger) == (1000, 950, 50, 0)
    assert store.want(id_of('d'), JobWish.REQUEUE, 'by u').reserve == 300
    assert money(ledger) == (1000, 350, 50, 600)
    assert store.want(id_of('d'), JobWish.CANCEL, 'by u').reserve == 0
    assert money(ledger) == (1000, 950, 50, 0)


def test_a_lost_run_is_paid_and_another_one_held(store, ledger, billing):
    """What could have been its own doing is charged; what the cloud did is free, and posts nothing."""
    submitted(store, priced())
    lost = ended(active(store), 300, AttemptState.LOST, WAITING)
    found = billing.settle([lost])[id_of('a')]
    assert found.changed == {'charged': 300, 'compensation': 0, 'owed': 0, 'requeues': 1}
    assert money(ledger) == (100, 1000, 300, 600)
    assert billing.settle([lost])[id_of('a')] == found
    one = stored(store, lost, found)
    free = ended(active(store), 300, AttemptState.LOST, WAITING)
    free = replace(free, parts=(replace(free.parts[0], by_cloud=True),))
    found = billing.settle([free])[id_of('a')]
    assert (found.charged, stored(store, free, found).requeues) == (300, one.requeues)
    assert money(ledger) == (100, 1000, 300, 600)
    poor = ended(active(store), 300, AttemptState.LOST, WAITING)
    found = billing.settle([poor])[id_of('a')]
    assert (found.funds, found.charged, found.changed['reserve']) == (False, 600, 0)
    assert money(ledger) == (400, 1000, 600, 0)


def test_elements_of_an_array_are_released_one_by_one(store, ledger, billing):
    """They were held together."""
    many = [
        replace(
            priced(f'a{n}'), cost_limit=200, array_id=id_of('many'), array_index=n, array_size=3
        )
        for n in range(3)
    ]
    submitted(store, *many)
    assert money(ledger) == (400, 1000, 0, 600)
    store.want(many[0].id, JobWish.CANCEL, 'by u')
    runs = [ended(active(store, f'a{n}'), 3 * n) for n in (1, 2)]
    assert {one.charged for one in billing.settle(runs).values()} == {1, 2}
    assert money(ledger) == (997, 1000, 3, 0)


def test_a_preempted_job_is_paid_by_who_displaced_it(store, ledger, billing):
    """From what that one holds for it since the order; it has paid its run, and another one is held."""
    submitted(store, priced())
    submitted(store, displacer())
    one = displaced(store, 200)
    assert (one.owed, store.job(id_of('d')).reserve) == (200, 100)
    run = preempted(store, one, 300)
    found = billing.settle([run])
    changed = {'charged': 300, 'compensation': 200, 'owed': 0, 'requeues': 1}
    assert found[one.id].changed == changed
    assert money(ledger) == (1000 - 600 - 300 + 200, 400, 300, 600 + 300 + 100)
    assert billing.settle([run]) == found
    assert ledger.statement(GREEN)[0].posting.reason is Reason.COMPENSATION
    one = stored(store, run, found[one.id])
    done = ended(active(store), 600)
    assert billing.settle([done])[one.id].charged == 900
    assert money(ledger) == (300, 400, 900, 400)


def test_a_displacer_owes_all_together_what_it_holds(store, ledger, billing):
    """Whatever each of them is worth; one that holds nothing any more pays nothing."""
    submitted(store, priced(cost_limit=100), priced('b', cost_limit=100))
    submitted(store, displacer())
    assert displaced(store, 250).owed == 250
    two = active(store, 'b')
    changed = {'state': JobState.PREEMPTING, 'displaced_by': id_of('d'), 'owed': 250}
    step = JobStep(job_id=two.id, before=RUNNING, changed=changed, displacer=id_of('d'))
    assert store.decide([step]) == [two.id]
    assert (store.job(two.id).owed, store.job(id_of('d')).reserve) == (50, 0)
    store.want(id_of('d'), JobWish.CANCEL, 'by u')
    assert money(ledger) == (800, 700, 0, 200 + 300)


@pytest.mark.parametrize('state', [AttemptState.FINISHED, AttemptState.LOST])
def test_what_ends_by_itself_is_owed_nothing(store, ledger, billing, state):
    """It was ordered to go, and ended before: what was meant for it goes back to the displacer's project."""
    submitted(store, priced())
    submitted(store, displacer())
    run = preempted(store, displaced(store, 200), 300, FINISHED, state=state)
    assert billing.settle([run])[id_of('a')].compensation == 0
    assert money(ledger) == (700, 400 + 200, 300, 300 + 100)
    later = replace(run, parts=(replace(run.parts[0], state=AttemptState.PREEMPTED),))
    assert billing.settle([later])[id_of('a')].compensation == 0, 'it went back'
    assert money(ledger) == (700, 600, 300, 400)


def test_a_displacer_that_is_not_stored_any_more(store, ledger, billing):
    """What it held must not stay in escrow for ever."""
    submitted(store, priced())
    submitted(store, displacer())
    run = replace(preempted(store, displaced(store, 200), 300), displacer=None)
    billing.settle([run])
    assert money(ledger) == (1000 - 600 - 300 + 200, 400, 300, 600 + 400)


def test_a_job_in_a_queue_of_its_own_project_moves_nothing(store, ledger, billing):
    """What it would have cost is recorded; its project needs no account."""
    submitted(store, priced(project='red'))
    assert billing.settle([ended(active(store), 100)])[id_of('a')].charged == 100
    assert money(ledger) == (1000, 1000, 0, 0)


def test_an_owner_who_cannot_pay_another_run_gets_none(store, ledger, billing):
    """A requeue charges the whole run and holds another one; where that fails the first is settled all
    the same."""
    submitted(store, priced())
    active(store)
    one = store.want(id_of('a'), JobWish.REQUEUE, 'by u')
    run = ended(one, 300, AttemptState.PREEMPTED, WAITING)
    found = billing.settle([run])[id_of('a')]
    changed = {'charged': 300, 'compensation': 0, 'owed': 0, 'requeues': 1}
    assert found.funds and found.changed == changed
    assert money(ledger) == (100, 1000, 300, 600)
    stored(store, run, found)
    active(store)
    one = store.want(id_of('a'), JobWish.REQUEUE, 'by u')
    poor = billing.settle([ended(one, 300, AttemptState.PREEMPTED, WAITING)])[id_of('a')]
    assert not poor.funds and poor.charged == 600
    assert money(ledger) == (400, 1000, 600, 0)


def test_accounts_that_were_closed_meanwhile(database, store, ledger, billing):
    """What is held or due goes to the bank: nothing stays in the escrow, and no pass fails."""
    submitted(store, priced(), priced('b', 'green'))
    ledger.post([replace(grant(BLUE, 400, 'away'), debit=BLUE, credit=MINT)])
    DatabaseAccounts(database).close(BLUE)
    runs = [ended(active(store, name), 100) for name in ('a', 'b')]
    first = billing.settle(runs)
    assert money(ledger) == (0, 900, 200, 0)
    assert ledger.balances(['bank'])['bank'] == 500
    assert billing.settle(runs) == first


@pytest.mark.usefixtures('defects')
@pytest.mark.parametrize(('reason', 'stage'), [('charge', 'charge'), ('release', 'pay')])
def test_a_posting_that_cannot_be_read_costs_its_job(
    database, store, ledger, billing, reason, stage
):
    """It waits: its run is not charged once more, and what is held for it does not stay in escrow."""
    submitted(store, priced(), priced('b', 'green'))
    run, other = ended(active(store), 100), ended(active(store, 'b'), 200)
    first = billing.settle([run])
    key = f'{reason}:0:job/{id_of("a")}/1/0'
    chosen = update(postings).where(postings.c.posting_key == key)
    database.write(lambda connection: connection.execute(chosen.values(reason='fun')))
    assert [*billing.settle([run, other])] == [id_of('b')]
    aside = {(one.kind, one.id, one.stage) for one in database.boundary.listed()}
    assert ('job', id_of('a'), stage) in aside
    assert money(ledger) == (900, 800, 300, 0)
    database.write(lambda connection: connection.execute(chosen.values(reason=reason)))
    assert billing.settle([run]) == first
    assert database.boundary.listed() == ()
    assert money(ledger) == (900, 800, 300, 0)


def test_a_price_of_nothing_posts_nothing(store, ledger, billing):
    """So a cloud without a market needs no accounts."""
    store.submit(new_jobs(job(project='nobody')), QUOTAS)
    run = replace(ended(active(store), 100), queue=queue())
    assert billing.settle([run])[id_of('a')].charged == 0
    assert billing.settle([]) == {}


def test_submissions_at_once_hold_no_more_than_there_is(store, ledger):
    """Each of eight is within the balance when it is checked; one is stored."""
    results = []

    def submit(n):
        try:
            submitted(store, priced(f'p{n}'))
            results.append(True)
        except BalanceTooLow:
            results.append(False)

    threads = [threading.Thread(target=submit, args=[n]) for n in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(results) == [False] * 7 + [True]
    assert money(ledger) == (400, 1000, 0, 600)


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(['a', 'b', 'c']),
        st.sampled_from(['submit', 'run', 'end', 'preempt', 'lose', 'cancel', 'requeue', 'twice']),
        st.integers(0, 700),
    ),
    max_size=15,
)
QUOTA = JobQuotas(most_waiting=100)
OWNERS = {'a': 'blue', 'b': 'green', 'c': 'blue'}


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=ACTIONS)
def test_the_sum_over_all_accounts_never_changes(database, store, ledger, billing, actions):
    """Whatever happens in whatever order: and escrow has exactly what open jobs may still be charged."""
    prefix = str(id(actions)) + str(len(ledger.statement(MINT, limit=10_000)))
    for n, name in enumerate((BLUE, GREEN)):
        ledger.post([grant(name, 900, f'{prefix}{n}')])
    base = money(ledger)[3]
    for short, action, seconds in actions:
        act(store, billing, prefix + short, OWNERS[short], action, seconds)
        names = [prefix + one for one in OWNERS]
        there = [one for one in map(store.job, map(id_of, names)) if one is not None]
        open_jobs = [one for one in there if not one.state.startswith(('fin', 'fail', 'canc'))]
        held = sum(one.cost_limit + one.reserve for one in open_jobs)
        assert money(ledger)[3] - base == held
    assert ledger.discrepancies() == []
    for one in open_jobs if actions else ():
        run = EndedRun(job=one, queue=NIGHT, then=JobState.FAILED)
        stored(store, run, billing.settle([run])[one.id])
    assert money(ledger)[3] == base


def act(store, billing, name, project, action, seconds):
    """Does it if the job is where that can happen."""
    one = store.job(id_of(name))
    if one is None:
        if action == 'submit':
            try:
                submitted(store, priced(name, project))
            except BalanceTooLow:
                return
        return
    if action == 'run' and one.state is WAITING:
        active(store, name)
    elif action in {'cancel', 'requeue'} and not (action == 'requeue' and one.state is WAITING):
        try:
            store.want(one.id, JobWish(action), 'by u')
        except BalanceTooLow:
            return
    elif one.state is RUNNING and action in {'end', 'preempt', 'lose', 'twice'}:
        finish(store, billing, one, action, seconds)


def finish(store, billing, one, action, seconds):
    state = {'preempt': AttemptState.PREEMPTED, 'lose': AttemptState.LOST}.get(
        action, AttemptState.FINISHED
    )
    then = WAITING if action in {'preempt', 'lose'} and one.wish is not JobWish.CANCEL else FINISHED
    run = ended(one, seconds, state, then)
    found = billing.settle([run])[one.id]
    if action == 'twice':
        found = billing.settle([replace(run, then=then)])[one.id]
    if not found.funds:
        run = replace(run, then=JobState.FAILED)
    changed = dict(found.changed)
    step = JobStep(
        job_id=one.id, before=one.state,
        changed={'state': run.then, 'wish': JobWish.RUN, **changed},
    )  # fmt: skip
    assert store.decide([step]) == [one.id]
