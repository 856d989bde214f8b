# SPDX-License-Identifier: Apache-2.0
"""Moves that are not worth their copy are not made, those that are still are (A3): in a simulated cloud."""

import pytest

from tests.support.drifting_cloud import ANY_GAIN, drifted

pytestmark = pytest.mark.functional


def test_useless_moves_stop_and_useful_ones_stay():
    """Servers of 64 GiB are moved less often, and what the market delivers does not become less for it."""
    small = {'periods': 240, 'hosts': 6, 'servers': 120}
    still, eager, default = (drifted(gib=64, horizon=h, **small) for h in (None, ANY_GAIN, 60))
    assert default.moves < eager.moves
    assert default.copying + default.undelivered < eager.copying + eager.undelivered
    assert default.copying + default.undelivered < 0.5 * still.undelivered


def test_small_servers_move_as_before():
    """A copy of 1 GiB pays for itself in minutes."""
    small = {'periods': 240, 'hosts': 6, 'servers': 120}
    still, eager, default = (drifted(gib=1, horizon=h, **small) for h in (None, ANY_GAIN, 60))
    assert default.moves >= 0.9 * eager.moves
    assert default.undelivered < 1.1 * eager.undelivered < 0.2 * still.undelivered
