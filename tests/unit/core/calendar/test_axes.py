# SPDX-License-Identifier: Apache-2.0
"""The axes of bookings: order, units, named amounts."""

import pytest

from nova_market.core.calendar.axes import AXES, CORES, DISK_GIB, MEMORY_MIB, amounts


def test_the_order_of_the_axes_is_fixed() -> None:
    """Stored vectors and other topics rely on it."""
    assert AXES == ('cores', 'memory_mib', 'disk_gib')
    assert [AXES[axis] for axis in (CORES, MEMORY_MIB, DISK_GIB)] == list(AXES)


def test_named_amounts_stand_at_their_axis() -> None:
    assert amounts(disk_gib=20, cores=4).tolist() == [4.0, 0.0, 20.0]


def test_an_unknown_axis_is_refused_by_name() -> None:
    with pytest.raises(KeyError, match="unknown axis 'vcpus'; known: cores, memory_mib, disk_gib"):
        amounts(vcpus=4)
