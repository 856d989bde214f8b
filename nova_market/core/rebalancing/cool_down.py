# SPDX-License-Identifier: Apache-2.0
"""Which servers rest from migrations, and for how long.

Implements the cool-down per server of rule A3 of doc/source/specs/market.rst, beyond the paper. Units:
seconds; wall-clock times, as they come from the database and outlive the engine.

A server rests after each migration, so that two rounds do not move it back and forth, and twice as long after
each failure in a row: a guest that writes faster than the network copies fails every time.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from nova_market.core.rebalancing.plan import MoveState, StoredMove

DOUBLINGS = 40
"""More failures make no difference: 2^40 times any rest is for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoolDown:
    """rest: after a migration; longest: at most, however often it failed."""

    rest: float = 600.0
    longest: float = 86_400.0


def resting(moves: Iterable[StoredMove], now: float, settings: CoolDown) -> frozenset[str]:
    """Servers that rest at `now`, from what came of all their moves."""
    failures: dict[str, int] = {}
    until: dict[str, float] = {}
    for move in sorted(moves, key=lambda one: one.changed_at):
        if move.state not in (MoveState.DONE, MoveState.FAILED):
            continue
        failed = move.state == MoveState.FAILED
        failures[move.server_id] = failures.get(move.server_id, 0) + 1 if failed else 0
        until[move.server_id] = rests_until(move.changed_at, failures[move.server_id], settings)
    return frozenset(server for server, end in until.items() if end > now)


def rests_until(ended: float, failures: int, settings: CoolDown) -> float:
    """When a server may move again. ended: its last move; failures: in a row, that one included."""
    return ended + min(settings.rest * 2.0 ** min(failures, DOUBLINGS), settings.longest)
