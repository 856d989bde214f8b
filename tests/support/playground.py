# SPDX-License-Identifier: Apache-2.0
"""Playgrounds of tests: their clock stands still but for steps, and chance is the same each time."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from nova_market.playground.folder import Folder
from nova_market.playground.people import PEOPLE
from nova_market.playground.playground import LONGEST, Playground

BEGINS = datetime(2026, 11, 23, 9, tzinfo=UTC).timestamp()
"""A Monday morning."""


@contextmanager
def playing(path: Path, begins: float = BEGINS) -> Iterator[Playground]:
    """One that is started in this directory, and stopped at the end."""
    folder = Folder(path)
    folder.open('nova-market of a test')
    try:
        made = Playground(folder, 0, begins=begins, seed=1)
        try:
            made.start()
            yield made
        finally:
            made.stop()
    finally:
        folder.close()


def pass_time(made: Playground, seconds: float) -> None:
    """So much of the cloud's time, in the longest steps that it takes itself."""
    for _ in range(round(seconds / LONGEST)):
        made.clock.advance(LONGEST)
        made.step()


def asked(made: Playground, name: str, path: str) -> Any:
    """What somebody gets of the API, who has a token."""
    return made.calls.of(PEOPLE[name], 'GET', path)


def logins(path: Path) -> dict[str, Any]:
    """Those of clouds.yaml."""
    found: dict[str, Any] = yaml.safe_load((path / 'clouds.yaml').read_text(encoding='utf-8'))
    return found['clouds']
