# SPDX-License-Identifier: Apache-2.0
"""The fairness agent of one host: sample, weigh, exchange, decide, apply; one call is one round.

Implements Listing 1 of IFI-2016.04. Differs from the paper: nothing is waited for, only differences are
written, and what guests had before is put back when the agent stops. After a crash the next start goes on
from the values it finds.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from nova_market.core.exchange.messages import HostReport
from nova_market.core.exchange.received_allocations import NOTHING
from nova_market.core.exchange.totals import CloudTotals
from nova_market.core.fairness import host_division
from nova_market.core.fairness.explanation import summary
from nova_market.core.fairness.priority import worth_writing
from nova_market.core.fairness.round import (
    FairnessSettings,
    RoundPlan,
    Weighing,
    decide,
    nova_value,
    partial_sums,
    view_of,
    weigh,
)
from nova_market.core.fairness.takeover import not_measured_yet, surviving_log_weights
from nova_market.core.host.load import Incarnation, Measurement, measure, supply_vector
from nova_market.core.host.others import left_to_guests
from nova_market.core.host.sample import Control, HostSupply, Limits
from nova_market.core.resource import GuestId, HostName, OwnerId
from nova_market.core.usage.meter import UsageMeter
from nova_market.errors import HostUnavailable
from nova_market.ports import Actuator, Allocations, Clock, Exchange, HostDriver
from nova_market.services.fairness.confirmation import enforced_resources, in_force
from nova_market.services.fairness.log_weights import LogWeights
from nova_market.services.fairness.originals import OriginalValues
from nova_market.services.fairness.progress import Progress
from nova_market.services.fairness.takeover import put_back, take_over

LOG = logging.getLogger(__name__)

Quotas = Callable[[Sequence[OwnerId]], Mapping[OwnerId, tuple[int, int]]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FairnessRecord:
    """What one round decided and did.

    supply:                 what guests can have; offered: what the host has for them, used by others too
    found, written, failed: control -> guest -> value (or what went wrong); empty when nothing was done
    seconds:                phase -> duration
    applied:                servers whose allocations are in force
    """

    plan: RoundPlan
    supply: HostSupply
    offered: HostSupply
    wall: float
    dry_run: bool
    found: Mapping[str, Mapping[GuestId, Control]]
    written: Mapping[str, Mapping[GuestId, int]]
    failed: Mapping[str, Mapping[GuestId, str]]
    seconds: Mapping[str, float] = field(default_factory=dict)
    applied: tuple[GuestId, ...] = ()


TRIES = 3
"""Of a stop, to put back the values of a guest whose emulator still answers another call: one that gets
little of the CPU, which is why it needs its values back, takes seconds for an answer. Each try waits."""


class Agent:
    def __init__(
        self,
        *,
        host: HostName,
        driver: HostDriver,
        actuators: Sequence[Actuator],
        controls: Collection[str],
        exchange: Exchange,
        settings: FairnessSettings,
        originals: OriginalValues,
        clock: Clock,
        quotas: Quotas | None = None,
        dry_run: bool = False,
        market: Allocations | None = None,
        log_weights: LogWeights | None = None,
    ) -> None:
        """controls: names of the actuators that are used; the others only put originals back.

        market:      what the market grants, with a policy that follows it
        log_weights: where the state of the controller outlives a crash
        """
        self._host = host
        self._driver = driver
        self._actuators = {actuator.name: actuator for actuator in actuators}
        self._controls = [name for name in self._actuators if name in controls]
        self._exchange = exchange
        self._settings = settings
        self._originals = originals
        self._clock = clock
        self._quotas = quotas
        self._dry_run = dry_run
        self._market = market
        self.progress = Progress(clock)
        self._log_weights = log_weights
        self._taken_over: frozenset[Incarnation] = frozenset()
        self._measurement: Measurement | None = None
        self._meter = UsageMeter()
        self._totals: CloudTotals | None = None
        self._state: Mapping[Incarnation, float] = {}
        self._incarnation = int(clock.wall())
        self._sequence = 0

    def start(self) -> None:
        """Go on from what a killed run left behind, and begin to listen.

        :raises HostUnavailable: the hypervisor does not answer.
        """
        if self._originals.entries and self._dry_run:
            LOG.warning(
                'an earlier run left %d guests with its values; a dry run does not touch them: '
                'run `nova-fairness restore`',
                len(self._originals.entries),
            )
        elif self._originals.entries:
            self._take_over()
        self._driver.supply()
        self._exchange.start()

    def stop(self) -> None:
        """Put everything back and leave the exchange; in this order, as leaving may wait for a broker."""
        if not self._dry_run:
            self._leave_guests()
        self._exchange.stop()

    def _leave_guests(self) -> None:
        try:
            for _ in range(TRIES):
                _, refused = self.restore()
                if not refused:
                    break
        except HostUnavailable as error:
            LOG.warning(
                'originals are not put back but stay recorded, for the next stop: %s', error
            )
            return
        for actuator in self._actuators.values():
            actuator.close()

    def restore(self) -> tuple[int, int]:
        """Write the original values back; (guests that have them, guests that refused). Idempotent.

        The values of a guest that refuses them stay recorded, for the next try.

        :raises HostUnavailable: nothing is forgotten then.
        """
        guests = {item.guest.incarnation: item.guest for item in self._driver.sample().guests}
        mine = self._originals.entries.keys() & guests.keys()
        everyone = list(guests.values())
        refused = {
            guest
            for actuator in self._actuators.values()
            for guest in put_back(self._originals, actuator, everyone)
        }
        kept = {key for key in mine if key[0] in refused}
        self._originals.forget(self._originals.entries.keys() - kept)
        return len(mine) - len(kept), len(kept)

    def _take_over(self) -> None:
        """The first round adjusts what a killed run left behind; the next stop puts originals back."""
        guests = [item.guest for item in self._driver.sample().guests]
        unused = [one for name, one in self._actuators.items() if name not in self._controls]
        self._taken_over = take_over(self._originals, unused, guests)
        if self._log_weights is not None:
            x, decided = self._log_weights.load()
            intervals = (self._clock.wall() - decided) / self._settings.interval
            self._state = surviving_log_weights(
                x, self._taken_over, intervals, self._settings.priority
            )

    def round(self) -> FairnessRecord:
        """One round.

        :raises HostUnavailable: nothing was measured or the host vanished while writing.
        """
        try:
            record = self._round()
        finally:
            self.progress.leave()
        return record

    def _round(self) -> FairnessRecord:
        progress = self.progress
        progress.enter('sample')
        offered = self._driver.supply()
        sample = self._driver.sample()
        self._meter.take(sample, self._clock.wall())
        progress.enter('weigh')
        self._measurement = measure(
            self._measurement,
            sample,
            offered,
            smoothing=self._settings.smoothing,
            interval=self._settings.interval,
        )
        supply = left_to_guests(offered, self._measurement.others)
        weighing = self._weigh(supply)
        progress.enter('exchange')
        self._exchange.publish(self._report(weighing))
        self._totals = self._exchange.totals()
        progress.enter('decide')
        limits = {name: self._actuators[name].limits for name in self._controls}
        unit = self._actuators['cpu'].limits.default if 'cpu' in self._actuators else 1
        granted = self._market.look() if self._market else NOTHING
        plan = decide(
            weighing, self._totals, self._state, limits, supply, self._settings, unit, granted
        )
        self._state = plan.state
        progress.enter('apply')
        found, written, failed = self._apply(plan, limits)
        applied = self._confirm(plan, found, failed)
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug(
                'round %d: %s; %d values written', self._sequence, summary(plan), _count(written)
            )
        return FairnessRecord(
            plan=plan,
            supply=supply,
            offered=offered,
            wall=self._clock.wall(),
            dry_run=self._dry_run,
            found=found,
            written=written,
            failed=failed,
            seconds=progress.leave(),
            applied=applied,
        )

    def _weigh(self, supply: HostSupply) -> Weighing:
        assert self._measurement is not None
        if self._totals is None:
            # as in Listing 1, lines 1-3: the supply must be known before anything can be weighed
            self._exchange.publish(self._presence(self._measurement, supply))
            self._totals = self._exchange.totals()
        view, _ = view_of(self._totals, supply.core_score, self._settings)
        return weigh(self._measurement, supply, view, self._settings)

    def _presence(self, measurement: Measurement, supply: HostSupply) -> HostReport:
        nothing = tuple(0.0 for _ in supply_vector(supply))
        return HostReport(
            host=self._host,
            incarnation=self._incarnation,
            sequence=self._sequence,
            metric=self._settings.metric_name,
            supply=tuple(float(n) for n in supply_vector(supply)),
            load=nothing,
            virtual=nothing,
            owners={guest.owner: (0.0,) for guest in measurement.guests},
        )

    def _report(self, weighing: Weighing) -> HostReport:
        self._sequence += 1
        mine = partial_sums(weighing)
        others = self._totals.asked if self._totals else ()
        owners = tuple(dict.fromkeys((*mine, *others)))
        return HostReport(
            host=self._host,
            incarnation=self._incarnation,
            sequence=self._sequence,
            metric=self._settings.metric_name,
            supply=tuple(float(n) for n in weighing.supply),
            load=tuple(float(n) for n in weighing.measurement.load.sum(axis=0)),
            virtual=tuple(float(n) for n in weighing.virtual.sum(axis=0)),
            owners=mine,
            quotas=dict(self._quotas(owners)) if self._quotas else {},
            reads_quotas=self._quotas is not None,
        )

    def _apply(
        self, plan: RoundPlan, limits: Mapping[str, Limits]
    ) -> tuple[
        dict[str, Mapping[GuestId, Control]],
        dict[str, dict[GuestId, int]],
        dict[str, dict[GuestId, str]],
    ]:
        found: dict[str, Mapping[GuestId, Control]] = {}
        changes: dict[str, dict[GuestId, int]] = {}
        kept = self._kept(plan)
        originals: dict[Incarnation, dict[str, int]] = {}
        for name in self._controls:
            found[name] = self._actuators[name].read(plan.guests)
            changes[name] = self._differences(plan, name, found[name], kept)
            for guest in plan.guests:
                control = found[name].get(guest.id)
                if control is None or not control.controllable or name == 'network':
                    continue
                original = nova_value(name, guest, limits[name])
                if guest.fallback and control.value is not None:
                    original = control.value
                # also where the wanted value is there already: a crash or libvirt itself left it
                if guest.id in changes[name] or control.value != original:
                    originals.setdefault(guest.incarnation, {})[name] = original
        if self._dry_run:
            return found, {}, {}
        if self._log_weights is not None:
            self._log_weights.save(plan.state, self._clock.wall())
        self._originals.keep_only({guest.incarnation for guest in plan.guests})
        self._originals.remember(originals)
        failed: dict[str, dict[GuestId, str]] = {}
        for name, values in changes.items():
            if values:
                outcome = self._actuators[name].write(values, plan.guests)
                failed[name] = {guest: wrong for guest, wrong in outcome.items() if wrong}
                for guest_id, wrong in failed[name].items():
                    LOG.log(
                        logging.DEBUG if wrong == 'gone' else logging.WARNING,
                        '%s of guest %s is not set to %d: %s', name, guest_id, values[guest_id], wrong,
                    )  # fmt: skip
        written = {
            name: {
                guest: value for guest, value in values.items() if guest not in failed.get(name, {})
            }
            for name, values in changes.items()
        }
        return found, written, failed

    def _kept(self, plan: RoundPlan) -> frozenset[GuestId]:
        """Guests whose values of an earlier run stay until they are measured.

        What the market allocates does not depend on a measurement and is written at once.
        """
        if plan.policy != host_division.FAIRNESS:
            return frozenset()
        return not_measured_yet(plan.weighing.measurement, self._taken_over)

    def _differences(
        self,
        plan: RoundPlan,
        name: str,
        found: Mapping[GuestId, Control],
        kept: frozenset[GuestId],
    ) -> dict[GuestId, int]:
        """Wanted values that differ enough from the actual ones to be written; `kept` keep theirs."""
        # what is paid for is set to the unit; it changes once a period only
        exact = name == 'cpu' and plan.policy == host_division.MARKET
        threshold = 0.0 if exact else self._settings.threshold
        changes: dict[GuestId, int] = {}
        for guest, wanted in zip(plan.guests, plan.wanted[name].tolist(), strict=True):
            control = found.get(guest.id)
            if control is None or not control.controllable or guest.id in kept:
                continue
            if control.value is None or worth_writing(wanted, control.value, threshold):
                changes[guest.id] = wanted
        return changes

    def _confirm(
        self,
        plan: RoundPlan,
        found: Mapping[str, Mapping[GuestId, Control]],
        failed: Mapping[str, Mapping[GuestId, str]],
    ) -> tuple[GuestId, ...]:
        """Confirm to the market what is in force, in each round: an earlier message may be lost (F2).

        Also where nothing is: the engine sells only what hosts report to enforce (B5). What servers used in
        a minute goes with the first confirmation after it (U1).
        """
        if self._market is None or not plan.granted.in_force:
            return ()
        granted = [guest.id for guest in plan.guests if guest.id in plan.granted.allocations]
        done: tuple[GuestId, ...] = ()
        enforced: tuple[str, ...] = ()
        if not self._dry_run:
            done = tuple(guest for guest in granted if in_force(guest, found, failed))
            enforced = enforced_resources(granted, found, failed)
        use = self._meter.oldest()
        self._market.confirm(plan.granted, done, plan.owner_heaviness, enforced, use)
        if use is not None:
            self._meter.sent(use)
        return done


def _count(written: Mapping[str, Mapping[GuestId, int]]) -> int:
    return sum(len(values) for values in written.values())
