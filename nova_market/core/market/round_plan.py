# SPDX-License-Identifier: Apache-2.0
"""A round from its inputs to what is stored of it, in one step.

Implements rules B2, P1, P3, A1, A4, M3, M4 and F2 of doc/source/specs/market.rst, each by
its own module. Units: as in core.market.record.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from nova_market.core.ledger.posting import Posting
from nova_market.core.market.currency_step import currency_inputs, currency_step
from nova_market.core.market.inputs import RoundInputs
from nova_market.core.market.notices import Notice, notices
from nova_market.core.market.record import AllocationRecord, PriceRecord
from nova_market.core.market.round import RoundOutcome, decide
from nova_market.core.market.round_document import (
    allocation_records,
    document,
    price_records,
    stored_payers,
)
from nova_market.core.market.settings import MarketSettings
from nova_market.core.market.settlement import hold_postings
from nova_market.core.resource import OwnerId


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoundPlan:
    """outcome: what was decided; document, prices, allocated, holds: what is stored with the round
    notices: to be sent when this round is the one that was stored
    """

    outcome: RoundOutcome
    document: Mapping[str, object]
    prices: tuple[PriceRecord, ...]
    allocated: tuple[AllocationRecord, ...]
    holds: tuple[Posting, ...]
    notices: tuple[Notice, ...]


def round_plan(
    inputs: RoundInputs, settings: MarketSettings, heaviness: Mapping[OwnerId, float]
) -> RoundPlan:
    """The whole decision. heaviness: as hosts reported it in the rounds before."""
    outcome = decide(inputs.snapshot, settings.pricing)
    postings, carried = currency_step(currency_inputs(inputs, outcome), settings)
    new, carried = notices(inputs, outcome, settings, carried)
    stored = document(inputs, outcome, settings, carried, postings, heaviness)
    allocated = allocation_records(inputs, outcome)
    return RoundPlan(
        outcome=outcome,
        document=stored,
        prices=tuple(price_records(inputs, outcome)),
        allocated=tuple(allocated),
        holds=tuple(hold_postings(inputs.period, allocated, stored_payers(stored))),
        notices=tuple(new),
    )
