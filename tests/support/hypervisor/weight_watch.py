# SPDX-License-Identifier: Apache-2.0
"""Reads the CPU weights of guests from the kernel as fast as it can: what was there for a moment is seen."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

PAUSE = 0.001
"""Seconds between two looks. A start of the service takes more than half a second."""


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
