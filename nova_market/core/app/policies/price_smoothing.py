# SPDX-License-Identifier: Apache-2.0
"""The price that the size of an application is planned by: a rise counts at once, a fall little by little.

Implements the advice of Merkat (INRIA RR-8648), section 2.2.2 ("the initial bid can be computed based on past
price history") and against what section 4 fears (controllers that adapt too much). Shapes as in
policy_interface. Units: micro-credits per unit and period.

    planned price = max(price, keep * price a round ago, keep^2 * price two rounds ago, ...)

Why: as soon as a little of the cloud is free its price is the reserve price, however much everybody bid
a round ago. Who plans by that price alone finds twice the cloud affordable, and so do all others at once.

Numbers of servers and starts are planned by it, and when `stop` and `best_effort` resume. Bids and
suspensions follow the last price, and so do policies for deadlines, for whom it costs to wait: with the
planned price `full_deadline` and `value_density` satisfy no more jobs of figure 5, and mostly fewer.
"""

from dataclasses import replace
from math import ceil, log

import numpy as np

from nova_market.core.app.policies.policy_interface import MarketState
from nova_market.core.resource import Array

KEEP = 0.9
"""Part of a price that is left a round later: half of it after about seven rounds."""

FORGOTTEN = 0.01
"""A price of which no more than this part is left does not count any more."""


def smoothed_market(market: MarketState, past: Array, keep: float = KEEP) -> MarketState:
    """The market with the price to plan by.

    past: (rounds, resources) prices of the rounds before, the newest last; keep: 0 = the last price only
    """
    left = keep ** np.arange(len(past), 0, -1, dtype=np.float64)
    remembered = np.max(past * left[:, None], axis=0, initial=0.0)
    return replace(market, planned_price=np.maximum(market.price, remembered))


def rounds_remembered(keep: float) -> int:
    """Number of earlier rounds whose prices still count."""
    return ceil(log(FORGOTTEN) / log(keep)) if keep > 0 else 0
