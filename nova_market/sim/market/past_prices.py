# SPDX-License-Identifier: Apache-2.0
"""The prices of a run so far, as far as policies plan by them.

For Merkat (INRIA RR-8648), section 2.2.2: what a controller reads from the market's history. Units and shapes
as in core.app.policies.policy_interface.
"""

from collections import deque

import numpy as np

from nova_market.core.app.policies.policy_interface import MarketState
from nova_market.core.app.policies.price_smoothing import rounds_remembered, smoothed_market
from nova_market.core.resource import Array


class PastPrices:
    """keep: part of a price that still counts a round later; 0 = the last price only."""

    def __init__(self, keep: float) -> None:
        self._keep = keep
        self._prices: deque[Array] = deque(maxlen=rounds_remembered(keep) + 1)

    def add(self, price: Array) -> None:
        """Of the round that has just been decided."""
        self._prices.append(price)

    def forget(self) -> None:
        """Nobody was there for some time."""
        self._prices.clear()

    def planned(self, market: MarketState) -> MarketState:
        """The market after the last round that was added, with the price to plan by."""
        before = max(len(self._prices) - 1, 0)
        past = np.array(list(self._prices)[:before]).reshape(before, len(market.price))
        return smoothed_market(market, past, self._keep)
