# SPDX-License-Identifier: Apache-2.0
"""What time it is for a command in the shell of a playground."""

import json
import time
from pathlib import Path

import pytest

from nova_market.core.timestamp import seconds
from nova_market.osc.v1 import cloud_clock
from nova_market.osc.v1.time_argument import future_argument


def test_without_a_file_it_is_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everywhere but in a playground."""
    monkeypatch.delenv(cloud_clock.CLOCK, raising=False)
    assert abs(cloud_clock.now() - time.time()) < 60


def test_the_clock_of_a_playground_runs_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From what was written, at its speed; lengths of time on command lines count from it."""
    path = tmp_path / 'clock.json'
    monkeypatch.setenv(cloud_clock.CLOCK, str(path))
    path.write_text(json.dumps({'wall': 1e9, 'at': time.time() - 10.0, 'speed': 1000.0}))
    assert 1e9 + 10_000 <= cloud_clock.now() < 1e9 + 10_000 + 60_000
    path.write_text(json.dumps({'wall': 1e9, 'at': 0.0, 'speed': 0.0}))
    assert seconds(future_argument('2h')) == 1e9 + 7200


@pytest.mark.parametrize('text', ['', '[]', '{}', '{"wall": "x", "at": 1, "speed": 2}', 'null'])
def test_a_file_that_has_no_clock_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Nor does one that is not there."""
    path = tmp_path / 'clock.json'
    monkeypatch.setenv(cloud_clock.CLOCK, str(path))
    assert abs(cloud_clock.now() - time.time()) < 60
    path.write_text(text)
    assert abs(cloud_clock.now() - time.time()) < 60
