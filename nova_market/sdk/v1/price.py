# SPDX-License-Identifier: Apache-2.0
"""Prices now and before, and what a flavor would cost (rules P1, P3)."""

from openstack.resource import Body, QueryParameters

from nova_market.core.timestamp import seconds
from nova_market.sdk.v1.market_resource import MarketResource
from nova_market.sdk.v1.microversion import NEWEST_FIRST


class Price(MarketResource):
    """The price of one resource in one period."""

    base_path = '/prices'
    resources_key = 'prices'
    allow_list = True
    _query_mapping = QueryParameters('resource')

    resource = Body('resource')
    period = Body('period', type=int)
    at = Body('at')
    price = Body('price', type=float)
    bid_price = Body('bid_price', type=float)
    capacity = Body('capacity', type=float)
    allocated = Body('allocated', type=float)
    bids = Body('bids', type=int)

    @property
    def period_length(self) -> float | None:
        """Seconds of a period: they are counted from 1970 on. None: this is period 0."""
        return round(seconds(self.at) / self.period, 6) if self.period else None


class PastPrice(Price):
    """The same, newest first; of a service before version 1.17 oldest first."""

    base_path = '/prices/history'
    _max_microversion = NEWEST_FIRST
    _query_mapping = QueryParameters('resource', 'since', 'until')


class Quote(MarketResource):
    """What servers would have paid for one period of a window; `total` is the median times `periods`.

    `present` is what they would pay at the prices of the newest round; from `first_at` to `last_at` are
    `seen_periods` rounds, in which they would have paid from `least` to `greatest`.
    """

    resource_key = 'quote'

    flavor = Body('flavor')
    cpu = Body('cpu', type=float)
    memory_mib = Body('memory_mib', type=float)
    count = Body('count', type=int)
    periods = Body('periods', type=int)
    seen_periods = Body('seen_periods', type=int)
    low = Body('low', type=int)
    median = Body('median', type=int)
    high = Body('high', type=int)
    total = Body('total', type=int)
    present = Body('present', type=int)
    present_at = Body('present_at')
    first_at = Body('first_at')
    last_at = Body('last_at')
    least = Body('least', type=int)
    greatest = Body('greatest', type=int)
