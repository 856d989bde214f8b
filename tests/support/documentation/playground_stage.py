# SPDX-License-Identifier: Apache-2.0
"""Sessions in a playground, from nine o'clock of a Monday morning on.

Steps: `as NAME`, `after N minutes`, `after N hours`.
"""

import re
from collections.abc import Callable
from pathlib import Path

from nova_market.playground.playground import Playground
from tests.support.playground import pass_time

Run = Callable[..., tuple[int, str, str]]


class InPlayground:
    """run: `openstack market` in this process; folder: with the files that the page shows"""

    def __init__(self, played: Playground, run: Run, folder: Path) -> None:
        self._played, self._run, self._folder = played, run, folder
        self._person = 'alice'

    def step(self, text: str) -> None:
        if found := re.fullmatch(r'as (\w+)', text):
            self._person = found[1]
        elif found := re.fullmatch(r'after (\d+) (minute|hour)s?', text):
            unit = 60.0 if found[2] == 'minute' else 3600.0
            pass_time(self._played, unit * int(found[1]))
            self._played.save()
        else:
            raise AssertionError(f'a playground has no step "{text}"')

    def command(self, words: list[str]) -> tuple[int, str]:
        """Status and what it printed."""
        assert words[:2] == ['openstack', 'market'], words
        status, out, err = self._run(self._person, *(self._argument(word) for word in words[2:]))
        return status, out + err

    def _argument(self, word: str) -> str:
        path = self._folder / word
        return str(path) if path.is_file() else word
