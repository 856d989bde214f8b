# SPDX-License-Identifier: Apache-2.0
"""Old history is taken away, in small transactions; no balance changes.

Implements the limits of rules M2, P3 and P4 of doc/source/specs/market.rst. Up to the newest period that
began before a given time and lies before every unfinished round: documents, allocations, prices, the economy,
rounds, and the postings that carry a period, whose sums stay in their accounts' `carried`. Plans that are
proposed or running are kept. Bids go of servers that no kept round has seen and that were not changed since,
applications that have ended, and accounts that are closed and that nothing names any more. Where the horizon
lies is written down first: a posting for a period before it is refused from then on, as nobody could tell
whether it was there.

What belongs to no period, such as transfers and what jobs and leases cost, goes by its age. Its keys say
nothing of time: until then they stand for the same thing, and later for another one. Of a job that has not
ended, and of an offer that is not settled, it stays: what was posted decides when that is settled again.

Jobs that have ended go with what they ran, leases that are over and bags that have ended with their events,
and usage history of all resolutions.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Table, bindparam, delete, exists, func, select, update

from nova_market.core.ledger.posting import NO_PERIOD
from nova_market.db.accounts import UNUSED
from nova_market.db.app_tables import apps
from nova_market.db.apps import remove_apps
from nova_market.db.bags import some_bags
from nova_market.db.database import Database, Work
from nova_market.db.job_purge import OVER, some_jobs, some_minutes
from nova_market.db.job_tables import jobs
from nova_market.db.leases import some_leases
from nova_market.db.ledger import lock_accounts, slices
from nova_market.db.ledger_tables import accounts, horizons, postings
from nova_market.db.market_tables import (
    allocations,
    bids,
    economy,
    plan_moves,
    plans,
    prices,
    purchasing_powers,
    round_documents,
    rounds,
)
from nova_market.db.offer_rows import SETTLED
from nova_market.db.offer_tables import offers
from nova_market.db.offers import some_offers
from nova_market.db.rounds import OPEN
from nova_market.db.usage import some_usage

BATCH = 2000
"""Rows in one transaction: accounts stay locked for some ten milliseconds."""

OF_JOBS = frozenset({'job', 'owed', 'rest'})
HELD = (
    (OF_JOBS, jobs.c.id, jobs.c.state.not_in(OVER)),
    (OF_JOBS, jobs.c.array_id, jobs.c.state.not_in(OVER)),
    (frozenset({'offer'}), offers.c.id, offers.c.state.not_in(SETTLED)),
)
"""(how the subject of a posting begins, what it names then, those of which postings are kept)"""

HORIZON = horizons.c.name == 'postings'
ENDED = frozenset({'rejected', 'done', 'failed', 'superseded'})


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """How many rows went, and up to which period; 0: there was nothing old enough."""

    period: int
    rows: dict[str, int]


def purge(
    database: Database,
    older_than: float,
    requests_older_than: float = 0.0,
    batch: int = BATCH,
) -> Purged:
    """Take away what is older than `older_than`, in seconds since the epoch.

    requests_older_than: the same for postings that belong to no period; 0: all of these are kept
    """
    period = database.write(_raise_horizon, older_than)
    rows = {'postings': 0, 'plans': _repeat(database, _some_plans, older_than, batch)}
    if period:
        rows['postings'] = _repeat(database, _some_postings, period, batch)
        for table in (
            round_documents,
            allocations,
            prices,
            purchasing_powers,
            economy,
            rounds,
        ):
            rows[table.name] = _repeat(database, _some_rows(table), period, batch)
    rows['postings'] += _requests(database, requests_older_than, batch)
    rows['bags'] = _repeat(database, some_bags, older_than, batch)
    rows['jobs'] = _repeat(database, some_jobs, older_than, batch)
    rows['offers'] = _repeat(database, some_offers, older_than, batch)
    rows['leases'] = _repeat(database, some_leases, older_than, batch)
    rows['job_minutes'] = _repeat(database, some_minutes, older_than, batch)
    rows['usage'] = _repeat(database, some_usage, older_than, batch)
    rows['apps'] = _repeat(database, _some_apps, older_than, batch)
    rows['bids'] = _repeat(database, _some_bids, older_than, batch)
    rows['accounts'] = _repeat(database, _some_accounts, batch)
    return Purged(period=period, rows=rows)


def _repeat(database: Database, some: Work[int], *arguments: Any) -> int:
    """Call it until it finds nothing more; how many rows in all."""
    total = 0
    while found := database.write(some, *arguments):
        total += found
    return total


def _raise_horizon(connection: Connection, older_than: float) -> int:
    """The horizon never goes back."""
    first_open = select(func.min(rounds.c.period)).where(rounds.c.state.in_(OPEN))
    limit = connection.execute(first_open).scalar()
    old = select(func.max(rounds.c.period)).where(rounds.c.started_at < older_than)
    if limit is not None:
        old = old.where(rounds.c.period < limit)
    period = connection.execute(old).scalar() or 0
    before = (
        connection.execute(select(horizons.c.period).where(HORIZON).with_for_update()).scalar() or 0
    )
    if period > before:
        connection.execute(update(horizons).where(HORIZON).values(period=period))
    return max(period, before)


def _some_postings(connection: Connection, period: int, batch: int) -> int:
    # one purge at a time, so that what is read here is still there below
    connection.execute(select(horizons).where(HORIZON).with_for_update())
    query = select(postings).where(postings.c.period.between(1, period))
    rows = list(connection.execute(query.order_by(postings.c.period, postings.c.id).limit(batch)))
    _carry(connection, rows)
    return len(rows)


def _requests(database: Database, older_than: float, batch: int) -> int:
    """Take away postings that belong to no period; how many."""
    total, last = 0, 0
    while found := database.write(_some_requests, older_than, last, batch):
        last, gone = found
        total += gone
    return total


def _some_requests(
    connection: Connection, older_than: float, after: int, batch: int
) -> tuple[int, int] | None:
    """(id of the last one that was looked at, how many went); None: there are no more."""
    connection.execute(select(horizons).where(HORIZON).with_for_update())
    query = select(postings).where(
        postings.c.period == NO_PERIOD, postings.c.posted_at < older_than, postings.c.id > after
    )
    rows = list(connection.execute(query.order_by(postings.c.id).limit(batch)))
    if not rows:
        return None
    subjects = {row.id: _subject(row.posting_key) for row in rows}
    held = _unfinished(connection, set(subjects.values()))
    gone = [row for row in rows if subjects[row.id] not in held]
    _carry(connection, gone)
    return rows[-1].id, len(gone)


def _subject(key: str) -> tuple[str, str]:
    """Of what a posting is (core.job.billing, core.tender.stored_offer): (its kind, its id)."""
    kind, _, rest = key.split(':', 2)[-1].partition('/')
    return kind, rest.partition('/')[0]


def _unfinished(
    connection: Connection, subjects: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Of these, what has not ended or is not settled, or has a state that cannot be read."""
    found: set[tuple[str, str]] = set()
    for kinds, column, unfinished in HELD:
        for part in slices(sorted({name for kind, name in subjects if kind in kinds})):
            query = select(column).where(column.in_(part), unfinished).distinct()
            names = set(connection.execute(query).scalars())
            found |= {one for one in subjects if one[0] in kinds and one[1] in names}
    return found


