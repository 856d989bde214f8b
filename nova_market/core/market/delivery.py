# SPDX-License-Identifier: Apache-2.0
"""What hosts are sent of a round, and whether the round was carried out.

Implements rules F1, F2 and F6 of doc/source/specs/market.rst. Computed from the stored round, so any engine
can do it again. Units: cores, MiB, seconds.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from nova_market.core.ledger.posting import AccountId
from nova_market.core.market.enforced import Confirmed, stated_hosts
from nova_market.core.market.inventory import Allocation
from nova_market.core.market.record import AllocationRecord, RoundRecord, RoundState
from nova_market.core.market.round_document import answering_hosts, halted_servers, stored_payers
from nova_market.core.market.settlement import payer_of
from nova_market.core.resource import HostName

GRACE = 3.0
"""Periods for which hosts keep an allocation after its own: a standby takes two of them to take over."""

LATE = int(GRACE)
"""Periods after its own in which an allocation may be confirmed: while hosts keep it they confirm it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """by_host: allocations to send
    wanted:  server -> host, of those whose confirmation counts
    stated:  hosts that have confirmed something before: only for these a late confirmation is waited for
    """

    by_host: Mapping[HostName, Sequence[Allocation]]
    wanted: Mapping[str, str]
    stated: frozenset[HostName]


def ended_at(period: int, seconds: float) -> float:
    """When a period ends, in seconds since the epoch. seconds: length of a period."""
    return (period + 1) * seconds


def valid_until(period: int, seconds: float) -> float:
    """When the allocations of a period end, in seconds since the epoch. seconds: length of a period."""
    return (period + 1 + GRACE) * seconds


def delivery(
    record: RoundRecord,
    allocated: Sequence[AllocationRecord],
    covered: Mapping[AccountId, float],
) -> Delivery:
    """What each host is sent. covered: the part that payers get whose dues were not held in full.

    A halted server is sent as a server that gets nothing. If it were left out, its host would take it for a
    new server, which has the average of the others without a charge (A5).
    """
    answering, payers = answering_hosts(record.document), stored_payers(record.document)
    # a host without servers gets a message too: without one it would take the market to have ended
    by_host: dict[HostName, list[Allocation]] = {HostName(host): [] for host in sorted(answering)}
    for one in allocated:
        part = covered.get(payer_of(one, payers), 1.0)
        by_host.setdefault(HostName(one.host), []).append(
            Allocation(
                server_id=one.server_id,
                cores=one.actual_cpu * part,
                memory_mib=one.actual_memory_mib * part,
            )
        )
    for name, halted in halted_servers(record.document).items():
        if name in answering:
            by_host[HostName(name)] += [
                Allocation(server_id=server, cores=0.0, memory_mib=0.0) for server in halted
            ]
    wanted = {one.server_id: one.host for one in allocated if one.host in answering}
    return Delivery(by_host=by_host, wanted=wanted, stated=stated_hosts(record.document))


def newly_confirmed(
    reported: Mapping[str, Confirmed], wanted: Mapping[str, str], known: Set[str], ended: float
) -> dict[str, Confirmed]:
    """Server -> its confirmation, of those that are new and count; whenever they have come.

    A server that has left its host is not confirmed, and neither is one whose allocation was in force only
    after the period had ended. ended: when, in seconds since the epoch
    """
    return {
        server: one
        for server, one in reported.items()
        if server not in known and wanted.get(server) == one.host and one.since < ended
    }


def may_be_late(period: int, now: int) -> bool:
    """May allocations of a period that is over still be confirmed? now: the period that it is"""
    return now - period <= LATE


def was_carried_out(
    state: RoundState, allocated: Sequence[AllocationRecord], *, sent: bool
) -> bool:
    """Does a round that is over count? Not one that was stored only: no host has confirmed any of it.

    sent: by the engine that asks, so hosts had the chance to confirm
    """
    return state != RoundState.PLANNED or sent or any(one.confirmed for one in allocated)
