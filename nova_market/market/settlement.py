# SPDX-License-Identifier: Apache-2.0
"""Holds what a round will charge, charges what was confirmed, and posts what the currency policy decided.

Implements rules M1, M2, P1 and F2 of doc/source/specs/market.rst. Amounts and keys come from the stored round
and what was held when it was stored, so any engine can do it again: what is posted already changes nothing.
Units: micro-credits.

What was held goes back to its payer in the transaction that charges him, so he can't move it away in
between, and his statement has one line for each server. Nobody is charged more than was held.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from nova_market.core.ledger import BANK, ESCROW, AccountId, Posting, Reason, account, posting_key
from nova_market.core.money import split
from nova_market.core.record import AllocationRecord
from nova_market.errors import BalanceTooLow, KeyReused, UnknownAccount
from nova_market.ports import AccountStore, LedgerStore

LOG = logging.getLogger(__name__)

BATCH = 5000
"""Postings in one transaction."""

REFUSED = (BalanceTooLow, KeyReused, UnknownAccount)

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


def held(ledger: LedgerStore, period: int) -> dict[AccountId, int]:
    """Payer -> what was held for a round; the same before and after its settlement."""
    return {debit: amount for (debit, _), amount in ledger.totals(period, Reason.HOLD).items()}


def covered(
    allocated: Iterable[AllocationRecord], payers: Payers, holding: Mapping[AccountId, int]
) -> dict[AccountId, float]:
    """Payer -> the part of his dues that was held, of those who have moved credits away before that."""
    owed = {payer: sum(each.values()) for payer, each in dues(allocated, payers).items()}
    return {p: holding.get(p, 0) / due for p, due in owed.items() if holding.get(p, 0) < due}


def settlement(
    period: int,
    allocated: Sequence[AllocationRecord],
    payers: Payers,
    holding: Mapping[AccountId, int],
) -> list[tuple[AccountId, list[Posting]]]:
    """By payer: what was held comes back, then a charge for each server whose allocation was confirmed."""
    confirmed = {one.server_id for one in allocated if one.confirmed}
    owed = dues(allocated, payers)
    return [
        (payer, [_release(period, payer, amount), *_charges(period, payer, parts, confirmed)])
        for payer, amount in sorted(holding.items())
        for parts in [_parts(owed.get(payer, {}), amount)]
    ]


def settle(ledger: LedgerStore, accounts: AccountStore, wanted: Batch, by: str) -> int:
    """Post what `settlement` says; how many postings were new."""
    return sum(_settle(ledger, accounts, batch, by) for batch in _batches(wanted))


def settle_currency(ledger: LedgerStore, postings: Sequence[Posting], by: str) -> int:
    """Post what the currency policy has decided; what can't be posted any more is left out."""
    new = 0
    for start in range(0, len(postings), BATCH):
        batch = postings[start : start + BATCH]
        try:
            new += ledger.post(batch, by=by)
        except REFUSED:
            new += sum(_alone(ledger, posting, by) for posting in batch)
    return new


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


def _batches(wanted: Batch) -> Iterable[Batch]:
    """Some thousand postings at a time, those of one payer never apart."""
    batch: list[tuple[AccountId, Sequence[Posting]]] = []
    size = 0
    for payer, own in wanted:
        batch.append((payer, own))
        size += len(own)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _settle(ledger: LedgerStore, accounts: AccountStore, batch: Batch, by: str) -> int:
    try:
        return ledger.post([posting for _, own in batch for posting in own], by=by)
    except REFUSED:
        return sum(_settle_one(ledger, accounts, payer, own, by) for payer, own in batch)


def _settle_one(
    ledger: LedgerStore, accounts: AccountStore, payer: AccountId, own: Sequence[Posting], by: str
) -> int:
    """All of one payer in one transaction; a budget that was closed meanwhile is its project's."""
    try:
        return ledger.post(own, by=by)
    except UnknownAccount as error:
        project = _project(accounts, payer)
        if project == payer:
            LOG.error('what was held from %s stays held: %s', payer, error)
            return 0
        return _settle_one(ledger, accounts, project, _instead(own, payer, project), by)
    except (BalanceTooLow, KeyReused) as error:
        # another engine has settled it, with fewer confirmations or from another account
        LOG.warning('charges of %s are left as they are: %s', payer, error)
        return _alone(ledger, own[0], by)


def _project(accounts: AccountStore, payer: AccountId) -> AccountId:
    found = accounts.account(payer)
    return account('project', found.project_id) if found and found.project_id else payer


def _instead(own: Sequence[Posting], payer: AccountId, project: AccountId) -> list[Posting]:
    """The same postings between escrow, bank and the project."""
    return [
        replace(p, credit=project) if p.credit == payer else replace(p, debit=project) for p in own
    ]


def _alone(ledger: LedgerStore, posting: Posting, by: str) -> int:
    try:
        return ledger.post([posting], by=by)
    except REFUSED as error:
        LOG.warning('%s is left out: %s', posting.key, error)
        return 0
