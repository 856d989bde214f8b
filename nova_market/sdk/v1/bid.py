# SPDX-License-Identifier: Apache-2.0
"""Bids per server (rule B1)."""

from openstack.resource import Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource
from nova_market.sdk.v1.microversion import PARTIAL_BIDS


class Bid(MarketResource):
    """What one server bids per period until it is changed; None: it leaves a resource to its default.

    `in_force` is what the newest round counted and whence, where one server is read.
    """

    base_path = '/bids'
    resource_key = 'bid'
    resources_key = 'bids'
    allow_fetch = True
    allow_list = True
    allow_delete = True
    _max_microversion = PARTIAL_BIDS
    _query_mapping = QueryParameters('project_id', 'all_projects')

    server_id = Body('server_id', alternate_id=True)
    project_id = Body('project_id')
    payer = Body('payer')
    cpu = Body('cpu')
    memory = Body('memory')
    max_cpu = Body('max_cpu')
    max_memory_mib = Body('max_memory_mib')
    source = Body('source')
    generation = Body('generation', type=int)
    in_force = Body('in_force', type=dict)


class BidSuggestion(MarketResource):
    """What would have been enough in the newest round for so many cores or MiB, and why."""

    resource_key = 'suggestion'

    server_id = Body('server_id')
    period = Body('period', type=int)
    cpu = Body('cpu', type=dict)
    memory = Body('memory', type=dict)
    why = Body('why', type=list)

    @property
    def cores(self) -> float | None:
        """That were asked for."""
        return (self.cpu or {}).get('amount')

    @property
    def cpu_bid(self) -> int | None:
        """Micro-credits per period."""
        return (self.cpu or {}).get('bid')

    @property
    def memory_mib(self) -> float | None:
        """That were asked for."""
        return (self.memory or {}).get('amount')

    @property
    def memory_bid(self) -> int | None:
        """Micro-credits per period."""
        return (self.memory or {}).get('bid')

    @property
    def total(self) -> int:
        """Micro-credits per period, of both."""
        return (self.cpu_bid or 0) + (self.memory_bid or 0)
