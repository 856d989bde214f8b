# SPDX-License-Identifier: Apache-2.0
"""What a host confirms to the market: whose allocations are in force, and which resources it controls.

Implements rules F2 and B5 of doc/source/specs/market.rst.
"""

from collections.abc import Collection, Mapping

from nova_market.core.host.sample import Control
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.resource import GuestId


def in_force(
    guest: GuestId,
    found: Mapping[str, Mapping[GuestId, Control]],
    failed: Mapping[str, Mapping[GuestId, str]],
) -> bool:
    """Has the CPU of this guest the value that was wanted, and its memory, where that is controlled?"""
    cpu, memory = (found.get(name, {}).get(guest) for name in ('cpu', 'memory'))
    refused = any(guest in failed.get(name, {}) for name in ('cpu', 'memory'))
    gone = cpu is None or ('memory' in found and memory is None)
    return not gone and not refused and cpu is not None and cpu.controllable


def enforced_resources(
    granted: Collection[GuestId],
    found: Mapping[str, Mapping[GuestId, Control]],
    failed: Mapping[str, Mapping[GuestId, str]],
) -> tuple[str, ...]:
    """Of what the market sells, that which this host controls (B5).

    A control that is used acts when it acts on some guest of the market, or there is none to act on.
    granted: guests that have an allocation; found, failed: of the controls that are used
    """
    return tuple(
        name
        for name in MARKET_RESOURCES
        if name in found
        and (not granted or any(_acts(guest, name, found, failed) for guest in granted))
    )


def _acts(
    guest: GuestId,
    name: str,
    found: Mapping[str, Mapping[GuestId, Control]],
    failed: Mapping[str, Mapping[GuestId, str]],
) -> bool:
    control = found[name].get(guest)
    return control is not None and control.controllable and guest not in failed.get(name, {})
