# SPDX-License-Identifier: Apache-2.0
"""Prices now and before, and what a flavor would cost (rules P1, P3)."""

from openstack.resource import Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource


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


class PastPrice(Price):
    """The same, oldest first."""

    base_path = '/prices/history'
    _query_mapping = QueryParameters('resource', 'since', 'until')


class Quote(MarketResource):
    """What servers would have paid for one period of a window; `total` is the median times `periods`."""

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
