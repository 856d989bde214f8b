# SPDX-License-Identifier: Apache-2.0
"""The next step of a host on its way down or up, from what is stored and what is seen.

Implements the steps of rule W3 of doc/source/specs/leases.rst; beyond CloudAlloc, whose hosts are off at
once. Seconds. The state that a step returns is stored before its action is done. So an action may be lost
(the service was ended between both) or done twice; every phase looks at the host again and orders again.

    serving -> leaving (disable; wait until it has been empty for `settle`) -> stopping (power off) -> off
    off -> waking (power on; wait for its compute service; enable) -> serving;  waking -> failed

A host is ours as long as its compute service is disabled with our reason. Somebody who enables a host that
is down wants it back; somebody who disables it with another reason has it from then on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from nova_market.core.power.plan import Power
from nova_market.core.resource import HostName
from nova_market.errors import BadPower

REASON = 'nova-market: not needed, powered down'
"""Why the compute service is disabled; a host that is disabled with another reason is somebody else's."""


class PowerState(StrEnum):
    """What a host's actuator sees. UNKNOWN: it cannot see it, or the host changes just now."""

    ON = 'on'
    OFF = 'off'
    UNKNOWN = 'unknown'


class Phase(StrEnum):
    """Where a host is on its way. SERVING: nothing of ours goes on there."""

    SERVING = 'serving'
    LEAVING = 'leaving'
    STOPPING = 'stopping'
    OFF = 'off'
    WAKING = 'waking'
    FAILED = 'failed'


class Action(StrEnum):
    """What is done at the host after its state is stored."""

    NOTHING = 'nothing'
    DISABLE = 'disable'
    ENABLE = 'enable'
    POWER_OFF = 'power_off'
    FORCE_OFF = 'force_off'
    POWER_ON = 'power_on'


class Order(StrEnum):
    """What the plan wants of a host now."""

    NONE = 'none'
    DOWN = 'down'
    WAKE = 'wake'


POWER = {
    Phase.SERVING: Power.ON,
    Phase.LEAVING: Power.LEAVING,
    Phase.STOPPING: Power.LEAVING,
    Phase.OFF: Power.OFF,
    Phase.WAKING: Power.WAKING,
    Phase.FAILED: Power.FAILED,
}
"""A phase as core.power.plan takes it."""

CHANGING = frozenset({Phase.LEAVING, Phase.STOPPING, Phase.WAKING})


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSettings:
    """settle:     a disabled host is seen empty for so long before it is powered off: a server that was
                   scheduled before may still come
    drain:      a host that is not empty so long after it was disabled is enabled again
    off_within: a host that is on so long after it was ordered off is forced off, and woken as long after that
    wake_within: one whose compute service is not up so long after it was woken has failed
    again:      until an order is given again that shows no effect
    least_off:  a host that came back is not powered down again for so long
    at_most:    hosts that change at once; woken ones do not wait for it

    :raises BadPower: a value out of its limits.
    """

    settle: float = 60.0
    drain: float = 3600.0
    off_within: float = 300.0
    wake_within: float = 900.0
    again: float = 60.0
    least_off: float = 1800.0
    at_most: int = 2

    def __post_init__(self) -> None:
        for name in ('settle', 'drain', 'off_within', 'wake_within', 'again', 'least_off'):
            if not 0 <= getattr(self, name) < float('inf'):
                raise BadPower(f'{name} is {getattr(self, name)} s: give 0 or more seconds')
        if self.wake_within <= 2 * self.off_within + self.settle:
            raise BadPower(
                f'wake_within is {self.wake_within:g} s: give more than twice off_within and settle, '
                f'{2 * self.off_within + self.settle:g} s'
            )
        if self.at_most < 1:
            raise BadPower(f'at_most is {self.at_most} hosts at once: give 1 or more')


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """What is stored of a host.

    since: when the phase began; acted: when its last order was given
    empty: when it was first seen disabled by us and empty, without a break until now
    held:  it was seen disabled by us in this phase
    until: a waking host is not enabled before: it may still go off, or only seem to be up
    """

    phase: Phase = Phase.SERVING
    since: float = float('-inf')
    acted: float = float('-inf')
    empty: float = float('inf')
    held: bool = False
    until: float = float('-inf')


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSeen:
    """What a host is now.

    enabled, reason: of its compute service; up: it reports to Nova
    servers: on it or on their way to it, in any state; None: not known
    """

    enabled: bool
    reason: str
    up: bool
    servers: int | None
    power: PowerState

    @property
    def ours(self) -> bool:
        """We have disabled it, and nobody has since given another reason."""
        return not self.enabled and self.reason == REASON

    @property
    def others(self) -> bool:
        """Somebody else has disabled it."""
        return not self.enabled and self.reason != REASON


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStep:
    """state: to store, first; action: to do then; why: '' when nothing happens that an operator must see"""

    state: HostState
    action: Action = Action.NOTHING
    why: str = ''


