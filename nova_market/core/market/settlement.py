# SPDX-License-Identifier: Apache-2.0
"""What a round holds and charges, as postings.

Implements rules M1, M2, P1 and F2 of doc/source/specs/market.rst. Amounts and keys come from the stored round
and what was held when it was stored, so any engine can do it again. Units: micro-credits.

What was held goes back to its payer in the transaction that charges it, so the payer cannot move it away in
between, and its statement has one line for each server. No payer is charged more than was held.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from nova_market.core.ledger.money import split
from nova_market.core.ledger.posting import (
    BANK,
    ESCROW,
    AccountId,
    Posting,
    Reason,
    account,
    posting_key,
)
from nova_market.core.market.record import AllocationRecord

Payers = Mapping[str, AccountId]
"""Server -> who pays for it, of those for whom their project does not."""


Batch = Sequence[tuple[AccountId, Sequence[Posting]]]
"""Payer by payer, what is posted for him at once."""


def dues(allocated: Iterable[AllocationRecord], payers: Payers) -> dict[AccountId, dict[str, int]]:
    """Payer -> server -> what it costs when its allocation is confirmed; without those that are free."""
    found: dict[AccountId, dict[str, int]] = {}
    for one in allocated:
        if due := one.charge_cpu + one.charge_memory:
            found.setdefault(payer_of(one, payers), {})[one.server_id] = due
    return found


def payer_of(one: AllocationRecord, payers: Payers) -> AccountId:
    """Who pays for a server."""
    return payers.get(one.server_id) or account('project', one.project_id)


def hold_postings(
    period: int, allocated: Iterable[AllocationRecord], payers: Payers
) -> list[Posting]:
    """What every payer will owe, to escrow: posted with the round."""
    return [
        Posting(
            key=posting_key(Reason.HOLD, period, payer),
            reason=Reason.HOLD,
            debit=payer,
            credit=ESCROW,
            amount=sum(owed.values()),
        )
        for payer, owed in sorted(dues(allocated, payers).items())
    ]


def covered(
    allocated: Iterable[AllocationRecord], payers: Payers, holding: Mapping[AccountId, int]
) -> dict[AccountId, float]:
    """Payer -> the part of its dues that was held, of payers that had moved credits away before."""
    owed = {payer: sum(each.values()) for payer, each in dues(allocated, payers).items()}
    return {p: holding.get(p, 0) / due for p, due in owed.items() if holding.get(p, 0) < due}


def waiting_payers(
    allocated: Iterable[AllocationRecord], payers: Payers, missing: Collection[str]
) -> frozenset[AccountId]:
    """Payers of servers whose confirmation may still come: all that was held from them stays held (F2)."""
    owed = dues(allocated, payers)
    return frozenset(p for p, servers in owed.items() if not servers.keys().isdisjoint(missing))


def settlement(
    period: int,
    allocated: Sequence[AllocationRecord],
    payers: Payers,
    holding: Mapping[AccountId, int],
) -> list[tuple[AccountId, list[Posting]]]:
    """By payer: what was held comes back, then a charge for each server whose allocation was confirmed.

    holding: what was held from those who are settled now
    """
    confirmed = {one.server_id for one in allocated if one.confirmed}
    owed = dues(allocated, payers)
    return [
        (payer, [_release(period, payer, amount), *_charges(period, payer, parts, confirmed)])
        for payer, amount in sorted(holding.items())
        for parts in [_parts(owed.get(payer, {}), amount)]
    ]


def batches(wanted: Batch, most: int) -> Iterator[Batch]:
    """About so many postings at a time; those of one payer are never apart."""
    batch: list[tuple[AccountId, Sequence[Posting]]] = []
    size = 0
    for payer, own in wanted:
        batch.append((payer, own))
        size += len(own)
        if size >= most:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def charged_to(other: AccountId, own: Sequence[Posting], payer: AccountId) -> list[Posting]:
    """The postings of a payer, between escrow, bank and the other account instead of its own."""
    return [replace(p, credit=other) if p.credit == payer else replace(p, debit=other) for p in own]


def _parts(owed: Mapping[str, int], amount: int) -> Mapping[str, int]:
    """Server -> its charge, in proportion when less was held than is due."""
    return owed if amount >= sum(owed.values()) else split(amount, owed)


def _release(period: int, payer: AccountId, amount: int) -> Posting:
    return Posting(
        key=posting_key(Reason.RELEASE, period, payer),
        reason=Reason.RELEASE,
        debit=ESCROW,
        credit=payer,
        amount=amount,
    )


def _charges(
    period: int, payer: AccountId, parts: Mapping[str, int], confirmed: Collection[str]
) -> list[Posting]:
    return [
        Posting(
            key=posting_key(Reason.CHARGE, period, server_id),
            reason=Reason.CHARGE,
            debit=payer,
            credit=BANK,
            amount=part,
        )
        for server_id, part in sorted(parts.items())
        if server_id in confirmed and part > 0
    ]
