# SPDX-License-Identifier: Apache-2.0
"""Which hosts are powered down, and which are woken.

Implements rule W3 of doc/source/specs/leases.rst, beyond CloudAlloc, whose hosts are on exactly while
something runs there. Seconds; arrays (hosts,), (resources,) and (resources, hosts).

    short  = some resource r:  sum of capacity_r of hosts that are on or wake, without the `spare` largest
             < demand_r / fullest

Hosts are woken for the calendar in time, and while the cloud is short. A host is powered down when it has
been empty for `idle`, nothing needs it before it would pay, and the cloud is not short without it. Demand is
the largest of the last hour or so, so a short dip powers nothing down.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from nova_market.core.resource import Array, Flags, Rows, Values
from nova_market.errors import BadPower


class Power(IntEnum):
    """What a host is. LEAVING: on its way down; FAILED: it was woken and did not come."""

    ON = 0
    LEAVING = 1
    OFF = 2
    WAKING = 3
    FAILED = 4


ASLEEP = (Power.LEAVING, Power.OFF)
"""Hosts that can be woken; one on its way down is called back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSettings:
    """fullest: load of the hosts that are on, of the largest demand
    spare:     hosts that are on beyond that, for the death of one
    idle:      seconds that a host is empty before it goes
    least_off: seconds; a host that the calendar needs sooner stays on
    wake:      seconds until a woken host has room; margin: earlier than the calendar needs it
    at_most:   hosts that change at once

    :raises BadPower: a value out of its limits.
    """

    fullest: float = 0.8
    spare: int = 1
    idle: float = 1800.0
    least_off: float = 1800.0
    wake: float = 300.0
    margin: float = 300.0
    at_most: int = 2

    def __post_init__(self) -> None:
        for name in ('idle', 'least_off', 'wake', 'margin'):
            if not 0 <= getattr(self, name) < float('inf'):
                raise BadPower(f'{name} is {getattr(self, name)} s: give 0 or more seconds')
        if not 0 < self.fullest <= 1:
            raise BadPower(f'fullest is {self.fullest}: give more than 0 and at most 1')
        if self.spare < 0 or self.at_most < 1:
            raise BadPower(
                f'{self.spare} spare hosts, {self.at_most} at once: give 0 or more, and 1 or more'
            )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HostsPower:
    """What is known of the hosts.

    state:     (hosts,) of Power
    empty_for: (hosts,) seconds that nothing has been on it; 0 when something is
    needed_in: (hosts,) seconds until the calendar needs it; inf when it does not, 0 or less: now
    bound:     (hosts,) never powered down: excluded, or disabled by somebody else
    capacity:  (resources, hosts) of a host that is on
    base_w:    (hosts,) watts while it is on and idle
    """

    state: Values
    empty_for: Array
    needed_in: Array
    bound: Flags
    capacity: Array
    base_w: Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PowerPlan:
    """down, wake: rows of hosts, the most important first; why: of each, by row
    short: more is wanted than hosts can give that are on, wake, or can be woken
    """

    down: Rows
    wake: Rows
    why: dict[int, str]
    short: bool


def power_plan(hosts: HostsPower, demand: Array, settings: PowerSettings) -> PowerPlan:
    """What to do now. demand: (resources,) the largest of the last hour or so."""
    leaving = hosts.state == Power.LEAVING
    changing = int((leaving | (hosts.state == Power.WAKING)).sum())
    there = np.isin(hosts.state, (Power.ON, Power.WAKING))
    why: dict[int, str] = {}
    wake = _for_calendar(hosts, settings, why)
    there[wake] = True
    wake += _for_demand(hosts, demand, settings, there, why)
    there[wake] = True
    short = not _enough(hosts.capacity, there, demand, settings)
    # a lease that begins does not wait for others to be down, and who is called back changes already
    calendar = sum(hosts.needed_in[row] < np.inf for row in wake)
    recalled = int(leaving[wake].sum()) if wake else 0
    wake = wake[: max(settings.at_most - changing + recalled, calendar, 0)]
    down = []
    if not wake and not short:
        down = _down(hosts, demand, settings, there, why)[: max(settings.at_most - changing, 0)]
    return PowerPlan(
        down=np.array(down, dtype=np.intp),
        wake=np.array(wake, dtype=np.intp),
        why={row: why[row] for row in (*down, *wake)},
        short=short,
    )


def _for_calendar(hosts: HostsPower, settings: PowerSettings, why: dict[int, str]) -> list[int]:
    """Hosts to wake now lest a lease begins without them, the first needed first."""
    lead = settings.wake + settings.margin
    rows = np.flatnonzero(np.isin(hosts.state, ASLEEP) & (hosts.needed_in <= lead))
    found = [int(row) for row in rows[np.argsort(hosts.needed_in[rows], kind='stable')]]
    for row in found:
        why[row] = (
            f'woken: the calendar needs it in {max(hosts.needed_in[row], 0.0):.0f} s, '
            f'and it takes {lead:.0f} s'
        )
    return found


def _for_demand(
    hosts: HostsPower, demand: Array, settings: PowerSettings, there: Flags, why: dict[int, str]
) -> list[int]:
    """Hosts to wake until there is enough, the cheapest watt of capacity first."""
    now = there.copy()
    found: list[int] = []
    ready = np.flatnonzero(np.isin(hosts.state, ASLEEP) & ~now)
    # those that are on their way down are there soonest
    order = np.lexsort((_price(hosts)[ready], hosts.state[ready]))
    for row in ready[order].tolist():
        if _enough(hosts.capacity, now, demand, settings):
            break
        now[row] = True
        found.append(row)
        why[row] = f'woken: the hosts that are on have too little for {_amounts(demand)}'
    return found


def _down(
    hosts: HostsPower, demand: Array, settings: PowerSettings, there: Flags, why: dict[int, str]
) -> list[int]:
    """Empty hosts that the others can do without, the dearest watt of capacity first."""
    until = settings.least_off + settings.wake + settings.margin
    ready = (hosts.state == Power.ON) & ~hosts.bound & (hosts.empty_for > 0)
    ready &= (hosts.empty_for >= settings.idle) & (hosts.needed_in > until)
    rows = np.flatnonzero(ready)
    now = there.copy()
    found: list[int] = []
    for row in rows[np.argsort(-_price(hosts)[rows], kind='stable')].tolist():
        now[row] = False
        if _enough(hosts.capacity, now, demand, settings):
            found.append(row)
            why[row] = (
                f'powered down: empty for {hosts.empty_for[row]:.0f} s, '
                f'the others have enough for {_amounts(demand)}'
            )
        else:
            now[row] = True
    return found


def _enough(capacity: Array, there: Flags, demand: Array, settings: PowerSettings) -> bool:
    """Whether these hosts have enough, also when the `spare` largest of them die."""
    own = np.sort(capacity[:, there], axis=1)
    left = own[:, : max(own.shape[1] - settings.spare, 0)].sum(axis=1)
    return bool((left * settings.fullest >= demand).all())


def _price(hosts: HostsPower) -> Array:
    """(hosts,) watts for a part of the cloud's capacity: the scarcest resource counts."""
    total = np.maximum(hosts.capacity.sum(axis=1, keepdims=True), 1e-9)
    part: Array = (hosts.capacity / total).min(axis=0)
    price: Array = hosts.base_w / np.maximum(part, 1e-9)
    return price


def _amounts(demand: Array) -> str:
    return 'a demand of ' + ' and '.join(f'{amount:.6g}' for amount in demand)
