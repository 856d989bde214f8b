# SPDX-License-Identifier: Apache-2.0
"""A bag of 10,000 tasks: stored, read for a round, and what a round takes that places nothing.

What matters is the growth with the number of tasks. CPU seconds of this process, on SQLite.
"""

import gc
import time

import pytest

from nova_market.core.ledger.posting import account
from nova_market.core.tender.bag import BagAction, BagEvent
from tests.functional.job.test_bags import Bed
from tests.support.bag_builders import asked, entries

pytestmark = pytest.mark.benchmark

SIZES = (1000, 10_000)
GROWTH = 25.0
"""Of ten times as many tasks: n log n would be 13; the rest is what a busy machine adds."""


def timed(work):
    gc.collect()
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def measured(bed, size):
    """Seconds of: checking the request, storing it, reading what waits, a round that refuses all."""
    checked, (bag, new) = timed(
        lambda: asked(f'bag {size}', 'blue', entries(size), now=bed.clock.wall(), budget=1)
    )
    stored, _ = timed(lambda: bed.store.create(bag, new, 100))
    read = min(timed(lambda: bed.store.waiting(bag.id))[0] for _ in range(3))
    turned, _ = timed(lambda: bed.bags().turn())
    assert bed.store.progress([bag.id])[bag.id].why == {'budget': size}
    assert bed.balance(account('project', 'blue')) == 10**9
    return {'check': checked, 'store': stored, 'read': read, 'round': turned}


def test_a_bag_of_ten_thousand_tasks(database):
    """One answer does for all equal tasks, and nothing grows much more than the number of tasks."""
    bed = Bed(database)
    small, large = (measured(bed, size) for size in SIZES)
    for name, seconds in large.items():
        ratio = seconds / max(small[name], 1e-3)
        print(f'{name}: {1000 * small[name]:.0f} ms, {1000 * seconds:.0f} ms: {ratio:.1f} times')
        assert ratio < GROWTH, name


def test_a_list_of_ended_bags(database):
    """As long as their number says, however many tasks they had."""
    bed = Bed(database)
    ids: dict[int, list[str]] = {10: [], 1000: []}
    for size, made in ids.items():
        for n in range(20):
            bag, new = asked(f'{size} {n}', 'blue', entries(size), now=bed.clock.wall())
            bed.store.create(bag, new, 1000)
            event = BagEvent(bag_id=bag.id, at=bed.clock.wall(), action=BagAction.CANCELLED)
            bed.store.cancel(bag.id, event, jobs=False)
            made.append(bag.id)
    small, large = (
        min(timed(lambda made=made: bed.store.progress(made))[0] for _ in range(5))
        for made in ids.values()
    )
    print(f'20 ended bags: {1000 * small:.1f} ms with 10 tasks, {1000 * large:.1f} ms with 1,000')
    assert large < 3.0 * small + 0.005
