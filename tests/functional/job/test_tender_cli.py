# SPDX-License-Identifier: Apache-2.0
"""What `openstack market queue` shows of a tender queue, against the real API over HTTP."""

import pytest

from nova_market.core.ledger.money import MICRO
from nova_market.core.tender.queue_price import QueuePrices, document_of
from nova_market.services.tender.tender_pass import STATE
from tests.support.market.rounds import add_round
from tests.support.market.shell import shown

pytestmark = pytest.mark.functional

LOAD = (1.5, 0.25, 0.0)
HISTORY = ((1.8e9 - 50.0, 1.0 * MICRO, 2.0, 0.0, 0.5), (1.8e9, 2.0 * MICRO, 2.0, 0.0, 1.5))


@pytest.fixture
def lab(market_service, run):
    """A queue of policy tender, whose prices have had two steps."""
    words = (
        'queue', 'create', 'lab', '--policy', 'tender', '--flavor', 'small', '--image', 'debian',
        '--price', '1', '--price-rule', 'anchored', '--parameter', 'memory_price=0.000002',
    )  # fmt: skip
    made = shown(run, 'alice', *words)
    prices = QueuePrices(at=1.8e9, prices=(2.0 * MICRO, 2.0, 0.0), load=LOAD, history=HISTORY)
    market_service.market.stores.states.write(STATE, {made['id']: document_of(prices)})
    return made


def tender_of(run, name):
    """The lines of a person's table."""
    status, out, err = run('alice', 'queue', 'show', name, '-c', 'tender', '-f', 'table')
    assert status == 0, err
    return [line.split('|')[2].strip() for line in out.splitlines() if line.count('|') == 3][1:]


def test_the_prices_are_shown_in_credits_beside_those_of_the_market(market_service, run, lab):
    """With their time and load; a program gets the last steps too."""
    assert lab['tender'] is None and lab['price_rule'] == 'anchored'
    assert tender_of(run, 'lab') == [
        'core_hour=2 mib_hour=0.000002 gib_hour=0',
        'load: cores=1.50 memory_mib=0.25 disk_gib=0.00',
        'at: 2027-01-15T08:00:00Z',
        'market: core_hour=- mib_hour=-; the market has no prices yet',
    ]
    add_round(market_service.market)
    assert tender_of(run, 'lab')[-1] == 'market: core_hour=0.012 mib_hour=0.00003'
    tender = shown(run, 'alice', 'queue', 'show', 'lab')['tender']
    assert [one['core_hour'] for one in tender['history']] == [MICRO, 2 * MICRO]
    assert tender['clearing']['core_hour'] == 12_000.0


def test_a_list_has_its_policy_and_a_new_queue_no_prices(run, lab):
    """A queue of another policy has an empty entry."""
    shown(run, 'alice', 'queue', 'create', 'night', '--flavor', 'small', '--image', 'debian')
    lines = shown(run, 'alice', 'queue', 'list')
    assert [(one['Name'], one['Policy']) for one in lines] == [
        ('lab', 'tender'), ('night', 'flexible'),
    ]  # fmt: skip
    assert tender_of(run, 'night') == ['']
