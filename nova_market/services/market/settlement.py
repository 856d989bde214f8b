# SPDX-License-Identifier: Apache-2.0
"""Holds what a round will charge, charges what was confirmed, and posts what the currency policy decided.

Implements rules M1, M2, P1 and F2 of doc/source/specs/market.rst. Amounts and keys come from the stored round
and what was held when it was stored, so any engine can do it again: what is posted already changes nothing.
Units: micro-credits.

What was held goes back to its payer in the transaction that charges it, so the payer cannot move it away in
between, and its statement has one line for each server. No payer is charged more than was held.
"""

import logging
from collections.abc import Collection, Sequence

from nova_market.core.ledger.posting import (
    AccountId,
    Posting,
    Reason,
    account,
    posting_key,
)
from nova_market.core.market.settlement import Batch, batches, charged_to
from nova_market.errors import BadAmount, BadRow, BalanceTooLow, KeyReused, UnknownAccount
from nova_market.ports import AccountStore, LedgerStore
from nova_market.row_boundary import RowBoundary

LOG = logging.getLogger(__name__)

BATCH = 5000
"""Postings in one transaction."""

REFUSED = (BalanceTooLow, KeyReused, UnknownAccount)
"""What another engine, or a payer, may have caused meanwhile; of other errors a payer is set aside (R2)."""

LEFT_OUT = (*REFUSED, BadAmount, BadRow)
"""Of a single posting: also an account that can hold no more, and one that is posted and cannot be read."""


def held(ledger: LedgerStore, period: int) -> dict[AccountId, int]:
    """Payer -> what was held for a round; the same before and after its settlement."""
    return {debit: amount for (debit, _), amount in ledger.totals(period, Reason.HOLD).items()}


def settled_payers(
    ledger: LedgerStore, period: int, payers: Collection[AccountId]
) -> frozenset[AccountId]:
    """Those of these payers to whom what was held for a round has been released, with their charges."""
    if not ledger.totals(period, Reason.RELEASE):
        return frozenset()
    keys = {posting_key(Reason.RELEASE, period, payer): payer for payer in payers}
    return frozenset(keys[key] for key in ledger.posted(list(keys)))


def settle(
    ledger: LedgerStore, accounts: AccountStore, boundary: RowBoundary, wanted: Batch, by: str
) -> frozenset[AccountId]:
    """Post what `settlement` gives; the payers for whom that is done, others are tried another time."""

    def post(some: Batch) -> Sequence[AccountId]:
        try:
            ledger.post([posting for _, own in some for posting in own], by=by)
        except REFUSED:
            if len(some) > 1:
                raise
            for payer, own in some:
                _settle_one(ledger, accounts, payer, own, by)
        return [payer for payer, _ in some]

    done = (
        boundary.batch('account', batch, lambda one: one[0], 'settle', post)
        for batch in batches(wanted, BATCH)
    )
    return frozenset(payer for some in done for payer in some)


def settle_currency(ledger: LedgerStore, postings: Sequence[Posting], by: str) -> int:
    """Post what the currency policy has decided; what can't be posted any more is left out."""
    new = 0
    for start in range(0, len(postings), BATCH):
        batch = postings[start : start + BATCH]
        try:
            new += ledger.post(batch, by=by)
        except LEFT_OUT:
            new += sum(_alone(ledger, posting, by) for posting in batch)
    return new


def _settle_one(
    ledger: LedgerStore, accounts: AccountStore, payer: AccountId, own: Sequence[Posting], by: str
) -> None:
    """All of one payer in one transaction; a budget that was closed meanwhile is its project's."""
    try:
        ledger.post(own, by=by)
    except UnknownAccount as error:
        project = _project(accounts, payer)
        if project == payer:
            LOG.error('what was held from %s stays held: %s', payer, error)
            return
        _settle_one(ledger, accounts, project, charged_to(project, own, payer), by)
    except REFUSED as error:
        # another engine has settled it, with fewer confirmations or from another account
        LOG.warning('charges of %s are left as they are: %s', payer, error)
        _alone(ledger, own[0], by)


def _project(accounts: AccountStore, payer: AccountId) -> AccountId:
    found = accounts.account(payer)
    return account('project', found.project_id) if found and found.project_id else payer


def _alone(ledger: LedgerStore, posting: Posting, by: str) -> int:
    try:
        return ledger.post([posting], by=by)
    except LEFT_OUT as error:
        LOG.warning('%s is left out: %s', posting.key, error)
        return 0
