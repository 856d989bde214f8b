# SPDX-License-Identifier: Apache-2.0
"""The service of leases: while it leads, one pass in each interval.

Implements rules L1, L5, L6 and L8 of doc/source/specs/leases.rst, after CloudAlloc, section 3 (Execution
Function). Seconds. One pass, in this order:

1. the hosts and servers of the cloud are read, and what can be leased is published; hosts that are powered
   down count as hosts that can be used when they are awake
2. leases whose hosts are lost get others, where there is room; owners are told
3. leases start, are charged, end (core.lease.life)
4. what they reserve is published (rule L5)
5. hosts are powered down and woken (services.power)
6. what has happened is sent as notifications

Any number of services may run; those that do not lead do nothing. Every decision is written in one
transaction with its money and its events, and only if the lease is still as it was read: killed at any point,
the next one goes on from the rows, and of two that lead at the same moment one writes. While the cloud is
away no lease starts or fails; those that have begun go on and end.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from nova_market.core.job.cloud_room import Cloud
from nova_market.core.lease.billing import without_payer
from nova_market.core.lease.host_view import HostView, cluster_of
from nova_market.core.lease.life import event, failed, next_step
from nova_market.core.lease.record import BEGUN, LeaseAction, LeaseStep, StoredLease
from nova_market.core.lease.repair import repaired
from nova_market.core.lease.reservation import reservation
from nova_market.core.power.needs import as_awake, not_before
from nova_market.errors import BadLease, LeaseChanged, PromisesChanged, UnknownAccount
from nova_market.outage_log import OutageLog
from nova_market.ports import Clock, JobHosts, JobStateStore, Leadership, LeaseStore
from nova_market.services.failures import DATABASE_AWAY
from nova_market.services.job.forecasting import STATE as FORECAST
from nova_market.services.job.forecasting import read_forecast
from nova_market.services.job.inputs import CloudReader
from nova_market.services.leader_loop import LeaderLoop
from nova_market.services.lease.observing import (
    LostHosts,
    all_silent,
    good_hosts,
    observed,
    publish,
    publish_reserved,
)
from nova_market.services.lease.settings import LeaseSettings
from nova_market.services.set_aside import SetAsideReport

LOG = logging.getLogger(__name__)

BY = 'nova-market-leases'
STATE = 'lease_pass'
"""Name of what a pass leaves for `status`, among the documents of the services."""


Result = TypeVar('Result')


class Sender(Protocol):
    """Whoever sends what has happened. May raise errors.DatabaseUnavailable."""

    def send(self) -> None: ...

    def forget(self) -> None:
        """Another service has led meanwhile."""


class HostPower(Protocol):
    """Whoever powers hosts down and wakes them. May raise errors.DatabaseUnavailable."""

    def begin(self) -> Mapping[str, float]:
        """Hosts that are down for it: seconds until each can be used."""

    def turn(self, cloud: Cloud, leases: Sequence[StoredLease], view: HostView) -> None:
        """Decide and act. view: of the cloud with all hosts awake"""

    def forget(self) -> None:
        """Another service has led meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassSeen:
    """What a pass has done.

    at: when it began; view: the hosts, None: the cloud could not be read; lost: of those with leases
    live: leases that were not over before it; steps: what was written
    """

    at: float
    view: HostView | None
    lost: frozenset[str]
    live: Sequence[StoredLease]
    steps: Sequence[LeaseStep]
    seconds: float


