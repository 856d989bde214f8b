# SPDX-License-Identifier: Apache-2.0
"""What a pass of the service of jobs knows of tender queues, and the step of their prices.

Implements rule T1 of doc/source/specs/tender.rst (INRIA RR-7837, section 3.4) around core.tender.queue_price.
All prices are one document, which is exchanged with the one that was read: of two services that step at the
same time one does. A step is stored before offers are made at it, so that whoever comes after one that was
killed goes on with the same prices.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.job.cloud_room import CloudRoom
from nova_market.core.job.pe_line import TenderFacts
from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.record import StoredJob
from nova_market.core.job.start_time import StartTimes
from nova_market.core.job.store_values import WaitingRows
from nova_market.core.resource import Array
from nova_market.core.tender.queue_price import (
    QueuePrices,
    Vector,
    document_of,
    prices_from,
    stepped,
)
from nova_market.errors import BadRow
from nova_market.ports import JobStateStore
from nova_market.row_boundary import RowBoundary
from nova_market.services.job.inputs import JobStores
from nova_market.services.job.settings import JobsSettings

STATE = 'tender_prices'


class TenderPass:
    """Remembers nothing. starts: in which new workers have started."""

    def __init__(
        self,
        stores: JobStores,
        settings: JobsSettings,
        starts: Callable[[], StartTimes],
        boundary: RowBoundary,
    ) -> None:
        self._offers = stores.offers
        self._states = stores.states
        self._settings = settings
        self._starts = starts
        self._boundary = boundary

    def facts(
        self,
        queues: Sequence[StoredQueue],
        waiting: WaitingRows,
        active: Sequence[StoredJob],
        room: CloudRoom | None,
        now: float,
    ) -> TenderFacts:
        """Without tender queues, or while the cloud is away (room None), nothing is read or stepped."""
        mine = [one for one in queues if one.is_tender]
        if not mine or room is None:
            return TenderFacts()
        pace, starts = self._settings.pace, self._starts()
        prices = self._stepped(mine, _demand(mine, waiting, active), room, now)
        return TenderFacts(
            accepted=self._offers.accepted([one.id for one in mine]),
            prices={name: one.prices for name, one in prices.items()},
            starts=starts.bounds(),
            start_seconds=starts.usual(),
            handover=self._settings.handover,
            silence=pace.silence,
        )

    def _stepped(
        self,
        queues: Sequence[StoredQueue],
        demand: Mapping[str, Vector],
        room: CloudRoom,
        now: float,
    ) -> Mapping[str, QueuePrices]:
        stored = self._states.read(STATE)
        before = self._parsed(stored)
        # the prices of a queue that cannot be read stay
        unread = self._boundary.unread('queue')
        after = {name: one for name, one in before.items() if name in unread}
        for one in queues:
            step = partial(
                stepped, before.get(one.id), one, demand[one.id], _capacity(one, room), now
            )
            made = self._boundary.value('queue', one.id, 'price', step, before.get(one.id))
            if made is not None:
                after[one.id] = made
        if after == before:
            return after
        document: Mapping[str, Any] = {name: document_of(one) for name, one in after.items()}
        if self._states.exchange(STATE, stored, document):
            return after
        # another one leads now, or has led: what it has stored counts
        return {**after, **self._parsed(self._states.read(STATE))}

    def _parsed(self, document: Mapping[str, Any]) -> dict[str, QueuePrices]:
        """The prices of each queue whose prices can be read."""
        found = {}
        for name, one in document.items():
            with self._boundary.row('queue', name, 'stored price'):
                found[name] = prices_from(one)
        return found


def read_prices(states: JobStateStore) -> Mapping[str, QueuePrices]:
    """The prices of all tender queues as they were stored last, by id; without those made since.

    What cannot be read is left out: a pass of the service of jobs sets it aside.
    """
    found = {}
    for name, one in states.read(STATE).items():
        with suppress(BadRow, AttributeError, KeyError, TypeError, ValueError):
            found[name] = prices_from(one)
    return found


def _demand(
    queues: Sequence[StoredQueue], waiting: WaitingRows, active: Sequence[StoredJob]
) -> dict[str, Vector]:
    """What the jobs take that run and that wait, by queue."""
    rows = {one.id: row for row, one in enumerate(queues)}
    total = np.zeros((len(AXES), len(queues)))
    queue = np.array([rows.get(one, -1) for one in waiting.queue_ids], dtype=np.intp)
    kept = queue >= 0
    for axis in range(len(AXES)):
        amount: Array = waiting.amount[axis, kept] * waiting.servers[kept]
        total[axis] += np.bincount(queue[kept], amount, len(queues))
    for job in active:
        if (row := rows.get(job.queue_id)) is not None:
            total[:, row] += np.array([job.cores, job.memory_mib, job.disk_gib]) * job.servers
    return {one.id: _vector(total[:, row]) for row, one in enumerate(queues)}


def _capacity(queue: StoredQueue, room: CloudRoom) -> Vector:
    """The share of the cloud, or of the aggregate."""
    members = room.aggregates[room.aggregate_row[queue.aggregate]]
    return _vector(room.capacity[:, members].sum(axis=1) * queue.share)


def _vector(amounts: Array) -> Vector:
    cores, memory, disk = amounts.tolist()
    return cores, memory, disk
