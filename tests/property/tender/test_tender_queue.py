# SPDX-License-Identifier: Apache-2.0
"""Promises of a tender queue over many passes, beside a queue without offers (T2)."""

from itertools import pairwise

from hypothesis import given, note, settings
from hypothesis import strategies as st

from nova_market.core.job.queue import QueueLimits
from nova_market.core.job.record import ENDED, JobState
from nova_market.core.tender.place import Kind
from tests.support.tender_passes import TenderPasses

ASKED = st.fixed_dictionaries(
    {
        'flavor': st.sampled_from(['small', 'small', 'large']),
        'servers': st.sampled_from([1, 1, 1, 2, 3]),
        'limit': st.sampled_from([20, 60, 100]),
    }
)
ROUNDS = st.lists(
    st.tuples(
        st.lists(st.tuples(ASKED, st.integers(0, 2), st.floats(0.05, 1.0)), max_size=4),
        st.sampled_from([0, 0, 0, 1, 2]),
    ),
    max_size=6,
)


def played(hosts, share, limit, rounds):
    """Each round some ask and accept one of the offers, others submit to the other queue; then all ends."""
    limits = QueueLimits(max_running=limit)
    world = TenderPasses(hosts=hosts, share=share, limits=limits)
    for number, (asks, others) in enumerate(rounds):
        for asked, choice, part in asks:
            offers, why, need = world.ask(**asked)
            if not len(offers):
                assert why, asked
                continue
            deal = world.accept(offers, choice % len(offers), need, runs=asked['limit'] * part)
            note(f'{world.now}: {asked} {deal}')
        for n in range(others):
            world.submit(f'other-{number}-{n}', cores=1.0 + n, time_limit=40)
        world.step()
        check(world)
    for _ in range(600):
        if all(one.state in ENDED for one in world.jobs):
            break
        world.step()
        check(world)
    return world


def check(world):
    """No host has more servers than cores."""
    for one in world.hosts:
        used = sum(s.counted['VCPU'] for s in world.servers if s.host == one.name)
        assert used <= one.counted['VCPU']


@settings(max_examples=30)
@given(
    st.sampled_from([(4.0, 4.0), (2.0,), (1.0, 3.0)]),
    st.sampled_from([1.0, 0.5]),
    st.sampled_from([None, None, 2]),
    ROUNDS,
)
def test_nobody_begins_later_than_promised(hosts, share, limit, rounds):
    """When nobody dies and all keep their limits; and no worker has two jobs at once."""
    world = played(hosts, share, limit, rounds)
    by_id = {one.id: one for one in world.jobs}
    for deal in world.deals:
        one = by_id[deal.job_id]
        assert one.state is JobState.FINISHED, (deal, world.now)
        assert one.started_at <= deal.start, (deal, one.started_at - deal.start)
    spans = sorted(world.spans)
    for (worker, _, end), (other, begin, _) in pairwise(spans):
        assert worker != other or end <= begin


@settings(max_examples=15)
@given(ROUNDS)
def test_no_server_is_made_for_whom_a_worker_was_promised(rounds):
    """There are never more workers than jobs that were promised a new one, and than cores."""
    world = played((4.0, 4.0), 1.0, None, [(asks, 0) for asks, _ in rounds])
    by_id = {one.id: one for one in world.jobs}
    new = sum(by_id[one.job_id].servers for one in world.deals if one.kind is Kind.NEW)
    assert len({worker for worker, _, _ in world.spans}) <= new
