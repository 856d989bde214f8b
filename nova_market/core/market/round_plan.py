# SPDX-License-Identifier: Apache-2.0
"""A round from its inputs to what is stored of it, in one step.

Implements rules B2 to B4, P1, P3, P4, A1, A4, M3, M4 and F2 of doc/source/specs/market.rst, each by
its own module. Units: as in core.market.record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nova_market.core.ledger.posting import BANK, Posting
from nova_market.core.market.currency_step import currency_inputs, currency_step
from nova_market.core.market.economy_record import (
    basket_of,
    economy_record,
    offer_of,
    power_records,
    project_wealth,
)
from nova_market.core.market.inputs import RoundInputs
from nova_market.core.market.notices import notices
from nova_market.core.market.price import allowed_factor
from nova_market.core.market.record import (
    AllocationRecord,
    EconomyRecord,
    PowerRecord,
    PriceRecord,
)
from nova_market.core.market.round import RoundOutcome, decide
from nova_market.core.market.round_document import (
    allocation_records,
    document,
    price_records,
    stored_payers,
)
from nova_market.core.market.settings import MarketSettings
from nova_market.core.market.settlement import hold_postings
from nova_market.core.notice.notice import Notice
from nova_market.core.resource import OwnerId


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoundPlan:
    """outcome: what was decided; document, prices, allocated, economy, powers, holds: what is stored with it
    notices: to be sent when this round is the one that was stored
    """

    outcome: RoundOutcome
    document: Mapping[str, object]
    prices: tuple[PriceRecord, ...]
    allocated: tuple[AllocationRecord, ...]
    economy: EconomyRecord
    powers: tuple[PowerRecord, ...]
    holds: tuple[Posting, ...]
    notices: tuple[Notice, ...]


def round_plan(
    inputs: RoundInputs, settings: MarketSettings, heaviness: Mapping[OwnerId, float]
) -> RoundPlan:
    """The whole decision. heaviness: as hosts reported it in the rounds before."""
    breaker = allowed_factor(settings.breaker, inputs.period - inputs.past.period)
    outcome = decide(inputs.snapshot, settings.pricing, breaker)
    postings, carried = currency_step(currency_inputs(inputs, outcome), settings)
    new, carried = notices(inputs, outcome, settings, carried)
    stored = document(inputs, outcome, settings, carried, postings, heaviness)
    allocated = allocation_records(inputs, outcome)
    prices = price_records(inputs, outcome)
    economy, powers = _economy(inputs, settings, prices)
    return RoundPlan(
        outcome=outcome,
        document=stored,
        prices=tuple(prices),
        allocated=tuple(allocated),
        economy=economy,
        powers=tuple(powers),
        holds=tuple(hold_postings(inputs.period, allocated, stored_payers(stored))),
        notices=tuple(new),
    )


def _economy(
    inputs: RoundInputs, settings: MarketSettings, prices: Sequence[PriceRecord]
) -> tuple[EconomyRecord, list[PowerRecord]]:
    offer = offer_of(prices)
    balances = {n: one.balance for n, one in inputs.accounts.items()} | {BANK: inputs.bank}
    economy = economy_record(inputs.period, balances, offer, basket_of(inputs.past.economy))
    coming, pool = inputs.past.carried.coming, settings.shared_pool(inputs.bank)
    wealth = project_wealth(inputs.accounts, coming, pool)
    index = economy.price_index
    return economy, power_records(inputs.period, wealth, settings.cycle, offer, index)
