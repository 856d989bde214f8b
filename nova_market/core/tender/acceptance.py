# SPDX-License-Identifier: Apache-2.0
"""Whether an offer that is accepted can still be honoured, and from where.

Implements INRIA RR-7837, sections 3.2 and 3.3.3, and rule O2 of doc/source/specs/tender.rst: all offers
are made again; the accepted one is honoured when the task can be had for no more and no later. Of
several the user's utility chooses, and what the task then costs, and when it ends, is what was made
again: it is the better of both.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.tender.offer import Offers
from nova_market.core.tender.utility import Utility, best_first


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What was offered. cost: micro-credits; seconds: from acceptance; source: row of who offered it"""

    cost: int
    seconds: float
    source: int = 0


def honoured(terms: Terms, now: Offers, utility: Utility, weight: float = 0.5) -> int | None:
    """Row of the offer that is used, of those that can be made now; None: it is gone."""
    rows = np.flatnonzero((now.cost <= terms.cost) & (now.seconds <= terms.seconds))
    if not len(rows):
        return None
    return int(best_first(now, rows, utility, weight)[0])


def terms_of(offers: Offers, row: int) -> Terms:
    """What one of the offers promises."""
    return Terms(
        cost=int(offers.cost[row]),
        seconds=float(offers.seconds[row]),
        source=int(offers.source[row]),
    )
