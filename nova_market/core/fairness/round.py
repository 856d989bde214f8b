# SPDX-License-Identifier: Apache-2.0
"""One round of the fairness service on one host, as two pure steps: weigh, then decide.

Implements Listing 1 of IFI-2016.04: `weigh` is lines 5-6 (heaviness of the VMs from the utilisation),
`decide` lines 9-11 (heaviness of the users, priorities of the VMs). Between them the service exchanges
`partial_sums` of the weighing. Arrays over this host's VMs have the order of Measurement.guests.

The simulator and the service both run this code; time, totals and the state of the controller are
arguments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.exchange.received_allocations import NOTHING, EffectiveAllocations
from nova_market.core.exchange.report_bounds import CloudSize
from nova_market.core.exchange.totals import CloudTotals
from nova_market.core.fairness import host_division, least_weight, memory_guarantee, priority
from nova_market.core.fairness.cloud_norm import CloudNorm, actual_quotas, ratio, resource_weights
from nova_market.core.fairness.competition import Competition, competition
from nova_market.core.fairness.endowment import (
    Endowment,
    host_share,
    host_share_uncapped,
    virtual_resources,
)
from nova_market.core.fairness.heaviness import Greediness, Metric
from nova_market.core.fairness.priority import PrioritySettings
from nova_market.core.host.load import Incarnation, Measurement, supply_vector
from nova_market.core.host.sample import Guest, HostSupply, Limits
from nova_market.core.resource import CPU, MEMORY, RESOURCES, Array, OwnerId, Rows, Values

LEAST_ENTITLEMENT = 0.01
"""Right of an owner whose quota is 0, as a part of the mean: its guests run on, with little weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessSettings:
    """What the operator chose. Units and ranges: conf/fairness.py.

    totals_ttl: seconds after which silence of the exchange makes weights decay to local grouping
    policy:     one of core.fairness.host_division.POLICIES
    idle, idle_cores: part of its endowment, and of a core, that a VM must use more of to compete
    least_cores: cores that the CPU weight of a guest is worth at least, when all guests are busy
    entitlement: `equal`, or `quota`: owners weigh by their cores quota
    """

    interval: float = 10.0
    resources: tuple[str, ...] = RESOURCES
    weighting: str = 'equal'
    split: str = 'vcpu'
    smoothing: float = 0.5
    metric_name: str = 'greediness'
    metric: Metric = field(default_factory=Greediness)
    endowment: Endowment = host_share
    priority: PrioritySettings = field(default_factory=PrioritySettings)
    entitlement: str = 'equal'
    policy: str = host_division.FAIRNESS
    idle: float = 0.05
    idle_cores: float = 0.05
    threshold: float = 0.05
    least_cores: float = 0.01
    totals_ttl: float = 30.0
    overcommit: tuple[float, float] = (4.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Weighing:
    """What the VMs of this host weigh. All arrays (vms,) or (vms, resources); partial (vms, width)."""

    measurement: Measurement
    supply: Array
    virtual: Array
    endowment: Array
    heaviness: Array
    emphasis: Array
    partial: Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoundPlan:
    """What one round decided, and the numbers behind it.

    user_heaviness: h_u of each VM's owner; priority: H(v) or p; x: log-weight; weights: of mean 1
    wanted:         control -> value per VM, in the unit of the control
    rivals:         how much each VM competes
    fresh:          were the totals of the cloud young enough to act on?
    policy, granted: who decided; what the market grants
    """

    weighing: Weighing
    view: CloudNorm
    totals: CloudTotals
    fresh: bool
    owners: Rows
    user_heaviness: Array
    priority: Array
    x: Array
    weights: Array
    rivals: Competition
    wanted: Mapping[str, Values]
    policy: str = host_division.FAIRNESS
    granted: EffectiveAllocations = NOTHING

    @property
    def guests(self) -> tuple[Guest, ...]:
        return self.weighing.measurement.guests

    @property
    def state(self) -> dict[Incarnation, float]:
        """x by incarnation, for the next round."""
        return {g.incarnation: float(x) for g, x in zip(self.guests, self.x, strict=True)}

    @property
    def owner_heaviness(self) -> dict[OwnerId, float]:
        """Of each owner with VMs here, in the whole cloud."""
        return {
            guest.owner: float(value)
            for guest, value in zip(self.guests, self.user_heaviness, strict=True)
        }


def view_of(
    totals: CloudTotals, core_score: float, settings: FairnessSettings
) -> tuple[CloudNorm, Array]:
    """The cloud as the totals show it, and the actual quota per owner of the totals."""
    quota, virtual_quota = actual_quotas(
        totals.owners,
        totals.quotas,
        totals.supply,
        core_score,
        settings.overcommit,
        (totals.owner_count, totals.quota_tally),
    )
    utilisation = ratio(totals.load, totals.supply)
    view = CloudNorm(
        supply=totals.supply,
        weights=resource_weights(
            settings.resources, totals.supply, utilisation, settings.weighting
        ),
        users=max(totals.owner_count, 1),
        load=totals.load,
        virtual=totals.virtual,
        quota=virtual_quota,
    )
    return view, quota


def weigh(
    measurement: Measurement, supply: HostSupply, view: CloudNorm, settings: FairnessSettings
) -> Weighing:
    """Heaviness of the VMs of this host (Listing 1, lines 5-6)."""
    offered = supply_vector(supply)
    guests = measurement.guests
    virtual = virtual_resources(
        np.array([g.vcpus for g in guests], dtype=float),
        np.array([g.memory_bytes for g in guests], dtype=float),
        offered,
        supply.core_score,
        settings.split,
    )
    endowment = settings.endowment(virtual, offered, view)
    # a guest seen for the first time has no rates yet: let it weigh as if it used what it was given
    load = np.where(measurement.seen[:, None], measurement.load, endowment)
    load[:, MEMORY] = measurement.load[:, MEMORY]
    # what this host does not know its supply of is not charged, whatever other hosts know of theirs
    load = np.where(offered > 0, load, 0.0)
    return Weighing(
        measurement=measurement,
        supply=offered,
        virtual=virtual,
        endowment=endowment,
        heaviness=settings.metric.heaviness(load, endowment, view),
        emphasis=settings.metric.emphasis(load, endowment, view),
        partial=settings.metric.partial(load, endowment, view),
    )


def most_reported(supply: Array, size: CloudSize, settings: FairnessSettings) -> Array:
    """The largest partial sums of all owners together that a host with this supply can have (rule H26).

    An endowment that looks at the whole cloud may be more than the host has, by its overcommit.
    """
    weights = resource_weights(
        settings.resources, size.supply, ratio(size.load, size.supply), settings.weighting
    )
    view = CloudNorm(supply=size.supply, weights=weights, users=max(size.owners, 1))
    local = settings.endowment in (host_share, host_share_uncapped)
    factor = 1.0 if local else max(settings.overcommit)
    return factor * settings.metric.most(supply, view)


def partial_sums(weighing: Weighing) -> dict[OwnerId, tuple[float, ...]]:
    """Per owner the sum over its VMs on this host: what the cloud needs to know of it."""
    sums: dict[OwnerId, Array] = {}
    for guest, row in zip(weighing.measurement.guests, weighing.partial, strict=True):
        sums[guest.owner] = sums[guest.owner] + row if guest.owner in sums else row
    return {owner: tuple(float(n) for n in row) for owner, row in sorted(sums.items())}


def decide(
    weighing: Weighing,
    totals: CloudTotals,
    state: Mapping[Incarnation, float],
    limits: Mapping[str, Limits],
    supply: HostSupply,
    settings: FairnessSettings,
    cpu_unit: int = 1024,
    granted: EffectiveAllocations = NOTHING,
) -> RoundPlan:
    """Heaviness of the users, priorities and wanted values of the VMs (Listing 1, lines 9-11).

    totals:   must contain this host's own report; sums that are no numbers count as totals too old
    limits:   of the controls that values are wanted for
    cpu_unit: default of this host's CPU control, the unit of a flavor's `quota:cpu_shares`
    granted:  what the market allocates; counts with the policies that have a market
    """
    view, quota = view_of(totals, supply.core_score, settings)
    guests = weighing.measurement.guests
    rows = priority.owner_rows([g.owner for g in guests], totals.owners)
    heaviness, held = _of_owners(totals, weighing.partial.shape[1], quota, view, settings)
    rivals = _rivals(weighing, view, supply, settings)
    ranked, user_heaviness, sound = _rank(heaviness[rows], weighing, rows, rivals, settings)
    fresh = totals.age <= settings.totals_ttl and sound
    previous = np.array([state.get(g.incarnation, 0.0) for g in guests], dtype=float)
    x = priority.log_weights(previous, ranked, rivals, held[rows], settings.priority, fresh)
    entitled = _entitled(quota, view, settings)[rows]
    division = _divide(guests, rows, rivals.part, entitled, x, settings, cpu_unit, granted)
    paper = priority.paper_priorities(ranked) if settings.priority.mode == 'paper' else None
    wanted = {
        name: _wanted(name, limit, weighing, division, paper, supply, settings)
        for name, limit in limits.items()
    }
    return RoundPlan(
        weighing=weighing,
        view=view,
        totals=totals,
        fresh=fresh,
        owners=rows,
        user_heaviness=user_heaviness,
        priority=ranked,
        x=x,
        weights=division.weights,
        rivals=rivals,
        wanted=wanted,
        policy=settings.policy,
        granted=granted,
    )


def _of_owners(
    totals: CloudTotals, width: int, quota: Array, view: CloudNorm, settings: FairnessSettings
) -> tuple[Array, Array]:
    """h_u of the owners of the totals, and what of it is above that of an owner without VMs."""
    sums = _of_width(totals.sums, width)
    heaviness = settings.metric.user(sums, quota, view)
    return heaviness, heaviness - settings.metric.user(np.zeros_like(sums), quota, view)


def _rank(
    user_heaviness: Array,
    weighing: Weighing,
    rows: Rows,
    rivals: Competition,
    settings: FairnessSettings,
) -> tuple[Array, Array, bool]:
    """H(v) and the user heaviness, 0 where they are no numbers; and whether all were numbers."""
    ranked = priority.priorities(
        user_heaviness, weighing.emphasis, rows, rivals.part, settings.priority
    )
    numbers = np.isfinite(ranked)
    kept = np.where(numbers, user_heaviness, 0.0)
    return np.where(numbers, ranked, 0.0), kept, bool(numbers.all())


def _divide(
    guests: Sequence[Guest],
    rows: Rows,
    part: Array,
    entitled: Array,
    x: Array,
    settings: FairnessSettings,
    cpu_unit: int,
    granted: EffectiveAllocations,
) -> host_division.Division:
    """The host among its guests, as the policy says."""
    size = np.array([g.vcpus * cpu_unit for g in guests], dtype=float)
    base = np.array([g.base_shares or g.vcpus * cpu_unit for g in guests], dtype=float)
    if settings.policy != host_division.FAIRNESS:
        tempering = x if settings.policy == host_division.COMBINED else None
        return host_division.by_allocations(guests, granted, base, cpu_unit, tempering)
    weights = priority.relative_weights(size, base, rows, part, entitled, x, settings.priority)
    return host_division.by_weights(
        weights, np.array([g.memory_bytes for g in guests], dtype=float)
    )


def nova_value(control: str, guest: Guest, limits: Limits) -> int:
    """What the control is when Nova starts the guest and nobody else touches it."""
    if control == 'cpu' and guest.base_shares is not None:
        return min(max(guest.base_shares, limits.minimum), limits.maximum)
    return limits.default


def _of_width(sums: Array, width: int) -> Array:
    """Sums with as many columns as the metric has: a host may have announced others."""
    result = np.zeros((len(sums), width))
    result[:, : sums.shape[1]] = sums[:, :width]
    return result


def _rivals(
    weighing: Weighing, view: CloudNorm, supply: HostSupply, settings: FairnessSettings
) -> Competition:
    """Who competes for this host."""
    measured = weighing.measurement
    return competition(
        np.where(measured.seen[:, None], measured.load, weighing.endowment),
        weighing.endowment,
        measured.ready,
        measured.seen,
        np.where(weighing.supply > 0, view.norm, 0.0),
        supply.core_score,
        settings.idle,
        settings.idle_cores,
    )


def _entitled(quota: Array, view: CloudNorm, settings: FairnessSettings) -> Array:
    """Relative right of each owner of the totals; of mean 1 over all owners of the cloud."""
    if settings.entitlement != 'quota' or not len(quota):
        return np.ones(len(quota))
    return np.maximum(ratio(quota[:, CPU] * view.users, view.supply[[CPU]]), LEAST_ENTITLEMENT)


def _wanted(
    control: str,
    limits: Limits,
    weighing: Weighing,
    division: host_division.Division,
    paper: Array | None,
    supply: HostSupply,
    settings: FairnessSettings,
) -> Values:
    """Values of one control, shape (vms,), whole numbers within its limits."""
    guests = weighing.measurement.guests
    if not guests:
        return np.zeros(0, dtype=np.int64)
    if control == 'memory':
        size = np.array([g.memory_bytes for g in guests], dtype=float)
        used = weighing.measurement.load[:, MEMORY]
        if paper is not None:
            values = priority.paper_values(paper, priority.MEMORY_FLOOR, size)
        else:
            # a limit whose default is 0 is a guarantee (memory.low), else it is where reclaim starts
            part = division.ceiling, division.memory, supply.memory_bytes
            values = memory_guarantee.guarantees(used, *part)
            if limits.default:
                values = memory_guarantee.spared(values, used, size)
    elif paper is not None:
        values = priority.paper_values(paper, *priority.PAPER_RANGES[control])
    elif control == 'cpu' and division.shares is not None:
        values = division.shares
    else:
        centre = np.mean([nova_value(control, g, limits) for g in guests])
        values = division.weights * centre
    if control == 'cpu' and paper is None:
        values = least_weight.raised(values, supply.cores, settings.least_cores)
    return np.clip(np.rint(values), limits.minimum, limits.maximum).astype(np.int64)
