# SPDX-License-Identifier: Apache-2.0
"""What a scaling policy knows of applications on the market, and what it decides.

Implements the inputs and outputs of Algorithms 2 and 3 of Merkat (INRIA RR-8648), section 2.3. Units: bids
and budgets in micro-credits per period, whole or not (they are rounded down where they are made); prices per
unit and period. Arrays (resources, applications), those of an application (applications,), resources in the
order of MARKET_RESOURCES. Bids, allocations and limits are of ONE server; budgets of the whole application.

A controller has one application in each of these arrays, the simulator has all of them: the same decision.
"""

from dataclasses import dataclass
from enum import IntEnum, IntFlag

import numpy as np

from nova_market.core.market.price import bid_for
from nova_market.core.resource import Array, Flags, Values
from nova_market.errors import BadSnapshot


class PolicyState(IntEnum):
    """Of an application; DROPPED never comes back."""

    WAITING = 0
    RUNNING = 1
    SUSPENDED = 2
    DROPPED = 3


class StepReason(IntFlag):
    """Why a step was taken."""

    NONE = 0
    AHEAD = 1
    BEHIND = 2
    FULL = 4
    STARVED = 8
    DAMPED = 16
    SHORT = 32
    STARTED = 64
    RESUMED = 128
    SUSPENDED = 256
    HOPELESS = 512
    GREW = 1024
    SHRANK = 2048
    TOO_DEAR = 4096
    HELD_BACK = 8192
    IN_TIME = 16384
    OUTBID = 32768
    STOPPED = 65536
    CHEAPER = 131072


MEANING = {
    StepReason.AHEAD: 'it is better than it needs to be: bids fall',
    StepReason.BEHIND: 'it is worse than it needs to be: bids rise',
    StepReason.FULL: 'it has as much of a resource as it can use: its bid falls to what that costs',
    StepReason.STARVED: 'it has less of a resource than it can live with: its bid rises',
    StepReason.DAMPED: 'the last change went the other way by as much: this one is half as large',
    StepReason.SHORT: 'its budget does not pay for more: bids favour what is scarce',
    StepReason.STARTED: 'the least allocation can be paid',
    StepReason.RESUMED: 'the price fell: the deadline can be met again',
    StepReason.SUSPENDED: 'its budget does not buy what meets the deadline: it waits for a lower price',
    StepReason.HOPELESS: 'not even full allocations would meet the deadline',
    StepReason.GREW: 'another server',
    StepReason.SHRANK: 'a server less',
    StepReason.TOO_DEAR: 'servers are given back: the budget does not pay for all of them',
    StepReason.HELD_BACK: 'no new servers: some were given back for the price a period ago',
    StepReason.IN_TIME: 'its bid buys what meets the deadline',
    StepReason.OUTBID: 'its bid does not buy what meets the deadline yet',
    StepReason.STOPPED: 'what it would pay does not buy its least allocation: it waits for a lower price',
    StepReason.CHEAPER: 'the price fell: what it would pay buys enough again',
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MarketState:
    """What everybody sees of the market; each (resources,).

    price: of the last round; capacity: of all hosts; idle: of it, what nobody took; reserve: least price
    planned_price: of past prices too, what sizes and starts are planned by (price_smoothing); None: `price`
    """

    price: Array
    capacity: Array
    idle: Array
    reserve: Array
    planned_price: Array | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Band:
    """Performance and its thresholds, (applications,): the larger, the worse, as a response time."""

    performance: Array
    reference: Array
    low: Array
    high: Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Deadlines:
    """remaining: seconds of work with full allocations; left: seconds to the deadline."""

    remaining: Array
    left: Array

    @property
    def needed(self) -> Array:
        """Part of the full speed that ends in time; inf when no time is left."""
        endless = np.full_like(self.remaining, np.inf)
        return np.divide(self.remaining, self.left, out=endless, where=self.left > 0)

    @property
    def hopeless(self) -> Flags:
        """Not even the full speed ends in time."""
        late: Flags = (self.needed > 1.0) & (self.remaining > 0)
        return late


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Backlog:
    """Of a batch framework: tasks that wait, servers that work, whether the price took servers last time."""

    waiting: Values
    busy: Values
    lost: Flags


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PolicyInput:
    """One column per application.

    count: servers now, between least_count and most_count once it runs
    least, most: the least allocation of a server that makes sense, and the most it can use (a_max)
    change: how the last step changed each bid
    draining: servers that were given up and are paid for until their work ends; None: there are none
    """

    market: MarketState
    state: Values
    count: Values
    least_count: Values
    most_count: Values
    bid: Array
    allocation: Array
    least: Array
    most: Array
    change: Array
    budget: Array
    band: Band
    deadlines: Deadlines | None = None
    backlog: Backlog | None = None
    draining: Values | None = None

    def __post_init__(self) -> None:
        shape = (len(self.market.price), len(self.state))
        for name in ('bid', 'allocation', 'least', 'most', 'change'):
            found = getattr(self, name).shape
            if found != shape:
                raise BadSnapshot(f'{name} has the shape {found}; {shape} is needed')


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PolicyOutput:
    """What to do: states, numbers of servers, the bid of each server, and why."""

    state: Values
    count: Values
    bid: Array
    change: Array
    why: Values


def explain(steps: PolicyOutput, application: int) -> str:
    """Why this step was taken; empty when nothing changes."""
    why = StepReason(int(steps.why[application]))
    return '; '.join(text for flag, text in MEANING.items() if flag in why)


def others_pay(seen: PolicyInput, *, planned: bool = False) -> Array:
    """What all others pay for each resource, (resources, applications). planned: at the planned price

    price * (capacity - idle) is what everybody pays, the application itself included: an own share of
    25 % left in would make it ask for a third too much.
    """
    market, price, bid = seen.market, seen.market.price, seen.bid
    if planned and market.planned_price is not None:
        # its own part is priced as everybody's: the bid was made at the last price, which may be far below
        price, bid = market.planned_price, np.full_like(bid, np.inf)
    paid = (price * (market.capacity - market.idle))[:, None]
    own: Array = np.minimum(bid, price[:, None] * seen.allocation) * seen.count
    if seen.draining is not None:
        # paid for out of the same bids, so these may be below the price of what all of them have
        own = own + price[:, None] * seen.allocation * seen.draining
    rest: Array = np.maximum(paid - own, 0.0)
    return rest


def cost(amount: Array, others: Array, market: MarketState) -> Array:
    """Bid that gets `amount` while the others bid what they do: core.market.price.bid_for."""
    return bid_for(amount, others, market.capacity[:, None], market.reserve[:, None])


def bought(bid: Array, others: Array, market: MarketState) -> Array:
    """Amount that a bid gets while the others bid what they do: the inverse of `cost`."""
    price = np.maximum((bid + others) / market.capacity[:, None], market.reserve[:, None])
    amount: Array = np.divide(bid, price, out=np.zeros_like(bid), where=price > 0)
    return amount
