# SPDX-License-Identifier: Apache-2.0
"""What a job is charged, and paid for being preempted (rules J2, J4): as numbers and as properties."""

from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.job.billing import keys_of, new_holds, settlement
from nova_market.core.job.charge import (
    EndedRun,
    attempt_charge,
    compensation_due,
    ended_run,
    pauses,
)
from nova_market.core.job.record import AttemptState, JobEvent, JobState, JobWish
from nova_market.core.job.request import most_cost
from nova_market.core.job.store_values import JobStep
from nova_market.core.ledger.money import MICRO
from nova_market.core.ledger.posting import MINT, Book, Posting, Reason, account
from tests.support.job_records import attempt, job, queue

START = 1_000_000.0
HOUR = 3600
NIGHT = queue(price_core_hour=MICRO, project='red')
RUNNING, WAITING, FINISHED = JobState.RUNNING, JobState.WAITING, JobState.FINISHED
ENDS = (AttemptState.FINISHED, AttemptState.FAILED, AttemptState.CANCELLED)


def priced(name='a', price=MICRO, project='blue', **more):
    """A job that has run, of another project than its queue's; two hours of one core at most."""
    given = {'time_limit': 2 * HOUR, 'cores': 1.0, 'servers': 1, 'state': RUNNING, 'attempt': 1}
    one = job(name, project=project, **{**given, **more})
    size = (one.cores, one.memory_mib, one.disk_gib)
    limit = most_cost(replace(NIGHT, price_core_hour=price), size, one.servers, one.time_limit)
    return replace(one, cost_limit=limit)


def part(seconds, state=AttemptState.FINISHED, saved=0.0, rank=0):
    """One server's part, which has run so long; saved: its last checkpoint, after so many seconds."""
    return attempt(
        state=state, started_at=START, ended_at=START + seconds, rank=rank,
        saved_at=START + saved if saved else 0.0,
    )  # fmt: skip


def ended(one, *parts, then=FINISHED, **more):
    return EndedRun(job=one, queue=NIGHT, then=then, parts=parts, **more)


@pytest.mark.parametrize('state', ENDS)
def test_a_run_is_charged_however_its_script_or_its_owner_ended_it(state):
    """One hour of one core at one credit; three servers with two cores cost six times as much."""
    assert attempt_charge(ended(priced(), part(HOUR, state))) == MICRO
    gang = priced(servers=3, cores=2.0)
    parts = [part(HOUR, state, rank=n) for n in range(3)]
    assert attempt_charge(ended(gang, *parts)) == 6 * MICRO


def test_what_the_service_has_lost_is_not_charged():
    assert attempt_charge(ended(priced(), part(HOUR, AttemptState.LOST), then=WAITING)) == 0
    never = replace(part(HOUR), started_at=0.0)
    assert attempt_charge(ended(priced(), never)) == 0


def test_time_in_suspension_is_not_charged():
    """Neither to its owner nor, of what it has lost since its checkpoint, to who displaced it."""
    half = ((START + HOUR / 4, START + HOUR * 3 / 4),)
    assert attempt_charge(ended(priced(), part(HOUR), pauses=half)) == MICRO // 2
    assert attempt_charge(ended(priced(), part(HOUR), pauses=((START - 1, inf),))) == 0
    lost = part(HOUR, AttemptState.PREEMPTED, saved=HOUR / 2)
    run = ended(priced(), lost, then=WAITING, pauses=half)
    assert attempt_charge(run) == MICRO // 4
    displaced = replace(run, displacer=priced('b'), displacer_price=MICRO)
    assert compensation_due(displaced) == MICRO // 4


