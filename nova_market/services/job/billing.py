# SPDX-License-Identifier: Apache-2.0
"""Attempts and jobs that have ended are paid for.

Implements the money of rules J2, J4 and F5 of doc/source/specs/jobs.rst around core.job.billing. Called
before the step that ends an attempt or a job is stored; whoever is killed in between calls it again, and what
was posted first counts. What cannot be posted is left out and logged: a job never stays because of money. One
whose money cannot be computed, or with a posting that cannot be read, is set aside (rule R2 of
doc/source/specs/passes.rst).
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nova_market.core.job.billing import Settlement, keys_of, settlement
from nova_market.core.job.charge import EndedRun, Settled
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import BANK, AccountId, Posting, account
from nova_market.errors import (
    BadAmount,
    BadRow,
    BalanceTooLow,
    KeyReused,
    PeriodPurged,
    UnknownAccount,
)
from nova_market.ports import AccountStore, LedgerStore
from nova_market.row_boundary import RowBoundary

LOG = logging.getLogger(__name__)

BATCH = 1000
"""Jobs that are settled in one transaction: at most five postings each."""

REFUSED = (BadAmount, BalanceTooLow, KeyReused, PeriodPurged, UnknownAccount)


class Billing:
    """Settles what has ended. by: in statements. Remembers nothing."""

    def __init__(
        self,
        ledger: LedgerStore,
        accounts: AccountStore,
        boundary: RowBoundary,
        by: str = 'nova-market-jobs',
    ) -> None:
        self._ledger = ledger
        self._accounts = accounts
        self._boundary = boundary
        self._by = by

    def settle(self, runs: Sequence[EndedRun]) -> Mapping[str, Settled]:
        """What the columns of these jobs are to be, by id; each job once, without those that are set aside.

        :raises errors.DatabaseUnavailable: some of it may be posted; settle the same again.
        """
        found: dict[str, Settled] = {}
        for start in range(0, len(runs), BATCH):
            found |= self._settle(runs[start : start + BATCH])
        return found

    def _settle(self, runs: Sequence[EndedRun]) -> dict[str, Settled]:
        priced = [key for run in runs if _costs(run) for key in keys_of(run)]
        posted = self._ledger.posted(priced) if priced else {}
        unread = self._boundary.unread('posting')
        every = []
        for run in runs:
            with self._boundary.row('job', run.job.id, 'charge'):
                for key in keys_of(run):
                    if key in unread:
                        raise BadRow(f'posting {key} cannot be read')
                every.append(settlement(run, posted))
        return dict(self._boundary.batch('job', every, _job_of, 'pay', self._post))

    def _post(self, some: Sequence[Settlement]) -> Sequence[tuple[str, Settled]]:
        """In one transaction, unless something in it is refused."""
        try:
            self._ledger.post([posting for one in some for posting in _all(one)], by=self._by)
        except REFUSED:
            if len(some) > 1:
                raise
            return [(_job_of(one), one.settled(held_again=self._post_one(one))) for one in some]
        return [(_job_of(one), one.settled(held_again=True)) for one in some]

    def _post_one(self, one: Settlement) -> bool:
        """Whether one job could be held again: first with what another run may cost, then without."""
        for project_id in (one.run.queue.project_id, one.run.job.project_id):
            self._open(project_id)
        refusal: Exception | None = None
        for more in (one.again, one.rest) if one.goes_on else (one.rest,):
            try:
                self._ledger.post(self._between_open_accounts([*one.postings, *more]), by=self._by)
                return one.goes_on and more is one.again
            except REFUSED as error:
                refusal = error
        LOG.error('job %s is not charged: %s', one.run.job.id, refusal)
        return one.goes_on

    def _open(self, project_id: str) -> None:
        """The account of a project that nobody has paid before."""
        self._accounts.open([Account(id=account('project', project_id), project_id=project_id)])

    def _between_open_accounts(self, postings: Sequence[Posting]) -> list[Posting]:
        """With the bank instead of accounts that were closed meanwhile."""
        names = dict.fromkeys(name for one in postings for name in (one.debit, one.credit))
        now = {name: self._or_bank(name) for name in names}
        ends = [(one, now[one.debit], now[one.credit]) for one in postings]
        return [replace(one, debit=a, credit=b) for one, a, b in ends if a != b]

    def _or_bank(self, name: AccountId) -> AccountId:
        found = self._accounts.account(name)
        return BANK if found is not None and found.closed else name


def _job_of(one: Settlement) -> str:
    return one.run.job.id


def _costs(run: EndedRun) -> bool:
    return bool(run.job.cost_limit or run.job.owed)


def _all(one: Settlement) -> tuple[Posting, ...]:
    return (*one.postings, *(one.again if one.goes_on else one.rest))
