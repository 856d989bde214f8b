# SPDX-License-Identifier: Apache-2.0
"""Whose the credits in escrow are.

For rule M6 of doc/source/specs/market.rst. They are held for rounds that are not settled (M1), for jobs that
have not ended (J2, J8 of jobs.rst) and for leases that are not over (L6 of leases.rst); what jobs that were
displaced are owed is of the project of the job that displaced them, which has paid it in. An offer that was
accepted has its job or lease, and the fee of a held one is paid at once. Units: micro-credits.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Select, func, select

from nova_market.core.ledger.posting import ESCROW, Reason
from nova_market.db.database import Database
from nova_market.db.job_purge import OVER as ENDED
from nova_market.db.job_tables import job_queues, jobs
from nova_market.db.lease_tables import leases
from nova_market.db.leases import LIVE
from nova_market.db.ledger_tables import accounts, postings
from nova_market.db.market_tables import rounds
from nova_market.db.rounds import OPEN


class DatabaseEscrow:
    """Implements ports.EscrowStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def held(self) -> Mapping[str, int]:
        """Project -> what is in escrow for it."""
        return self._database.read(_held)


def _held(connection: Connection) -> dict[str, int]:
    found: Counter[str] = Counter()
    for query in (_of_rounds(), _released(), _of_jobs(), _owed(), _of_leases()):
        found.update({project: int(amount) for project, amount in connection.execute(query)})
    return {project: amount for project, amount in sorted(found.items()) if project and amount > 0}


def _of_rounds() -> Select[Any]:
    """What open rounds have taken, by the project of who pays."""
    return _moved(Reason.HOLD, postings.c.amount, postings.c.debit, postings.c.credit)


def _released() -> Select[Any]:
    """What of that came back, below zero."""
    return _moved(Reason.RELEASE, -postings.c.amount, postings.c.credit, postings.c.debit)


def _moved(
    reason: Reason, amount: ColumnElement[int], payer: Column[str], other: Column[str]
) -> Select[Any]:
    is_open = select(rounds.c.period).where(rounds.c.state.in_(OPEN)).scalar_subquery()
    query = select(accounts.c.project_id, func.sum(amount)).select_from(postings)
    query = query.join(accounts, accounts.c.id == payer).where(other == ESCROW)
    query = query.where(postings.c.reason == str(reason), postings.c.period.in_(is_open))
    return query.group_by(accounts.c.project_id)


def _of_jobs() -> Select[Any]:
    """Of jobs that have not ended; one in a queue of its own project moves nothing."""
    amount = func.sum(jobs.c.cost_limit + jobs.c.reserve)
    query = select(jobs.c.project_id, amount).join(job_queues, job_queues.c.id == jobs.c.queue_id)
    query = query.where(jobs.c.state.not_in(ENDED), jobs.c.project_id != job_queues.c.project_id)
    return query.group_by(jobs.c.project_id)


def _owed() -> Select[Any]:
    other = jobs.alias('displacer')
    project = func.coalesce(other.c.project_id, jobs.c.project_id)
    query = select(project, func.sum(jobs.c.owed)).select_from(jobs)
    query = query.outerjoin(other, other.c.id == jobs.c.displaced_by)
    return query.where(jobs.c.state.not_in(ENDED), jobs.c.owed > 0).group_by(project)


def _of_leases() -> Select[Any]:
    amount = func.sum(leases.c.cost - leases.c.charged - leases.c.refunded)
    return select(leases.c.payer_id, amount).where(LIVE).group_by(leases.c.payer_id)
