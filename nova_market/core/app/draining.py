# SPDX-License-Identifier: Apache-2.0
"""A server that is given up ends its work before it is deleted: when it may begin, and when it goes.

Implements rules G1 to G5 of doc/source/specs/market.rst, for the "release (nvms - N) VMs" of Merkat (INRIA
RR-8648), Algorithm 3, which leaves open what becomes of their work. Units: seconds since the epoch.

The order is that of a load balancer: the others take the server out, it ends what it has, it is deleted.
Every wait has an end, so that no agent that is silent, wrong or malicious keeps a server.
"""

from collections.abc import Iterable, Mapping, Sequence

from nova_market.core.app.record import AppReport, DesiredServerState, HookReport, StoredSlot
from nova_market.core.market.owner_server import ServerState

LEAVE_SECONDS = 60.0
"""For the others to take a server out: two reports of an agent at its default interval."""

WATCHER_LIFE = 120.0
"""An agent that was silent for so long is not waited for: four reports at its default interval."""

DEAD = (ServerState.BUILDING, ServerState.STOPPED, ServerState.FAILED, ServerState.DELETING)
"""Nothing works there. One that is suspended is resumed first: it was suspended with its application."""


def load(reports: Iterable[AppReport], since: float) -> Mapping[str, int]:
    """Tasks of each server, by its id, as far as they were reported since then."""
    return {
        one.server_id: (one.waiting or 0) + (one.busy or 0)
        for one in reports
        if one.server_id and one.at >= since and (one.waiting, one.busy) != (None, None)
    }


def is_drained(slot: StoredSlot, report: HookReport | None) -> bool:
    """Its agent has reported the end of its work, of this draining and not of an earlier one."""
    return report is not None and report.drain == slot.drain_id and bool(report.drained)


def drain_end(
    slot: StoredSlot, state: ServerState | None, report: HookReport | None, now: float
) -> str:
    """Why a draining server is deleted now; '' while it works. state: in the cloud, None: it is gone."""
    if state is None:
        return 'it is gone'
    if state in DEAD:
        return f'nothing works there: it is {state}'
    if is_drained(slot, report):
        return f'its work ended {now - slot.drain_at:.0f} s after it was given up'
    if now >= slot.drain_until:
        return f'its work did not end in {slot.drain_until - slot.drain_at:.0f} s'
    return ''


def may_begin(
    slot: StoredSlot,
    slots: Sequence[StoredSlot],
    version: str | None,
    reports: Iterable[HookReport],
    now: float,
) -> bool:
    """Whether a draining server ends its work now: all others have taken it out, or had the time to.

    version: of the present list of members; None: there is none to act on. reports: of all servers.
    """
    limit = min(LEAVE_SECONDS, (slot.drain_until - slot.drain_at) / 2)
    if version is None or now >= slot.drain_at + limit:
        return True
    stay = {one.server_id for one in slots if one.intention is DesiredServerState.PRESENT} | {''}
    return all(
        one.members == version
        for one in reports
        if one.members is not None
        and one.server_id in stay
        and one.server_id != slot.server_id
        and now - one.at < WATCHER_LIFE
    )


def bid_of_each(bid: tuple[float, float], stay: int, drain: int) -> tuple[int, int]:
    """(cpu, memory) of one server: those that drain are paid out of what was decided for those that stay."""
    part = stay / max(stay + drain, 1)
    return int(bid[0] * part), int(bid[1] * part)
