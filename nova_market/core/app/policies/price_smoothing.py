# SPDX-License-Identifier: Apache-2.0
"""The market as a cautious controller sees it: a price that fell is believed little by little.

Implements the advice of Merkat (INRIA RR-8648), section 2.2.2 ("the initial bid can be computed based on past
price history") and against what section 4 fears (controllers that adapt too much). Shapes as in
policy_interface.

Why: as soon as a little of the cloud is free its price is the reserve price, however much everybody bid
a round ago. Who plans by that price alone finds twice the cloud affordable, and so do all others at once.
"""

from dataclasses import replace

import numpy as np

from nova_market.core.app.policies.policy_interface import MarketState
from nova_market.core.resource import Array

KEEP = 0.9
"""Part of the remembered price that is left a round later: half of it after about seven rounds."""


def smoothed_market(market: MarketState, memory: Array, keep: float = KEEP) -> MarketState:
    """The market at the larger of its price and what is left of the last remembered one.

    memory: (resources,) the price of what this function returned a round ago
    """
    return replace(market, price=np.maximum(market.price, memory * keep))
