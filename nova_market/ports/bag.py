# SPDX-License-Identifier: Apache-2.0
"""What the API and the service of jobs need to keep bags of tasks.

Any method may raise errors.DatabaseUnavailable.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from nova_market.core.job.record import StoredJob
from nova_market.core.tender.bag import (
    BagEvent,
    BagFilter,
    BagProgress,
    BagStep,
    StoredBag,
    StoredTask,
    TaskState,
    WaitingTasks,
)
from nova_market.core.tender.bag_request import NewTasks
from nova_market.core.tender.stored_offer import StoredOffer


class OwnBags(Protocol):
    """Bags, as their owners see them."""

    def create(self, bag: StoredBag, new: NewTasks, most: int) -> tuple[StoredBag, bool]:
        """(the bag as stored, whether it is new). One whose id is stored already: nothing is changed.

        :raises errors.TooManyBags: its project would have more than `most` that have not ended.
        :raises errors.KeyReused: its id is stored with another digest of the request.
        """

    def check(self, project_id: str, most: int) -> None:
        """:raises errors.TooManyBags: the project has `most` that have not ended."""

    def add(self, bag_id: str, first: int, new: NewTasks, *, more: bool) -> StoredBag:
        """Store more tasks of a bag that is being filled; it is open then unless there are `more`.

        first: row of the first of them; those that are stored already stay as they are

        :raises errors.BadBag: others have their names, or rows are left out.
        :raises errors.BagEnded: the bag is not being filled.
        """

    def bag(self, bag_id: str) -> StoredBag | None:
        """One bag; None when there is none."""

    def bags(self, chosen: BagFilter, before: int = 0, limit: int = 1000) -> Sequence[StoredBag]:
        """Newest first; before: number of the last one of a page, 0: from the newest."""

    def progress(self, bag_ids: Sequence[str]) -> Mapping[str, BagProgress]:
        """How far they are, by id."""

    def tasks(
        self, bag_id: str, state: TaskState | None = None, after: int = -1, limit: int = 1000
    ) -> Sequence[StoredTask]:
        """By row; after: the row of the last one of a page."""

    def events(
        self, bag_id: str, task: str | None = None, before: int | None = None, limit: int = 1000
    ) -> Sequence[BagEvent]:
        """Newest first. task: of one alone."""

    def change(
        self, bag_id: str, changed: Mapping[str, Any], deadline: float | None, event: BagEvent
    ) -> StoredBag:
        """The owner's settings; deadline: of all tasks that wait, 0: none, None: as it is.

        :raises errors.BagEnded: it has ended or was cancelled.
        """

    def cancel(self, bag_id: str, event: BagEvent, *, jobs: bool) -> StoredBag:
        """What waits is dropped; jobs: its jobs are to be cancelled. What has ended stays as it is."""


class BagStore(OwnBags, Protocol):
    """With what the service of jobs needs to negotiate."""

    def due(self, now: float, limit: int = 100) -> Sequence[StoredBag]:
        """Open bags whose next try is due, the one that waits longest first."""

    def waiting(self, bag_id: str) -> WaitingTasks:
        """All tasks that wait."""

    def task(self, bag_id: str, row: int) -> StoredTask | None:
        """One task."""

    def content(self, bag_id: str, digest: str) -> Mapping[str, Any]:
        """What tasks run."""

    def taking(self, limit: int = 1000) -> Sequence[StoredTask]:
        """Tasks of all bags whose offer was being accepted when somebody stopped."""

    def ended(self, limit: int = 1000) -> Sequence[tuple[StoredTask, StoredJob | None, int]]:
        """(placed tasks whose jobs have ended, the job, what came back of its charge); None: it is gone."""

    def unwanted(self, limit: int = 1000) -> Sequence[str]:
        """Ids of jobs of cancelled bags that are to be cancelled still."""

    def decide(
        self,
        task: StoredTask,
        offer: StoredOffer,
        cost: int,
        release: str = '',
        seen: float | None = None,
    ) -> StoredOffer | None:
        """Store that a task takes this offer, with the offer; None: it is not as given any more.

        task: as it was read, which waits, or has taken `release`, an offer that is given up; cost: for its
        bag. Its number of tries grows by one. seen: `changed_at` of the bag by whose settings it was
        chosen, which its owner may have changed since; None: any
        """

    def write(self, step: BagStep) -> int:
        """How many tasks were changed. A bag without tasks that wait or run has ended."""
