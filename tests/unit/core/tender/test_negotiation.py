# SPDX-License-Identifier: Apache-2.0
"""T5: what a bag tries next, what it takes, keeps and drops; O4: utilities and ties."""

from importlib.metadata import entry_points

import numpy as np
import pytest

from nova_market.core.tender.acceptance import Terms, honoured
from nova_market.core.tender.negotiation import (
    BagTasks,
    NoDeal,
    Order,
    Strategy,
    choice,
    next_alternative,
    turn,
)
from nova_market.core.tender.offer import Offers
from nova_market.core.tender.place import Kind
from nova_market.core.tender.utility import best_first, cheapest, cost_time, fastest, weighted

BAG = BagTasks(
    work=np.array([100.0, 100.0, 400.0, 100.0]),
    deadline=np.array([1000.0, 200.0, 2000.0, np.inf]),
    importance=np.array([5.0, 4.0, 5.0, 90.0]),
)
ALL = np.arange(4)


def offers(*rows: tuple[int, float], kinds: tuple[int, ...] | None = None, source=0) -> Offers:
    """Of (cost, seconds)."""
    count = len(rows)
    zero = np.zeros(count, dtype=np.intp)
    table = np.array(rows, dtype=np.float64).reshape(-1, 2)
    return Offers(
        cost=table[:, 0].astype(np.int64),
        seconds=table[:, 1],
        kind=zero if kinds is None else np.array(kinds),
        flavor=zero,
        count=zero + 1,
        pe=np.arange(count),
        host=zero - 1,
        source=zero + source,
    )


def chosen(given: Offers, *, deadline=1e9, budget=100, now=0.0, **strategy):
    return choice(given, deadline=deadline, budget=budget, now=now, strategy=Strategy(**strategy))


@pytest.mark.parametrize(
    ('order', 'now', 'row'),
    [
        (Order.IMPORTANCE, 0.0, 3),
        # 100 / 200 * 4 against 100 / 1000 * 5, 400 / 2000 * 5 and nothing
        (Order.RISK, 0.0, 1),
        # 100 / 800 * 5, and 400 / 1800 * 5: task 1 is overdue
        (Order.RISK, 200.0, 2),
    ],
)
def test_the_order_of_waiting_tasks(order, now, row):
    """By importance; or by c / (T - t) * I, where what has no deadline comes last."""
    assert turn(BAG, ALL, now, Strategy(order=order)).row == row


def test_risk_is_weighed_by_importance():
    """100 / 1000 * 9 against 100 / 500 * 2: the second is at greater risk, the first matters more."""
    two = BagTasks(
        work=np.array([100.0, 100.0]),
        deadline=np.array([1000.0, 500.0]),
        importance=np.array([9.0, 2.0]),
    )
    assert turn(two, np.arange(2), 0.0, Strategy()).row == 0


def test_of_equal_tasks_the_first_is_tried():
    assert turn(BAG, np.array([0, 2]), 0.0, Strategy(order=Order.IMPORTANCE)).row == 0


def test_what_cannot_be_in_time_any_more_is_dropped():
    """At its deadline; or earlier, where the fastest PE is known: 100 units take 50 s there."""
    assert turn(BAG, ALL, 160.0, Strategy()).overdue.tolist() == []
    assert turn(BAG, ALL, 160.0, Strategy(seconds_per_work=0.5)).overdue.tolist() == [1]
    assert turn(BAG, ALL, 200.0, Strategy()).overdue.tolist() == [1]
    nothing = turn(BAG, np.array([1]), 200.0, Strategy())
    assert nothing.row is None and nothing.overdue.tolist() == [1]


