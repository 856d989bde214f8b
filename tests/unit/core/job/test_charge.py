# SPDX-License-Identifier: Apache-2.0
"""What a job is charged, and owed when it is displaced (rules J2, J4, J8): as numbers and as properties."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nova_market.core.job.billing import keys_of, new_holds, settlement
from nova_market.core.job.cause import Cause, cause_of, silenced_by_cloud
from nova_market.core.job.charge import (
    Displacement,
    EndedRun,
    attempt_charge,
    compensation_due,
    ended_run,
    reserve_of,
)
from nova_market.core.job.record import AttemptState, JobKind, JobState, JobWish
from nova_market.core.job.request import most_cost
from nova_market.core.job.store_values import JobStep
from nova_market.core.ledger.money import MICRO
from nova_market.core.ledger.posting import MINT, Book, Posting, Reason, account
from nova_market.core.market.owner_server import OwnerServer, ServerState
from tests.support.job_records import attempt, job, queue

START = 1_000_000.0
HOUR = 3600
NIGHT = queue(price_core_hour=MICRO, project='red', share=0.5)
RUNNING, WAITING, FINISHED = JobState.RUNNING, JobState.WAITING, JobState.FINISHED
PREEMPTED, LOST = AttemptState.PREEMPTED, AttemptState.LOST
ENDS = (AttemptState.FINISHED, AttemptState.FAILED, AttemptState.CANCELLED)


def priced(name='a', price=MICRO, project='blue', **more):
    """A job that has run, of another project than its queue's; two hours of one core at most."""
    given = {'time_limit': 2 * HOUR, 'cores': 1.0, 'servers': 1, 'state': RUNNING, 'attempt': 1}
    one = job(name, project=project, **{**given, **more})
    size = (one.cores, one.memory_mib, one.disk_gib)
    limit = most_cost(replace(NIGHT, price_core_hour=price), size, one.servers, one.time_limit)
    return replace(one, cost_limit=limit)


def part(seconds, state=AttemptState.FINISHED, rank=0, **more):
    """One server's part, which has had its script for so long."""
    return attempt(
        state=state, given_at=START, started_at=START + 5, ended_at=START + seconds, rank=rank, **more
    )  # fmt: skip


def ended(one, *parts, then=FINISHED, **more):
    return EndedRun(job=one, queue=NIGHT, then=then, parts=parts, **more)


@pytest.mark.parametrize('state', [*ENDS, LOST])
def test_a_run_is_charged_however_its_script_or_its_owner_ended_it(state):
    """One hour of one core at one credit; three servers with two cores cost six times as much."""
    assert attempt_charge(ended(priced(), part(HOUR, state))) == MICRO
    gang = priced(servers=3, cores=2.0)
    parts = [part(HOUR, state, rank=n) for n in range(3)]
    assert attempt_charge(ended(gang, *parts)) == 6 * MICRO


def test_what_the_cloud_has_ended_is_not_charged():
    """Nor what has never had its script."""
    assert attempt_charge(ended(priced(), part(HOUR, LOST, by_cloud=True), then=WAITING)) == 0
    gone = ended(priced(), part(HOUR, PREEMPTED), then=WAITING)
    assert attempt_charge(gone) == 0, 'preempted for no job: its worker was taken away'
    assert attempt_charge(ended(priced(), replace(part(HOUR), given_at=0.0))) == 0


def test_one_silent_server_among_lost_ones_is_the_guests_doing():
    """A gang whose other server is gone by Nova's record would be free otherwise, by its own silence."""
    gang = priced(servers=2)
    both = (part(HOUR, LOST, by_cloud=True), part(HOUR, LOST, rank=1))
    assert attempt_charge(ended(gang, *both, then=WAITING)) == 2 * MICRO
    taken = (both[0], part(HOUR, AttemptState.CANCELLED, rank=1))
    assert attempt_charge(ended(gang, *taken, then=WAITING)) == 0


def test_time_that_is_excluded_is_not_charged():
    """Its server was at rest, or the time was charged before it was taken back."""
    assert attempt_charge(ended(priced(), part(HOUR, excluded=HOUR / 2))) == MICRO // 2
    assert attempt_charge(ended(priced(), part(HOUR, excluded=2.0 * HOUR))) == 0


