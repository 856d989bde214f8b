# SPDX-License-Identifier: Apache-2.0
"""When credits run out (M4): forecasts of projects, and of budgets that renew themselves or do not."""

import pytest

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import account
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.carried_state import CarriedState
from nova_market.core.market.inputs import inventory_of, round_inputs
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.notices import forecasts, notices
from nova_market.core.market.past import Past
from nova_market.core.market.round import decide
from nova_market.core.market.settings import MarketSettings
from nova_market.core.resource import HostName

ALL = {HostName('h'): ('cpu', 'memory')}
RED, WEB = account('project', 'red'), account('budget', 'web')
SETTINGS = MarketSettings(reserve=(0.0, 0.0), host_reserve=(0.0, 0.0), return_delay=9, notice=20)
PERIOD = 65


def spending(balance, spent, budget=None, carried=None, paid=0, settings=SETTINGS, **more):
    """(inputs, outcome) of a server that spends so much a period of an account, project or budget."""
    accounts = {RED: Account(id=RED, project_id='red', balance=balance)}
    if budget is not None:
        accounts[WEB] = Account(id=WEB, project_id='red', balance=budget, **more)
    payer = RED if budget is None else WEB
    bid = StoredBid(server_id='s', project_id='red', payer=payer, cpu=spent, memory=0)
    one = CloudServer(id='s', project_id='red', host=HostName('h'), vcpus=8, memory_mib=64)
    cloud = inventory_of([CloudHost(name=HostName('h'), cores=4.0, memory_mib=64.0)], [one])
    state = carried or CarriedState(entitled={'red': 0})
    past = Past(period=PERIOD - 1, carried=state, paid={'red': paid})
    inputs = round_inputs(PERIOD, cloud, {'s': bid}, accounts, past, settings, bank=0, enforced=ALL)
    return inputs, decide(inputs.snapshot)


def left(*arguments, **more):
    inputs, outcome = spending(*arguments, **more)
    assert outcome.due().tolist() == [arguments[1]]
    return forecasts(inputs, outcome.due().tolist(), SETTINGS)


@pytest.mark.parametrize(('balance', 'periods'), [(1000, None), (999, 9), (500, 5)])
def test_a_project_runs_out_when_it_spends_more_than_it_can_for_ever(balance, periods):
    """100 a period come back after 9: with 10 periods' worth it never ends."""
    assert left(balance, 100) == [periods]


def test_what_is_on_its_way_back_counts():
    """The same with 700 of 1000 on the way."""
    assert left(300, 100, carried=CarriedState(coming={'red': 700})) == [None]
    assert left(300, 100, carried=CarriedState(coming={'red': 600}), paid=40) == [5]


def test_a_budget_that_is_filled_up_in_time_does_not_run_out():
    """It has enough for the 6 rounds until period 70, and its project fills it then."""
    renewing = {'renew_amount': 1000, 'renew_every': 10}
    assert left(5000, 100, budget=600, **renewing) == [None]


def test_a_budget_that_its_project_cannot_fill_runs_out():
    """100 are left in the project: they last for one period more."""
    renewing = {'renew_amount': 1000, 'renew_every': 10}
    assert left(100, 100, budget=600, **renewing) == [7]
    assert left(0, 100, budget=600, **renewing) == [6]


def test_a_budget_that_ends_before_it_is_filled_up_runs_out():
    """However much its project has."""
    renewing = {'renew_amount': 1000, 'renew_every': 10}
    assert left(5000, 100, budget=599, **renewing) == [5]


def test_a_project_that_can_go_on_for_ever_fills_its_budgets():
    """Nothing is left in it now, but what its budget spends comes back in time."""
    renewing = {'renew_amount': 1000, 'renew_every': 10}
    going = CarriedState(coming={'red': 1400})
    assert left(0, 100, budget=600, carried=going, **renewing) == [None]


def test_a_budget_that_is_renewed_by_hand_runs_out():
    """Its charges return to the project, not to it."""
    assert left(5000, 100, budget=600) == [6]


def test_notices_follow_the_forecasts():
    """Once; none for a budget that is filled up in time."""
    renewing = {'renew_amount': 1000, 'renew_every': 10}
    inputs, outcome = spending(0, 100, budget=600, **renewing)
    sent, carried = notices(inputs, outcome, SETTINGS, inputs.past.carried)
    assert [(one.event, one.payload['account'], one.payload['periods_left']) for one in sent] == [
        ('market.credit.low', WEB, 6)
    ]
    assert notices(inputs, outcome, SETTINGS, carried)[0] == []
    inputs, outcome = spending(5000, 100, budget=600, **renewing)
    sent, carried = notices(inputs, outcome, SETTINGS, carried)
    assert (sent, carried.low) == ([], ())


def test_a_bid_for_what_is_not_sold_is_not_among_the_scaled_ones():
    """B5: 300 for CPU of 200, and 900 for memory that the host does not control."""
    accounts = {RED: Account(id=RED, project_id='red', balance=200)}
    bid = StoredBid(server_id='s', project_id='red', payer=RED, cpu=300, memory=900)
    one = CloudServer(id='s', project_id='red', host=HostName('h'), vcpus=8, memory_mib=64)
    cloud = inventory_of([CloudHost(name=HostName('h'), cores=4.0, memory_mib=64.0)], [one])
    past = Past(period=PERIOD - 1, carried=CarriedState(entitled={'red': 0}))
    only_cpu = {HostName('h'): ('cpu',)}
    inputs = round_inputs(
        PERIOD, cloud, {'s': bid}, accounts, past, SETTINGS, bank=0, enforced=only_cpu
    )
    found, _ = notices(inputs, decide(inputs.snapshot), SETTINGS, CarriedState())
    scaled = [one.payload for one in found if one.event == 'market.bid.scaled']
    assert scaled == [{'account': RED, 'bids': 300, 'available': 200}]
