# SPDX-License-Identifier: Apache-2.0
"""Offers: what a job, a lease or servers would cost, and when (rules O1 to O5 of the tender)."""

from openstack.resource import Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource
from nova_market.sdk.v1.microversion import LEASE_OFFERS


class Offer(MarketResource):
    """An offer. `seconds` count from its acceptance; amounts are micro-credits.

    It is read, accepted, held and released in its `region`: Proxy.in_region.
    """

    base_path = '/offers'
    resource_key = 'offer'
    resources_key = 'offers'
    allow_fetch = True
    allow_list = True
    _max_microversion = LEASE_OFFERS
    _query_mapping = QueryParameters(
        'project_id', 'all_projects', 'queue', 'request_id', 'state', 'kind'
    )

    kind = Body('kind')
    number = Body('number', type=int)
    request_id = Body('request_id')
    project_id = Body('project_id')
    user_id = Body('user_id')
    region = Body('region')
    queue_id = Body('queue_id')
    queue = Body('queue')
    state = Body('state')
    flavor = Body('flavor')
    servers = Body('servers', type=int)
    time_limit = Body('time_limit', type=int)
    how = Body('how')
    count = Body('count', type=int)
    cost = Body('cost', type=int)
    prices = Body('prices', type=dict)
    seconds = Body('seconds', type=float)
    start = Body('start')
    finish = Body('finish')
    utility = Body('utility')
    weight = Body('weight', type=float)
    deadline = Body('deadline')
    created_at = Body('created_at')
    valid_until = Body('valid_until')
    fees = Body('fees', type=int)
    accepted_at = Body('accepted_at')
    job_id = Body('job_id')
    refunded = Body('refunded', type=int)
    lease_id = Body('lease_id')
    change = Body('change')
    nodes = Body('nodes', type=int)
    whole = Body('whole', type=bool)
    hosts = Body('hosts', type=list)
    cores = Body('cores', type=float)
    memory_mib = Body('memory_mib', type=float)
    disk_gib = Body('disk_gib', type=float)
    duration = Body('duration', type=float)
    at_once = Body('at_once', type=bool)
    market_cost = Body('market_cost', type=int)
