# SPDX-License-Identifier: Apache-2.0
"""tools/cloud.d/market.sh: the configuration of the market, and what an operator adds to it."""

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.clock

ROOT = Path(__file__).resolve().parents[3]
CONFIGURE = f"""
set -euo pipefail
ROOT='{ROOT}' STATE=$1 SERVICE_PASSWORD=word DATABASE_PASSWORD=word BROKER_URL=rabbit://
for part in settings configure market; do source "$ROOT/tools/cloud.d/$part.sh"; done
configure_market
market_commands
"""


def configure(state: Path) -> None:
    """As each `up --market` does."""
    subprocess.run(
        ['bash', '-c', CONFIGURE, 'configure', state], check=True, timeout=60, env=dict(os.environ)
    )


def test_an_operator_s_files_are_kept_and_go_before_ours(tmp_path: Path) -> None:
    """Also before those of a host; a file that `up` writes is as `up` wants it."""
    configure(tmp_path)
    written = tmp_path / 'etc/nova_market/nova_market.conf'
    before = written.read_text()
    written.write_text('')
    own = tmp_path / 'etc/nova_market/nova_market.conf.d/own.conf'
    own.write_text('[market]\nperiod = 60\n')
    configure(tmp_path)
    assert (written.read_text(), own.read_text()) == (before, '[market]\nperiod = 60\n')
    assert '[openstack]\n# Nova of a busy' in before and '\ntimeout = 60\n' in before
    for command in ('nova-market-engine', 'nova-market-manage', 'nova-fairness-h1'):
        words = (tmp_path / 'market-bin' / command).read_text().split()
        assert words[-3:] == ['--config-dir', str(own.parent), '"$@"']
        assert words[words.index('--config-file') + 1] == str(written)
