# SPDX-License-Identifier: Apache-2.0
"""Why a guest weighs what it weighs, in words and numbers an operator can check."""

from collections import Counter

from nova_market.core.fairness import host_division
from nova_market.core.fairness.round import RoundPlan
from nova_market.core.host.sample import Guest

NEAR = 0.02
"""Difference of log-weight that is called even: 2 %."""


def explanations(plan: RoundPlan) -> tuple[str, ...]:
    """One sentence on each guest of the plan; what guests have in common is counted once."""
    if plan.policy == host_division.MARKET:
        return tuple(
            '; '.join([_allocation(plan, guest), *_itself(guest)]) for guest in plan.guests
        )
    mean = plan.rivals.mean(plan.priority)
    active = plan.rivals.part > 0
    mine = Counter(plan.owners.tolist())
    busy = Counter(plan.owners[active].tolist())
    return tuple(
        '; '.join(
            [
                *([] if plan.policy == host_division.FAIRNESS else [_allocation(plan, guest)]),
                _standing(plan, priority, x, mean, idle=not competes),
                *_company(mine[owner], busy[owner]),
                *_itself(guest),
            ]
        )
        for guest, owner, priority, x, competes in zip(
            plan.guests,
            plan.owners.tolist(),
            plan.priority.tolist(),
            plan.x.tolist(),
            active.tolist(),
            strict=True,
        )
    )


def _standing(plan: RoundPlan, priority: float, x: float, mean: float, *, idle: bool) -> str:
    if not plan.fresh:
        return f'no totals for {plan.totals.age:.0f} s: back to the local grouping'
    if idle and x > -NEAR:
        return 'idle: weight of the mean until it competes'
    relation = 'heavier than' if x < 0 else 'lighter than'
    if abs(x) < NEAR:
        relation = 'as heavy as'
    return f'{"idle, " if idle else ""}{relation} the mean ({priority:+.3f} against {mean:+.3f})'


def _company(mine: int, busy: int) -> list[str]:
    return [f'shares with {mine - 1} more of its owner, {busy} of {mine} busy'] if mine > 1 else []


def _allocation(plan: RoundPlan, guest: Guest) -> str:
    granted = plan.granted
    if granted.strength == 0.0:
        return 'nothing allocated by the market: weight of its flavor'
    got = granted.allocations.get(guest.id)
    if got is None:
        text = f'not in the allocations of period {granted.period}: average per vCPU'
    else:
        text = (
            f'allocated {got.cores:.3g} of {guest.vcpus} cores and {got.memory_mib:.0f} MiB in period '
            f'{granted.period}'
        )
    if granted.in_force:
        return text
    return f'{text}, {1 - granted.strength:.0%} of the way back to its flavor: the market is silent'


def _itself(guest: Guest) -> list[str]:
    parts = []
    if guest.base_shares is not None:
        parts.append(f'flavor asks for {guest.base_shares} shares')
    if guest.fallback:
        parts.append('owner unknown')
    return parts


def summary(plan: RoundPlan) -> str:
    """One line on the whole round: who is heavy, who is light, on what ground."""
    seen: dict[str, tuple[float, float]] = {}
    for i, guest in enumerate(plan.guests):
        _, weight = seen.get(guest.owner, (0.0, 0.0))
        seen[guest.owner] = float(plan.user_heaviness[i]), weight + float(plan.weights[i])
    whole = sum(weight for _, weight in seen.values()) or 1.0
    ranked = sorted(seen.items(), key=lambda item: (-item[1][0], item[0]))
    shown = ', '.join(
        f'{owner} h={h:+.3f} gets {100 * w / whole:.0f}%' for owner, (h, w) in ranked[:8]
    )
    more = f' and {len(ranked) - 8} more' if len(ranked) > 8 else ''
    ground = f'totals of {plan.totals.hosts} hosts' if plan.fresh else 'totals too old, decaying'
    return f'{len(plan.guests)} guests of {len(ranked)} owners, {ground}: {shown}{more}'
