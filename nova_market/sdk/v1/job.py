# SPDX-License-Identifier: Apache-2.0
"""Jobs that queues run in servers (SVMSched; rules J2 to J6)."""

from openstack.resource import URI, Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource
from nova_market.sdk.v1.microversion import JOBS, LIMITS

ENDED = frozenset({'finished', 'failed', 'cancelled'})
"""States of a job that is not run any more."""

LIVE = ('held', 'waiting', 'starting', 'running', 'preempting', 'suspended')
"""The other states."""


class Job(MarketResource):
    """A job, or one element of an array; script, environment and attempts when it is asked for by its id."""

    base_path = '/jobs'
    resource_key = 'job'
    resources_key = 'jobs'
    allow_fetch = True
    allow_list = True
    _max_microversion = LIMITS
    _query_mapping = QueryParameters(
        'project_id', 'all_projects', 'queue', 'user_id', 'array_id', 'state', 'name'
    )

    number = Body('number', type=int)
    queue_id = Body('queue_id')
    queue = Body('queue')
    array_id = Body('array_id')
    array_index = Body('array_index', type=int)
    array_size = Body('array_size', type=int)
    project_id = Body('project_id')
    user_id = Body('user_id')
    kind = Body('kind')
    priority = Body('priority', type=int)
    weight = Body('weight', type=float)
    flavor = Body('flavor')
    servers = Body('servers', type=int)
    cores = Body('cores', type=float)
    memory_mib = Body('memory_mib', type=float)
    disk_gib = Body('disk_gib', type=float)
    time_limit = Body('time_limit', type=int)
    state = Body('state')
    wish = Body('wish')
    attempt = Body('attempt', type=int)
    submitted_at = Body('submitted_at')
    changed_at = Body('changed_at')
    started_at = Body('started_at')
    ended_at = Body('ended_at')
    expected_start = Body('expected_start')
    reason = Body('reason', type=dict)
    exit_code = Body('exit_code', type=int)
    begin = Body('begin')
    value = Body('value', type=int)
    after = Body('after', type=list)
    after_condition = Body('after_condition')
    retries = Body('retries', type=int)
    lost = Body('lost', type=int)
    requeues = Body('requeues', type=int)
    least_run_time = Body('least_run_time', type=int)
    notice = Body('notice', type=int)
    preempt_action = Body('preempt_action')
    cost_limit = Body('cost_limit', type=int)
    charged = Body('charged', type=int)
    compensation = Body('compensation', type=int)
    script = Body('script')
    checkpoint = Body('checkpoint')
    environment = Body('environment', type=dict)
    output_url = Body('output_url')
    attempts = Body('attempts', type=list)
    in_force = Body('in_force', type=dict)

    @property
    def label(self) -> str:
        """Its name; of an array's element with its index, such as frames/3."""
        return self.name if self.array_id is None else f'{self.name}/{self.array_index}'

    @property
    def ended(self) -> bool:
        """Is it not run any more, unless it is requeued?"""
        return self.state in ENDED


class JobOutput(MarketResource):
    """The last bytes that an attempt of a job has written."""

    resource_key = 'output'
    _max_microversion = JOBS

    job_id = Body('job_id', alternate_id=True)
    attempt = Body('attempt', type=int)
    rank = Body('rank', type=int)
    text = Body('text')
    bytes = Body('bytes', type=int)
    total_bytes = Body('total_bytes', type=int)


class JobEvent(MarketResource):
    """One thing that happened to a job, and why."""

    base_path = '/jobs/%(job_id)s/events'
    resources_key = 'events'
    allow_list = True
    _max_microversion = JOBS

    job_id = URI('job_id')
    number = Body('number', type=int)
    at = Body('at')
    attempt = Body('attempt', type=int)
    action = Body('action')
    reason = Body('reason')
    numbers = Body('numbers', type=dict)
