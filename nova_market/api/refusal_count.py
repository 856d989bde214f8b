# SPDX-License-Identifier: Apache-2.0
"""Counts requests that were refused for their number, and adds the counts to those of the other processes.

To store each refusal would cost as much as what was refused: a process writes what it has counted each
`PAUSE` seconds, with the first request after it.
"""

import logging
import math
import threading
from collections import Counter
from collections.abc import Callable

from nova_market.errors import NovaMarketError
from nova_market.ports import RefusalStore

LOG = logging.getLogger(__name__)

PAUSE = 10.0
"""Seconds between two writes of a process."""


class RefusalCount:
    """For many threads."""

    def __init__(self, store: RefusalStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._counted: Counter[tuple[str, str]] = Counter()
        self._written_at = -math.inf

    def add(self, kind: str, project_id: str) -> None:
        """One was refused. kind: what has used up its rate; project_id: '' for what is of none"""
        with self._lock:
            self._counted[kind, project_id] += 1

    def write_when_due(self) -> None:
        """Store what was counted, when the last time is long enough ago; later, while the store is away."""
        now = self._clock()
        with self._lock:
            if not self._counted or abs(now - self._written_at) < PAUSE:
                return
            counted, self._counted, self._written_at = self._counted, Counter(), now
        try:
            self._store.add(counted)
        except NovaMarketError as error:
            LOG.warning('refused requests are not counted yet: %s', error)
            with self._lock:
                self._counted.update(counted)
            return
        for (kind, project_id), count in sorted(counted.items()):
            LOG.info('%d requests of a %s %s were too many', count, kind, project_id)
