# SPDX-License-Identifier: Apache-2.0
"""Scaling policies: how an application changes its bids and its number of servers.

Implements Merkat (INRIA RR-8648), section 2.3: the vertical policy (Algorithm 2), the horizontal one
(Algorithm 3 with GetUpperBound) and the hybrid. Units and shapes as in policy_interface.

Differs from the paper, whose Algorithm 2 as printed swings between twice and half for ever:
- line 6 and 14: the factor is min(2, 1 + T); max would make every rise a doubling, whatever the gap.
- lines 7 and 15: a change is halved when the last one went the OTHER way, as the prose says.
- lines 11 and 14 begin at bid[r]; a change of nothing is not compared (line 9 would divide by 0).
- line 5: the prose has "or its allocation reaches the maximum"; such a bid falls to what the maximum
  costs.
- lines 21 to 29: what is full keeps its bid, the others share the rest by 1 - alloc / allocmax; all are
  scaled down together when nothing would be left for them.
Algorithm 3: lines 3 and 6 count from the present number; the result is the smaller of both numbers. The
bound counts what the OTHERS pay, and the bid is divided among the servers. A server is given back only
when the others can carry its part without passing the upper threshold.

A plug-in of `nova_market.scaling` is a function (PolicyInput) -> PolicyOutput.
"""

from collections.abc import Callable

import numpy as np

from nova_market.core.app.policies.policy_interface import (
    PolicyInput,
    PolicyOutput,
    StepReason,
    cost,
    others_pay,
)
from nova_market.core.resource import Array, Flags, Values

LEAST_BID = 1.0
"""A micro-credit: what bids nothing has nothing to scale. For what a server uses at all."""

SIMILAR = 0.1
"""Lines 9 and 17: changes that differ by less than this part are one swing."""

ROUNDING = 1e-9

Policy = Callable[[PolicyInput], PolicyOutput]


def vertical(seen: PolicyInput) -> PolicyOutput:
    """Algorithm 2: bids follow the gap between performance and reference, within the budget."""
    band = seen.band
    ahead, behind = band.performance < band.low, band.performance > band.high
    full = seen.allocation >= seen.most * (1.0 - ROUNDING)
    starved = seen.allocation < seen.least * (1.0 - ROUNDING)
    fall = ahead & (seen.allocation > seen.least)
    trim = full & ~fall & ~behind
    rise = (behind & ~full) | starved
    factor = 1.0 + np.minimum(_gap(band.performance, band.reference), 1.0)
    price = seen.market.price[:, None]
    wanted = np.where(fall, seen.bid / factor, seen.bid)
    trimmed = np.minimum(np.maximum(seen.bid / factor, price * seen.most), seen.bid)
    wanted = np.where(trim, trimmed, wanted)
    wanted = np.where(rise, np.maximum(seen.bid * factor, price * seen.least), wanted)
    wanted = np.maximum(wanted, np.where(seen.most > 0, LEAST_BID, 0.0))
    damped = _swings(wanted - seen.bid, seen.change)
    wanted = np.where(damped, seen.bid + (wanted - seen.bid) / 2.0, wanted)
    bid, short = _within_budget(seen, wanted)
    why = (
        _flag(_any(fall), StepReason.AHEAD)
        | _flag(_any(rise & behind), StepReason.BEHIND)
        | _flag(_any(trim & (trimmed < seen.bid)), StepReason.FULL)
        | _flag(_any(starved), StepReason.STARVED)
        | _flag(_any(damped), StepReason.DAMPED)
        | _flag(short, StepReason.SHORT)
    )
    return PolicyOutput(state=seen.state, count=seen.count, bid=bid, change=bid - seen.bid, why=why)


def horizontal(seen: PolicyInput) -> PolicyOutput:
    """Algorithm 3: a server more or less, never more than the budget buys in full."""
    band = seen.band
    behind = band.performance > band.high
    fewer = np.maximum(seen.count - 1, 1)
    spread = band.performance * seen.count / fewer
    ahead = (band.performance < band.low) & (spread <= band.high)
    wanted = seen.count + behind.astype(np.int64) - ahead.astype(np.int64)
    return sized(seen, np.clip(wanted, seen.least_count, seen.most_count))


def sized(seen: PolicyInput, wanted: Values) -> PolicyOutput:
    """The wanted number of servers as far as the budget buys them full allocations (lines 7 to 12)."""
    count, bid = upper_bound(seen, wanted)
    why = (
        _flag(count > seen.count, StepReason.GREW)
        | _flag((count < seen.count) & (wanted < seen.count), StepReason.SHRANK)
        | _flag(count < np.minimum(wanted, seen.count), StepReason.TOO_DEAR)
        | _flag(count < wanted, StepReason.SHORT)
    )
    return PolicyOutput(state=seen.state, count=count, bid=bid, change=bid - seen.bid, why=why)


