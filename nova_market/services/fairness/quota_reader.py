# SPDX-License-Identifier: Apache-2.0
"""Reads quotas beside the control loop, so that a slow cloud API never delays a round.

Implements the central entity that knows quotas of IFI-2016.04, section III-E.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from functools import partial

from nova_market.core.resource import OwnerId
from nova_market.errors import QuotaUnavailable
from nova_market.outage_log import OutageLog
from nova_market.ports import QuotaSource

LOG = logging.getLogger(__name__)
MAX_OWNERS = 5_000
"""Peers name owners, and each owner is a request to Nova: invented names must not flood it."""

RETRY = 30.0
"""Seconds until a cloud that did not answer is asked again."""


class QuotaReader:
    def __init__(self, source: QuotaSource, refresh: float) -> None:
        """refresh: seconds between two readings; owners that appear are read at once."""
        self._source = source
        self._refresh = refresh
        self._changed = threading.Condition()
        self._owners: frozenset[OwnerId] = frozenset()
        self._known: Mapping[OwnerId, tuple[int, int]] = {}
        self._stopped = False
        self._outage = OutageLog(
            LOG,
            lost='quotas can not be read, the last known ones stay in force',
            back='quotas are read again',
        )

    def start(self) -> threading.Thread:
        """The thread that reads, already running."""
        thread = threading.Thread(target=self._run, name='quota-reader', daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def __call__(self, owners: Sequence[OwnerId]) -> Mapping[OwnerId, tuple[int, int]]:
        """Quotas as last read. New owners are noted and read soon; the first MAX_OWNERS count."""
        wanted = frozenset(owners[:MAX_OWNERS])
        with self._changed:
            if not self._owners.issuperset(wanted):
                self._owners = wanted
                self._changed.notify()
            return self._known

    def read_once(self) -> bool:
        """Read all quotas now; False when the cloud does not answer (logged once)."""
        with self._changed:
            owners = sorted(self._owners)
        try:
            known = self._source.quotas(owners)
        except QuotaUnavailable as error:
            self._outage.failed(error)
            return False
        self._outage.works()
        with self._changed:
            self._known = known
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                before = self._owners
            done = True
            if before:
                try:
                    done = self.read_once()
                except Exception:
                    LOG.exception('reading quotas failed')
                    done = False
            with self._changed:
                self._changed.wait_for(
                    partial(self._has_changed, before), self._refresh if done else RETRY
                )

    def _has_changed(self, owners: frozenset[OwnerId]) -> bool:
        return self._stopped or self._owners != owners
