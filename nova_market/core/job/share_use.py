# SPDX-License-Identifier: Apache-2.0
"""How much of its share a queue uses, now and if a job started.

Implements SVMSched, section 5.3: usage = max(mem_usage, cpu_usage), each as a part of the capacity.

    use(q) = max(cores of its production jobs / capacity, memory of them / capacity)      0 <= use

A queue is over its share when use > share. Disk has no part in it. All production jobs of the queue that
hold resources count, short ones and those that are being started too (rule J3);
best-effort jobs do not (section 5.4.2). The capacity is that of the aggregate in which the queue's share is
granted, in use or not.
"""

import numpy as np

from nova_market.core.calendar.axes import CORES, MEMORY_MIB
from nova_market.core.job.columns import Hosts, Queues, RunningJobs
from nova_market.core.job.shape import Shapes
from nova_market.core.resource import Array, Rows, Values

COUNTED = (CORES, MEMORY_MIB)
"""The axes that make up usage."""

ROUNDING = 1e-9
"""Part of the capacity by which sums of fractions may differ from a share: 16 of 48 cores are one third."""


def capacity_of(hosts: Hosts) -> Array:
    """(COUNTED, aggregates): sums over the hosts of each aggregate."""
    total: Array = hosts.capacity[COUNTED, :] @ hosts.aggregates.T.astype(np.float64)
    return total


def parts(amount: Array, servers: Values, aggregate: Rows, hosts: Hosts) -> Array:
    """What whole jobs take, as parts of the capacity of their aggregate: (COUNTED, jobs).

    inf where there is no capacity at all.
    """
    whole = amount[COUNTED, :] * servers
    capacity = capacity_of(hosts)[:, aggregate]
    nothing = np.where(whole > 0, np.inf, 0.0)
    part: Array = np.divide(whole, capacity, out=nothing, where=capacity > 0)
    return part


def used(running: RunningJobs, queues: Queues, hosts: Hosts) -> Array:
    """(COUNTED, queues): parts that production jobs of each queue hold now."""
    aggregate = queues.aggregate[running.queue]
    part = parts(running.amount, running.servers, aggregate, hosts)
    part[:, running.best_effort] = 0.0
    total = np.empty((len(COUNTED), len(queues)))
    for row in range(len(COUNTED)):
        total[row] = np.bincount(running.queue, part[row], len(queues))
    return total


def demand(shapes: Shapes, hosts: Hosts) -> Array:
    """(COUNTED, shapes): parts that a job of each shape would add."""
    return parts(shapes.amount, shapes.servers, shapes.aggregate, hosts)


def after_starting(use: Array, added: Array, queue: Rows) -> Array:
    """Use of each job's queue if it alone started now, (jobs,): `expectedUsage` of Algorithm 1."""
    whole: Array = np.maximum(use[0, queue] + added[0], use[1, queue] + added[1])
    return whole
