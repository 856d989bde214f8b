# SPDX-License-Identifier: Apache-2.0
"""A service that is killed at each call of settling in turn: another one pays back the rest, once (O3)."""

import sqlite3

import pytest

from nova_market.core.job.store_values import JobFilter
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import Posting, Reason
from nova_market.core.tender.stored_offer import OfferFilter, OfferState
from nova_market.db.database import Database
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.offers import DatabaseOffers
from nova_market.db.queues import DatabaseQueues
from nova_market.services.tender.settling import OfferSettling
from tests.functional.job.test_offers import BUYS, OWN, accept, ask, money, selling
from tests.functional.market.test_killed import Killed, Life, Mortal

pytestmark = pytest.mark.functional

LATE = 2
"""Jobs that were done an hour later than was promised; one more was in time."""

HAS_LEFT, SPENT = 150_000, 'project:spent'
"""The project of the queue can pay one of them back, and a part of the other one."""


class Idle:
    """Settles nothing, so that all is left to do at the end."""

    def settle(self, queues):
        return 0


@pytest.fixture
def ended(small):
    """Three accepted offers whose jobs have ended and are charged, and none is settled."""
    bed = selling(small)
    bed.service = bed.another(settling=Idle())
    for n in range(LATE):
        accept(bed, ask(bed, time_limit=300)['offers'][0], f'late{n}', sleep=200.0)
    bed.clock.advance(3600.0)
    bed.until(bed.all_ended)
    accept(bed, ask(bed, time_limit=300)['offers'][0], 'prompt', sleep=100.0)
    bed.until(bed.all_ended)
    bed.run(1)
    charges = [job.charged for job in bed.stores.jobs.jobs(JobFilter())]
    assert money(bed) == (sum(charges), 10**9 - sum(charges), 0)
    bed.accounts.open([Account(id=SPENT, project_id='spent')])
    spent = {'debit': OWN, 'credit': SPENT, 'amount': sum(charges) - HAS_LEFT}
    bed.ledger.post([Posting(key='spent', reason=Reason.TRANSFER, **spent)])
    return bed


class Left:
    """The database as it is then, in a file of its own."""

    def __init__(self, bed, path):
        bed.database.close()
        source, copy = sqlite3.connect(bed.database.engine.url.database), sqlite3.connect(path)
        with copy:
            source.backup(copy)
        source.close()
        copy.close()
        self.database = Database({'connection': f'sqlite:///{path}'})
        self.ledger = DatabaseLedger(self.database, bed.clock.wall)
        self.offers = DatabaseOffers(self.database, bed.clock.wall)
        queues = DatabaseQueues(self.database, bed.clock.wall)
        self.queues = {one.id: one for one in queues.queues(None)}
        self._now = bed.clock.wall()

    def settle(self, life=None):
        around = (lambda one: Mortal(one, life)) if life else lambda one: one
        boundary = self.database.boundary
        return OfferSettling(around(self.offers), around(self.ledger), boundary).settle(self.queues)

    def money(self):
        """(what is in the accounts, refunded by the ledger, by the offers); the ledger adds up."""
        assert self.ledger.discrepancies() == []
        back = self.ledger.totals(0, Reason.COMPENSATION)
        closed = self.offers.offers(OfferFilter(now=self._now, states=(OfferState.CLOSED,)))
        found = self.ledger.balances([OWN, BUYS, 'escrow'])
        return (
            (found[OWN], found[BUYS], found['escrow']),
            sum(back.values()),
            [one.refunded for one in closed],
        )


def test_each_is_paid_back_once_wherever_settling_dies(ended, tmp_path):
    """Twice in a row too; money and offers are then as if nobody had died."""
    whole, every = Left(ended, tmp_path / 'whole'), Life(0)
    before, none, _ = whole.money()
    assert none == 0 and before[2] == 0
    assert whole.settle(every) == LATE + 1
    after = whole.money()
    back = after[1]
    assert back == HAS_LEFT == sum(after[2]) and sorted(after[2])[0] == 0 < sorted(after[2])[1]
    assert after[0] == (0, before[1] + back, 0)
    assert len(every.steps) > 15
    for number in range(1, len(every.steps) + 1):
        left = Left(ended, tmp_path / str(number))
        with pytest.raises(Killed):
            left.settle(Life(number))
        assert left.money()[1] <= back
        with pytest.raises(Killed):
            left.settle(Life(2))
        left.settle()
        assert left.money() == after, every.steps[number - 1]
        assert left.settle() == 0
        left.database.close()
    whole.database.close()
