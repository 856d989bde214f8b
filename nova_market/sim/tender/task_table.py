# SPDX-License-Identifier: Apache-2.0
"""The tasks that run or wait on the PEs of one cloud, as columns that grow and shrink.

Units and columns as in core.tender.pool.Queued.
"""

from dataclasses import dataclass, field

import numpy as np

from nova_market.core.resource import Array, Flags, Rows
from nova_market.core.tender.pool import Queued

_START, _END, _MEMORY, _DISK = range(4)


@dataclass(slots=True, eq=False)
class TaskTable:
    """A task that goes leaves its place to the last one."""

    count: int = 0
    _pe: Rows = field(default_factory=lambda: np.zeros(64, dtype=np.intp))
    _columns: Array = field(default_factory=lambda: np.zeros((4, 64)))
    _keys: list[int] = field(default_factory=list)
    _place: dict[int, int] = field(default_factory=dict)

    def add(self, key: int, pe: int, values: tuple[float, float, float, float]) -> None:
        """values: start, end, MiB, GiB"""
        if self.count == len(self._pe):
            self._pe = np.concatenate([self._pe, np.zeros_like(self._pe)])
            self._columns = np.concatenate([self._columns, np.zeros_like(self._columns)], axis=1)
        self._pe[self.count] = pe
        self._columns[:, self.count] = values
        self._place[key] = self.count
        self._keys.append(key)
        self.count += 1

    def remove(self, key: int) -> int:
        """The PE that it was on."""
        place, last = self._place.pop(key), self._keys.pop()
        self.count -= 1
        pe = int(self._pe[place])
        if last != key:
            self._pe[place] = self._pe[self.count]
            self._columns[:, place] = self._columns[:, self.count]
            self._keys[place] = last
            self._place[last] = place
        return pe

    def renumber(self, rows: Rows) -> None:
        """rows: (PEs,) the new number of each PE"""
        self._pe[: self.count] = rows[self._pe[: self.count]]

    def queued(self) -> Queued:
        """All of them, as a value."""
        start, end, memory, disk = self._columns[:, : self.count].copy()
        return Queued(
            pe=self._pe[: self.count].copy(), start=start, end=end, memory_mib=memory, disk_gib=disk
        )

    def running(self, now: float) -> Flags:
        """(tasks,): it has begun."""
        begun: Flags = self._columns[_START, : self.count] <= now
        return begun

    def asked(self) -> tuple[Rows, float, float]:
        """The PE of each task; MiB and GiB of all together."""
        memory = float(self._columns[_MEMORY, : self.count].sum())
        return self._pe[: self.count], memory, float(self._columns[_DISK, : self.count].sum())