def upper_bound(seen: PolicyInput, wanted: Values) -> tuple[Values, Array]:
    """GetUpperBound: (number of servers, bid of each) with full allocations within the budget.

    By binary search in [least_count, wanted]: the cost rises with the number. Below least_count it does not
    go: there the bids are scaled down to the budget.
    """
    others = others_pay(seen, planned=True)
    low, high = seen.least_count.copy(), np.maximum(wanted, seen.least_count)
    while (low < high).any():
        middle = (low + high + 1) // 2
        fits = _total(seen, others, middle) <= seen.budget
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    servers = np.maximum(low, 1)
    bids = cost(low * seen.most, others, seen.market) / servers
    # the last servers of a cloud have no price: whoever wants all of it bids all he has
    bids = np.where(np.isfinite(bids), bids, seen.budget / servers)
    bids = np.maximum(bids, np.where(seen.most > 0, LEAST_BID, 0.0))
    return low, _scaled(bids, seen.budget / servers)


def hybrid(seen: PolicyInput) -> PolicyOutput:
    """Section 2.3.4: bids first; when servers are full and that is not enough, more servers.

    Servers go first when there are more than the least and the rest would do.
    """
    upright, broad = vertical(seen), horizontal(seen)
    full = _any((seen.most > 0) & (seen.allocation >= seen.most * (1.0 - ROUNDING)))
    grows = full & (seen.band.performance > seen.band.high) & (broad.count > seen.count)
    shrinks = broad.count < seen.count
    return chosen(grows | shrinks, broad, upright)


def chosen(first: Flags, these: PolicyOutput, those: PolicyOutput) -> PolicyOutput:
    """Steps of `these` where first, of `those` elsewhere."""
    return PolicyOutput(
        state=np.where(first, these.state, those.state),
        count=np.where(first, these.count, those.count),
        bid=np.where(first, these.bid, those.bid),
        change=np.where(first, these.change, those.change),
        why=np.where(first, these.why, those.why),
    )


def _total(seen: PolicyInput, others: Array, count: Values) -> Array:
    price: Array = cost(count * seen.most, others, seen.market).sum(axis=0)
    return price


def _gap(performance: Array, reference: Array) -> Array:
    """T = |(v_ref - v) / v|; inf at v = 0, 1 at v = inf."""
    quotient = np.divide(
        reference, performance, out=np.full_like(performance, np.inf), where=performance > 0
    )
    gap: Array = np.abs(quotient - 1.0)
    return gap


def _swings(change: Array, last: Array) -> Flags:
    """Lines 7 to 10 and 15 to 18: as large as the last change, and the other way."""
    size = np.abs(change)
    swings: Flags = (change * last < 0) & (np.abs(size - np.abs(last)) < SIMILAR * size)
    return swings


def _within_budget(seen: PolicyInput, bids: Array) -> tuple[Array, Flags]:
    """Lines 21 to 29; the budget of one server is its part of the application's."""
    budget = seen.budget / np.maximum(seen.count, 1)
    short = bids.sum(axis=0) > budget
    if not short.any():
        return bids, short
    part = np.divide(seen.allocation, seen.most, out=np.ones_like(bids), where=seen.most > 0)
    lacks = np.maximum(1.0 - part, 0.0)
    lacks = np.where(lacks > ROUNDING, lacks, 0.0)
    kept = np.where(lacks > 0, 0.0, bids).sum(axis=0)
    weight = lacks.sum(axis=0)
    rest = budget - kept
    share = np.divide(rest, weight, out=np.zeros_like(rest), where=weight > 0)
    favoured = np.where(lacks > 0, share * lacks, bids)
    usable = (weight > 0) & (rest > 0)
    return np.where(short, np.where(usable, favoured, _scaled(bids, budget)), bids), short


def _scaled(bids: Array, budget: Array) -> Array:
    """All bids of a server down together to its budget."""
    total = bids.sum(axis=0)
    part = np.divide(budget, total, out=np.ones_like(total), where=total > budget)
    scaled: Array = bids * part
    return scaled


def _any(flags: Flags) -> Flags:
    """Per application: of any resource."""
    found: Flags = np.logical_or.reduce(flags, axis=0)
    return found


def _flag(where: Flags, reason: StepReason) -> Values:
    flags: Values = np.where(where, int(reason), 0)
    return flags
