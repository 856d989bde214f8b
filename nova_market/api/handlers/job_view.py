# SPDX-License-Identifier: Apache-2.0
"""Queues, jobs, attempts and events as the API shows them. Times of 0 are those that have not come: null."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from nova_market.core.job.charge import HOUR
from nova_market.core.job.operator_limits import (
    LIMITED,
    JobLimits,
    job_in_force,
    limits_for,
    queue_in_force,
)
from nova_market.core.job.queue import QueueMinute, StoredQueue, StoredWorker
from nova_market.core.job.record import (
    JobContent,
    JobEvent,
    JobReason,
    StoredAttempt,
    StoredJob,
)
from nova_market.core.job.store_values import QueueCount
from nova_market.core.market.record import PriceRecord
from nova_market.core.tender.queue_price import QueuePrices
from nova_market.core.timestamp import stamp

MINUTE = 60
SOLD = {'cpu': 'shares of cores', 'memory': 'shares of memory'}
"""What the market sells, by the names of its resources."""


def queue_shown(
    queue: StoredQueue, count: QueueCount, hidden: Collection[str] = ()
) -> dict[str, Any]:
    """A queue, with how many of its jobs are where. hidden: limits that the caller does not know."""
    return {
        'id': queue.id,
        'project_id': queue.project_id,
        'user_id': queue.user_id,
        'name': queue.name,
        'description': queue.description,
        'policy': queue.policy,
        'parameters': dict(queue.parameters),
        'short_below': queue.short_below,
        'flavors': list(queue.flavors),
        'image': queue.image,
        'networks': list(queue.networks),
        'reuse': queue.reuse,
        'idle_seconds': queue.idle_seconds,
        'limits': {n: v for n, v in asdict(queue.limits).items() if n not in hidden},
        'submitters': {'projects': list(queue.projects), 'roles': list(queue.roles)},
        'weights': dict(queue.weights),
        'price_core_hour': queue.price_core_hour,
        'share': queue.share,
        'aggregate': queue.aggregate,
        'state': str(queue.state),
        'generation': queue.generation,
        'created_at': stamp(queue.created_at),
        'changed_at': stamp(queue.changed_at),
        'jobs': asdict(count),
    }


def queue_in_force_shown(queue: StoredQueue, most: JobLimits, *, policy: bool) -> dict[str, Any]:
    """Which of its limits count. policy: whether it may have its policy"""
    limited = queue_in_force(queue, most)
    limits = {name: getattr(limited.limits, name) for name in LIMITED.values()}
    return {'policy': policy, 'short_below': limited.short_below, **limits}


def job_in_force_shown(
    job: StoredJob, queue: StoredQueue | None, most: JobLimits
) -> dict[str, Any]:
    """What of a job's values counts. queue: its own; None: it is gone"""
    limited = job_in_force(job, limits_for(queue, most))
    found = {name: getattr(limited, name) for name in LIMITED}
    return {**found, 'preempt_action': str(limited.preempt_action)}


def tender_shown(prices: QueuePrices, *, history: bool) -> dict[str, Any]:
    """The prices of a tender queue. history: with the last steps of them"""
    cores, memory, disk = prices.load
    return {
        'at': stamp(prices.at),
        'prices': price_vector(prices.prices),
        'load': {'cores': cores, 'memory_mib': memory, 'disk_gib': disk},
        'history': _history(prices) if history else [],
    }


def clearing_shown(newest: Sequence[PriceRecord] | None, period: float) -> dict[str, Any]:
    """What a share of a core and of a MiB costs in the market, for an hour.

    newest: prices of its newest round; none: there was none, or no host sells; None: not for the caller
    """
    price = {one.resource: one.price * HOUR / period for one in newest or ()}
    if newest is None:
        reason = 'the prices of the market are not for you'
    elif not newest:
        reason = 'the market has no prices yet'
    else:
        missing = [noun for name, noun in SOLD.items() if name not in price]
        reason = f'no host sells {" or ".join(missing)}' if missing else ''
    return {
        'at': stamp(newest[0].period * period) if newest else None,
        'core_hour': price.get('cpu'),
        'mib_hour': price.get('memory'),
        'reason': reason or None,
    }


