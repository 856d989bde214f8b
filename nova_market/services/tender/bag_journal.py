# SPDX-License-Identifier: Apache-2.0
"""What becomes of the tasks of a bag while it negotiates, written together, with an event of each kind.

For rule T5 of doc/source/specs/tender.rst. Tasks that are refused for one reason are one event, and only
where the reason is another one than before: ten thousand that wait do not write as many each time.
"""

from collections.abc import Callable, Sequence
from typing import Any

from nova_market.core.tender.bag import (
    BAG,
    BagAction,
    BagEvent,
    BagStep,
    StoredBag,
    StoredTask,
    TaskChange,
    TaskState,
)
from nova_market.core.tender.negotiation import NoDeal
from nova_market.core.tender.stored_offer import StoredOffer
from nova_market.ports import BagStore


class BagJournal:
    """Of one bag. waits: tasks that still wait, as far as this one knows."""

    def __init__(self, bag: StoredBag, bags: BagStore, wall: Callable[[], float]) -> None:
        self._bag, self._bags, self._wall = bag, bags, wall
        self._tasks: list[TaskChange] = []
        self._events: list[BagEvent] = []
        self.waits = 0

    def placed(
        self, task: StoredTask, offer: StoredOffer, job_id: str, paid: int, queue: str
    ) -> None:
        """A task has its job; written at once. queue: the name of the job's queue."""
        changed = {
            'state': TaskState.PLACED, 'job_id': job_id, 'cost': paid, 'due_at': offer.due_at, 'why': '',
            'reason': '',
        }  # fmt: skip
        self._change((task.row,), TaskState.TAKING, changed, task.tries)
        said = f'job {job_id} in queue {queue}, {offer.flavor}, {offer.how}'
        self.event(task.name, BagAction.PLACED, said, cost=paid, seconds=offer.seconds)
        self.waits -= 1
        self.write()

    def refused(
        self,
        rows: Sequence[int],
        names: Sequence[str],
        why: NoDeal,
        reason: str,
        *,
        said: bool = True,
    ) -> None:
        """Tasks without a deal wait, or have failed where the bag does not try them again."""
        if not self._bag.retry:
            self.dropped(rows, names, why, reason)
            return
        changed = {'why': str(why), 'reason': reason, 'tried_at': self._wall()}
        self._change(rows, TaskState.WAITING, changed)
        if said:
            self._event_of(names, BagAction.REFUSED, why, reason)

    def dropped(self, rows: Sequence[int], names: Sequence[str], why: NoDeal, reason: str) -> None:
        """Tasks that are not tried any more."""
        now = self._wall()
        changed = {
            'state': TaskState.DROPPED, 'why': str(why), 'reason': reason, 'tried_at': now, 'ended_at': now,
        }  # fmt: skip
        self._change(rows, TaskState.WAITING, changed)
        self.waits -= len(rows)
        self._event_of(names, BagAction.DROPPED, why, reason)

    def event(self, task: str, action: BagAction, reason: str, **numbers: float) -> None:
        """Something that happened; task: BAG for several."""
        self._events.append(
            BagEvent(
                bag_id=self._bag.id,
                at=self._wall(),
                action=action,
                task=task,
                reason=reason,
                numbers={name: float(value) for name, value in numbers.items()},
            )
        )

    def write(self, **changed: Any) -> None:
        """All that is not written yet. changed: columns of the bag."""
        step = BagStep(
            bag_id=self._bag.id,
            changed=changed,
            seen=self._bag.changed_at,
            tasks=tuple(self._tasks),
            events=tuple(self._events),
        )
        self._tasks, self._events = [], []
        if step.changed or step.tasks or step.events:
            self._bags.write(step)

    def _event_of(self, names: Sequence[str], action: BagAction, why: NoDeal, reason: str) -> None:
        text = f'{why}: {reason}' if reason else str(why)
        if len(names) == 1:
            self.event(names[0], action, text)
            return
        said = f'{len(names)} tasks, {names[0]} to {names[-1]}: {text}'
        self.event(BAG, action, said, tasks=len(names))

    def _change(
        self,
        rows: Sequence[int],
        before: TaskState,
        changed: dict[str, Any],
        tries: int | None = None,
    ) -> None:
        self._tasks.append(
            TaskChange(rows=tuple(rows), before=before, changed=changed, tries=tries)
        )
