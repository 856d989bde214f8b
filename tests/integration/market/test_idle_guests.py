# SPDX-License-Identifier: Apache-2.0
"""Nobody bids, on real guests: prices stay, and CPU follows the weights of the projects (rules B3, A5)."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from nova_market.experiments.guests.idle_guests import Setting, run
from nova_market.wiring.sim_stores import open_stores

pytestmark = [
    pytest.mark.alone,
    pytest.mark.integration(
        'libvirtd', 'virtlogd', 'virsh', 'qemu-system-x86_64', 'busybox', 'cpio'
    ),
]

LOG = logging.getLogger(__name__)


@pytest.mark.measured
def test_shares_follow_weights_and_prices_stay(
    tmp_path: Path, record_property: Callable[[str, object], None]
):
    """Through 15 rounds, in which what was paid first comes back; 1:2:3 of one CPU within 5 %."""
    summary = run(
        Setting(
            duration=75.0,
            before=False,
            state=tmp_path / 'state',
            output=tmp_path / 'output',
            open_stores=open_stores,
        )
    )
    LOG.info('%s', summary)
    for name, share in summary['shares'].items():
        record_property(name, share)
    assert summary['rounds'] >= 14
    assert summary['price_highest'] == pytest.approx(summary['price_lowest'], rel=1e-9)
    assert summary['shares'] == pytest.approx(summary['expected'], rel=0.05)
    assert summary['passed'] is True
