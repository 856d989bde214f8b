# SPDX-License-Identifier: Apache-2.0
"""What the operator allows to a project (rules J11 and L10)."""

from openstack.resource import Body

from nova_market.sdk.v1.market_resource import MarketResource
from nova_market.sdk.v1.microversion import LIMITS


class Limits(MarketResource):
    """Limits of a project, and what it has of what they bound."""

    base_path = '/limits'
    resource_key = 'limits'
    _max_microversion = LIMITS

    project_id = Body('project_id', alternate_id=True)
    queues = Body('queues', type=dict)
    jobs = Body('jobs', type=dict)
    leases = Body('leases', type=dict)
