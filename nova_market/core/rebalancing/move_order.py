# SPDX-License-Identifier: Apache-2.0
"""From a better placement to migrations that can be carried out, one after the other.

Implements the migration plan of Merkat (INRIA RR-8648), section 2.2.4, and rules A3 and A4 of
doc/source/specs/market.rst; the order, the cost and the way through a third host are beyond the paper.
Units: gains and costs in micro-credits; sizes as in core.rebalancing.layout, row 0 is the RAM in MiB that
is copied.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.ledger.money import credit_text
from nova_market.core.rebalancing.layout import NOWHERE, Layout, LayoutState, fits
from nova_market.core.rebalancing.tabu_search import BalancePlan
from nova_market.core.resource import CPU, MEMORY, Array, Rows
from nova_market.core.share import shares_at, water_levels

SLOWDOWN = 0.1
"""Part of its speed that a guest loses while it is copied (Beloglazov and Buyya, CCPE 24(13), 2012)."""

BY_CORES = np.array([1.0, 0.0])
"""What moves are weighed by where nothing has a price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationSettings:
    """A move must be worth more than it costs: value delivered per period, over `horizon` periods, against
    what its copy takes from the market at the same prices (see `copy_cost`).

    copy_rate:  MiB/s; 0: a copy takes no time and costs nothing
    copy_cores: cores that are busy with a copy, on both hosts together
    period:     seconds
    """

    horizon: int = 60
    copy_rate: float = 110.0
    copy_cores: float = 1.0
    period: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step. hop: a stop on the way, because two full hosts exchange servers.

    error_before, error_after: of the worst server of the host on which it begins, before and after the plan
    gain: micro-credits per period that the plan delivers more because of this server's move
    cost: micro-credits that the copy is worth
    """

    server: int
    source: int
    target: int
    hop: bool
    copied_mib: float
    gain: float
    cost: float
    error_before: float
    error_after: float

    def reason(self, server: str, source: str, target: str) -> str:
        """A4: why, with the numbers and the names of the server and the hosts."""
        way = ' on its way, as both hosts are full' if self.hop else ''
        return (
            f'server {server} from {source} to {target}{way}: the largest error where '
            f'it began falls from {self.error_before:.2%} to {self.error_after:.2%}, '
            f'{credit_text(round(self.gain))} credits a period for {self.copied_mib:.0f} MiB, whose copy '
            f'costs {credit_text(round(self.cost))} credits'
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MigrationPlan:
    """steps in the order in which they fit; dropped: servers that stay after all, with the reason."""

    steps: tuple[Migration, ...]
    dropped: tuple[tuple[int, str], ...]
    before: float
    after: float


Step = tuple[int, int, int, bool]
"""server, source, target, whether it is a stop on the way"""

NOT_WORTH = 'the gain is not worth the copy'
NO_WAY = 'its host has no room for it at any step, and no third host has'
NO_GAIN = 'what can be carried out of the plan would make the largest error worse'


def ordered_moves(
    placement: Layout,
    plan: BalancePlan,
    price: Array,
    settings: MigrationSettings | None = None,
) -> MigrationPlan:
    """The plan's moves that pay, in an order in which everything fits at every step."""
    chosen = settings or MigrationSettings()
    layout = LayoutState(placement)
    start = layout.errors.copy()
    for server in plan.moved:
        layout.move(int(server), int(plan.host[server]))
    gains, dropped = _worthwhile(layout, plan, price, chosen)
    targets = {server: int(layout.host[server]) for server in gains}
    order, layout, stuck = _ordered(placement, targets)
    dropped += [(server, NO_WAY) for server in stuck]
    after = float(layout.errors.max(initial=0.0))
    if after > plan.before:
        dropped += [(server, NO_GAIN) for server in sorted({step[0] for step in order})]
        order, after = [], plan.before
    steps = tuple(
        Migration(
            server=server,
            source=source,
            target=target,
            hop=hop,
            copied_mib=float(placement.size[0, server]),
            gain=gains[server],
            cost=copy_cost(placement, server, price, chosen),
            error_before=float(start[placement.host[server]]),
            # an empty host has no worst server
            error_after=max(float(layout.errors[placement.host[server]]), 0.0),
        )
        for server, source, target, hop in order
    )
    return MigrationPlan(
        steps=steps, dropped=tuple(sorted(dropped)), before=plan.before, after=after
    )


def delivered(placement: Layout, host: int, members: Rows, price: Array) -> float:
    """Micro-credits per period that the servers of a host are charged for: price * min(ideal, actual)."""
    alone = np.zeros(len(members), dtype=np.intp)
    value = 0.0
    for r, unit in enumerate(price):
        bids, caps, ideal = (
            a[r].take(members) for a in (placement.bids, placement.caps, placement.ideal)
        )
        levels = water_levels(bids, caps, alone, placement.capacity[r, [host]])
        value += float(unit) * float(np.minimum(shares_at(levels, bids, caps, alone), ideal).sum())
    return value


