# SPDX-License-Identifier: Apache-2.0
"""How weights become HTB classes and back, and which class is whose. Nothing here touches a kernel.

Implements the network part of IFI-2016.04, section IV-E (proportional weights), with

    rate_i    = B * (1 - share) * w_i / sum_j w_j      what guest i has when everybody sends
    ceil_i    = B                                      what it may have when nobody else sends
    quantum_i = Q * w_i / min(max_j w_j, 16 * min_j w_j), from one frame to Q

where B is the rate of the device and `share` is kept for traffic that is no guest's. HTB divides by
`rate` what everybody is entitled to, and by `quantum` what others leave: without the latter the excess
would be divided by frame size. A quantum below the size of a packet counts like that size, and guests
hand over packets of up to 64 KiB (segmentation offload). So Q grows with the rate, and all guests within a
factor of 16 (the span that heaviness may cause) have a quantum of 64 KiB and more from 1 Gbit/s on; on
slower devices offloaded bulk traffic divides the excess more evenly than by weight. Guests that stay below
their own rate are served before all who borrow, so a large quantum delays only those who borrow.

Differs from the 2016 service, whose class number was the priority: guests of equal priority shared one
class, and rates were whole Mbit/s, down to 0. Here a class belongs to a guest for as long as it runs.

Units: rates in bytes/s, quantum in bytes, bursts in ticks of NS_PER_TICK.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from nova_market.adapters.control.traffic_control import (
    DEFAULT_MINOR,
    DEVICE_MINOR,
    FIRST_MINOR,
    LAST_MINOR,
    LEDGER_MINOR,
    NS_PER_TICK,
    HtbClass,
    MacFilter,
    Tree,
)
from nova_market.core.host.sample import Guest, Limits
from nova_market.core.resource import GuestId

NETWORK_WEIGHT = Limits(minimum=1, maximum=10000, default=100)

FRAME = 14
"""Ethernet header, bytes, which HTB counts and the MTU does not."""

PACKET = 65536
"""Largest packet before segmentation, bytes."""

SPREAD = 16
"""Between heaviest and lightest quantum; beyond it the excess favours the lighter, rates do not."""

MIN_TOP, MAX_TOP = 60000, SPREAD * PACKET
"""Bytes, range of Q. The lower end is HTB's own advice for slow links."""

TURN_NS = 10_000_000
"""Q lasts so long at the rate of the device: what one borrower may hold up another."""

BURST_NS = 10_000_000
"""Send ahead of the rate by so much, plus one frame: what timers may be late by without idling the device.

A tick of the slowest kernels; where the host itself is a guest, 1 ms left up to a third of the device idle.
"""

MAX_BURST_NS = 60 * 10**9
"""HTB forgets debts above a minute."""

_MAC = re.compile(r'[0-9a-f]{2}(:[0-9a-f]{2}){5}', re.IGNORECASE | re.ASCII)


