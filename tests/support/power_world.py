# SPDX-License-Identifier: Apache-2.0
"""A host that can be switched, as power steps see it: a shutdown and a boot take time, people interfere."""

from dataclasses import dataclass, field

from nova_market.core.power.host_step import (
    REASON,
    Action,
    HostSeen,
    HostState,
    Order,
    Phase,
    PowerState,
    StepSettings,
    host_step,
)

TICK = 30.0
SETTINGS = StepSettings()
SHUTDOWN, BOOT, SEEMS_UP = 90.0, 120.0, 60.0
"""Seconds of a shutdown and of a boot; how long Nova takes a host for up that is off."""

EVENTS = (
    'nothing', 'server', 'late server', 'servers leave', 'operator disables', 'operator enables',
    'operator switches on', 'actuator silent', 'nova silent', 'crash before store', 'crash after store',
    'breaks', 'repaired', 'ignores shutdown',
)  # fmt: skip


@dataclass
class PowerWorld:
    """deaf: it does not shut down unless forced; broken: it does not boot; log: what was done, and when"""

    now: float = 1e6
    stored: HostState = field(default_factory=HostState)
    on: bool = True
    enabled: bool = True
    reason: str = ''
    servers: int = 0
    arriving: bool = False
    broken: bool = False
    deaf: bool = False
    goes_off: float = float('inf')
    up_from: float = 0.0
    up_until: float = float('inf')
    invited: bool = False
    log: list[tuple[float, Action, str]] = field(default_factory=list)

    @property
    def up(self) -> bool:
        return self.up_from <= self.now < self.up_until

    def tick(self, event: str, order: Order) -> None:
        """Time passes, something happens, and the service takes its next step."""
        self.now += TICK
        self.servers += self.arriving
        self.arriving = False
        if self.on and self.now >= self.goes_off:
            assert self.servers == 0 or self.invited, 'it goes off with a server'
            self.on, self.goes_off = False, float('inf')
            self.up_until = self.now + SEEMS_UP
        self.happens(event)
        step = host_step(self.stored, self.seen(event), order, self.now, SETTINGS)
        if event == 'crash before store':
            return
        self.stored = step.state
        if event != 'crash after store':
            self.do(step.action)
            self.log.append((self.now, step.action, step.why))

    def happens(self, event: str) -> None:
        open_to_all = self.enabled and self.up and self.on
        # an enabled host that goes down takes servers: somebody enabled it meanwhile
        if event == 'server' and open_to_all:
            self.servers += 1
        elif event == 'late server' and open_to_all:
            self.arriving = True
        elif event == 'servers leave':
            self.servers = 0
        elif event == 'operator disables':
            self.enabled, self.reason = False, 'maintenance'
        elif event == 'operator enables':
            self.enabled, self.reason = True, ''
            self.invited = self.goes_off < float('inf')
        elif event == 'operator switches on':
            self.boots()
        elif event in {'breaks', 'repaired'}:
            self.broken = event == 'breaks'
        elif event == 'ignores shutdown':
            self.deaf = True

    def seen(self, event: str) -> HostSeen:
        power = PowerState.ON if self.on else PowerState.OFF
        return HostSeen(
            enabled=self.enabled, reason=self.reason, up=self.up,
            servers=None if event == 'nova silent' else self.servers,
            power=PowerState.UNKNOWN if event == 'actuator silent' else power,
        )  # fmt: skip

    def do(self, action: Action) -> None:
        ours = not self.enabled and self.reason == REASON
        if action is Action.DISABLE:
            assert self.enabled, 'another reason is overwritten'
            self.enabled, self.reason = False, REASON
        elif action is Action.ENABLE:
            assert ours, 'somebody else has disabled it'
            self.enabled, self.reason, self.invited = True, '', False
        elif action in {Action.POWER_OFF, Action.FORCE_OFF}:
            assert ours and not self.servers and not self.arriving, f'{action} of a host in use'
            if self.on and (action is Action.FORCE_OFF or not self.deaf):
                self.goes_off = min(self.goes_off, self.now + SHUTDOWN)
        elif action is Action.POWER_ON:
            assert ours or self.enabled, 'somebody else has disabled it'
            self.boots()

    def boots(self) -> None:
        if not self.on:
            self.on = True
            self.up_from = float('inf') if self.broken else self.now + BOOT
            self.up_until = float('inf')
            self.deaf = False

    @property
    def at_rest(self) -> bool:
        """Off as ordered, in service, somebody else's, or reported as failed."""
        theirs = not self.enabled and self.reason != REASON
        if self.stored.phase is Phase.SERVING:
            return theirs or self.enabled
        return self.stored.phase is Phase.FAILED or (self.stored.phase is Phase.OFF and not self.on)
