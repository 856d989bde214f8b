# SPDX-License-Identifier: Apache-2.0
"""tools/cloud.d/settings.sh: where the cloud in a box keeps things."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.clock

ROOT = Path(__file__).resolve().parents[3]
NAMES = (
    'VENV', 'MARKET_VENV', 'MARKET_BIN', 'ETC', 'PID_DIR', 'LOG_DIR', 'XDG_CACHE_HOME', 'NOVA_MARKET_CACHE',
)  # fmt: skip
SHOW = f"""
set -euo pipefail
ROOT='{ROOT}' STATE=/srv/a-cloud
source "$ROOT/tools/cloud.d/settings.sh"
for name in {' '.join(NAMES)}; do printf '%s\\n' "${{!name}}"; done
"""


def directories(**environment: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in NAMES}
    done = subprocess.run(
        ['bash', '-c', SHOW], capture_output=True, text=True, check=True, env=kept | environment
    )
    return dict(zip(NAMES, done.stdout.splitlines(), strict=True))


def test_all_that_it_makes_is_in_the_directory_that_purge_deletes() -> None:
    """Caches too: those of pip, of stevedore and of the test bed are elsewhere by default."""
    assert [one for one in directories().values() if not one.startswith('/srv/a-cloud/')] == []


def test_a_cache_that_somebody_has_chosen_is_used() -> None:
    assert directories(NOVA_MARKET_CACHE='/srv/c')['NOVA_MARKET_CACHE'] == '/srv/c'
