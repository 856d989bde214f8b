# SPDX-License-Identifier: Apache-2.0
"""What counts as a change that is worth a message.

The paper (IFI-2016.04, section IV-D) sends every value in every interval. Here a number is sent again when
it has moved by more than 1 % of what was sent last, or from or to zero. The error this leaves in a sum
is below 1 % of it; measurement noise of a busy VM is larger. Units: those of the numbers.
"""

from collections.abc import Sequence

from nova_market.core.resource import Array, Flags

TOLERANCE = 0.01
"""Relative; the controller (core.fairness.priority) then errs by less than k * 1 % of a log-weight."""


def outside_deadband(sent: Sequence[float], value: Sequence[float]) -> bool:
    """Has any number moved by more than the tolerance, or the width changed?"""
    if len(sent) == len(value) == 1:  # most metrics
        return abs(value[0] - sent[0]) > TOLERANCE * abs(sent[0])
    if len(sent) != len(value):
        return True
    for old, new in zip(sent, value, strict=True):
        if old != new and abs(new - old) > TOLERANCE * abs(old):
            return True
    return False


def cells_outside_deadband(sent: Array, values: Array) -> Flags:
    """Which numbers have moved by more than the tolerance? From NaN every one has."""
    tolerated: Flags = abs(values - sent) <= TOLERANCE * abs(sent)
    return ~tolerated
