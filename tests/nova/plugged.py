# SPDX-License-Identifier: Apache-2.0
"""Our plug-ins in Nova's tests: options that enable them, and feeds that need no service."""

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.core.scheduler.snapshot import SchedulerSnapshot
from nova_market.errors import CloudUnavailable
from nova_market.scheduler.snapshot_cache import Feed

OURS = ('AffordableFilter', 'ShareGuaranteeFilter', 'LeaseFilter')

OPTIONS = {
    'available_filters': [
        'nova.scheduler.filters.all_filters',
        'nova_market.scheduler.all_filters',
    ],
    'weight_classes': [
        'nova.scheduler.weights.all_weighers',
        'nova_market.scheduler.all_weighers',
    ],
}
"""Of group [filter_scheduler], beside enabled_filters."""


class Told:
    """A market that tells this snapshot, or nothing."""

    def __init__(self, snapshot: SchedulerSnapshot | None) -> None:
        self.snapshot = snapshot

    def read(self, known: SchedulerSnapshot | None) -> tuple[SchedulerSnapshot | None, float]:
        if self.snapshot is None:
            raise CloudUnavailable('no market is there')
        return self.snapshot, 0.0


def feed_of(snapshot: SchedulerSnapshot | None) -> Feed:
    """Has been looked at once and is not looked at again; its snapshot never grows old."""
    feed = Feed(
        lambda: Told(snapshot),
        refresh=lambda: 1000.0,
        max_age=lambda: 100.0,
        monotonic=ManualClock().monotonic,
        background=False,
    )
    feed.current()
    feed.look()
    return feed
