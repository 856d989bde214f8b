# SPDX-License-Identifier: Apache-2.0
"""Reads the CPU weights of guests from the kernel; as fast as it can, so that a moment is seen."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from nova_market.testbed.guest import Guest

PAUSE = 0.001
"""Seconds between two looks. A start of the service takes more than half a second."""


def share_files(guests: Mapping[str, Guest]) -> dict[str, Path]:
    """Where the kernel has the weight of each guest (version 1 of control groups)."""
    return {name: guest.cgroup_path('cpu') / 'cpu.shares' for name, guest in guests.items()}


def shares(guests: Mapping[str, Guest]) -> dict[str, int]:
    """The weight of each guest."""
    return {name: int(path.read_text()) for name, path in share_files(guests).items()}


class WeightWatch:
    """`with WeightWatch(files) as watch:` collects the values of each file while it is open.

    seen: name -> all values; looks: how often all files were read
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.seen: dict[str, set[int]] = {name: set() for name in files}
        self.looks = 0
        self._files = dict(files)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.is_set():
            for name, path in self._files.items():
                self.seen[name].add(int(path.read_text()))
            self.looks += 1
            time.sleep(PAUSE)
