# SPDX-License-Identifier: Apache-2.0
"""What to bid for so many cores or MiB, from the prices of one round, and why.

Implements Merkat (INRIA RR-8648), section 2.2.3, eq. (1), solved for the bid (`core.market.price.bid_for`).
Units: cores or MiB; micro-credits per period, and per unit and period.

The others are taken to bid as they did: what they paid is the price times what they had. So it is what would
have been enough in that round, and no promise for the next one.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from nova_market.core.ledger.money import MAX_AMOUNT, MICRO, credit_text
from nova_market.core.market.price import bid_for
from nova_market.core.market.record import PriceRecord
from nova_market.errors import BadAmount

UNITS = {'cpu': 'cores', 'memory': 'MiB'}

ROUNDING = 1e-9
"""Relative; what an amount may seem to be larger than what is idle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BidSuggestion:
    """amount: wanted; bid: whole micro-credits per period; price: of the round; others: what the others paid
    new_price: the price that the bid makes; idle: what nobody else has
    """

    resource: str
    amount: float
    bid: int
    price: float
    new_price: float
    others: float
    idle: float
    why: str


def bid_suggestion(
    record: PriceRecord, amount: float, reserve: float, own: float = 0.0
) -> BidSuggestion:
    """The bid that buys this amount. reserve: the least price; own: what the server has, and no other.

    :raises BadAmount: it is not above 0, or not less than all there is; names the amount and the limit.
    """
    unit = UNITS[record.resource]
    if not 0 < amount < math.inf:
        raise BadAmount(f'{record.resource}: {amount:.9g} {unit}: give more than 0')
    others_have = max(record.allocated - own, 0.0)
    idle = max(record.capacity - others_have, 0.0)
    others = record.price * others_have
    market = (np.array([one]) for one in (amount, others, record.capacity, reserve))
    needed = float(bid_for(*market)[0])
    if not needed < MAX_AMOUNT:
        raise BadAmount(
            f'{record.resource}: {amount:.9g} {unit}: the cloud sells {record.capacity:.9g}, and others bid '
            f'for them too: give less than {record.capacity:.9g}'
        )
    bid = max(math.ceil(needed * (1.0 - ROUNDING)), 1)
    found = BidSuggestion(
        resource=record.resource,
        amount=amount,
        bid=bid,
        price=record.price,
        new_price=needed / amount,
        others=others,
        idle=idle,
        why='',
    )
    return _explained(found, record.capacity, unit)


def _explained(found: BidSuggestion, capacity: float, unit: str) -> BidSuggestion:
    wanted, bid = f'{found.amount:.9g} of {capacity:.9g} {unit}', credit_text(found.bid)
    if found.others <= 0:
        why = f'{found.resource}: nobody else pays for any: {bid} buys {wanted}'
    elif found.new_price <= found.price * (1.0 + ROUNDING):
        why = (
            f'{found.resource}: {found.idle:.9g} of {capacity:.9g} {unit} are not taken by others: at the '
            f'price of {price_text(found.new_price)} each, {bid} buys {found.amount:.9g}'
        )
    else:
        why = (
            f'{found.resource}: the others pay {price_text(found.others)} for {capacity - found.idle:.9g} of '
            f'{capacity:.9g} {unit}: to have {found.amount:.9g} you bid {bid}, which makes the price '
            f'{price_text(found.new_price)} instead of {price_text(found.price)}'
        )
    return replace(found, why=why)


def price_text(value: float) -> str:
    """Micro-credits, whole or not, as credits with the digits that matter."""
    return f'{value / MICRO:.6g}'
