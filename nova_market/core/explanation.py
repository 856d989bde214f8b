# SPDX-License-Identifier: Apache-2.0
"""Why a guest weighs what it weighs, in words and numbers an operator can check."""

import numpy as np

from nova_market.core.fairness import RoundPlan

NEAR = 0.02
"""Difference of log-weight that is called even: 2 %."""


def explain(plan: RoundPlan, row: int) -> str:
    """One sentence on guest number `row` of the plan."""
    guest = plan.guests[row]
    mine = [i for i in range(len(plan.guests)) if plan.owners[i] == plan.owners[row]]
    busy = sum(1 for i in mine if plan.active[i])
    parts = []
    if not plan.fresh:
        parts.append(f'no totals for {plan.totals.age:.0f} s: back to the local grouping')
    else:
        mean = float(np.mean(plan.priority))
        relation = 'heavier than' if plan.x[row] < 0 else 'lighter than'
        if abs(plan.x[row]) < NEAR:
            relation = 'as heavy as'
        parts.append(f'{relation} the mean ({plan.priority[row]:+.3f} against {mean:+.3f})')
    if len(mine) > 1:
        parts.append(f'shares with {len(mine) - 1} more of its owner, {busy} of {len(mine)} busy')
    if not plan.active[row]:
        parts.append('idle')
    if guest.base_shares is not None:
        parts.append(f'flavor asks for {guest.base_shares} shares')
    if guest.fallback:
        parts.append('owner unknown')
    return '; '.join(parts)


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