def test_all_attempts_together_cost_at_most_what_is_held():
    """Two hours are held, and one and three quarters were charged before: of an hour a quarter is left."""
    one = replace(priced(), charged=MICRO * 7 // 4)
    assert attempt_charge(ended(one, part(HOUR))) == MICRO // 4
    assert attempt_charge(ended(replace(one, charged=2 * MICRO), part(HOUR))) == 0


def test_pauses_last_from_suspended_to_resumed():
    """Of one attempt, in the order of their numbers; the last one may last still."""
    actions = [(1, 'suspended'), (1, 'resumed'), (2, 'suspended'), (2, 'resumed'), (2, 'suspended')]
    events = [
        JobEvent(job_id='j', at=100.0 * n, action=action, attempt=number, number=n)
        for n, (number, action) in enumerate(actions, 1)
    ]
    assert pauses(events[::-1], 1) == ((100.0, 200.0),)
    assert pauses(events[::-1], 2) == ((300.0, 400.0), (500.0, inf))
    assert pauses(events, 3) == ()


def test_a_preempted_run_is_charged_until_its_last_checkpoint():
    """What its owner has asked to be run again is charged whole: nobody else has ended it."""
    run = ended(priced(), part(HOUR, AttemptState.PREEMPTED, saved=HOUR / 2), then=WAITING)
    assert attempt_charge(run) == MICRO // 2
    own = replace(run, job=replace(run.job, wish=JobWish.REQUEUE))
    assert attempt_charge(own) == MICRO
    without = ended(priced(), part(HOUR, AttemptState.PREEMPTED), then=WAITING)
    assert attempt_charge(without) == 0


def test_the_price_is_never_above_that_at_submission():
    """A queue that became dearer does not raise what was promised; one that became cheaper lowers it."""
    run = ended(priced(), part(HOUR))
    assert attempt_charge(replace(run, queue=replace(NIGHT, price_core_hour=9 * MICRO))) == MICRO
    assert attempt_charge(replace(run, queue=replace(NIGHT, price_core_hour=3))) == 3


def test_a_preempted_job_is_paid_for_what_it_lost_by_who_displaced_it():
    """Half an hour since its checkpoint, at its own price; at the displacer's where that is lower."""
    lost = part(HOUR, AttemptState.PREEMPTED, saved=HOUR / 2)
    other = priced('d', project='green')
    run = ended(priced(), lost, then=WAITING, displacer=other, displacer_price=MICRO)
    assert compensation_due(run) == MICRO // 2
    cheap = priced('d', project='green', price=MICRO // 4)
    assert compensation_due(replace(run, displacer=cheap)) == MICRO // 8
    assert compensation_due(replace(run, displacer_price=0)) == 0
    assert compensation_due(replace(run, displacer=None)) == 0


def test_a_short_job_does_not_pay_for_days_that_it_displaced():
    """It takes a core for ten minutes at most, so it pays ten minutes of a core."""
    short = priced('d', project='green', time_limit=600)
    lost = part(2 * HOUR, AttemptState.PREEMPTED)
    run = ended(priced(), lost, then=WAITING, displacer=short, displacer_price=MICRO)
    assert compensation_due(run) == MICRO // 6
    wide = priced(cores=64.0)
    assert compensation_due(replace(run, job=wide)) == short.cost_limit


@pytest.mark.parametrize('wish', [JobWish.CANCEL, JobWish.REQUEUE])
def test_what_an_owner_has_asked_for_is_no_loss(wish):
    lost = part(HOUR, AttemptState.PREEMPTED)
    run = ended(priced(wish=wish), lost, then=WAITING, displacer=priced('d'), displacer_price=MICRO)
    assert compensation_due(run) == 0


def test_which_steps_end_something():
    """A preempted job that is suspended goes on in its attempt; a start or a new reason ends nothing."""
    one, open_part = priced(), replace(part(0, AttemptState.RUNNING), ended_at=0.0)

    def run(before, then, *parts, **more):
        step = JobStep(job_id=one.id, before=before, changed={'state': then}, attempts=parts)
        return ended_run(step, replace(one, state=before, **more), [open_part], NIGHT)

    done = run(RUNNING, FINISHED, part(HOUR))
    assert done is not None and done.parts == (part(HOUR),) and done.then is FINISHED
    assert run(RUNNING, FINISHED).parts == (open_part,)
    assert run(RUNNING, WAITING, part(60, AttemptState.PREEMPTED)).then is WAITING
    assert run(JobState.HELD, JobState.CANCELLED).parts == ()
    for before, then in (
        (JobState.PREEMPTING, JobState.SUSPENDED),
        (WAITING, JobState.STARTING),
        (JobState.HELD, WAITING),
    ):
        assert run(before, then) is None


# properties: every life of a job, from its submission to its end

seconds = st.integers(0, 3 * HOUR)
states = st.sampled_from([*ENDS[:2], AttemptState.LOST, AttemptState.PREEMPTED])
runs = st.lists(st.tuples(seconds, seconds, states, st.booleans()), min_size=1, max_size=6)


@given(runs=runs, price=st.integers(0, 10**12), cores=st.floats(0.1, 512), has=st.integers(0, 5))
def test_money_of_a_whole_life(runs, price, cores, has):
    """The sum never changes, escrow has what may still be charged, and the end leaves nothing in it.

    has: how many runs its project can pay at once; an owner's requeue needs another one.
    """
    one = priced(price=price, cores=cores)
    night = replace(NIGHT, price_core_hour=price)
    book, red, blue = Book(), account('project', 'red'), account('project', 'blue')
    if grant := one.cost_limit * (1 + has):
        book.post(Posting(key='g', reason=Reason.GRANT, debit=MINT, credit=blue, amount=grant))
    book.post_all(new_holds([one], {one.queue_id: night}))
    for n, (run_time, saved, state, again) in enumerate(runs):
        wish = JobWish.REQUEUE if again else JobWish.RUN
        one = replace(one, attempt=one.attempt + 1, wish=wish)
        own = replace(part(run_time, state, saved), number=one.attempt)
        last = n == len(runs) - 1
        then = FINISHED if last or (not again and state in ENDS) else WAITING
        run = EndedRun(job=one, queue=night, then=then, parts=(own,))
        before = book.balance(red)
        plan = settlement(run, {})
        held_again = post(book, plan)
        assert settlement(run, known(book, run)).postings == plan.postings
        paid = book.balance(red) - before
        settled = plan.settled(0, held_again=held_again)
        assert paid == plan.charge >= 0 and one.charged + plan.charge <= one.cost_limit
        assert sum(book.balances().values()) == 0
        if then is FINISHED or not settled.funds:
            assert book.balance('escrow') == 0
            return
        assert book.balance('escrow') == one.cost_limit - settled.charged
        requeues = settled.changed.get('requeues', one.requeues + 1)
        one = replace(one, charged=settled.charged, requeues=requeues)


def post(book, plan):
    again = [plan.again] if plan.again else []
    if (
        again
        and book.balance(again[0].debit)
        + sum(p.amount for p in plan.postings if p.reason is Reason.RELEASE)
        - plan.charge
        < again[0].amount
    ):
        book.post_all(plan.postings)
        return False
    book.post_all([*plan.postings, *again])
    return True


def known(book, run):
    return {one.key: one for one in book if one.key in keys_of(run)}


@given(first=seconds, second=seconds, ends=st.booleans())
def test_what_was_posted_first_counts(first, second, ends):
    """The service was killed after posting and calculates again, with another end of the attempt."""
    one, then = priced(), FINISHED if ends else WAITING
    book = Book()
    book.post(
        Posting(
            key='g', reason=Reason.GRANT, debit=MINT, credit=account('project', 'blue'),
            amount=one.cost_limit,
        )
    )  # fmt: skip
    book.post_all(new_holds([one], {one.queue_id: NIGHT}))
    before = settlement(ended(one, part(first), then=then), {})
    book.post_all(before.postings)
    run = ended(one, part(second), then=then)
    again = settlement(run, known(book, run))
    if before.charge or ends:
        assert again.charge == before.charge
        assert book.post_all(again.postings) == 0
    assert book.balance('escrow') + book.balance(account('project', 'red')) <= one.cost_limit
