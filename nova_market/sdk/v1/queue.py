# SPDX-License-Identifier: Apache-2.0
"""Queues of jobs, with a share of the cloud (SVMSched, section 5; rule J1)."""

from openstack.resource import URI, Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource
from nova_market.sdk.v1.microversion import LIMITS, NEWEST_FIRST


class Queue(MarketResource):
    """A queue: who may submit to it, what its workers are, and how many jobs are where."""

    base_path = '/queues'
    resource_key = 'queue'
    resources_key = 'queues'
    allow_fetch = True
    allow_list = True
    allow_delete = True
    _max_microversion = LIMITS
    _query_mapping = QueryParameters('project_id', 'all_projects')

    project_id = Body('project_id')
    user_id = Body('user_id')
    description = Body('description')
    known_as = Body('known_as')
    share = Body('share', type=float)
    aggregate = Body('aggregate')
    policy = Body('policy')
    parameters = Body('parameters', type=dict)
    short_below = Body('short_below', type=int)
    flavors = Body('flavors', type=list)
    image = Body('image')
    networks = Body('networks', type=list)
    reuse = Body('reuse', type=bool)
    projects_trust_each_other = Body('projects_trust_each_other', type=bool)
    idle_seconds = Body('idle_seconds', type=int)
    limits = Body('limits', type=dict)
    submitters = Body('submitters', type=dict)
    weights = Body('weights', type=dict)
    price_core_hour = Body('price_core_hour', type=int)
    price_rule = Body('price_rule')
    state = Body('state')
    generation = Body('generation', type=int)
    created_at = Body('created_at')
    changed_at = Body('changed_at')
    jobs = Body('jobs', type=dict)
    tender = Body('tender', type=dict)
    in_force = Body('in_force', type=dict)

    @property
    def waiting(self) -> int:
        """Jobs that wait, those that come after others counted."""
        counts = self.jobs or {}
        return int(counts.get('waiting', 0) + counts.get('held', 0))

    @property
    def active(self) -> int:
        """Jobs that start or run, or are being preempted or suspended."""
        return int((self.jobs or {}).get('active', 0))


class QueueMinute(MarketResource):
    """What the jobs of a queue used and did in one minute (rule J6); in a list the newest first."""

    base_path = '/queues/%(queue_id)s/stats'
    resources_key = 'minutes'
    allow_list = True
    _max_microversion = NEWEST_FIRST
    _query_mapping = QueryParameters('since', 'until')

    queue_id = URI('queue_id')
    at = Body('at')
    cores = Body('cores', type=float)
    share = Body('share', type=float)
    waiting = Body('waiting', type=int)
    running = Body('running', type=int)
    started = Body('started', type=int)
    finished = Body('finished', type=int)
    failed = Body('failed', type=int)
    preempted = Body('preempted', type=int)
