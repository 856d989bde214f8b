# SPDX-License-Identifier: Apache-2.0
"""Calls of the power actuator beside the passes: a controller that does not answer holds up no lease.

For rule W3 of doc/source/specs/leases.rst. Seconds of a clock that only goes forward. The calls of one host
are made one after the other, in their order; a pass reads what the newest of them has brought. An order that
could not be given within `within` is dropped: the steps give it again where it is still right.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from nova_market.core.power.host_step import Action, PowerState
from nova_market.core.resource import HostName
from nova_market.errors import PowerRefused, PowerUnavailable
from nova_market.outage_log import OutageLog
from nova_market.ports import PowerActuator

LOG = logging.getLogger(__name__)

FRESH = 180.0
"""Seconds for which a state counts."""

Run = Callable[[Callable[[], None]], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    action: Action
    since: float


class ActuatorCalls:
    """Safe for threads."""

    def __init__(
        self,
        actuator: PowerActuator,
        run: Run,
        monotonic: Callable[[], float],
        within: float = 60.0,
    ) -> None:
        """run: runs a function, in another thread or at once."""
        self._actuator = actuator
        self._run = run
        self._now = monotonic
        self._within = within
        self._lock = threading.Lock()
        self._queues: dict[HostName, deque[_Call]] = {}
        self._states: dict[HostName, tuple[float, PowerState]] = {}
        self._outages: dict[HostName, OutageLog] = {}

    @property
    def acts(self) -> bool:
        """Does the actuator switch anything?"""
        return self._actuator.acts

    def ask(self, host: HostName, older: float = 0.0) -> None:
        """Begin to ask for its state, unless it is asked just now, or was at most `older` seconds ago."""
        known = self._states.get(host)
        if known is None or self._now() - known[0] >= older:
            self._add(host, Action.NOTHING)

    def give(self, host: HostName, action: Action) -> None:
        """Begin to give an order, one of POWER_ON, POWER_OFF and FORCE_OFF. What was known of it is past."""
        with self._lock:
            self._states.pop(host, None)
        self._add(host, action)

    def answered(self, host: HostName) -> bool:
        """Has it been asked since the last order, with whatever success?"""
        return host in self._states

    def state(self, host: HostName) -> PowerState:
        """What was seen last; UNKNOWN when that is long ago, or it could not be seen."""
        at, state = self._states.get(host, (float('-inf'), PowerState.UNKNOWN))
        return state if self._now() - at < FRESH else PowerState.UNKNOWN

    def trouble(self, host: HostName) -> str:
        """Why the last call of it failed; '' when it did not."""
        outage = self._outages.get(host)
        return outage.reason if outage else ''

    def _add(self, host: HostName, action: Action) -> None:
        with self._lock:
            queue = self._queues.get(host)
            if queue is not None:
                if action is not Action.NOTHING:
                    queue.append(_Call(action=action, since=self._now()))
                return
            self._queues[host] = deque([_Call(action=action, since=self._now())])
        self._run(lambda: self._drain(host))

    def _drain(self, host: HostName) -> None:
        while True:
            with self._lock:
                queue = self._queues[host]
                if not queue:
                    del self._queues[host]
                    return
                call = queue.popleft()
            if call.action is Action.NOTHING or self._now() - call.since <= self._within:
                self._make(host, call.action)
            else:
                LOG.debug('host %s: %s is dropped, it waited too long', host, call.action)

    def _make(self, host: HostName, action: Action) -> None:
        outage = self._outages.setdefault(
            host,
            OutageLog(
                LOG,
                lost=f'host {host} cannot be switched, the others can',
                back=f'host {host} can be switched again',
            ),
        )
        state = PowerState.UNKNOWN
        try:
            if action is Action.NOTHING:
                state = self._actuator.state(host)
            elif action is Action.POWER_ON:
                self._actuator.power_on(host)
            else:
                self._actuator.power_off(host, force=action is Action.FORCE_OFF)
        except (PowerUnavailable, PowerRefused) as error:
            outage.failed(error)
        except Exception as error:  # a plug-in of somebody else may raise anything
            outage.failed(f'{type(error).__name__}: {error}', exc_info=True)
        else:
            outage.works()
        if action is Action.NOTHING:
            with self._lock:
                self._states[host] = (self._now(), state)
