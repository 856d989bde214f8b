# SPDX-License-Identifier: Apache-2.0
"""Leases of hosts and of parts of hosts (rules L1 to L6 of leases)."""

from openstack.resource import URI, Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource
from nova_market.sdk.v1.microversion import LEASES


class Lease(MarketResource):
    """A lease. Amounts of credit are micro-credits, `duration` is in seconds."""

    base_path = '/leases'
    resource_key = 'lease'
    resources_key = 'leases'
    allow_fetch = True
    allow_list = True
    _max_microversion = LEASES
    _query_mapping = QueryParameters(
        'project_id', 'all_projects', 'state', 'host', 'since', 'until'
    )

    number = Body('number', type=int)
    project_id = Body('project_id')
    payer_id = Body('payer_id')
    user_id = Body('user_id')
    purpose = Body('purpose')
    state = Body('state')
    start = Body('start')
    end = Body('end')
    ended_at = Body('ended_at')
    nodes = Body('nodes', type=list)
    whole = Body('whole', type=bool)
    utilisation = Body('utilisation', type=float)
    duration = Body('duration', type=float)
    earliest = Body('earliest')
    finish = Body('finish')
    hosts = Body('hosts', type=list)
    flexible = Body('flexible', type=bool)
    cost = Body('cost', type=int)
    charged = Body('charged', type=int)
    refunded = Body('refunded', type=int)
    algorithm = Body('algorithm')
    objective = Body('objective')
    created_at = Body('created_at')
    lease_revision = Body('revision', type=int)


class LeaseEvent(MarketResource):
    """One thing that happened to a lease, and why."""

    base_path = '/leases/%(lease_id)s/events'
    resources_key = 'events'
    allow_list = True
    _max_microversion = LEASES

    lease_id = URI('lease_id')
    number = Body('number', type=int)
    at = Body('at')
    action = Body('action')
    reason = Body('reason')
    numbers = Body('numbers', type=dict)


class LeaseCalendar(MarketResource):
    """What hosts have free when: `hosts`, each with its `leases` and `free` steps."""

    since = Body('since')
    until = Body('until')
    read_at = Body('read_at')
    hosts = Body('hosts', type=list)


class Replan(MarketResource):
    """What moves when leases are placed anew, and what that saves. `cost` is in `unit`."""

    algorithm = Body('algorithm')
    objective = Body('objective')
    unit = Body('unit')
    leases = Body('leases', type=int)
    written = Body('written', type=bool)
    before = Body('before', type=dict)
    after = Body('after', type=dict)
    moves = Body('moves', type=list)
