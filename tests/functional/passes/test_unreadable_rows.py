# SPDX-License-Identifier: Apache-2.0
"""R1: a row that cannot be read is left out of an answer, or is the error of one."""

import pytest

from nova_market.core.ledger.posting import MINT, Posting, Reason, account
from nova_market.errors import BadRow
from tests.functional.passes.market_world import MarketWorld
from tests.functional.passes.reads import READS
from tests.support.poison import Poison, poison

pytestmark = [pytest.mark.functional, pytest.mark.usefixtures('defects')]


@pytest.mark.parametrize(('make', 'bad'), [pytest.param(*one, id=str(one[1])) for one in READS])
def test_others_are_read_beside_it(make, bad, database):
    made = make(database)
    before = made.read()
    assert made.alone or made.key in before
    poison(database, bad, made.where, **made.given)
    assert made.read() == ([] if made.alone else [one for one in before if one != made.key])
    assert bad.kind in {one.kind for one in database.boundary.listed()}


def test_what_was_posted_and_cannot_be_read_is_not_posted_once_more(database):
    """The others of an account go on; money does not move twice because a word is damaged."""
    market = MarketWorld(database).market
    account_id = account('project', 'blue')
    made = Posting(key='grant:0:x', reason=Reason.GRANT, debit=MINT, credit=account_id, amount=5)
    assert market.stores.ledger.post([made]) == 1
    bad = Poison(table='postings', column='reason', value='fun', kind='posting')
    poison(database, bad, 'posting_key = :key', key=made.key)
    before = market.balance('blue')
    with pytest.raises(BadRow, match='grant:0:x cannot be read'):
        market.stores.ledger.post([made])
    assert market.balance('blue') == before
    market.run(2)
    assert market.balance('blue') < before, 'its servers are charged for'
