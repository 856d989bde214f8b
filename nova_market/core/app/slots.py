# SPDX-License-Identifier: Apache-2.0
"""Which servers of an application shall be, by component and number."""

from collections.abc import Sequence
from dataclasses import replace

from nova_market.core.app.record import DesiredServerState, StoredApp, StoredSlot


def slots_for(
    app: StoredApp,
    slots: Sequence[StoredSlot],
    counts: dict[str, int],
    intention: DesiredServerState,
) -> list[StoredSlot]:
    """The rows that change, so that so many servers of each component have this intention.

    More servers take the lowest numbers that are free; fewer: those go first that were never made, then the
    highest numbers.
    """
    changed = []
    for component, count in sorted(counts.items()):
        own = [one for one in slots if one.component == component]
        stay = [one for one in own if one.intention is not DesiredServerState.GONE]
        stay.sort(key=lambda one: (not one.server_id, one.number))
        changed += [replace(one, intention=DesiredServerState.GONE) for one in stay[count:]]
        changed += [
            replace(one, intention=intention)
            for one in stay[:count]
            if one.intention is not intention
        ]
        if intention is DesiredServerState.PRESENT:
            taken = {one.number for one in own}
            free = (n for n in range(1, count + len(own) + 1) if n not in taken)
            changed += [
                StoredSlot(app_id=app.id, component=component, number=next(free))
                for _ in range(count - len(stay))
            ]
    return changed