def test_a_run_costs_at_most_what_is_held_for_it():
    """And what runs before it cost is no part of that."""
    one = replace(priced(), charged=MICRO * 7 // 4)
    assert attempt_charge(ended(one, part(3 * HOUR))) == 2 * MICRO == one.cost_limit


def test_a_displaced_run_is_charged_whole():
    """Whatever it says of a checkpoint: what it has lost is paid by who displaced it."""
    displaced = priced(displaced_by='d')
    for saved_at in (0.0, START + HOUR / 2):
        lost = part(HOUR, PREEMPTED, saved_at=saved_at)
        assert attempt_charge(ended(displaced, lost, then=WAITING)) == MICRO
        own = priced('d', project='blue')
        assert attempt_charge(ended(displaced, lost, then=WAITING, displacer=own)) == MICRO


def test_a_seller_that_displaces_its_customer_is_not_paid_for_what_is_lost():
    lost = part(HOUR, PREEMPTED)
    seller = priced('d', project='red')
    run = ended(priced(displaced_by='d'), lost, then=WAITING, displacer=seller)
    assert attempt_charge(run) == 0
    assert attempt_charge(replace(run, job=replace(run.job, saves=True))) == MICRO


def test_the_price_is_never_above_that_at_submission():
    """A queue that became dearer does not raise what was promised; one that became cheaper lowers it."""
    run = ended(priced(), part(HOUR))
    assert attempt_charge(replace(run, queue=replace(NIGHT, price_core_hour=9 * MICRO))) == MICRO
    assert attempt_charge(replace(run, queue=replace(NIGHT, price_core_hour=3))) == 3


def displacing(victim=None, by=None, price=MICRO, parts=None):
    """green takes the room that blue's job has had for an hour."""
    return Displacement(
        job=by or priced('d', project='green'),
        queue=replace(NIGHT, price_core_hour=price),
        victim=victim or priced(),
        victim_queue=NIGHT,
        parts=parts or (replace(part(0, AttemptState.RUNNING), ended_at=0.0),),
    )


def test_a_displaced_job_is_owed_its_time_at_the_lower_price():
    now = START + HOUR
    assert compensation_due(displacing(), now) == MICRO
    cheap = priced('d', project='green', price=MICRO // 4)
    assert compensation_due(displacing(by=cheap), now) == MICRO // 4
    assert compensation_due(displacing(price=0), now) == 0
    rested = (replace(part(0, AttemptState.RUNNING), excluded=HOUR / 2),)
    assert compensation_due(displacing(parts=rested), now) == MICRO // 2


@pytest.mark.parametrize(
    'victim',
    [
        priced(price=0),
        priced(project='green'),
        priced(project='red'),
        priced(saves=True),
        priced(preempt_action='suspend'),
    ],
    ids=['free', 'of-its-own-project', 'of-the-seller', 'saves', 'kept'],
)
def test_who_is_owed_nothing(victim):
    """What moved nothing has no price, and what is not lost is not paid."""
    assert compensation_due(displacing(victim), START + HOUR) == 0


def test_nothing_is_owed_in_a_queue_without_a_share():
    """Two projects that sleep in the queue of one of them would be paid by whoever displaces them."""
    order = displacing()
    without = replace(order, victim_queue=replace(order.victim_queue, share=0.0))
    assert compensation_due(order, START + HOUR) > 0
    assert compensation_due(without, START + HOUR) == 0


def test_a_seller_that_displaces_its_customer_owes_nothing_as_it_charges_nothing():
    """Otherwise who lost an hour would gain its price."""
    seller = priced('d', project='red')
    assert compensation_due(displacing(by=seller), START + HOUR) == 0


def test_a_short_job_does_not_owe_for_days_that_it_displaced():
    """It takes a core for ten minutes at most, so it owes ten minutes of one, however wide the other is."""
    short = priced('d', project='green', time_limit=600)
    assert compensation_due(displacing(by=short), START + 2 * HOUR) == MICRO // 6
    wide = compensation_due(displacing(priced(cores=64.0), by=short), START + 2 * HOUR)
    assert wide == MICRO // 6


def test_only_a_paid_production_job_holds_a_reserve():
    one = priced()
    assert reserve_of(one, NIGHT) == one.cost_limit > 0
    assert reserve_of(replace(one, by_offer=True), NIGHT) == 0
    assert reserve_of(replace(one, kind=JobKind.BEST_EFFORT), NIGHT) == 0
    assert reserve_of(priced(project='red'), NIGHT) == 0


@pytest.mark.parametrize(
    ('parts', 'more', 'cause'),
    [
        ([part(9)], {}, Cause.GUEST),
        ([part(9, LOST)], {}, Cause.GUEST),
        ([part(9, LOST, by_cloud=True)], {}, Cause.CLOUD),
        ([part(9, PREEMPTED)], {'displaced_by': 'd'}, Cause.DISPLACER),
        ([part(9, PREEMPTED)], {}, Cause.CLOUD),
        ([part(9, PREEMPTED)], {'wish': JobWish.REQUEUE, 'displaced_by': 'd'}, Cause.OWNER),
        ([part(9, AttemptState.CANCELLED)], {'wish': JobWish.CANCEL}, Cause.OWNER),
        ([part(9), part(9, LOST, by_cloud=True)], {}, Cause.CLOUD),
        ([part(9, PREEMPTED), part(9, AttemptState.FAILED)], {'displaced_by': 'd'}, Cause.GUEST),
    ],
)
def test_who_could_have_caused_an_end(parts, more, cause):
    assert cause_of(priced(**more), parts) is cause


@pytest.mark.parametrize(
    ('state', 'fault', 'clouds'),
    [
        (ServerState.RUNNING, '', False),
        (ServerState.STOPPED, '', False),
        (ServerState.STOPPED, 'host is down', True),
        (ServerState.SUSPENDED, '', True),
        (ServerState.BUSY, '', True),
        (ServerState.UNKNOWN, '', True),
    ],
)
def test_what_in_novas_record_explains_a_silence(state, fault, clouds):
    """A guest can shut itself down, and no more."""
    server = OwnerServer(id='s', owner='q', place='w', state=state, fault=fault)
    assert silenced_by_cloud(server) is clouds
    assert silenced_by_cloud(None)


def test_which_steps_end_something():
    """A preempted job that is suspended goes on in its attempt; a start or a new reason ends nothing."""
    one, open_part = priced(), replace(part(0, AttemptState.RUNNING), ended_at=0.0)

    def run(before, then, *parts):
        step = JobStep(job_id=one.id, before=before, changed={'state': then}, attempts=parts)
        return ended_run(step, replace(one, state=before), [open_part], NIGHT)

    done = run(RUNNING, FINISHED, part(HOUR))
    assert done is not None and done.parts == (part(HOUR),) and done.then is FINISHED
    assert run(RUNNING, FINISHED).parts == (open_part,)
    assert run(RUNNING, WAITING, part(60, PREEMPTED)).then is WAITING
    assert run(JobState.HELD, JobState.CANCELLED).parts == ()
    for before, then in (
        (JobState.PREEMPTING, JobState.SUSPENDED),
        (WAITING, JobState.STARTING),
        (JobState.HELD, WAITING),
    ):
        assert run(before, then) is None


# properties: every life of a job, from its submission to its end

seconds = st.integers(0, 3 * HOUR)
ends = st.sampled_from(
    [
        (AttemptState.FINISHED, {}),
        (AttemptState.FAILED, {}),
        (LOST, {}),
        (LOST, {'by_cloud': True}),
        (PREEMPTED, {}),
    ]
)
by_guest = st.sampled_from([(AttemptState.FINISHED, {}), (AttemptState.FAILED, {}), (LOST, {})])
runs = st.lists(st.tuples(seconds, ends, st.booleans(), st.integers(0, 50)), min_size=1, max_size=6)


@given(seconds=seconds, end=by_guest, saved=seconds, asked=st.booleans())
def test_nothing_that_a_guest_does_makes_a_run_cheaper(seconds, end, saved, asked):
    """It fails, is silent, or says that it has saved: the run costs what one costs that finishes then.

    asked: while another job displaces it, whose order it may follow or not
    """
    one = priced(displaced_by='d' if asked else '')
    state, more = end
    run = ended(one, part(seconds, state, saved_at=START + saved, **more), then=WAITING)
    fair = attempt_charge(ended(one, part(seconds)))
    assert attempt_charge(run) >= fair
    if asked:
        followed = ended(one, part(seconds, PREEMPTED, saved_at=START + saved), then=WAITING)
        assert attempt_charge(followed) >= fair


@given(runs=runs, price=st.integers(0, 10**12), cores=st.floats(0.1, 512), has=st.integers(0, 5))
@example(runs=[(HOUR, (LOST, {}), False, 50)] * 2, price=MICRO, cores=1.0, has=0)
def test_money_of_a_whole_life(runs, price, cores, has):
    """The sum never changes, escrow has what one run and its reserve may cost, and the end leaves nothing.

    runs: (seconds, end, does its owner ask for another run, of what it costs what it is owed in per cent)
    has:  how many runs its project can pay beside the one that is held
    """
    one = priced(price=price, cores=cores)
    night = replace(NIGHT, price_core_hour=price)
    one = replace(one, reserve=reserve_of(one, night))
    other = priced('d', project='green', price=price, cores=cores)
    book = Book()
    red, blue, green = (account('project', name) for name in ('red', 'blue', 'green'))
    granted(book, blue, one.cost_limit * (2 + has))
    book.post_all(new_holds([one], {one.queue_id: night}))
    for n, (run_time, (state, more), again, per_cent) in enumerate(runs):
        owed = other.cost_limit * per_cent // 100 if state is PREEMPTED else 0
        held(book, green, owed, n)
        wish = JobWish.REQUEUE if again else JobWish.RUN
        one = replace(
            one, attempt=one.attempt + 1, wish=wish, owed=owed, displaced_by='d' if owed else ''
        )
        own = replace(part(run_time, state, **more), number=one.attempt)
        last = n == len(runs) - 1
        then = FINISHED if last or (not again and state in ENDS) else WAITING
        run = EndedRun(job=one, queue=night, then=then, parts=(own,), displacer=other)
        before = (book.balance(red), book.balance(blue) + book.balance('escrow'))
        plan = settlement(run, {})
        settled = plan.settled(held_again=post(book, plan))
        assert settlement(run, known(book, run)).postings == plan.postings
        assert book.balance(red) - before[0] == plan.charge
        assert 0 <= plan.charge <= one.cost_limit and 0 <= plan.paid <= owed
        assert (plan.paid > 0) == (owed > 0 and not again)
        assert sum(book.balances().values()) == 0
        if then is FINISHED or not settled.funds:
            assert book.balance('escrow') == 0
            return
        assert book.balance('escrow') == one.cost_limit + one.reserve
        requeues = settled.changed.get('requeues', one.requeues)
        one = replace(one, charged=settled.charged, requeues=requeues)


def granted(book, name, amount):
    if amount:
        key = f'grant:{name}:{len(list(book))}'
        book.post(Posting(key=key, reason=Reason.GRANT, debit=MINT, credit=name, amount=amount))


def held(book, name, amount, number):
    """In escrow, as a reserve of a project."""
    granted(book, name, amount)
    if amount:
        hold = Posting(
            key=f'h{number}', reason=Reason.HOLD, debit=name, credit='escrow', amount=amount
        )
        book.post(hold)


def post(book, plan):
    """As the service does it: another run is held if its project can pay it. Returns whether it is."""
    if not plan.goes_on:
        book.post_all([*plan.postings, *plan.rest])
        return False
    payer = account('project', plan.run.job.project_id)
    moves = [*plan.postings, *plan.again]
    there = {one.key for one in book}
    changes = [
        p.amount if p.credit == payer else -p.amount
        for p in moves
        if p.key not in there and payer in (p.credit, p.debit)
    ]
    affords = book.balance(payer) + sum(changes) >= 0
    book.post_all(moves if affords else [*plan.postings, *plan.rest])
    return affords


def known(book, run):
    return {one.key: one for one in book if one.key in keys_of(run)}


@given(first=seconds, second=seconds, ends=st.booleans())
def test_what_was_posted_first_counts(first, second, ends):
    """The service was killed after posting and calculates again, with another end of the attempt."""
    one, then = priced(), FINISHED if ends else WAITING
    book = Book()
    granted(book, account('project', 'blue'), 2 * one.cost_limit)
    book.post_all(new_holds([one], {one.queue_id: NIGHT}))
    before = settlement(ended(one, part(first), then=then), {})
    post(book, before)
    run = ended(one, part(second), then=then)
    again = settlement(run, known(book, run))
    if before.charge or ends:
        assert again.charge == before.charge
        assert post(book, again) is before.goes_on
    held_now = 0 if ends else one.cost_limit
    assert book.balance('escrow') == held_now
