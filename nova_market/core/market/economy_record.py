# SPDX-License-Identifier: Apache-2.0
"""The economy of a round as it is stored, by the definitions of core.market.economy.

Implements rows of rules B3 and P4 of doc/source/specs/market.rst. Units: as in core.market.record.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import AccountId, kind_of
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.economy import (
    Basket,
    MoneySupply,
    Offer,
    money_supply,
    next_basket,
    price_index,
    purchasing_power,
    velocity,
)
from nova_market.core.market.record import EconomyRecord, PowerRecord, PriceRecord
from nova_market.core.market.sustainable_bid import means_of


def offer_of(prices: Iterable[PriceRecord]) -> Offer:
    """What was for sale in a round; nothing of a resource without a price."""
    known = {one.resource: one for one in prices}
    rows = [
        (one.price, one.capacity, one.allocated) if one else (0.0, 0.0, 0.0)
        for one in map(known.get, MARKET_RESOURCES)
    ]
    price, capacity, sold = np.array(rows).T
    return Offer(price=price, capacity=capacity, sold=sold)


def economy_record(
    period: int, balances: Mapping[AccountId, int], offer: Offer, before: Basket
) -> EconomyRecord:
    """balances: of all accounts; before: the basket of the round before."""
    supply, basket = money_supply(balances), next_basket(before, offer)
    cpu, memory = basket.quantity.tolist()
    cpu_value, memory_value = basket.value.tolist()
    return EconomyRecord(
        period=period,
        projects=supply.projects,
        budgets=supply.budgets,
        escrow=supply.escrow,
        bank=supply.bank,
        price_index=price_index(basket, offer),
        base_rounds=basket.rounds,
        base_level=basket.level,
        base_cpu=cpu,
        base_memory=memory,
        base_cpu_value=cpu_value,
        base_memory_value=memory_value,
    )


def power_records(
    period: int, wealth: Mapping[str, int], cycle: int, offer: Offer, index: float | None
) -> list[PowerRecord]:
    """By project. wealth: of project_wealth; cycle: periods until a credit can be spent again (B3)."""
    found = []
    for project, amount in sorted(wealth.items()):
        power = purchasing_power(amount // cycle, offer, index)
        found.append(
            PowerRecord(
                period=period,
                project_id=project,
                wealth=amount,
                spend=power.spend,
                cores=power.cores,
                part=power.part,
                real=power.real,
            )
        )
    return found


def project_wealth(
    accounts: Mapping[AccountId, Account], coming: Mapping[str, int], pool: int
) -> dict[str, int]:
    """Project -> what it and its budgets have, and what is on its way back to it (B3).

    coming, pool: as in core.market.sustainable_bid.means_of
    """
    owners = [name for name in sorted(accounts) if kind_of(name) == 'project']
    nothing = np.zeros(len(owners), dtype=np.int64)
    own = means_of(owners, nothing, accounts, coming, pool, 1).wealth.tolist()
    found = {accounts[name].project_id: amount for name, amount in zip(owners, own, strict=True)}
    for one in accounts.values():
        if kind_of(one.id) == 'budget':
            found[one.project_id] = found.get(one.project_id, 0) + one.balance
    return found


def supply_of(record: EconomyRecord) -> MoneySupply:
    """Where the credits were."""
    return MoneySupply(
        projects=record.projects, budgets=record.budgets, escrow=record.escrow, bank=record.bank
    )


def basket_of(record: EconomyRecord | None) -> Basket:
    """The basket that the next round goes on from; an empty one after no round."""
    if record is None:
        return Basket()
    return Basket(
        rounds=record.base_rounds,
        level=record.base_level,
        quantity=np.array([record.base_cpu, record.base_memory]),
        value=np.array([record.base_cpu_value, record.base_memory_value]),
    )


def velocity_of(records: Sequence[EconomyRecord]) -> float | None:
    """Of a window: its rounds that are settled. None when none is, or there were no credits."""
    settled = [(one.charged, supply_of(one).issued) for one in records if one.charged is not None]
    return velocity([charged for charged, _ in settled], [issued for _, issued in settled])
