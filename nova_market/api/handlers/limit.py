# SPDX-License-Identifier: Apache-2.0
"""What the operator allows to a project, and how much of that it has (rules J11 and L10)."""

import math
from typing import Any

from nova_market.api.call import Call
from nova_market.api.contract import gives, takes_query
from nova_market.api.schemas import limit as schemas
from nova_market.api.schemas.shape import OF_PROJECT
from nova_market.core.calendar.axes import AXES, CORES
from nova_market.core.lease.limit import HOUR, LeaseQuota, ahead_of
from nova_market.errors import LeaseRefused


@takes_query(project_id=OF_PROJECT)
@gives(200, schemas.LIMITS)
def show(call: Call) -> Any:
    """Limits of a project, and what it has of what they bound."""
    project = call.whose('limits:show')
    assert project is not None, 'nobody asks for all projects'
    return {
        'limits': {
            'project_id': project,
            'queues': {
                'used': call.stores.queues.owned(project),
                'max': call.settings.max_queues,
            },
            'jobs': _jobs(call),
            'leases': _leases(call, project),
        }
    }


def _jobs(call: Call) -> dict[str, Any]:
    settings, most = call.settings, call.settings.job_limits
    return {
        'policies': list(settings.job_policies),
        'max_waiting': settings.max_waiting_jobs,
        'max_short_below': most.max_short_below,
        'max_notice': most.max_notice,
        'max_least_run_time': most.max_least_run_time,
        'max_retries': most.max_retries,
    }


def _leases(call: Call, project: str) -> dict[str, Any]:
    settings = call.settings.leases
    limits, prices = settings.limits, settings.prices
    quota = LeaseQuota(limits=limits, total=_total(call), now=call.stores.wall())
    ahead = ahead_of(call.stores.leases.spans(project), quota)
    cores = quota.total[CORES]
    return {
        'free': limits.bounds_projects,
        'priced': any(prices.by_axis),
        'leases': {'used': ahead.leases, 'max': limits.leases},
        'core_hours': {
            'used': ahead.core_seconds / HOUR,
            'max': _hours(limits.core_seconds),
        },
        'part': {'used': ahead.cores / cores if cores else None, 'max': limits.part},
        'cloud_core_hours': _hours(limits.cloud_core_seconds),
        'cloud_part': limits.cloud_part,
        'longest': settings.longest,
        'horizon': settings.horizon,
        'refund': settings.life.refund,
        'full_refund_within': settings.life.full_refund_within,
    }


def _hours(core_seconds: float) -> float | None:
    """None: no limit."""
    return core_seconds / HOUR if math.isfinite(core_seconds) else None


def _total(call: Call) -> tuple[float, ...]:
    """What all hosts have that can be leased; zeros while that is not known."""
    stores, settings = call.stores, call.settings.leases
    try:
        view, _ = stores.known_hosts.listed(stores.leases, stores.states, settings, stores.wall())
    except LeaseRefused:
        return (0.0,) * len(AXES)
    return tuple(view.whole.sum(axis=1).tolist())
