# SPDX-License-Identifier: Apache-2.0
"""Bids per server (rule B1)."""

from openstack.resource import Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource


class Bid(MarketResource):
    """What one server bids per period until it is changed."""

    base_path = '/bids'
    resource_key = 'bid'
    resources_key = 'bids'
    allow_fetch = True
    allow_list = True
    allow_delete = True
    _query_mapping = QueryParameters('project_id', 'all_projects')

    server_id = Body('server_id', alternate_id=True)
    project_id = Body('project_id')
    payer = Body('payer')
    cpu = Body('cpu', type=int)
    memory = Body('memory', type=int)
    max_cpu = Body('max_cpu')
    max_memory_mib = Body('max_memory_mib')
    source = Body('source')
    generation = Body('generation', type=int)
