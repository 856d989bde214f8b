# SPDX-License-Identifier: Apache-2.0
"""The part of `conn.market` for bags of tasks. A large bag is sent in parts that the service takes."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from openstack.exceptions import HttpException

from nova_market.sdk.v1.bag import Bag, BagEvent, BagTask
from nova_market.sdk.v1.market_proxy import MarketProxy
from nova_market.sdk.v1.microversion import BAGS

PART_BYTES = 80_000
"""Of the tasks of one request: a service takes 114,688 bytes of a body unless it says otherwise."""

PART_TASKS = 1000


class BagProxy(MarketProxy):
    """Bags of tasks: rule T5."""

    def bags(self, **query: Any) -> Iterator[Bag]:
        """Bags, newest first; `name` and `state` choose."""
        return self._pages(Bag, **query)

    def get_bag(self, bag: str | Bag) -> Bag:
        """One bag."""
        return self._get(Bag, bag)

    def create_bag(
        self, *, tasks: Sequence[Mapping[str, Any]], key: str | None = None, **settings: Any
    ) -> Bag:
        """Create a bag: `queues`, and `defaults` for its tasks; all of the tasks, or none are negotiated.

        The same `key` creates it once however often it is sent.
        """
        first, *rest = _parts(tasks)
        answer = self.post(
            '/bags',
            json={**settings, 'tasks': first, **({'more': True} if rest else {})},
            headers={'Idempotency-Key': key or str(uuid.uuid4())},
            microversion=BAGS,
            connect_retries=3,
        )
        bag = self._read(Bag, answer)
        try:
            count = len(first)
            for n, part in enumerate(rest):
                bag = self._add(bag.id, count, part, more=n < len(rest) - 1)
                count += len(part)
        except HttpException:
            self.cancel_bag(bag.id)
            raise
        return bag

    def update_bag(self, bag_id: str, **changed: Any) -> Bag:
        """Change how a bag negotiates, and the `deadline` of its tasks that wait."""
        answer = self.patch(f'/bags/{bag_id}', json=changed, microversion=BAGS)
        return self._read(Bag, answer)

    def cancel_bag(self, bag_id: str, *, jobs: bool = False) -> Bag:
        """Negotiate nothing any more; jobs: cancel its jobs too."""
        path = f'/bags/{bag_id}' + ('?jobs=true' if jobs else '')
        return self._read(Bag, self.delete(path, microversion=BAGS))

    def bag_tasks(self, bag_id: str, **query: Any) -> Iterator[BagTask]:
        """Tasks of a bag, in the order of the request; `state` chooses."""
        return self._pages(BagTask, bag_id=bag_id, **query)

    def bag_events(self, bag_id: str, **query: Any) -> Iterator[BagEvent]:
        """What was tried, refused, taken, dropped, and why, newest first; `task` chooses."""
        return self._pages(BagEvent, bag_id=bag_id, **query)

    def _add(
        self, bag_id: str, first: int, tasks: Sequence[Mapping[str, Any]], *, more: bool
    ) -> Bag:
        answer = self.post(
            f'/bags/{bag_id}/tasks',
            json={'first': first, 'tasks': tasks, 'more': more},
            microversion=BAGS,
            connect_retries=3,
        )
        return self._read(Bag, answer)


def _parts(tasks: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Tasks of one request each, in their order; at least one part, also of no task."""
    parts: list[list[Mapping[str, Any]]] = [[]]
    size = 0
    for task in tasks:
        length = len(json.dumps(task)) + 2
        if parts[-1] and (size + length > PART_BYTES or len(parts[-1]) == PART_TASKS):
            parts.append([])
            size = 0
        parts[-1].append(task)
        size += length
    return parts
