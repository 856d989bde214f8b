# SPDX-License-Identifier: Apache-2.0
"""C3: what hosts offer, from Placement's inventory."""

import math
from dataclasses import replace

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.calendar.booking import request
from nova_market.core.calendar.calendar import unbooked
from nova_market.core.calendar.capacity import Inventory, offered
from nova_market.core.calendar.start import earliest_starts, least_free

NOW = 1000.0


def inventory(**changes: object) -> Inventory:
    """Two hosts of 8 cores, 16 GiB, 100 GiB; cores are overcommitted twofold."""
    ones = np.ones((len(AXES), 2))
    total = np.array([[8.0], [16_384.0], [100.0]]) * ones
    made = Inventory(
        total=total,
        reserved=np.array([[1.0], [512.0], [0.0]]) * ones,
        ratio=np.array([[2.0], [1.0], [1.0]]) * ones,
        max_unit=total,
        enabled=np.array([True, True]),
        powered=np.array([True, True]),
        wake=np.array([0.0, 0.0]),
    )
    return replace(made, **changes)


def test_capacity_is_what_placement_accepts() -> None:
    """(total - reserved) x ratio: 14 cores of 8, of which 1 is reserved."""
    assert offered(inventory(), NOW).amounts[:, 0].tolist() == [14.0, 15_872.0, 100.0]


def test_more_reserved_than_there_is_offers_nothing() -> None:
    reserved = np.array([[9.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    assert offered(inventory(reserved=reserved), NOW).amounts[0].tolist() == [0.0, 16.0]


def test_a_disabled_host_offers_nothing() -> None:
    calendar = unbooked(offered(inventory(enabled=np.array([False, True])), NOW))
    assert earliest_starts(calendar, request([1, 512, 0], 60, NOW)).tolist() == [math.inf, NOW]
    assert least_free(calendar, NOW, NOW + 1.0)[:, 0].tolist() == [0.0, 0.0, 0.0]


def test_a_powered_down_host_offers_from_its_waking_on() -> None:
    """C3, W3: from now + wake-up time on, all of it."""
    asleep = inventory(powered=np.array([True, False]), wake=np.array([0.0, 180.0]))
    calendar = unbooked(offered(asleep, NOW))
    assert earliest_starts(calendar, request([8, 512, 0], 60, NOW)).tolist() == [NOW, NOW + 180.0]


def test_a_host_that_never_wakes_offers_nothing() -> None:
    asleep = inventory(powered=np.array([True, False]), wake=np.array([0.0, math.inf]))
    calendar = unbooked(offered(asleep, NOW))
    assert earliest_starts(calendar, request([8, 512, 0], 60, NOW)).tolist() == [NOW, math.inf]