def copy_cost(placement: Layout, server: int, price: Array, settings: MigrationSettings) -> float:
    """Micro-credits: what the copy of a server's RAM takes from the market, at the market's prices.

        RAM / rate / period * (p_cpu * (copy_cores + SLOWDOWN * its ideal cores) + p_memory * RAM)

    For so many periods its RAM is taken on the target too, cores copy, and the guest is slower. Gain and cost
    have the same prices, so what is worth a copy does not depend on their level.
    """
    if settings.copy_rate <= 0:
        return 0.0
    copied = float(placement.size[0, server])
    cores = settings.copy_cores + SLOWDOWN * float(placement.ideal[CPU, server])
    taken = float(price[CPU]) * cores + float(price[MEMORY]) * copied
    return copied / settings.copy_rate / settings.period * taken


def _worthwhile(
    layout: LayoutState, plan: BalancePlan, price: Array, settings: MigrationSettings
) -> tuple[dict[int, float], list[tuple[int, str]]]:
    """(gain of each move that stays, those that go): the last found is looked at first."""
    placement = layout.placement
    # a gain is shown in credits, and judged by cores where nothing costs credits
    worth = price if price.any() else BY_CORES
    gains: dict[int, float] = {}
    dropped = []
    for server in reversed(plan.moved.tolist()):
        home, target = int(placement.host[server]), int(layout.host[server])
        both = (home, target)
        with_move, error = _value(layout, both, worth), _worst(layout, both)
        may_return = _fits(placement, layout.used, server, home)
        layout.move(server, home)
        gain = with_move - _value(layout, both, worth)
        over = gain * settings.horizon - copy_cost(placement, server, worth, settings)
        worst = _worst(layout, both)
        # where a copy is free, who is short of his ideal is reason enough
        worthless = over < 0 or (over == 0 and worst <= error)
        if may_return and worthless and worst <= plan.before:
            dropped.append((server, NOT_WORTH))
        else:
            layout.move(server, target)
            gains[server] = gain if price.any() else 0.0
    return gains, dropped


def _value(layout: LayoutState, hosts: tuple[int, int], price: Array) -> float:
    return sum(delivered(layout.placement, h, layout.members[h], price) for h in hosts)


def _worst(layout: LayoutState, hosts: tuple[int, int]) -> float:
    return float(layout.errors[list(hosts)].max())


def _ordered(
    placement: Layout, targets: dict[int, int]
) -> tuple[list[Step], LayoutState, list[int]]:
    """(steps, where they lead, servers that can't move): smallest servers first.

    When nothing fits, one server makes way through a third host, and stays there when its target never
    gets free; without a third host it stays where it is.
    """
    layout = LayoutState(placement)
    pending = sorted(targets, key=lambda s: (float(placement.size[0, s]), s))
    steps: list[Step] = []
    stuck: list[int] = []
    hopped: set[int] = set()
    while pending:
        made = {s for s in pending if _step(layout, steps, s, targets[s], hop=False)}
        if made:
            pending = [s for s in pending if s not in made]
            continue
        for server in pending:
            third = NOWHERE if server in hopped else _third_host(layout, server, targets[server])
            if third != NOWHERE:
                hopped.add(server)
                _step(layout, steps, server, third, hop=True)
                break
        else:
            given_up = pending.pop(0)
            if given_up not in hopped:
                stuck.append(given_up)
    return steps, layout, stuck


def _step(layout: LayoutState, steps: list[Step], server: int, target: int, *, hop: bool) -> bool:
    """Make the step when it fits now."""
    if not _fits(layout.placement, layout.used, server, target) or _kept_apart(
        layout, server, target
    ):
        return False
    steps.append((server, layout.move(server, target), target, hop))
    return True


def _fits(placement: Layout, used: Array, server: int, host: int) -> bool:
    return bool(fits(used[:, host] + placement.size[:, server], placement.room[:, host]))


def _kept_apart(layout: LayoutState, server: int, host: int) -> bool:
    group = layout.placement.apart[server]
    return bool(group != NOWHERE and (layout.placement.apart[layout.members[host]] == group).any())


def _third_host(layout: LayoutState, server: int, target: int) -> int:
    """The host with most RAM free where the server may wait; NOWHERE when there is none."""
    hosts = np.arange(layout.placement.hosts)
    fine = layout.allowed(np.array([server]), hosts, len(layout.host) + 1)[0]
    fine[target] = False
    if not fine.any():
        return NOWHERE
    free = layout.placement.room[0] - layout.used[0]
    return int(np.where(fine, free, -np.inf).argmax())
