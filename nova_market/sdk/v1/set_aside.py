# SPDX-License-Identifier: Apache-2.0
"""What services of the market have set aside (rule R3 of passes)."""

from openstack.resource import Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource
from nova_market.sdk.v1.microversion import SET_ASIDE


class SetAside(MarketResource):
    """A job, a lease, a bid, ... that cannot be handled now. `id` is its own one."""

    base_path = '/set-aside'
    resources_key = 'set_aside'
    allow_list = True
    _max_microversion = SET_ASIDE
    _query_mapping = QueryParameters('project_id', 'all_projects', 'service')

    kind = Body('kind')
    stage = Body('stage')
    reason = Body('reason')
    service = Body('service')
    project_id = Body('project_id')
    since = Body('since')
