# SPDX-License-Identifier: Apache-2.0
"""The sessions of doc/source/user/playground.rst: they show what its commands print in a playground."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nova_market.osc.v1.cloud_clock import CLOCK
from nova_market.playground.playground import Playground
from tests.functional.documentation.test_documented_sessions import (
    IN_PLAYGROUND,
    judged,
    performed,
    plays,
)
from tests.support.documentation import job_stage
from tests.support.documentation.playground_stage import InPlayground
from tests.support.documentation.sessions import ROOT
from tests.support.playground import logins, playing

pytestmark = pytest.mark.functional


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Playground]:
    with playing(tmp_path / 'playground') as made:
        yield made


@pytest.fixture
def clouds(played: Playground) -> dict[str, Any]:
    """Those that the playground has written, for the command."""
    return logins(played.folder.path)


@pytest.mark.parametrize('play', plays({IN_PLAYGROUND}))
def test_a_session_shows_what_a_playground_prints(
    play: Any, played: Playground, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the real client, Keystone and API; hours of its clock pass at once."""
    monkeypatch.setenv('CLIFF_MAX_TERM_WIDTH', '110')
    monkeypatch.setenv(CLOCK, str(played.folder.path / 'clock.json'))
    folder = tmp_path / 'page'
    folder.mkdir()
    for name, text in job_stage.scripts(ROOT / play[0].page).items():
        (folder / name).write_text(text)
    judged(play, performed(play, InPlayground(played, run, folder)))
