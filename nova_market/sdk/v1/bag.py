# SPDX-License-Identifier: Apache-2.0
"""Bags of tasks, which negotiate for their owners (rule T5 of the tender)."""

from openstack.resource import URI, Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource
from nova_market.sdk.v1.microversion import BAGS

LIVE = ('filling', 'open', 'cancelled')
"""States in which tasks of a bag may go on."""


class Bag(MarketResource):
    """A bag. Amounts are micro-credits; `succeeded` and `failed` are sums of importance."""

    base_path = '/bags'
    resource_key = 'bag'
    resources_key = 'bags'
    allow_fetch = True
    allow_list = True
    _max_microversion = BAGS
    _query_mapping = QueryParameters('project_id', 'all_projects', 'state', 'name')

    number = Body('number', type=int)
    project_id = Body('project_id')
    user_id = Body('user_id')
    queues = Body('queues', type=list)
    utility = Body('utility')
    weight = Body('weight', type=float)
    order = Body('order')
    retry = Body('retry', type=bool)
    alternatives = Body('alternatives', type=bool)
    poll = Body('poll', type=float)
    budget = Body('budget', type=int)
    state = Body('state')
    reason = Body('reason')
    tasks = Body('tasks', type=dict)
    why = Body('why', type=dict)
    committed = Body('committed', type=int)
    spent = Body('spent', type=int)
    succeeded = Body('succeeded', type=float)
    failed = Body('failed', type=float)
    next_try = Body('next_try')
    created_at = Body('created_at')
    changed_at = Body('changed_at')
    ended_at = Body('ended_at')


class BagTask(MarketResource):
    """A task of a bag."""

    base_path = '/bags/%(bag_id)s/tasks'
    resources_key = 'tasks'
    allow_list = True
    _max_microversion = BAGS
    _query_mapping = QueryParameters('state')

    bag_id = URI('bag_id')
    row = Body('row', type=int)
    state = Body('state')
    time_limit = Body('time_limit', type=int)
    flavors = Body('flavors', type=list)
    deadline = Body('deadline')
    importance = Body('importance', type=float)
    why = Body('why')
    reason = Body('reason')
    tries = Body('tries', type=int)
    tried_at = Body('tried_at')
    queue_id = Body('queue_id')
    job_id = Body('job_id')
    cost = Body('cost', type=int)
    spent = Body('spent', type=int)
    due_at = Body('due_at')
    ended_at = Body('ended_at')


class BagEvent(MarketResource):
    """One thing that happened to a bag or to a task of it."""

    base_path = '/bags/%(bag_id)s/events'
    resources_key = 'events'
    allow_list = True
    _max_microversion = BAGS
    _query_mapping = QueryParameters('task')

    bag_id = URI('bag_id')
    number = Body('number', type=int)
    at = Body('at')
    task = Body('task')
    action = Body('action')
    reason = Body('reason')
    numbers = Body('numbers', type=dict)