def host_steps(
    stored: Mapping[HostName, HostState],
    seen: Mapping[HostName, HostSeen],
    orders: Sequence[tuple[HostName, Order]],
    now: float,
    settings: StepSettings,
) -> dict[HostName, HostStep]:
    """The next step of every host that is seen; hosts go down in the order of `orders`, `at_most` at once."""
    ordered = dict(orders)
    found: dict[HostName, HostStep] = {}
    changing = sum(one.phase in CHANGING for one in stored.values())
    for host in (*ordered, *sorted(set(seen) - set(ordered))):
        if host not in seen:
            continue
        state, order = stored.get(host, HostState()), ordered.get(host, Order.NONE)
        if order is Order.DOWN and state.phase is Phase.SERVING and changing >= settings.at_most:
            order = Order.NONE
        step = host_step(state, seen[host], order, now, settings)
        changing += (step.state.phase in CHANGING) - (state.phase in CHANGING)
        found[host] = step
    return found


def host_step(
    state: HostState, seen: HostSeen, order: Order, now: float, settings: StepSettings
) -> HostStep:
    """The next step of one host."""
    if seen.others:
        why = '' if state.phase is Phase.SERVING else 'left alone: somebody else has disabled it'
        return _serving(now, why) if why else HostStep(state=state)
    if state.phase is Phase.SERVING:
        return _from_serving(state, seen, order, now, settings)
    if state.phase is Phase.LEAVING:
        return _from_leaving(state, seen, order, now, settings)
    if state.phase is Phase.STOPPING:
        return _from_stopping(state, seen, order, now, settings)
    if state.phase is Phase.OFF:
        return _from_off(state, seen, order, now)
    return _from_waking(state, seen, now, settings)


def _from_serving(
    state: HostState, seen: HostSeen, order: Order, now: float, settings: StepSettings
) -> HostStep:
    if seen.ours:  # what was stored is lost, or enabling it was
        return _waking(
            now, seen, 'brought back: it is disabled with our reason, and nothing is stored'
        )
    rested = now - state.since >= settings.least_off
    ready = seen.servers == 0 and seen.up and seen.power is PowerState.ON
    if order is not Order.DOWN or not rested or not ready:
        return HostStep(state=state)
    leaving = HostState(phase=Phase.LEAVING, since=now, acted=now)
    return HostStep(state=leaving, action=Action.DISABLE, why='disabled: it is to be powered down')


def _from_leaving(
    state: HostState, seen: HostSeen, order: Order, now: float, settings: StepSettings
) -> HostStep:
    if order is Order.WAKE:
        return _waking(now, seen, 'enabled again: it is needed after all')
    if seen.enabled:
        if state.held or now - state.since >= settings.drain:
            return _serving(now, 'stays on: somebody has enabled it, or it cannot be disabled')
        return HostStep(state=replace(state, acted=now), action=Action.DISABLE)
    state = replace(state, held=True)
    if seen.servers != 0:
        if now - state.since >= settings.drain:
            return _waking(
                now, seen, f'enabled again: not empty {settings.drain:g} s after it was disabled'
            )
        return HostStep(state=replace(state, empty=float('inf')))
    waiting = replace(state, empty=min(state.empty, now))
    if now - waiting.empty < settings.settle:
        return HostStep(state=waiting)
    stopping = HostState(phase=Phase.STOPPING, since=now, acted=now)
    return HostStep(state=stopping, action=Action.POWER_OFF, why='powered off: disabled and empty')