def _carry(connection: Connection, rows: Sequence[Row[Any]]) -> None:
    """Delete these postings; no balance changes."""
    names = {name for row in rows for name in (row.debit, row.credit)}
    lock_accounts(connection, names)
    change = dict.fromkeys(names, 0)
    for row in rows:
        change[row.debit] -= row.amount
        change[row.credit] += row.amount
    ids = [row.id for row in rows]
    if ids:
        connection.execute(delete(postings).where(postings.c.id.in_(ids)))
    moved = [{'account': n, 'change': c} for n, c in sorted(change.items()) if c]
    if moved:
        carry = update(accounts).where(accounts.c.id == bindparam('account'))
        carry = carry.values(carried=accounts.c.carried + bindparam('change'))
        connection.execute(carry, moved)


def _some_rows(table: Table) -> Work[int]:
    def some(connection: Connection, period: int, batch: int) -> int:
        """Whole periods, as many as hold about `batch` rows, at least one."""
        query = select(table.c.period).where(table.c.period <= period).order_by(table.c.period)
        found = list(connection.execute(query.limit(batch)).scalars())
        if not found:
            return 0
        chosen = table.c.period <= found[-1]
        return int(connection.execute(delete(table).where(chosen)).rowcount)

    return some


def _some_bids(connection: Connection, older_than: float, batch: int) -> int:
    """Of servers without an allocation that was kept; all stay when no round was, as nobody can tell then."""
    if connection.execute(select(allocations.c.period).limit(1)).first() is None:
        return 0
    query = select(bids.c.server_id).where(
        bids.c.changed_at < older_than,
        ~exists().where(allocations.c.server_id == bids.c.server_id),
    )
    ids = list(connection.execute(query.limit(batch)).scalars())
    gone = 0
    for part in slices(ids):
        # one that was changed since it was read stays
        chosen = bids.c.server_id.in_(part) & (bids.c.changed_at < older_than)
        gone += int(connection.execute(delete(bids).where(chosen)).rowcount)
    return gone


def _some_accounts(connection: Connection, batch: int) -> int:
    """Closed ones: nobody posts to them or bids from them any more, so what is unused stays so."""
    query = select(accounts.c.id).where(accounts.c.closed, UNUSED).limit(batch)
    ids = list(connection.execute(query).scalars())
    for part in slices(ids):
        connection.execute(delete(accounts).where(accounts.c.id.in_(part)))
    return len(ids)


def _some_apps(connection: Connection, older_than: float, batch: int) -> int:
    query = select(apps.c.id).where(apps.c.closed, apps.c.changed_at < older_than).limit(batch)
    ids = list(connection.execute(query).scalars())
    for part in slices(ids):
        remove_apps(connection, part)
    return len(ids)


def _some_plans(connection: Connection, older_than: float, batch: int) -> int:
    query = select(plans.c.id).where(plans.c.state.in_(sorted(ENDED)))
    query = query.where(plans.c.created_at < older_than).limit(batch)
    ids = list(connection.execute(query).scalars())
    if ids:
        connection.execute(delete(plan_moves).where(plan_moves.c.plan_id.in_(ids)))
        connection.execute(delete(plans).where(plans.c.id.in_(ids)))
    return len(ids)
