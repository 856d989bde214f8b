# SPDX-License-Identifier: Apache-2.0
"""The economy of a cloud: money supply, velocity, a price index, and what the means of a project buy.

Implements rule P4 of doc/source/specs/market.rst, beyond the papers: Merkat (INRIA RR-8648), section 2.1, has
the currency, and leaves open how to see whether credits keep their value. Units: micro-credits; prices
micro-credits per unit and period; times in periods. Arrays (resources,), in the order of MARKET_RESOURCES.

    supply    = projects + budgets + escrow + bank    what the operator has issued (M1)
    velocity  = sum of charges / sum of supplies      0 to 1 per period: the part of them that is charged
    index     = level * sum(p Q) / sum(V)             level is 100 at first; 200: everything costs twice that
    cores     = min(spend / p[cpu], capacity[cpu])    what a project could have all the time, of CPU alone
    part      = min(spend / sum(p capacity), 1)       0 to 1, of everything that is on sale
    real      = spend * 100 / index                   micro-credits of the base window

The index is Laspeyres': its basket Q is what the cloud has sold in a base window, and V what that was worth.
A Laspeyres index that is chained from period to period drifts (Cage and others, Chain drift in the Chained
Consumer Price Index, Monthly Labor Review, 2021), the more so where prices go up and down within a day. When
a resource comes on sale that the basket does not have, a new base window begins, at the level that the index
has then.

What is not on sale has no price, so the sums leave it out. A purchase raises the price: cores and part are
what a little more or less of the spend buys.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.ledger.posting import MINT, AccountId, kind_of
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.resource import CPU, Array, Flags

BASE_ROUNDS = 1440
"""Rounds of a base window: a day of the default period, so that night and day are both in the basket."""

FIRST_LEVEL = 100.0

WIDTH = len(MARKET_RESOURCES)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoneySupply:
    """Where credits are. projects: not set aside; bank: paid, and not yet returned or distributed."""

    projects: int = 0
    budgets: int = 0
    escrow: int = 0
    bank: int = 0

    @property
    def issued(self) -> int:
        """All there are."""
        return self.projects + self.budgets + self.escrow + self.bank

    @property
    def circulating(self) -> int:
        """What projects can spend, or have promised for a round."""
        return self.issued - self.bank


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Basket:
    """What was sold in the base window, which is complete after BASE_ROUNDS.

    quantity: units x periods, 0 for what was not sold; value: what that cost
    level:    of the index while prices are those of the window
    """

    rounds: int = 0
    level: float = FIRST_LEVEL
    quantity: Array = field(default_factory=lambda: np.zeros(WIDTH))
    value: Array = field(default_factory=lambda: np.zeros(WIDTH))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Offer:
    """What was for sale in a round. capacity: units, 0 where nobody sells it; sold: units that servers got"""

    price: Array
    capacity: Array
    sold: Array

    @property
    def on_sale(self) -> Flags:
        """What has a price that somebody could pay."""
        found: Flags = (self.price > 0) & (self.capacity > 0)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PurchasingPower:
    """What a project can spend per period for ever, and what that buys; None: nothing is on sale.

    spend: micro-credits per period; real: the same in micro-credits of the base window
    """

    spend: int
    cores: float | None
    part: float | None
    real: float | None


def money_supply(balances: Mapping[AccountId, int]) -> MoneySupply:
    """Where the credits of these accounts are; `mint` holds none."""
    held = {'project': 0, 'budget': 0, 'escrow': 0, 'bank': 0}
    for name, amount in balances.items():
        if name != MINT:
            held[kind_of(name)] += amount
    return MoneySupply(
        projects=held['project'],
        budgets=held['budget'],
        escrow=held['escrow'],
        bank=held['bank'],
    )


def velocity(charged: Sequence[int], issued: Sequence[int]) -> float | None:
    """The part of all credits that is charged in a period: the mean of a window, by its settled rounds.

    charged, issued: of the same periods, micro-credits. None where there were no credits.
    """
    total = sum(issued)
    return sum(charged) / total if total else None


def price_index(basket: Basket, offer: Offer) -> float | None:
    """What the basket costs now, against its base window. None when nothing of it is on sale."""
    counted = offer.on_sale & (basket.quantity > 0)
    base = float(basket.value[counted].sum())
    if base <= 0:
        return None
    return basket.level * float((offer.price * basket.quantity)[counted].sum()) / base


def next_basket(basket: Basket, offer: Offer) -> Basket:
    """The basket after a round: it grows in its base window, and begins anew when it lacks what is sold."""
    sold = np.where(offer.on_sale, offer.sold, 0.0)
    if not (sold > 0).any():
        return basket
    level, grows = basket.level, basket.rounds < BASE_ROUNDS
    if not grows:
        if not ((sold > 0) & (basket.quantity == 0)).any():
            return basket
        level = price_index(basket, offer) or level
        basket = Basket()
    return Basket(
        rounds=basket.rounds + 1,
        level=level,
        quantity=basket.quantity + sold,
        value=basket.value + sold * offer.price,
    )


def left_out(basket: Basket, offer: Offer) -> dict[str, str]:
    """Resource -> why it does not count in the index now."""
    found: dict[str, str] = {}
    for r, name in enumerate(MARKET_RESOURCES):
        if offer.capacity[r] <= 0:
            found[name] = 'no host sells it'
        elif offer.price[r] <= 0:
            found[name] = 'its price is 0'
        elif basket.quantity[r] <= 0:
            found[name] = 'nothing of it was sold in the base window'
    return found


def purchasing_power(spend: int, offer: Offer, index: float | None) -> PurchasingPower:
    """What a project buys with its sustainable spend (B3) at the prices of a round."""
    on_sale = offer.on_sale
    worth = float((offer.price * offer.capacity)[on_sale].sum())
    cores = min(spend / offer.price[CPU], offer.capacity[CPU]) if on_sale[CPU] else None
    return PurchasingPower(
        spend=spend,
        cores=None if cores is None else float(cores),
        part=min(spend / worth, 1.0) if worth > 0 else None,
        real=spend * FIRST_LEVEL / index if index else None,
    )