def _history(prices: QueuePrices) -> list[dict[str, Any]]:
    """Their last steps, oldest first."""
    return [
        {'at': stamp(at), **price_vector(one), 'load': load} for at, *one, load in prices.history
    ]


def price_vector(prices: Sequence[float]) -> dict[str, float]:
    """Micro-credits for an hour. prices: of a core, a MiB and a GiB."""
    core, memory, disk = prices
    return {'core_hour': core, 'mib_hour': memory, 'gib_hour': disk}


def minute(one: QueueMinute) -> dict[str, Any]:
    """What a queue did in a minute."""
    return {
        'at': stamp(one.minute * MINUTE),
        'cores': one.cores,
        'share': one.share,
        'waiting': one.waiting,
        'running': one.running,
        'started': one.started,
        'finished': one.finished,
        'failed': one.failed,
        'preempted': one.preempted,
    }


def short(job: StoredJob) -> dict[str, Any]:
    """What the answer to a submission has of each job."""
    return {
        'id': job.id,
        'number': job.number,
        'name': job.name,
        'queue_id': job.queue_id,
        'array_id': job.array_id or None,
        'array_index': job.array_index if job.array_id else None,
        'state': str(job.state),
    }


def summary(job: StoredJob, queue: str) -> dict[str, Any]:
    """A line of a list. queue: its name."""
    return {
        **short(job),
        'queue': queue,
        'project_id': job.project_id,
        'user_id': job.user_id,
        'kind': str(job.kind),
        'priority': job.priority,
        'flavor': job.flavor,
        'servers': job.servers,
        'cores': job.cores,
        'memory_mib': job.memory_mib,
        'disk_gib': job.disk_gib,
        'time_limit': job.time_limit,
        'wish': str(job.wish),
        'attempt': job.attempt,
        'begin': _time(job.not_before),
        'submitted_at': stamp(job.submitted_at),
        'changed_at': stamp(job.changed_at),
        'started_at': _time(job.started_at),
        'ended_at': _time(job.ended_at),
        'expected_start': None if job.expected_start is None else stamp(job.expected_start),
        'reason': None if job.reason is None else _reason(job.reason),
        'exit_code': job.exit_code,
    }


def shown(
    job: StoredJob,
    queue: str,
    content: JobContent | None,
    attempts: Sequence[StoredAttempt],
    workers: Sequence[StoredWorker],
) -> dict[str, Any]:
    """A job with what it runs and its attempts. workers: those that are still there, of its attempts."""
    by_id = {one.id: one for one in workers}
    return {
        **summary(job, queue),
        'value': job.value,
        'weight': job.weight,
        'array_size': job.array_size,
        'after': list(job.after),
        'after_condition': str(job.after_condition),
        'retries': job.retries,
        'lost': job.lost,
        'requeues': job.requeues,
        'least_run_time': job.least_run_time,
        'notice': job.notice,
        'preempt_action': str(job.preempt_action),
        'cost_limit': job.cost_limit,
        'charged': job.charged,
        'compensation': job.compensation,
        'script': content.script if content else '',
        'checkpoint': content.checkpoint if content else '',
        'environment': dict(content.environment) if content else {},
        'output_url': content.output_url if content else '',
        'attempts': [_attempt(one, by_id.get(one.worker_id)) for one in attempts],
    }


def event(one: JobEvent) -> dict[str, Any]:
    """What happened to a job."""
    return {
        'number': one.number,
        'at': stamp(one.at),
        'attempt': one.attempt,
        'action': one.action,
        'reason': one.reason,
        'numbers': dict(one.numbers),
    }


def _attempt(one: StoredAttempt, worker: StoredWorker | None) -> dict[str, Any]:
    return {
        'number': one.number,
        'rank': one.rank,
        'state': str(one.state),
        'worker_id': one.worker_id,
        'server_id': (worker.server_id or None) if worker else None,
        'host': (worker.host or None) if worker else None,
        'created_at': stamp(one.created_at),
        'started_at': _time(one.started_at),
        'ended_at': _time(one.ended_at),
        'exit_code': one.exit_code,
        'usage': dict(one.usage),
        'text': one.text,
    }


def _reason(reason: JobReason) -> dict[str, Any]:
    return {'code': reason.code, 'text': reason.text, 'numbers': dict(reason.numbers)}


def _time(at: float) -> str | None:
    return stamp(at) if at else None