def class_table(
    weights: Mapping[int, int], rate: int, default_share: float, mtu: int
) -> dict[int, HtbClass]:
    """Minor -> class of the device, of what is no guest's, of nobody, and of each guest, in this order.

    The class of nobody keeps the sum of weights, without which rates could not be read as weights. It is
    a leaf because HTB takes no new quantum for an inner class.

    weights: minor of each guest's class -> weight
    """
    total = max(sum(weights.values()), 1)
    default_rate = max(round(rate * default_share), 1)
    divided = rate - default_rate
    frame = mtu + FRAME
    top = min(max(rate * TURN_NS // 10**9, MIN_TOP), MAX_TOP)
    lightest, heaviest = min(weights.values(), default=1), max(weights.values(), default=1)
    unit = top / min(heaviest, SPREAD * lightest)

    def leaf(own_rate: int, weight: float) -> HtbClass:
        return HtbClass(
            rate=own_rate,
            ceil=rate,
            quantum=max(min(round(unit * weight), top), frame),
            burst=_burst(own_rate, frame),
            ceil_burst=_burst(rate, frame),
        )

    burst = _burst(rate, frame)
    table = {
        DEVICE_MINOR: HtbClass(
            rate=rate, ceil=rate, quantum=MIN_TOP, burst=burst, ceil_burst=burst
        ),
        DEFAULT_MINOR: leaf(default_rate, total * default_rate / divided),
        LEDGER_MINOR: HtbClass(rate=1, ceil=1, quantum=total, burst=1, ceil_burst=1),
    }
    for minor, weight in sorted(weights.items()):
        table[minor] = leaf(max(round(divided * weight / total), 1), weight)
    return table


def weights_in(tree: Tree) -> dict[int, int]:
    """Minor -> weight of the guests' classes, as they were when they were written."""
    fixed = (tree.classes.get(n) for n in (DEVICE_MINOR, DEFAULT_MINOR, LEDGER_MINOR))
    device, default, ledger = fixed
    if device is None or default is None or ledger is None or device.rate <= default.rate:
        return {}
    unit = ledger.quantum / (device.rate - default.rate)
    low, high = NETWORK_WEIGHT.minimum, NETWORK_WEIGHT.maximum
    return {
        minor: min(max(round(found.rate * unit), low), high)
        for minor, found in tree.classes.items()
        if minor >= FIRST_MINOR
    }


def mac_addresses(guests: Iterable[Guest]) -> tuple[dict[GuestId, list[bytes]], dict[GuestId, str]]:
    """What guests are known by, and why some can't be distinguished. Guests in the order of their ids."""
    owners: dict[bytes, GuestId] = {}
    known: dict[GuestId, list[bytes]] = {}
    reasons: dict[GuestId, str] = {}
    for guest in sorted(guests, key=lambda one: one.id):
        macs: list[bytes] = []
        why = 'no network interface'
        for _, text in guest.interfaces:
            if not _MAC.fullmatch(text):
                why = f'{text!r} is not a MAC address'
                continue
            mac = bytes.fromhex(text.replace(':', ''))
            if owners.setdefault(mac, guest.id) == guest.id:
                macs.append(mac)
            else:
                why = f'guest {owners[mac]} has the same MAC address {text}'
        if macs:
            known[guest.id] = macs
        else:
            reasons[guest.id] = f'not controllable: {why}'
    return known, reasons


def classes_of(
    macs: Mapping[GuestId, Sequence[bytes]], filters: Iterable[MacFilter], minors: Iterable[int]
) -> dict[GuestId, int]:
    """Guest -> minor of the class that the kernel's filters give it; no class belongs to two guests."""
    existing = {minor for minor in minors if minor >= FIRST_MINOR}
    by_mac = {found.mac: found.minor for found in filters if found.minor in existing}
    taken: dict[int, GuestId] = {}
    for guest_id, own in macs.items():
        free = (by_mac[mac] for mac in own if by_mac.get(mac, 0) not in {0, *taken})
        minor = next(free, None)
        if minor is not None:
            taken[minor] = guest_id
    return {guest_id: minor for minor, guest_id in taken.items()}


def with_new(
    known: Mapping[GuestId, int], guests: Iterable[GuestId], used: Iterable[int]
) -> dict[GuestId, int]:
    """`known` and, for the other guests, the lowest minors that nobody uses; none when all are used."""
    taken = {*used, *known.values()}
    free = (minor for minor in range(FIRST_MINOR, LAST_MINOR + 1) if minor not in taken)
    minors = dict(known)
    for guest_id in guests:
        if guest_id not in minors and (minor := next(free, None)) is not None:
            minors[guest_id] = minor
    return minors


def _burst(rate: int, frame: int) -> int:
    """Ticks that a burst of BURST_NS at the rate plus one frame lasts."""
    return min(BURST_NS + frame * 10**9 // rate, MAX_BURST_NS) // NS_PER_TICK
