# SPDX-License-Identifier: Apache-2.0
"""M6: what every database says of whose the credits in escrow are."""

from dataclasses import replace

import pytest

from nova_market.core.job.record import JobState
from nova_market.core.lease.record import LeaseState
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import ESCROW, MINT, Posting, Reason, account
from nova_market.core.market.record import RoundRecord, RoundState
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.escrow import DatabaseEscrow
from nova_market.db.job_rows import job_values
from nova_market.db.job_tables import jobs
from nova_market.db.leases import DatabaseLeases
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.queues import DatabaseQueues
from nova_market.db.rounds import DatabaseRounds
from tests.support.job_records import id_of, job, queue
from tests.support.lease_records import NOW, hold, lease, quota
from tests.support.servers.databases import Wall


@pytest.fixture
def ledger(database):
    """Red, blue and green have a thousand micro-credits, and red a budget with a hundred."""
    projects = ('red', 'blue', 'green')
    DatabaseAccounts(database).open(
        [Account(id=account('project', name), project_id=name) for name in projects]
        + [Account(id=account('budget', 'web'), project_id='red')]
    )
    made = DatabaseLedger(database, Wall(NOW))
    names = [account('project', name) for name in projects] + [account('budget', 'web')]
    made.post(
        [
            Posting(key=f'g:{name}', reason=Reason.GRANT, debit=MINT, credit=name, amount=1000)
            for name in names
        ]
    )
    return made


@pytest.fixture
def escrow(database, ledger):
    return DatabaseEscrow(database)


def test_nothing_is_held(escrow):
    assert escrow.held() == {}


def moved(reason, period, subject, debit, credit, amount):
    key = f'{reason}:{period}:{subject}'
    return Posting(key=key, reason=reason, debit=debit, credit=credit, amount=amount)


def test_open_rounds_hold_for_projects_and_their_budgets(database, ledger, escrow):
    """What one of them has released is not held any more, and settled rounds hold nothing."""
    rounds = DatabaseRounds(database, Wall(NOW))
    for period in (7, 8):
        holds = [
            moved(Reason.HOLD, period, name, name, ESCROW, amount)
            for name, amount in (('project:red', 10), ('budget:web', 5), ('project:blue', 3))
        ]
        record = RoundRecord(period=period, leader='e', started_at=NOW, document={})
        rounds.begin(record, [], [], holds)
        rounds.advance(period, RoundState.PLANNED, RoundState.APPLIED)
    ledger.post([moved(Reason.RELEASE, 8, 'project:blue', ESCROW, 'project:blue', 3)])
    assert escrow.held() == {'red': 30, 'blue': 3}
    rounds.advance(7, RoundState.APPLIED, RoundState.SETTLED)
    assert escrow.held() == {'red': 15}


def test_leases_that_are_not_over_hold_for_who_pays(database, escrow):
    """What is left of them; of one that was given away, the project that booked it."""
    leases = DatabaseLeases(database, Wall(NOW))
    for name, more in (
        ('a', {'cost': 60, 'charged': 20, 'refunded': 5, 'project_id': 'green'}),
        ('b', {'cost': 60, 'state': LeaseState.ENDED}),
    ):
        one = replace(lease(name), **more)
        turn, _ = leases.calendar()
        leases.book(one, turn, [hold(one, 60)], [], quota())
    assert escrow.held() == {'red': 35}


def test_jobs_that_have_not_ended_hold_for_their_project(database, escrow):
    """A run, the reserve, and what a displaced job is owed, for who owes it; nothing for one's own queue."""
    DatabaseQueues(database, Wall(NOW)).create(queue(project='red'), 9)
    given = [
        job('a', project='blue', cost_limit=10, reserve=4, state=JobState.RUNNING),
        job('b', project='green', cost_limit=20, owed=6, displaced_by=id_of('a')),
        job('c', project='green', cost_limit=1, owed=2, displaced_by=id_of('gone')),
        job('d', project='blue', cost_limit=50, state=JobState.FINISHED),
        job('e', project='red', cost_limit=70),
    ]
    with database.engine.begin() as connection:
        connection.execute(jobs.insert(), [job_values(one) for one in given])
    assert escrow.held() == {'blue': 20, 'green': 23}
