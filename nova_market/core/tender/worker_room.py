# SPDX-License-Identifier: Apache-2.0
"""On which PEs a task finds the memory and disk of the worker, when its turn comes.

Implements INRIA RR-7837, section 3.3.2, step 1: what the tasks of the other PEs will take by then is
known from their queues. Units and rows as in pool.py.

Differs from the paper: it asks for what is free at the time when the task begins; here it must be free
until the task ends. Otherwise a task of another PE that begins later, and was promised its place, would
not fit.
"""

import numpy as np

from nova_market.core.calendar.booking import bookings
from nova_market.core.calendar.calendar import Calendar, booked, touched, unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.calendar.grain import INSTANT, instants, on_grid
from nova_market.core.resource import Array, Flags
from nova_market.core.tender.pool import Pool
from nova_market.core.tender.task import Task


def has_room(pool: Pool, task: Task, begin: Array, end: Array) -> Flags:
    """(PEs,): can the task run there during [begin, end)? Both (PEs,).

    Mostly the largest tasks of all queues of a worker would fit beside it; only where they would not,
    the worker's use over time is looked at.
    """
    need = np.array([task.memory_mib, task.disk_gib])[:, None]
    whole = np.stack([pool.flavors.memory_mib, pool.flavors.disk_gib])[:, pool.worker_flavor]
    others = pool.worker_most[:, pool.pe_worker] - pool.own_most
    surely: Flags = np.asarray((others + need <= whole[:, pool.pe_worker]).all(axis=0))
    if surely.all():
        return surely
    large_enough: Flags = np.asarray((need <= whole).all(axis=0))
    perhaps = ~surely & large_enough[pool.pe_worker]
    if perhaps.any():
        surely[perhaps] = _has_room_then(pool, whole, need, perhaps, (begin, end))
    return surely


def _has_room_then(
    pool: Pool, whole: Array, need: Array, rows: Flags, time: tuple[Array, Array]
) -> Flags:
    """(chosen PEs,): by the calendar of their workers.

    The tasks of the PE itself are over when this one begins, so they may stand in the calendar.
    """
    calendar = _calendar(pool, whole, rows)
    begin, end = instants(time[0][rows]), instants(time[1][rows])
    first, last = touched(calendar, pool.pe_worker[rows], begin, np.maximum(end, begin + INSTANT))
    cuts = np.stack([first, last + 1], axis=1).ravel()
    # reduceat takes no index behind the last element: one element more, which no interval holds
    free = np.concatenate([calendar.free[1:], np.zeros((2, 1))], axis=1)
    least = np.minimum.reduceat(free, cuts, axis=1)[:, ::2]
    found: Flags = np.asarray((least >= on_grid(need)).all(axis=0))
    return found


def _calendar(pool: Pool, whole: Array, rows: Flags) -> Calendar:
    """Workers in the place of hosts, with the tasks of those that the chosen PEs belong to."""
    concerned = np.zeros(len(pool.worker_flavor), dtype=np.bool_)
    concerned[pool.pe_worker[rows]] = True
    queued, worker = pool.queued, pool.pe_worker[pool.queued.pe]
    mine = concerned[worker]
    amounts = np.stack([queued.memory_mib[mine], queued.disk_gib[mine]])
    tasks = bookings(
        host=worker[mine],
        start=queued.start[mine],
        end=np.maximum(queued.end[mine], np.nextafter(queued.start[mine], np.inf)),
        amounts=np.concatenate([np.zeros((1, int(mine.sum()))), amounts]),
    )
    empty = unbooked(capacity(np.concatenate([np.zeros((1, whole.shape[1])), whole])))
    return booked(empty, tasks)
