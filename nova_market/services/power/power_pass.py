# SPDX-License-Identifier: Apache-2.0
"""One pass over the power of all hosts: plan, next steps, orders. Runs within a pass of the leases.

Implements rule W3 of doc/source/specs/leases.rst, beyond CloudAlloc. Seconds. Each step is stored before its
action is done, in place of what it was decided from: a service that is killed anywhere goes on where it was,
and of two that lead at the same moment one acts. What switches hosts is called beside the passes
(services.power.actuator_calls).

In a mode other than `auto` no host goes down, and those that are down are woken.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nova_market.core.job.cloud_room import Cloud
from nova_market.core.lease.host_view import HostView
from nova_market.core.lease.record import StoredLease
from nova_market.core.market.inventory import CloudHost
from nova_market.core.power.host_step import (
    CHANGING,
    REASON,
    Action,
    HostSeen,
    HostState,
    HostStep,
    Order,
    Phase,
    host_steps,
)
from nova_market.core.power.needs import DOWN, demand_of, hosts_power
from nova_market.core.power.plan import PowerPlan, power_plan
from nova_market.core.power.record import Mode, PowerEvent, StoredPower
from nova_market.core.power.watch import Watch, document_of, looked, watch_from
from nova_market.core.resource import HostName
from nova_market.errors import CloudUnavailable
from nova_market.outage_log import OutageLog
from nova_market.ports import Clock, ComputeServices, JobStateStore, Leadership, PowerStore
from nova_market.row_boundary import RowBoundary
from nova_market.services.power.actuator_calls import ActuatorCalls
from nova_market.services.power.notices import PowerNotices
from nova_market.services.power.settings import PowerServiceSettings

LOG = logging.getLogger(__name__)

STATE = 'power_pass'
"""Name of what a pass leaves for `power list`, among the documents of the services."""

WATCH = 'power_watch'
"""Name of what is remembered from one pass to the next."""

POLLED = 60.0
"""Seconds between two looks at a host that does not change."""

PASSED_OVER = 600.0
"""Seconds for which a host that could not be taken is not tried again: others are."""

Orders = list[tuple[HostName, Order]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSeen:
    """What a pass has done. phases: of all hosts that are seen; steps: that an operator should see"""

    phases: Mapping[str, Phase]
    steps: Sequence[HostStep]
    short: bool


class PowerPass:
    """begin() and turn() in each pass of the leases, from one thread."""

    def __init__(
        self,
        *,
        store: PowerStore,
        services: ComputeServices,
        calls: ActuatorCalls,
        states: JobStateStore,
        leadership: Leadership,
        clock: Clock,
        settings: PowerServiceSettings,
        boundary: RowBoundary,
        sender: PowerNotices | None = None,
        observe: Callable[[PowerSeen], None] = lambda seen: None,
    ) -> None:
        """observe: called after each pass."""
        self._store = store
        self._boundary = boundary
        self._services = services
        self._calls = calls
        self._states = states
        self._leadership = leadership
        self._clock = clock
        self._settings = settings
        self._sender = sender
        self._observe = observe
        self._stored: Mapping[HostName, StoredPower] = {}
        self._passed: dict[HostName, float] = {}
        self._outage = OutageLog(
            LOG,
            lost='some hosts are not disabled or enabled now',
            back='hosts are disabled and enabled again',
        )

    def begin(self) -> Mapping[str, float]:
        """Hosts that are down for us: seconds until each can be used. :raises DatabaseUnavailable:"""
        self._stored = self._store.hosts()
        if not self._calls.acts:
            return {}
        now = self._clock.wall()
        waits = {str(n): self._wait(one.state, now) for n, one in self._stored.items()}
        return {name: wait for name, wait in waits.items() if wait is not None}

    def turn(self, cloud: Cloud, leases: Sequence[StoredLease], view: HostView) -> None:
        """Decide and act. view: of the cloud with all hosts awake

        :raises DatabaseUnavailable: nothing can be known.
        """
        away = [n for n, one in self._stored.items() if one.state.phase is not Phase.SERVING]
        if self._settings.mode is Mode.OFF and not away:
            return
        now = self._clock.wall()
        plan = self._plan(cloud, leases, view, now)
        why = {view.names[row]: text for row, text in plan.why.items()}
        acts = self._calls.acts
        steps: dict[HostName, HostStep] = {}
        if acts:
            orders = self._orders(plan, view, away)
            steps = self._next(cloud, orders, now)
            for host, step in steps.items():
                if not self._leadership.leading():
                    return
                with self._boundary.row('power of host', str(host), 'step'):
                    self._take(host, step, why.get(host, ''), now)
        self._left(cloud, why, now, plan)
        if self._sender is not None:
            with self._boundary.row('pass', 'power notices', 'send'):
                self._sender.send()
        phases = {str(one.name): Phase.SERVING for one in cloud.hosts}
        phases |= {str(name): step.state.phase for name, step in steps.items()}
        shown = [step for step in steps.values() if step.why]
        self._observe(PowerSeen(phases=phases, steps=shown, short=plan.short))

    def forget(self) -> None:
        """Another service has led meanwhile."""
        self._passed = {}
        if self._sender is not None:
            self._sender.forget()

    def _wait(self, state: HostState, now: float) -> float | None:
        """Seconds until a host can be used; None: it can be now, or it is late and nobody can say."""
        if state.phase is Phase.LEAVING:
            return 0.0
        if state.phase is not Phase.WAKING:
            return self._settings.lead if state.phase in DOWN else None
        left = state.since + self._settings.plan.wake - now
        return left if left > 0 else None

    def _plan(
        self,
        cloud: Cloud,
        leases: Sequence[StoredLease],
        view: HostView,
        now: float,
    ) -> PowerPlan:
        good = {name for name, one in zip(view.names, view.good, strict=True) if one}
        servers = [one for one in cloud.servers if str(one.host) in good]
        empty = good - {str(one.host) for one in servers}
        kept = self._states.read(WATCH)
        before = self._boundary.value('document', WATCH, 'parse', lambda: watch_from(kept), Watch())
        watch = looked(before, empty, demand_of(servers, leases), now)
        self._states.write(WATCH, document_of(watch))
        stored = {name: one.state for name, one in self._stored.items()}
        bound = {str(name) for name in self._resting(stored, now)}
        bound |= self._boundary.unread('power of host')
        settings = self._settings
        seen = hosts_power(view, stored, leases, watch, bound, now, settings.lead)
        return power_plan(seen, watch.largest, settings.plan)

    def _resting(self, stored: Mapping[HostName, HostState], now: float) -> set[HostName]:
        """Hosts that are not to go down now: back a moment ago, or could not be taken."""
        mono = self._clock.monotonic()
        self._passed = {n: at for n, at in self._passed.items() if mono - at < PASSED_OVER}
        least = self._settings.steps.least_off
        back = {
            name
            for name, one in stored.items()
            if one.phase is Phase.SERVING and now - one.since < least
        }
        return back | set(self._passed)

    def _orders(self, plan: PowerPlan, view: HostView, away: Sequence[HostName]) -> Orders:
        if self._settings.mode is not Mode.AUTO:
            return [(name, Order.WAKE) for name in away]
        down = [(HostName(view.names[row]), Order.DOWN) for row in plan.down]
        return [(HostName(view.names[row]), Order.WAKE) for row in plan.wake] + down

    def _next(self, cloud: Cloud, orders: Orders, now: float) -> dict[HostName, HostStep]:
        counts = Counter(one.host for one in cloud.servers)
        ordered = dict(orders)
        # where a host is on its way cannot be guessed: it is left as it is
        unread = self._boundary.unread('power of host')
        hosts = {one.name: one for one in cloud.hosts if one.name not in unread}
        states = {n: one.state for n, one in self._stored.items() if n in hosts}
        seen: dict[HostName, HostSeen] = {}
        for name, one in hosts.items():
            with self._boundary.row('power of host', str(name), 'look'):
                state = states.get(name, HostState())
                seen[name] = self._seen(one, state, counts[name], ordered.get(name))
        orders = [one for one in orders if one[0] in seen]
        states = {n: one for n, one in states.items() if n in seen}
        steps = host_steps(states, seen, orders, now, self._settings.steps)
        for name, order in orders:
            waits = order is Order.DOWN and name in steps and self._calls.answered(name)
            if waits and steps[name].state.phase is Phase.SERVING:
                self._passed[name] = self._clock.monotonic()
        return steps

    def _seen(
        self, host: CloudHost, state: HostState, servers: int, order: Order | None
    ) -> HostSeen:
        """A host as it is. What is on its way to it is counted, and it is asked, where that matters now."""
        down = order is Order.DOWN
        if state.phase in CHANGING or down:
            self._calls.ask(host.name)
        elif state.phase is not Phase.SERVING:
            self._calls.ask(host.name, POLLED)
        users: int | None = servers
        if servers == 0 and (down or state.phase in {Phase.LEAVING, Phase.STOPPING}):
            users = self._users(host)
        return HostSeen(
            enabled=host.enabled,
            reason=host.disabled_reason,
            up=host.answering,
            servers=users,
            power=self._calls.state(host.name),
        )

    def _users(self, host: CloudHost) -> int | None:
        try:
            return self._services.users(host)
        except CloudUnavailable as error:
            self._outage.failed(error)
            return None

    def _take(self, host: HostName, step: HostStep, planned: str, now: float) -> None:
        """Store a step, then do what it orders."""
        before = self._stored.get(host, StoredPower())
        if step.state == before.state and step.action is Action.NOTHING:
            return
        event = None
        if step.why:
            why = f'{step.why} ({planned})' if planned else step.why
            event = PowerEvent(host=str(host), at=now, action=str(step.state.phase), reason=why)
        if not self._store.change(host, before, step.state, event):
            LOG.debug('host %s: another service has taken a step', host)
            return
        if event is not None:
            level = logging.ERROR if step.state.phase is Phase.FAILED else logging.INFO
            LOG.log(level, 'host %s: %s', host, event.reason)
        self._act(host, step.action)

    def _act(self, host: HostName, action: Action) -> None:
        """What fails is done again by a later step."""
        if action is Action.NOTHING:
            return
        if action not in {Action.DISABLE, Action.ENABLE}:
            self._calls.give(host, action)
            return
        try:
            if action is Action.DISABLE:
                self._services.disable(host, REASON)
            else:
                self._services.enable(host, REASON)
        except CloudUnavailable as error:
            self._outage.failed(error)
        else:
            self._outage.works()

    def _left(self, cloud: Cloud, why: Mapping[str, str], now: float, plan: PowerPlan) -> None:
        """What `power list` shows."""
        names = [one.name for one in cloud.hosts]
        troubles = {str(n): text for n in names if (text := self._calls.trouble(n))}
        advice = why if self._settings.mode is Mode.ADVISE else {}
        document = {
            'at': now, 'mode': str(self._settings.mode), 'short': plan.short, 'advice': advice,
            'troubles': troubles, 'hosts': [str(name) for name in names],
        }  # fmt: skip
        self._states.write(STATE, document)
