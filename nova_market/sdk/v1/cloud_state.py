# SPDX-License-Identifier: Apache-2.0
"""What the market sees of the cloud: hosts, and how heavy projects are."""

from openstack.resource import Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource


class Host(MarketResource):
    """A compute host and what the market may hand out of it."""

    base_path = '/hosts'
    resources_key = 'hosts'
    allow_list = True

    name = Body('name', alternate_id=True)
    zone = Body('zone')
    enabled = Body('enabled', type=bool)
    answering = Body('answering', type=bool)
    capacity = Body('capacity', type=list)

    @property
    def cores(self) -> float | None:
        return self.capacity[0] if self.capacity else None

    @property
    def memory_mib(self) -> float | None:
        return self.capacity[1] if self.capacity else None


class Heaviness(MarketResource):
    """What a project holds and uses of the whole cloud, against its entitlement."""

    base_path = '/heaviness'
    resources_key = 'heaviness'
    allow_list = True
    _query_mapping = QueryParameters('project_id', 'all_projects')

    project_id = Body('project_id', alternate_id=True)
    period = Body('period', type=int)
    heaviness = Body('heaviness', type=float)