def test_the_best_suitable_offer_is_taken_and_the_others_are_kept():
    """Suitable: it can be paid, and is in time. Of cost 60 and 20 s: 1/1200 against 1/1000 and 1/800."""
    found = chosen(
        offers((60, 20.0), (100, 10.0), (101, 1.0), (8, 100.0), (1, 101.0)), deadline=100
    )
    assert found.terms == Terms(cost=8, seconds=100.0) and found.why is None
    assert found.alternatives.cost.tolist() == [100, 60]
    assert chosen(offers((60, 20.0), (9, 9.0)), alternatives=False).alternatives is None
    assert len(chosen(offers((9, 9.0), (8, 8.0), (7, 7.0)), most_alternatives=1).alternatives) == 1


@pytest.mark.parametrize(
    ('given', 'why'),
    [
        ([], NoDeal.NO_OFFER),
        ([(101, 5.0)], NoDeal.BUDGET),
        ([(50, 50.0)], NoDeal.DEADLINE),
        # what is in time cannot be paid
        ([(50, 50.0), (101, 5.0)], NoDeal.BUDGET),
        ([(101, 50.0)], NoDeal.BUDGET),
    ],
)
def test_why_no_offer_is_taken(given, why):
    """The categories of figure 5."""
    assert chosen(offers(*given), deadline=40.0).why is why


def test_alternatives_are_tried_when_an_offer_is_gone():
    """With what came with the refusal, the best of both first; what is not suitable now is forgotten."""
    kept, fresh = offers((10, 10.0), (90, 1.0), source=0), offers((7, 10.0), source=1)
    given = {'deadline': 30.0, 'budget': 80, 'now': 15.0, 'strategy': Strategy()}
    found = next_alternative(kept, fresh, **given)
    assert found.terms == Terms(cost=7, seconds=10.0, source=1)
    assert found.alternatives.cost.tolist() == [10]
    late = next_alternative(kept, fresh, **{**given, 'now': 25.0})
    assert late.terms is None and late.why is NoDeal.GONE
    none = next_alternative(None, fresh, **{**given, 'strategy': Strategy(alternatives=False)})
    assert none.terms is None and none.why is NoDeal.GONE


@pytest.mark.parametrize(
    ('utility', 'weight', 'best'),
    [(cost_time, 0.5, 1), (fastest, 0.5, 2), (cheapest, 0.5, 0), (weighted, 0.5, 1),
     (weighted, 0.0, 0), (weighted, 1.0, 2)],
)  # fmt: skip
def test_utilities(utility, weight, best):
    """Cost 1 and 90 s, 4 and 20 s, 50 and 2 s: the products are 90, 80 and 100."""
    given = offers((1, 90.0), (4, 20.0), (50, 2.0))
    assert best_first(given, np.arange(3), utility, weight)[0] == best


@pytest.mark.parametrize('utility', [cost_time, fastest, cheapest, weighted])
def test_ties(utility):
    """What costs nothing: by time; equal in both: an active worker, then an idle one, then a new one."""
    kinds = (Kind.NEW, Kind.IDLE, Kind.ACTIVE, Kind.ACTIVE)
    given = offers((0, 5.0), (0, 5.0), (0, 5.0), (0, 6.0), kinds=kinds)
    assert best_first(given, np.arange(4), utility).tolist() == [2, 1, 0, 3]


def test_an_offer_is_honoured_by_the_best_that_is_no_dearer_and_no_later():
    """And the better of both terms counts: 9 for 10, 8 s for 9 s."""
    now = offers((11, 1.0), (9, 8.0), (10, 9.0), (1, 9.5))
    assert honoured(Terms(cost=10, seconds=9.0), now, cost_time) == 1
    assert honoured(Terms(cost=8, seconds=9.0), now, cost_time) is None
    assert honoured(Terms(cost=10, seconds=7.9), now, cost_time) is None
    assert honoured(Terms(cost=9, seconds=8.0), now, cost_time) == 1


def test_utilities_are_plug_ins():
    """Of `nova_market.utility`; more may be installed."""
    found = {one.name: one.load() for one in entry_points(group='nova_market.utility')}
    ours = {'cost_time': cost_time, 'fastest': fastest, 'cheapest': cheapest, 'weighted': weighted}
    assert ours.items() <= found.items()