class Leases(LeaderLoop):
    """A turn in each interval: a pass over all leases."""

    away = DATABASE_AWAY
    noun = 'service of leases'

    def __init__(
        self,
        *,
        leases: LeaseStore,
        states: JobStateStore,
        hosts: JobHosts,
        leadership: Leadership,
        clock: Clock,
        settings: LeaseSettings,
        aside: SetAsideReport,
        sender: Sender | None = None,
        power: HostPower | None = None,
        observe: Callable[[PassSeen], None] = lambda seen: None,
    ) -> None:
        """observe: called after each pass."""
        super().__init__(
            name=settings.name,
            leadership=leadership,
            clock=clock,
            outage=OutageLog(
                LOG, lost='no lease starts or ends', back='leases start and end again'
            ),
            interval=settings.interval,
            pause=settings.interval,
        )
        self._aside, self._boundary = aside, aside.boundary
        self._leases = leases
        self._states = states
        self._settings = settings
        self._sender = sender
        self._power = power
        self._observe = observe
        self._lost = LostHosts(settings.lost_after)
        self._reader = CloudReader(
            hosts,
            self._boundary,
            lost='no lease starts or moves, those that have begun go on: the cloud cannot be read',
            back='the cloud can be read again: leases start',
        )
        self._silence = OutageLog(
            LOG,
            lost='no lease starts or moves, those that have begun go on',
            back='compute hosts answer again: leases start',
        )

        self._crowd = OutageLog(
            LOG,
            lost='servers cannot carry all leases that begin soon, whose room is kept all the same',
            back='servers can carry all leases that begin soon',
        )

    def turn(self) -> None:
        """One pass.

        :raises DatabaseUnavailable, SchemaBehind: nothing can be known.
        """
        with self._aside.kept(self._leadership.leading):
            self._pass()

    def _pass(self) -> None:
        began, now = self._clock.monotonic(), self._clock.wall()
        cloud = self._reader.read()
        # with what was booked while the cloud was read
        turn, live = self._leases.calendar()
        self._outage.works()
        asleep = self._power.begin() if self._power is not None else {}
        awake = self._awake(cloud, live, asleep, now)
        view = None if awake is None else not_before(awake, asleep, live, now)
        steps: list[LeaseStep] = []
        lost: frozenset[str] = frozenset()
        if view is not None:
            publish(self._states, view)
        if view is not None and awake is not None and self._leadership.leading():
            used = {node.host for one in live for node in one.nodes} - self._unread_hosts()
            lost = self._lost.lost(view, used, self._clock.monotonic())
            steps += self._repair((view, awake), live, lost, turn, now)
        for lease in self._readable(live):
            if not self._leadership.leading():
                break
            good = None if view is None else good_hosts(view) - asleep.keys()
            with self._boundary.row('lease', lease.id, 'step'):
                steps += self._advance(lease, good, now)
        if cloud is not None and self._leadership.leading():
            with self._boundary.row('pass', 'reservation', 'publish'):
                self._reserve(cloud, now)
        with self._boundary.row('pass', 'power', 'switch'):
            self._switch(cloud, live, awake)
        if self._sender is not None:
            with self._boundary.row('pass', 'notices', 'send'):
                self._sender.send()
        self._states.write(STATE, {'at': now, 'interval': self._settings.interval})
        seconds = self._clock.monotonic() - began
        self._observe(
            PassSeen(at=now, view=view, lost=lost, live=live, steps=steps, seconds=seconds)
        )
        LOG.debug('%d leases, %d steps, %.2f s', len(live), len(steps), seconds)

    def _readable(self, leases: Sequence[StoredLease]) -> list[StoredLease]:
        """Without those that only hold their room until they are mended."""
        unread = self._boundary.unread('lease')
        return [one for one in leases if one.id not in unread]

    def _unread_hosts(self) -> frozenset[str]:
        """They are there, and are not to be taken for lost."""
        return self._boundary.unread('host') | self._boundary.unread('power of host')

    def _switch(
        self, cloud: Cloud | None, live: Sequence[StoredLease], awake: HostView | None
    ) -> None:
        """Power hosts down and wake them, while it is known what they are."""
        if cloud is None or awake is None or self._power is None:
            return
        if self._leadership.leading():
            self._power.turn(cloud, live, awake)

    def _awake(
        self,
        cloud: Cloud | None,
        live: Sequence[StoredLease],
        asleep: Mapping[str, float],
        now: float,
    ) -> HostView | None:
        """The hosts with all that sleep awake; None while the cloud is away, or no host of it answers."""
        if cloud is None:
            # how long hosts were silent meanwhile is not known
            self._lost.forget()
            return None
        read = partial(read_forecast, self._states)
        forecast = self._boundary.value('document', FORECAST, 'parse', read, None)
        hosts = as_awake(cloud, asleep)

        def seen(some: Sequence[StoredLease]) -> HostView:
            return observed(hosts, forecast, some, self._settings, now)

        view = self._with_all(live, 'view', seen)
        if all_silent(view, asleep):
            self._silence.failed('no compute host answers, so it is rather what they talk through')
            self._lost.forget()
            return None
        self._silence.works()
        return view

    def _reserve(self, cloud: Cloud, now: float) -> None:
        """Publish what leases reserve after this pass."""
        decide = partial(
            reservation, servers=cloud.servers, now=now, ahead=self._settings.publish_ahead
        )
        found = self._with_all(self._leases.calendar()[1], 'reserve', decide)
        publish_reserved(self._states, found)
        if found.left_out:
            why = f'{found.left_out} leases of projects with the most nodes are not published'
            self._crowd.failed(why, kind='many')
        else:
            self._crowd.works()

    def _with_all(
        self,
        leases: Sequence[StoredLease],
        stage: str,
        decide: Callable[[Sequence[StoredLease]], Result],
    ) -> Result:
        """One decision on all of these leases, without those with which it fails."""
        by_id = {one.id: one for one in leases}
        return self._boundary.largest(
            'lease', list(by_id), stage, lambda ids: decide([by_id[one] for one in ids])
        )

    def _repair(
        self,
        views: Sequence[HostView],
        live: Sequence[StoredLease],
        lost: frozenset[str],
        turn: int,
        now: float,
    ) -> Sequence[LeaseStep]:
        """Other hosts in place of lost ones; what was written.

        views: the first in which there is room counts: rather one that begins late than one that fails
        """
        steps: dict[str, LeaseStep] = {}
        for lease in self._readable(live):
            if not any(node.host in lost for node in lease.nodes) or lease.end <= now:
                continue
            # those that were moved a moment ago are where they are now
            others = [steps[o.id].after if o.id in steps else o for o in live if o is not lease]
            with self._boundary.row('lease', lease.id, 'repair'):
                step = self._repaired(lease, others, views, lost, now)
                if step is not None:
                    steps[lease.id] = step
        # those that end need no turn, and one that cannot be written holds up no other one
        over = [step for step in steps.values() if step.after.over]
        kept = [step for step in steps.values() if not step.after.over]
        write = partial(self._boundary.batch, 'lease', id_of=_lease_of, stage='store')
        done = [one for step in over for one in write([step], work=self._write)]
        done += write(kept, work=lambda some: self._write(some, turn))
        for step in done:
            LOG.info('lease %s: %s', step.before.id, step.events[-1].reason)
        return done

    def _repaired(
        self,
        lease: StoredLease,
        others: Sequence[StoredLease],
        views: Sequence[HostView],
        lost: frozenset[str],
        now: float,
    ) -> LeaseStep | None:
        """What becomes of a lease with a lost host; None: it waits, and its owner was told."""
        names = ', '.join(sorted({node.host for node in lease.nodes} & lost))
        after = None
        try:
            for view in views:
                hosts = cluster_of(view, others, self._settings.prices, now)
                rates = self._settings.plugins(now)[3](hosts)
                after = after or repaired(lease, hosts, rates, lost, now)
        except BadLease as error:
            LOG.error('lease %s cannot be placed again: %s', lease.id, error)
        if after is not None:
            where = ', '.join(node.host for node in after.nodes)
            why = f'{names}: lost; now on {where}'
            told = event(lease, now, LeaseAction.MOVED, why)
            return LeaseStep(before=lease, after=after, events=(told,))
        if lease.state in BEGUN:
            return failed(lease, now, f'{names}: lost, and no other host has room for the rest')
        newest = self._leases.events(lease.id, limit=1)
        if newest and newest[0].action == LeaseAction.HOST_LOST:
            return None
        why = f'{names}: lost, and no other host has room; the lease waits for it until it begins'
        told = event(lease, now, LeaseAction.HOST_LOST, why)
        return LeaseStep(before=lease, after=lease, events=(told,))

    def _advance(
        self, lease: StoredLease, good: frozenset[str] | None, now: float
    ) -> Sequence[LeaseStep]:
        """What is due of one lease; what was written. good: hosts that can be used now; None: not known"""
        step = next_step(lease, now, good, self._settings.life)
        if step is None:
            return ()
        done = self._write([step])
        for one in done:
            for told in one.events:
                LOG.info('lease %s: %s: %s', lease.id, told.action, told.reason)
        return done

    def _write(self, steps: Sequence[LeaseStep], turn: int | None = None) -> Sequence[LeaseStep]:
        """Those that were written: all, or none that somebody has changed meanwhile.

        :raises BadAmount, BalanceTooLow, KeyReused: none of them can be.
        """
        try:
            return self._changed(steps, turn)
        except UnknownAccount:
            paid = [replace(one, postings=without_payer(one.postings)) for one in steps]
            return self._changed(paid, turn)

    def _changed(self, steps: Sequence[LeaseStep], turn: int | None) -> Sequence[LeaseStep]:
        try:
            self._leases.change(steps, turn, BY)
        except (LeaseChanged, PromisesChanged) as error:
            LOG.debug('decided again in the next pass: %s', error)
            return ()
        return steps

    def _lead_changed(self) -> None:
        self._lost.forget()
        self._aside.forget()
        if self._sender is not None:
            self._sender.forget()
        if self._power is not None:
            self._power.forget()


def _lease_of(step: LeaseStep) -> str:
    return step.before.id
