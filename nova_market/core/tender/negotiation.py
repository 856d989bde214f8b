# SPDX-License-Identifier: Apache-2.0
"""How a bag of tasks negotiates for its owner: what is tried next, which offer is taken, what is given up.

Implements INRIA RR-7837, section 3.5.2, and rule T5 of doc/source/specs/tender.rst. The service's bags
and the simulator's users run these functions. Times in seconds of the caller's clock, money in
micro-credits.

The life of a task: offers are asked for; the best suitable one is accepted, the others are kept as
alternatives; when it is gone, the alternatives are tried, the best one first. A task without a suitable
offer waits. Each time a task of the bag ends, and every `poll` seconds, the first waiting one is tried
again; those that cannot be in time any more are dropped.

    importance: I          risk: c / (T - t) * I          the largest is tried first, of equal ones the
    first

Differs from the paper: it drops what is past its deadline; here a task that could not be in time on the
fastest PE is dropped too, as soon as that is known (seconds_per_work). 0 is the paper's.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from nova_market.core.resource import Array, Flags, Rows
from nova_market.core.tender.acceptance import Terms, terms_of
from nova_market.core.tender.offer import Offers, joined
from nova_market.core.tender.utility import Utility, best_first, cost_time


class Order(StrEnum):
    """Which waiting task is tried first."""

    IMPORTANCE = 'importance'
    RISK = 'risk'


class NoDeal(StrEnum):
    """Why a task did not get a place. The first four are the categories of figure 5."""

    NO_OFFER = 'no_offer'
    """Nobody made an offer."""
    BUDGET = 'budget'
    """No offer that is in time can be paid."""
    DEADLINE = 'deadline'
    """What can be paid is not in time, nor is anything else."""
    GONE = 'gone'
    """What was offered could not be honoured any more."""
    OVERDUE = 'overdue'
    """It cannot be in time any more: it is dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """retry: a task without a deal waits, and is tried again; False: it has failed
    alternatives: suitable offers that were not chosen are kept, and tried before new ones are asked for
    poll: seconds between tries where nothing ends; seconds_per_work: on the fastest PE; 0: not known
    most_alternatives: so many are kept at most, the best ones
    """

    utility: Utility = cost_time
    weight: float = 0.5
    order: Order = Order.RISK
    retry: bool = True
    alternatives: bool = True
    poll: float = 500.0
    seconds_per_work: float = 0.0
    most_alternatives: int = 16


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BagTasks:
    """All (tasks,). deadline: inf for none; importance: any number, more is more important."""

    work: Array
    deadline: Array
    importance: Array

    def __len__(self) -> int:
        return len(self.work)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Turn:
    """overdue: rows to be dropped; row: the task to be tried, None: none waits any more"""

    overdue: Rows
    row: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """terms: to be accepted, None: see why; alternatives: to be kept, the best one first"""

    terms: Terms | None
    alternatives: Offers | None = None
    why: NoDeal | None = None


def turn(bag: BagTasks, waiting: Rows, now: float, strategy: Strategy) -> Turn:
    """What a bag does when a task of it ends, or `poll` seconds have gone by. waiting: rows, ascending."""
    late = overdue(bag, waiting, now, strategy.seconds_per_work)
    rows = waiting[~late]
    if not len(rows):
        return Turn(overdue=waiting[late], row=None)
    first = int(np.argmax(priorities(bag, rows, now, strategy.order)))
    return Turn(overdue=waiting[late], row=int(rows[first]))


def overdue(bag: BagTasks, rows: Rows, now: float, seconds_per_work: float) -> Flags:
    """(rows,): it cannot be in time any more, even if it started now."""
    late: Flags = now + bag.work[rows] * seconds_per_work >= bag.deadline[rows]
    return late


def priorities(bag: BagTasks, rows: Rows, now: float, order: Order) -> Array:
    """(rows,) of tasks that are not overdue."""
    importance = bag.importance[rows]
    if order is Order.IMPORTANCE:
        return importance
    risk: Array = bag.work[rows] / (bag.deadline[rows] - now) * importance
    return risk


def choice(
    offers: Offers, *, deadline: float, budget: int, now: float, strategy: Strategy
) -> Choice:
    """The suitable offer of the greatest utility [3.5.1]. budget: what its owner has not committed."""
    in_time = now + offers.seconds <= deadline
    paid = offers.cost <= budget
    rows = np.flatnonzero(in_time & paid)
    if not len(rows):
        return Choice(terms=None, why=_why(offers, in_time, paid))
    order = best_first(offers, rows, strategy.utility, strategy.weight)
    kept = order[1 : 1 + strategy.most_alternatives] if strategy.alternatives else order[:0]
    return Choice(
        terms=terms_of(offers, int(order[0])),
        alternatives=offers.take(kept) if len(kept) else None,
    )


def next_alternative(
    kept: Offers | None,
    fresh: Offers,
    *,
    deadline: float,
    budget: int,
    now: float,
    strategy: Strategy,
) -> Choice:
    """After an offer is gone: the best of the alternatives and of what came with the refusal [3.5.2]."""
    if not strategy.alternatives:
        return Choice(terms=None, why=NoDeal.GONE)
    both = fresh if kept is None else joined([kept, fresh])
    found = choice(both, deadline=deadline, budget=budget, now=now, strategy=strategy)
    return found if found.terms else Choice(terms=None, why=NoDeal.GONE)


def _why(offers: Offers, in_time: Flags, paid: Flags) -> NoDeal:
    if not len(offers):
        return NoDeal.NO_OFFER
    if not in_time.any() and paid.any():
        return NoDeal.DEADLINE
    return NoDeal.BUDGET
