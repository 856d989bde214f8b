# SPDX-License-Identifier: Apache-2.0
"""Charges what was confirmed, once, and posts what the currency policy has decided.

Implements rules M2, P1 and F2 of doc/source/specs/market.rst. Amounts and keys come from the stored round,
so any engine can do it again: what is posted already changes nothing. Units: micro-credits.

A payer who has moved his credits away since the round was decided pays what is left, in proportion.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence

from nova_market.core.ledger import BANK, AccountId, Posting, Reason, account, posting_key
from nova_market.core.money import split
from nova_market.core.record import AllocationRecord
from nova_market.errors import BalanceTooLow, KeyReused, UnknownAccount
from nova_market.ports import LedgerStore

LOG = logging.getLogger(__name__)

BATCH = 5000
"""Postings in one transaction."""

REFUSED = (BalanceTooLow, KeyReused, UnknownAccount)


def charge_postings(
    period: int, allocated: Iterable[AllocationRecord], payers: Mapping[str, AccountId]
) -> list[Posting]:
    """One for each server whose allocation was confirmed and costs something, payer by payer."""
    postings = [
        Posting(
            key=posting_key(Reason.CHARGE, period, one.server_id),
            reason=Reason.CHARGE,
            debit=payers.get(one.server_id) or account('project', one.project_id),
            credit=BANK,
            amount=one.charge_cpu + one.charge_memory,
        )
        for one in allocated
        if one.confirmed and one.charge_cpu + one.charge_memory > 0
    ]
    return sorted(postings, key=lambda posting: (posting.debit, posting.key))


def settle_charges(ledger: LedgerStore, postings: Sequence[Posting], by: str) -> int:
    """Post charges; how many were new."""
    return sum(_charge(ledger, batch, by) for batch in _batches(postings))


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


def _batches(postings: Sequence[Posting]) -> Iterable[list[Posting]]:
    """Some thousand at a time, those of one payer never apart."""
    batch: list[Posting] = []
    for posting in postings:
        if len(batch) >= BATCH and batch[-1].debit != posting.debit:
            yield batch
            batch = []
        batch.append(posting)
    if batch:
        yield batch


def _charge(ledger: LedgerStore, batch: Sequence[Posting], by: str) -> int:
    try:
        return ledger.post(batch, by=by)
    except REFUSED:
        payers: dict[AccountId, list[Posting]] = {}
        for posting in batch:
            payers.setdefault(posting.debit, []).append(posting)
        return sum(_charge_one(ledger, payer, own, by) for payer, own in payers.items())


def _charge_one(ledger: LedgerStore, payer: AccountId, own: list[Posting], by: str) -> int:
    """The charges of one payer, all in one transaction; what he has, where that is less."""
    try:
        return ledger.post(own, by=by)
    except BalanceTooLow:
        have = ledger.balances([payer]).get(payer, 0)
    except (KeyReused, UnknownAccount) as error:
        # charged in part by a settlement before this one, or the account was closed
        LOG.warning('charges of %s are left as they are: %s', payer, error)
        return 0
    parts = split(have, {posting.key: posting.amount for posting in own})
    less = [
        Posting(key=p.key, reason=p.reason, debit=p.debit, credit=p.credit, amount=parts[p.key])
        for p in own
        if parts.get(p.key, 0) > 0
    ]
    LOG.warning(
        '%s owed %d micro-credits and has %d left: it moved credits away during the period',
        payer, sum(p.amount for p in own), have,
    )  # fmt: skip
    try:
        return ledger.post(less, by=by)
    except REFUSED as error:
        LOG.warning('charges of %s are left as they are: %s', payer, error)
        return 0


def _alone(ledger: LedgerStore, posting: Posting, by: str) -> int:
    try:
        return ledger.post([posting], by=by)
    except REFUSED as error:
        LOG.warning('%s is left out: %s', posting.key, error)
        return 0