def _from_stopping(
    state: HostState, seen: HostSeen, order: Order, now: float, settings: StepSettings
) -> HostStep:
    if order is Order.WAKE or seen.enabled:
        who = 'somebody has enabled it' if seen.enabled else 'it is needed after all'
        return _recalled(state, now, seen, f'woken while it was going down: {who}', settings)
    if seen.power is PowerState.OFF:
        return HostStep(state=HostState(phase=Phase.OFF, since=now), why='it is off')
    if seen.servers:
        why = f'woken while it was going down: {seen.servers} servers are there'
        return _recalled(state, now, seen, why, settings)
    late = now - state.since
    if late >= 2 * settings.off_within:
        why = f'woken: it is not off {late:.0f} s after the order'
        return _recalled(state, now, seen, why, settings)
    waits = now - state.acted < settings.again
    if waits or seen.power is not PowerState.ON or seen.servers is None:
        return HostStep(state=state)
    forced = late >= settings.off_within
    return HostStep(
        state=replace(state, acted=now),
        action=Action.FORCE_OFF if forced else Action.POWER_OFF,
        why=f'forced off: it is on {late:.0f} s after the order' if forced else '',
    )


def _from_off(state: HostState, seen: HostSeen, order: Order, now: float) -> HostStep:
    if order is Order.WAKE:
        return _waking(now, seen, 'woken: it is needed')
    if seen.enabled:
        return _waking(now, seen, 'woken: somebody has enabled it')
    if seen.servers:  # somebody has forced one there, or evacuated to it
        return _waking(now, seen, f'woken: {seen.servers} servers are there')
    if seen.power is PowerState.ON:
        return _waking(now, seen, 'brought back: somebody has switched it on')
    return HostStep(state=state)


def _from_waking(state: HostState, seen: HostSeen, now: float, settings: StepSettings) -> HostStep:
    """Of a host that wakes or has failed; the latter gets no more orders, but may come all the same."""
    if seen.power is PowerState.OFF:
        # Nova takes a host for up for some time after it went off
        state = replace(state, until=now + settings.settle)
    elif now < state.until:
        return HostStep(state=state)
    elif seen.up:
        if seen.enabled:
            return _serving(now, 'back in service')
        return HostStep(state=replace(state, acted=now), action=Action.ENABLE)
    if state.phase is Phase.FAILED:
        return HostStep(state=state)
    late = now - state.since
    if late >= settings.wake_within:
        failed = HostState(phase=Phase.FAILED, since=now)
        return HostStep(
            state=failed,
            why=f'has not woken: its compute service is not up {late:.0f} s after the order, its power is '
            f'{seen.power}. Look at its console; it is planned without until it comes',
        )
    if seen.power is PowerState.ON or now - state.acted < settings.again:
        return HostStep(state=state)
    return HostStep(state=replace(state, acted=now), action=Action.POWER_ON)


def _serving(now: float, why: str) -> HostStep:
    return HostStep(state=HostState(since=now), why=why)


def _waking(now: float, seen: HostSeen, why: str) -> HostStep:
    """Up again; a host that is on and up needs no order but to be enabled, which comes next."""
    state = HostState(phase=Phase.WAKING, since=now, acted=now)
    on = seen.up and seen.power is PowerState.ON
    return HostStep(state=state, action=Action.NOTHING if on else Action.POWER_ON, why=why)


def _recalled(
    state: HostState, now: float, seen: HostSeen, why: str, settings: StepSettings
) -> HostStep:
    """Up again, though it was ordered off: it is enabled after it was off, or did not go off for long."""
    step = _waking(now, seen, why)
    return replace(step, state=replace(step.state, until=state.acted + 2 * settings.off_within))
