# SPDX-License-Identifier: Apache-2.0
"""Sustainable bids: what servers without a bid offer, so that their payer can go on for ever.

Implements Merkat (INRIA RR-8648), section 2.2.2 (the initial bid), and rule B3 of
doc/source/specs/market.rst. Units: micro-credits, those of bids per period; cores and MiB. Arrays (payers,)
and (resources, servers), in the order of MARKET_RESOURCES.

    sustainable = wealth // cycle       wealth: the balance and what is on its way back
    default     = sustainable - explicit bids, at least a part of what it would be without them
    bid[r, i]   = default * load[r] * a_max[r, i] / (sum of a_max[r] of the payer), and normalised
    load[r]     = sum of a_max[r] of all servers / capacity[r]

Differs from the paper, which bids the current price: then a cloud with more demand than capacity raises its
price every period by that ratio, until nobody can pay it. Nothing here depends on a price, so equal inputs
give equal bids, and the bids of a payer never exceed what it has. A bid that is higher than a_max costs is
charged at the clearing price (P1), so nothing has to cap it here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.currency import project_weights
from nova_market.core.ledger.money import split
from nova_market.core.ledger.posting import AccountId, account
from nova_market.core.resource import Array, Flags, Rows, Values

LEAST_PART = 100
"""Explicit bids leave the other servers of their payer at least one part in so many of their default bids:
an allocation that is never nothing, and that takes from an explicit bid no more than a hundredth."""

ROUNDING = 1.0 - 2.0**-49
"""Rounded down by more than the roundings of a share add up to: parts never exceed the whole."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Means:
    """What payers can spend.

    wealth:    (payers,) the balance and what is on its way back; without what its renewing budgets need
    balance:   (payers,) what it can spend now
    cycle:     periods until a credit that is spent can be spent again
    committed: (payers,) what it spends per period already, with what its renewing budgets draw
    """

    wealth: Values
    balance: Values
    cycle: int
    committed: Values

    @property
    def sustainable(self) -> Values:
        """(payers,) what it can spend per period for ever."""
        found: Values = self.wealth // self.cycle
        return found


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DefaultBids:
    """bids:   (resources, servers), 0 where a bid is set
    amount: (payers,) what they add up to
    load:   (resources,) what all servers could use, per unit of capacity: the weights of the resources
    """

    bids: Values
    amount: Values
    load: Array


def means_of(
    payers: Sequence[AccountId],
    spent: Values,
    accounts: Mapping[AccountId, Account],
    coming: Mapping[str, int],
    pool: int,
    cycle: int,
) -> Means:
    """What payers can spend. spent: (payers,) per period, by the servers for which they pay.

    coming: project -> charges that will return to it; pool: what will be divided among projects by weight
    A budget has what is in it, because its charges return to its project. A budget that renews itself draws
    on its project as fast as it spends. Its credits lie in it for up to an interval of its renewal, so what
    it spends in one is no wealth of the project.
    """
    parts = split(max(pool, 0), project_weights(accounts.values()))
    wealth = {payer: accounts[payer].balance for payer in payers}
    committed = {payer: int(amount) for payer, amount in zip(payers, spent, strict=True)}
    for payer in payers:
        own = accounts[payer]
        project = account('project', own.project_id)
        if payer == project:
            wealth[payer] += coming.get(own.project_id, 0) + parts.get(own.project_id, 0)
        elif project in wealth and own.renew_amount is not None:
            drawn = min(committed[payer], own.renew_amount // own.renew_every)
            committed[project] += drawn
            wealth[project] += own.balance - drawn * own.renew_every
    return Means(
        wealth=np.array([max(wealth[payer], 0) for payer in payers], dtype=np.int64),
        balance=np.array([accounts[payer].balance for payer in payers], dtype=np.int64),
        cycle=cycle,
        committed=np.array([committed[payer] for payer in payers], dtype=np.int64),
    )


def default_bids(
    means: Means, payer: Rows, caps: Array, unset: Flags, capacity: Array
) -> DefaultBids:
    """The bids of servers without one.

    payer:    (servers,) rows of `means`; unset: (resources, servers) where no bid was set
    caps:     a_max, 0 for servers whose host does not answer; capacity: (resources,), 0 = it is not sold
    """
    count = len(means.wealth)
    wanted = caps.sum(axis=1)
    load = np.divide(wanted, capacity, out=np.zeros_like(wanted), where=capacity > 0)
    weights = np.zeros_like(caps)
    for r in range(len(caps)):
        own = np.bincount(payer, caps[r], count)[payer]
        np.divide(load[r] * caps[r], own, out=weights[r], where=own > 0)
    amount = _default_amounts(means, payer, weights, unset)
    rows = np.broadcast_to(payer, caps.shape)[unset]
    bids = np.zeros(caps.shape, dtype=np.int64)
    bids[unset] = _split(amount, weights[unset], rows)
    return DefaultBids(bids=bids, amount=amount, load=load)


def _default_amounts(means: Means, payer: Rows, weights: Array, unset: Flags) -> Values:
    """(payers,) what the bids without a value share: what explicit ones leave, never nothing."""
    count = len(means.wealth)
    total = np.bincount(payer, weights.sum(axis=0), count)
    share = np.bincount(payer, np.where(unset, weights, 0.0).sum(axis=0), count)
    part = np.divide(share, total, out=np.zeros(count), where=total > 0)
    able = np.minimum(means.sustainable, means.balance)
    # B2 would scale explicit bids too, so default bids stay within what those leave of the balance
    least = np.floor(able * part / LEAST_PART).astype(np.int64)
    found: Values = np.where(part > 0, np.maximum(able - means.committed, least), 0)
    return found


def _split(amounts: Values, weights: Array, rows: Rows) -> Values:
    """Each payer's amount, split among its rows by weight: largest remainder, equal ones in their order."""
    count = len(amounts)
    total = np.bincount(rows, weights, count)[rows]
    exact = amounts[rows] * np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    parts = np.floor(exact * ROUNDING)
    left = amounts - np.bincount(rows, parts, count)
    order = np.lexsort((parts - exact, rows))
    sorted_rows = rows[order]
    rank = np.arange(len(order)) - np.searchsorted(sorted_rows, sorted_rows)
    parts[order] += (rank < left[sorted_rows]) & (weights[order] > 0)
    found: Values = parts.astype(np.int64)
    return found
