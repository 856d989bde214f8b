# SPDX-License-Identifier: Apache-2.0
"""Rounds, and what each server got in them (rules A1, A4)."""

from openstack.resource import URI, Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource
from nova_market.sdk.v1.microversion import ROUNDS


class Round(MarketResource):
    """One period: what was decided, and why. A tenant sees the lines of its own servers."""

    base_path = '/rounds'
    resource_key = 'round'
    resources_key = 'rounds'
    allow_fetch = True
    allow_list = True
    _max_microversion = ROUNDS

    period = Body('period', alternate_id=True)
    state = Body('state')
    at = Body('at')
    started_at = Body('started_at')
    leader = Body('leader')
    prices = Body('prices', type=list)
    held_prices = Body('held_prices', type=list)
    default_bids = Body('default_bids', type=dict)
    not_sold = Body('not_sold', type=list)
    demand = Body('demand', type=list)
    largest_error = Body('largest_error', type=float)
    payers = Body('payers', type=list)
    hosts = Body('hosts', type=list)
    explanation = Body('explanation', type=list)


class Allocation(MarketResource):
    """What one server got in one period, and what it was charged."""

    base_path = '/rounds/%(round_period)s/allocations'
    resource_key = 'allocation'
    resources_key = 'allocations'
    allow_list = True
    _query_mapping = QueryParameters('project_id', 'all_projects')

    round_period = URI('round_period')
    period = Body('period', type=int)
    at = Body('at')
    server_id = Body('server_id', alternate_id=True)
    project_id = Body('project_id')
    host = Body('host')
    ideal_cpu = Body('ideal_cpu', type=float)
    actual_cpu = Body('actual_cpu', type=float)
    ideal_memory_mib = Body('ideal_memory_mib', type=float)
    actual_memory_mib = Body('actual_memory_mib', type=float)
    error = Body('error', type=float)
    charge_cpu = Body('charge_cpu', type=int)
    charge_memory = Body('charge_memory', type=int)
    confirmed = Body('confirmed', type=bool)


class ServerAllocation(Allocation):
    """The same of one server over the periods, newest first."""

    base_path = '/servers/%(owner_id)s/allocations'

    owner_id = URI('owner_id')
