# SPDX-License-Identifier: Apache-2.0
"""What services have logged since a test began: the end of each log, for the reader of a failure."""

from collections.abc import Iterable
from pathlib import Path

LINES = 15
"""Of each log."""

MOST_BYTES = 65536
"""Of each log are read, from its end."""


class ServiceLogs:
    """The files *.log below these directories, as they come and grow. Symbolic links are not followed."""

    def __init__(self, directories: Iterable[Path]) -> None:
        self._directories = tuple(directories)
        self._sizes: dict[Path, int] = {}

    def begin(self) -> None:
        """From now on."""
        self._sizes = {path: path.stat().st_size for path in self._paths()}

    def tails(self) -> str:
        """A heading and the last LINES for each log that has grown since `begin`, or was begun again."""
        return '\n'.join(
            f'--- {path}\n{text}' for path in self._paths() if (text := self._tail(path))
        )

    def _paths(self) -> list[Path]:
        found = {path for directory in self._directories for path in directory.rglob('*.log')}
        return sorted(path for path in found if path.is_file())

    def _tail(self, path: Path) -> str:
        size, before = path.stat().st_size, self._sizes.get(path, 0)
        begin = before if before <= size else 0
        with path.open('rb') as stream:
            stream.seek(max(begin, size - MOST_BYTES))
            text = stream.read().decode(errors='replace')
        return '\n'.join(text.splitlines()[-LINES:])
