# SPDX-License-Identifier: Apache-2.0
"""Migration plans (rules A2, A3)."""

from openstack.resource import Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource


class Plan(MarketResource):
    """Live migrations that belong together; in mode `advise` an administrator approves them."""

    base_path = '/plans'
    resource_key = 'plan'
    resources_key = 'plans'
    allow_fetch = True
    allow_list = True
    _query_mapping = QueryParameters('state')

    period = Body('period', type=int)
    mode = Body('mode')
    state = Body('state')
    created_at = Body('created_at')
    decided_by = Body('decided_by')
    decided_at = Body('decided_at')
    moves = Body('moves', type=list)
