# SPDX-License-Identifier: Apache-2.0
"""SDK and commands against the real API over HTTP, as tenants and administrators use them."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import openstack
import pytest
from openstack.exceptions import ConflictException

from nova_market.core.ledger.money import MICRO, credit_text
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.record import (
    AllocationRecord,
    EconomyRecord,
    PowerRecord,
    PriceRecord,
    RoundRecord,
)
from nova_market.core.rebalancing.plan import StoredMove, StoredPlan
from tests.support.market.api import ALICE, ALSO_OF_ALICE, DELETED, OF_ALICE, OF_BOB
from tests.support.market.api_server import PEOPLE, MarketService
from tests.support.market.shell import granted, shown

pytestmark = pytest.mark.functional

# the SDK


def test_credits_are_granted_once_per_key(market_service, connect):
    """A grant that is sent again with its key changes nothing."""
    market, target = connect('root').market, market_service.project('alice')
    made = [market.grant(target, 5 * MICRO, key='2026-q4') for _ in range(2)]
    assert [one.balance for one in made] == [5 * MICRO, 5 * MICRO]
    assert (made[0].debit, made[0].credit) == ('mint', target)
    assert market.get_account(target).balance == 5 * MICRO


def test_a_statement_adds_up_over_its_pages(market_service, connect):
    """Pages of 5 lines are followed, and the changes of 12 lines are the balance."""
    target = market_service.project('alice')
    for _ in range(12):
        connect('root').market.grant(target, 3)
    lines = list(connect('alice').market.statement(target))
    assert [line.balance for line in lines] == list(range(36, 0, -3))
    assert sum(line.change for line in lines) == 36
    asked = [r for r in market_service.requests if r.endswith('/statement')]
    assert len(asked) == 3
    assert len(list(connect('alice').market.statement(target, max_items=7))) == 7


def test_a_transfer_above_the_balance_moves_nothing(market_service, connect):
    """The refusal says what is left and what was needed."""
    target = granted(market_service, connect, 'alice', 1)
    market = connect('alice').market
    budget = market.create_budget(name='nightly')
    with pytest.raises(ConflictException, match=r'has 1 credits left, 2 are needed'):
        market.transfer(target, budget.id, 2 * MICRO)
    assert market.get_budget(budget.id).balance == 0


def test_a_bid_is_replaced_and_withdrawn(market_service, connect):
    """With a generation only the bid that was read is replaced."""
    market = connect('alice').market
    first = market.set_bid(OF_ALICE, cpu=7, memory=1)
    second = market.set_bid(OF_ALICE, cpu=8, memory=1, generation=first.generation)
    with pytest.raises(ConflictException):
        market.set_bid(OF_ALICE, cpu=9, memory=1, generation=first.generation)
    assert [(bid.server_id, bid.cpu) for bid in market.bids()] == [(OF_ALICE, 8)]
    assert second.payer == market_service.project('alice')
    market.delete_bid(OF_ALICE)
    none = market.get_bid(OF_ALICE)
    assert (none.cpu, none.memory, none.source, none.generation) == (None, None, 'none', 0)


def test_the_hook_of_openstacksdk_adds_the_service(market_service):
    """`vendor_hook` in clouds.yaml is enough."""
    with openstack.connect(
        load_yaml_config=False,
        load_envvars=False,
        vendor_hook='nova_market.sdk.market_service:load',
        **market_service.cloud('alice'),
    ) as conn:
        assert [one.id for one in conn.market.accounts()] == [market_service.project('alice')]


# commands: credits and bids


def test_credits_are_credits_in_tables_and_text_and_micro_credits_in_json(market_service, run):
    """2.5 credits are 2.5 as they are typed, and 2500000 in JSON."""
    assert shown(run, 'root', 'account', 'grant', 'astronomy', '2.5')['balance'] == 2_500_000
    status, out, _ = run('alice', 'account', 'show', '-c', 'balance')
    assert status == 0 and '| balance | 2.5   |' in out
    assert run('alice', 'account', 'show', '-f', 'value', '-c', 'balance')[1] == '2.5\n'
    assert run('alice', 'account', 'show', '-f', 'shell', '-c', 'balance')[1] == 'balance="2.5"\n'
    assert shown(run, 'root', 'account', 'revoke', 'astronomy', '0.5')['balance'] == 2_000_000


def test_amounts_of_plain_text_are_sorted_as_numbers(market_service, run):
    """Ten credits are more than nine; an amount that is not set is nothing."""
    shown(run, 'root', 'account', 'grant', 'astronomy', '20')
    for name, amount in (('ten', '10'), ('nine', '9')):
        shown(run, 'alice', 'budget', 'create', name)
        shown(run, 'alice', 'account', 'transfer', name, amount)
    options = '-c Name -c Balance -c Renew@Amount --sort-column Balance -f csv --quote none'
    words = [word.replace('@', ' ') for word in options.split()]
    status, out, _ = run('alice', 'budget', 'list', *words)
    assert (status, out) == (0, 'Name,Balance,Renew Amount\nnine,9,\nten,10,\n')


def test_a_key_that_was_used_is_reported(market_service, connect, run):
    """The same amount: nothing is moved. Another amount: what the key was used for, as its user wrote it."""
    own = granted(market_service, connect, 'alice', 10)
    words = ('account', 'grant', own, '100', '--key', 'k1')
    assert 'k1' not in run('root', *words)[2]
    status, _, err = run('root', *words)
    moved = f'100 credits from mint to {own}: nothing '
    assert status == 0 and f'k1 was used before for the same {moved}was moved now' in err
    status, _, err = run('root', *words[:3], '7', *words[4:])
    assert status == 1 and f'key k1 was used for {moved}is moved now; use a new key' in err


def test_a_budget_is_filled_used_and_closed(market_service, connect, run):
    """Budgets are known by name; the statement of a transfer names both sides."""
    own = granted(market_service, connect, 'alice', 10)
    made = shown(run, 'alice', 'budget', 'create', 'nightly', '--renew-amount', '2')
    paid = shown(run, 'alice', 'account', 'transfer', 'nightly', '3', '--key', 'once')
    again = shown(run, 'alice', 'account', 'transfer', 'nightly', '3', '--key', 'once')
    assert paid['balance'] == again['balance'] == 7 * MICRO
    changed = shown(run, 'alice', 'budget', 'set', 'nightly', '--no-renew', '--name', 'builds')
    assert (changed['renew_amount'], changed['balance']) == (None, 3 * MICRO)
    (line,) = shown(run, 'alice', 'statement', 'show', 'builds')
    assert (line['From'], line['To'], line['Change']) == (own, made['id'], 3 * MICRO)
    status, _, err = run('alice', 'budget', 'delete', 'builds')
    assert status == 1 and 'market.account.not_empty' in err
    shown(run, 'alice', 'account', 'transfer', '--from', 'builds', own, '3')
    assert run('alice', 'budget', 'delete', 'builds')[0] == 0
    assert shown(run, 'alice', 'budget', 'list') == []


def test_a_bid_is_set_by_name_and_changed_in_part(market_service, connect, run):
    """What is not given stays; a first bid may set one resource, and the other has its default."""
    first = shown(run, 'alice', 'bid', 'set', 'web-1', '--cpu', '2')
    assert (first['cpu'], first['memory'], first['generation']) == (2 * MICRO, None, 1)
    shown(run, 'alice', 'bid', 'set', 'web-1', '--cpu', '1', '--memory', '0.5', '--max-cpu', '1.5')
    budget = shown(run, 'alice', 'budget', 'create', 'nightly')['id']
    bid = shown(run, 'alice', 'bid', 'set', 'web-1', '--cpu', '2', '--budget', 'nightly')
    assert (bid['cpu'], bid['memory'], bid['max_cpu']) == (2 * MICRO, MICRO // 2, 1.5)
    assert (bid['server_id'], bid['payer']) == (OF_ALICE, budget)
    assert shown(run, 'alice', 'bid', 'set', 'web-1', '--no-max')['max_cpu'] is None
    assert [line['Server'] for line in shown(run, 'alice', 'bid', 'list')] == [OF_ALICE]
    assert shown(run, 'alice', 'bid', 'show', OF_ALICE)['generation'] == 4
    assert shown(run, 'bob', 'bid', 'list') == []
    assert run('alice', 'bid', 'unset', 'web-1')[0] == 0
    assert shown(run, 'alice', 'bid', 'list') == []


def test_parts_of_a_bid_are_withdrawn(market_service, run):
    """The rest stays; what was unset is printed; nothing is changed when one server has no such bid."""
    shown(run, 'alice', 'bid', 'set', 'web-1', '--cpu', '1', '--memory', '0.5', '--max-cpu', '2')
    status, out, _ = run('alice', 'bid', 'unset', '--memory', '--max-cpu', 'web-1')
    assert (status, out) == (0, 'web-1: unset memory, max_cpu\n')
    left = shown(run, 'alice', 'bid', 'show', 'web-1')
    assert (left['cpu'], left['memory'], left['max_cpu']) == (MICRO, None, None)
    for words in (('web-1', ALSO_OF_ALICE), ('--memory', 'web-1')):
        status, out, err = run('alice', 'bid', 'unset', *words)
        assert (status, out) == (1, '') and 'nothing was unset' in err
        assert re.search(r'no (bid|limit of \w+)( for \w+)?( and .*)? is set for ', err), err
    assert shown(run, 'alice', 'bid', 'show', 'web-1')['cpu'] == MICRO
    assert run('alice', 'bid', 'unset', '--cpu', 'web-1')[1] == 'web-1: unset cpu\n'
    assert shown(run, 'alice', 'bid', 'list') == []


@pytest.mark.parametrize('options', [(), ('--cpu',), ('--max-cpu',)])
def test_a_failure_midway_is_undone(market_service, run, options):
    """The bids before it are as they were."""
    first = _two_bids_of_which_one_fails(market_service, run)
    status, out, err = run('alice', 'bid', 'unset', *options, 'web-1', ALSO_OF_ALICE)
    assert (status, out) == (1, '') and err.endswith('nothing was unset\n'), err
    again = shown(run, 'alice', 'bid', 'show', 'web-1')
    assert {**again, 'generation': 1, 'in_force': None} == {**first, 'in_force': None}


def test_what_cannot_be_undone_after_a_failure_is_named(market_service, run):
    """Such as a bid that somebody has set again meanwhile, which stays."""

    def set_again():
        new = StoredBid(
            server_id=OF_ALICE, project_id=ALICE, payer=f'project:{ALICE}', cpu=7, memory=None
        )
        market_service.market.stores.bids.put(new)

    _two_bids_of_which_one_fails(market_service, run, set_again)
    status, out, err = run('alice', 'bid', 'unset', 'web-1', ALSO_OF_ALICE)
    assert (status, out) == (1, '') and err.endswith('unset all the same: web-1\n'), err
    assert shown(run, 'alice', 'bid', 'show', 'web-1')['cpu'] == 7


def _two_bids_of_which_one_fails(market_service, run, more=lambda: None):
    """The first one; the other is removed by somebody else just when it is to be unset."""
    options = ('--cpu', '1', '--memory', '2', '--max-cpu', '2', '--max-memory', '0.5G')
    first, _ = (
        shown(run, 'alice', 'bid', 'set', server, *options) for server in ('web-1', ALSO_OF_ALICE)
    )

    def fail(asked):
        method, path = asked.split()
        if path == f'/market/v1/bids/{ALSO_OF_ALICE}' and method in ('PUT', 'DELETE'):
            market_service.market.stores.bids.remove([ALSO_OF_ALICE])
            more()

    market_service.before = fail
    return first


def test_a_bid_is_shown_with_its_default(market_service, period, run):
    """Where each part comes from, with and without a bid."""
    _, out, _ = run('alice', 'bid', 'show', 'web-1')
    assert (
        'cpu: 2 per period, this bid' in out
        and 'memory: 0.000001 per period, extra specs of its flavor' in out
    )
    _, out, _ = run('alice', 'bid', 'show', ALSO_OF_ALICE)
    assert 'nothing yet: the next round counts the bid' in out
    assert shown(run, 'alice', 'bid', 'show', ALSO_OF_ALICE)['source'] == 'none'


def test_a_bid_is_suggested(market_service, period, run):
    """With the reason, and the command that sets it."""
    found = shown(run, 'alice', 'bid', 'suggest', '--cores', '2', 'web-1')
    bid = found['cpu_bid']
    assert found['cores'] == 2 and found['command'] == (
        f'openstack market bid set --cpu {credit_text(bid)} web-1'
    )
    assert found['why'][0].startswith('cpu: ')
    share = shown(run, 'alice', 'bid', 'suggest', '--share', '20%')
    assert (share['cores'], share['total']) == (2.0, share['cpu_bid'] + share['memory_bid'])
    for words in (
        (),
        ('--share', '20', '--cores', '1'),
        ('--share', '120'),
        ('--cores', '99', 'web-1'),
    ):
        status, _, err = run('alice', 'bid', 'suggest', *words)
        assert status in (1, 2) and 'give' in err


@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        (('bid', 'set', OF_BOB, '--cpu', '1', '--memory', '1'), 'market.server.not_found'),
        (('bid', 'set', 'web-1', '--max-cpu', '99'), 'max_cpu: 99 is more than the 4 vCPUs'),
        (('bid', 'set', DELETED, '--cpu', '1', '--memory', '1'), 'market.server.not_found'),
        (('account', 'grant', f'project:{"b" * 32}', '1'), 'market.policy.forbidden'),
        (('account', 'transfer', f'project:{"a" * 32}', '1'), 'market.transfer.to_self'),
        (('account', 'show', f'project:{"b" * 32}'), 'market.account.not_found'),
        (('account', 'list', '--all-projects'), 'market.policy.forbidden'),
        (('plan', 'list'), 'market.policy.forbidden'),
        (('host', 'list'), 'market.policy.forbidden'),
        (('round', 'show'), 'there was no round yet'),
        (('price', 'quote', '--flavor', 'm1.small'), 'market.price.not_found'),
        (
            ('bid', 'set', 'unheard-of', '--cpu', '1'),
            'your project has no server unheard-of; a server of',
        ),
        (('account', 'set', 'astronomy'), 'give --name or --weight'),
    ],
    ids=lambda value: ' '.join(value[:3]) if isinstance(value, tuple) else '',
)
def test_a_refusal_is_printed_with_its_code(market_service, run, words, expected):
    """The service's own sentence is shown, without addresses and traces; the status is 1."""
    status, out, err = run('alice', *words)
    assert (status, out) == (1, '')
    assert expected in err and 'http://' not in err and 'Traceback' not in err


@pytest.mark.parametrize(
    'amount', ['0', '0.0', '-0', '-1', 'nan', 'inf', '1e99', '0.0000001', 'much', '']
)
def test_a_wrong_amount_is_refused_before_anything_is_asked(market_service, run, amount):
    """The market hears nothing of what is no amount of credits."""
    status, _, err = run('alice', 'account', 'transfer', 'bank', amount)
    assert status == 2 and 'the amount is' in err
    assert '0 or more' not in err or amount in ('nan', 'inf')
    assert not any('/market' in asked for asked in market_service.requests)


@pytest.mark.parametrize('weight', ['-1', 'nan', '1000001', 'x'])
def test_a_wrong_weight_is_refused_before_anything_is_asked(market_service, run, weight):
    """In the words of the command, which has no body."""
    status, _, err = run('root', 'account', 'set', f'--weight={weight}', 'astronomy')
    assert status == 2
    assert f"argument --weight: '{weight}': give a number from 0 to 1000000" in err
    assert not any('/market' in asked for asked in market_service.requests)


def test_another_project_is_named_by_who_may_see_it(market_service, run):
    """An administrator names projects; a tenant's list is his own."""
    everybody = shown(run, 'root', 'account', 'list', '--all-projects')
    assert {'bank', 'mint'} < {line['ID'] for line in everybody}
    (own,) = shown(run, 'alice', 'account', 'list')
    assert own['ID'] == market_service.project('alice')
    (one,) = shown(run, 'root', 'account', 'list', '--project', 'biology')
    assert one['ID'] == market_service.project('bob')
    assert shown(run, 'root', 'account', 'set', 'biology', '--weight', '2')['weight'] == 2
    status, _, err = run('root', 'account', 'show', 'chemistry')
    assert status == 1 and 'no account, budget or project is called chemistry' in err


def test_a_tenant_names_his_own_project(market_service, connect, run):
    """Whose name his token has; of others, whom he may not look up, he gives the id."""
    own = granted(market_service, connect, 'alice', 3)
    for words in (('account', 'show'), ('account', 'show', 'astronomy')):
        assert shown(run, 'alice', *words)['id'] == own
    (line,) = shown(run, 'alice', 'statement', 'show', 'astronomy', '--group-by', 'server')
    assert line['Change'] == 3 * MICRO
    shown(run, 'alice', 'budget', 'create', 'nightly')
    shown(run, 'alice', 'account', 'transfer', 'nightly', '2')
    shown(run, 'alice', 'account', 'transfer', '--from', 'nightly', 'astronomy', '2')
    assert shown(run, 'alice', 'account', 'show')['balance'] == 3 * MICRO
    for words in (('account', 'show'), ('statement', 'show'), ('account', 'transfer', '--from')):
        more = ('nightly', '1') if '--from' in words else ()
        status, _, err = run('alice', *words, 'nightli', *more)
        assert status == 1
        assert 'no budget of your project is named nightli, and you may not look up' in err


# commands: what the engine has decided


@pytest.fixture
def period(market_service) -> int:
    """A round in which both servers got something, and a plan that waits for approval."""
    stores = market_service.market.stores
    now = int(market_service.market.wall() // 60)
    record = RoundRecord(
        period=now, leader='engine-1', started_at=now * 60.0, document=_document(market_service)
    )
    economy = EconomyRecord(
        period=now, projects=70 * MICRO, budgets=20 * MICRO, escrow=0, bank=10 * MICRO,
        charged=2 * MICRO, price_index=125.0, base_rounds=1440, base_level=100.0, base_cpu=5760.0,
        base_memory=0.0, base_cpu_value=8.64e9, base_memory_value=0.0,
    )  # fmt: skip
    powers = [
        PowerRecord(
            period=now, project_id=PEOPLE[name].project_id, wealth=61 * MICRO, spend=MICRO,
            cores=2 / 3, part=1 / 15, real=0.8 * MICRO,
        )
        for name in ('alice', 'bob')
    ]  # fmt: skip
    stores.history.begin(record, _prices(now), _allocated(now), (), economy, powers)
    move = StoredMove(
        server_id=OF_ALICE,
        source='h1',
        destination='h2',
        error_before=0.25,
        error_after=0.0,
        gain=1.0,
        cost=0.5,
        reason='h1 is crowded',
    )
    stores.plans.add(
        StoredPlan(id='p1', period=now, mode='advise', created_at=now * 60.0, moves=(move,))
    )
    return now


def _prices(period: int) -> list[PriceRecord]:
    return [
        PriceRecord(
            period=period,
            resource=name,
            price=price,
            bid_price=price,
            capacity=10.0,
            allocated=4.0,
            bids=4 * MICRO,
        )
        for name, price in (('cpu', 1_500_000.0), ('memory', 20.0))
    ]


def _allocated(period: int) -> list[AllocationRecord]:
    """Both servers share h1, and have less CPU than they should."""
    return [
        AllocationRecord(
            period=period,
            server_id=server_id,
            project_id=PEOPLE[name].project_id,
            host='h1',
            ideal_cpu=2.0,
            actual_cpu=1.5,
            ideal_memory_mib=512.0,
            actual_memory_mib=512.0,
            error=0.25,
            charge_cpu=MICRO,
            charge_memory=1,
            confirmed=True,
        )
        for name, server_id in (('alice', OF_ALICE), ('bob', OF_BOB))
    ]


def _document(service: MarketService) -> dict[str, Any]:
    lines = [
        {
            'id': server_id,
            'project_id': PEOPLE[name].project_id,
            'host': 'h1',
            'payer': service.project(name),
            'bid': [2 * MICRO, 1],
            'counted': [MICRO, 1],
            'source': ['tenant', 'flavor'],
            'limit': [2.0, 1024.0],
            'reasons': ['its host has less to give than the cloud as a whole'],
        }
        for name, server_id in (('alice', OF_ALICE), ('bob', OF_BOB))
    ]
    payer = {'id': service.project('alice'), 'available': MICRO, 'bids': 2 * MICRO, 'due': MICRO}
    return {
        'largest_error': 0.25,
        'held_prices': [
            {
                'resource': 'cpu',
                'last_price': 0.75 * MICRO,
                'price': 1.5 * MICRO,
                'free_price': 9.0 * MICRO,
            }
        ],
        'payers': [{**payer, 'scaled': True}],
        'servers': lines,
        'hosts': [
            {
                'name': 'h1',
                'capacity': [7.0, 1024.0],
                'answering': True,
                'enabled': True,
                'zone': 'nova',
            }
        ],
        'heaviness': {PEOPLE['alice'].project_id: 0.5},
    }


def test_prices_and_quotes(market_service, period, run):
    """Prices are shown per unit in credits; a quote counts servers and periods."""
    lines = shown(run, 'alice', 'price', 'show')
    assert [(line['Resource'], line['Price']) for line in lines] == [('cpu', 1.5e6), ('memory', 20)]
    assert '| cpu ' in run('alice', 'price', 'show')[1]
    (only,) = shown(run, 'alice', 'price', 'history', '--resource', 'cpu', '--limit', '1')
    assert (only['Period'], only['Bids']) == (period, 4 * MICRO)
    quote = shown(
        run, 'alice', 'price', 'quote', '--flavor', 'm1.small', '--count', '2', '--periods', '10'
    )
    # one core and 1024 MiB each
    assert quote['median'] == 2 * (1_500_000 + 1024 * 20)
    assert quote['total'] == 10 * quote['median']


def test_periods_have_a_length(market_service, period, run):
    """It is shown beside prices and quotes, and can be typed for a number of periods."""
    length = 60
    assert {line['Period Length'] for line in shown(run, 'alice', 'price', 'show')} == {length}
    (past, *_) = shown(run, 'alice', 'price', 'history')
    assert past['Period Length'] == length
    words = ('price', 'quote', '--flavor', 'm1.small', '--periods', '1d')
    quote = shown(run, 'alice', *words)
    assert (quote['periods'], quote['period_length']) == (86_400 / length, length)
    assert quote['lasts'] == 86_400
    table = ' '.join(run('alice', *words)[1].split())
    for part in ('| lasts | 1d |', '| flavor | m1.small (', '| median | 1.52048 per period |'):
        assert part in table, part
    made = shown(run, 'alice', 'budget', 'create', '--renew-every', '1h', 'nightly')
    assert made['renew_every'] == 3600 / length
    status, _, err = run('alice', 'price', 'quote', '--flavor', 'm1.small', '--periods', 'often')
    assert status != 0
    assert 'give a number of periods, such as 60, or a length of time, such as 1h' in err


def test_the_economy(market_service, period, run):
    """In credits for people, micro-credits for programs; what is left out of the index, and why."""
    found = shown(run, 'alice', 'economy', 'show')
    assert (found['issued'], found['circulating']) == (100 * MICRO, 90 * MICRO)
    assert (found['velocity'], found['price_index']) == (0.02, 125.0)
    table = ' '.join(run('alice', 'economy', 'show')[1].split())
    for part in (
        '| velocity | 2.0 % |',
        'nothing of it was sold in the base window',
        '| bank | 10 |',
    ):
        assert part in table, part
    (line,) = shown(run, 'alice', 'economy', 'history', '--limit', '1')
    assert (line['Period'], line['Charged']) == (period, 2 * MICRO)
    status, _, err = run('alice', 'economy', 'show', '--until', '2001-01-01T00:00:00')
    assert status == 1 and 'market.economy.not_found' in err


def test_purchasing_power(market_service, period, run):
    """A tenant's own; an administrator's list has all projects, or one by its name."""
    (own,) = shown(run, 'alice', 'economy', 'power', 'list')
    assert (own['Spend'], own['Real']) == (MICRO, 0.8 * MICRO)
    assert '| 1 | 0.666667 | 6.7 % | 0.8 |' in ' '.join(
        run('alice', 'economy', 'power', 'list')[1].split()
    )
    both = shown(run, 'root', 'economy', 'power', 'history', '--all-projects')
    assert [(one['Period'], one['Project']) for one in both] == sorted(
        (period, PEOPLE[name].project_id) for name in ('alice', 'bob')
    )
    (one,) = shown(run, 'root', 'economy', 'power', 'list', '--project', 'biology')
    assert one['Project'] == PEOPLE['bob'].project_id
    status, _, err = run('alice', 'economy', 'power', 'list', '--all-projects')
    assert status == 1 and 'market.policy.forbidden' in err


def test_a_round_is_explained_to_a_tenant(market_service, period, run):
    """Of servers a tenant sees his own, with what was bid, given, charged, and why."""
    status, table, err = run('alice', 'round', 'show')
    assert status == 0, err
    for part in (
        f'web-1 ({OF_ALICE}) bids 2 (its bid) + 0.000001 (flavor)',
        'gets 1.5 of 2 cores',
        'charged 1.000001',
        'its host has less to give than the cloud as a whole',
        'can pay 1 of 2 bid',
        'cpu: held at 1.5 after 0.75; without the breaker 9',
        '25.0 %',
    ):
        assert part in ' '.join(table.split()), part
    assert OF_BOB not in table and 'h1' not in table
    seen = shown(run, 'root', 'round', 'show', str(period))['explanation']
    assert {line['server_id'] for line in seen} == {OF_ALICE, OF_BOB}
    assert [line['Period'] for line in shown(run, 'alice', 'round', 'list')] == [period]


def test_allocations_of_a_round_and_of_a_server(market_service, period, run):
    """By round everybody's for an administrator; by server over time."""
    both = shown(run, 'root', 'allocation', 'list', '--all-projects')
    assert [(line['Server'], line['Host']) for line in both] == [(OF_ALICE, 'h1'), (OF_BOB, 'h1')]
    (own,) = shown(run, 'alice', 'allocation', 'list', '--server', 'web-1')
    assert (own['Server'], own['CPU'], own['Host']) == (OF_ALICE, 1.5, None)


def test_a_plan_is_approved_once(market_service, period, run):
    """A proposed plan is shown with its reasons and approved; rejecting it afterwards is refused."""
    assert [line['ID'] for line in shown(run, 'root', 'plan', 'list', '--state', 'proposed')] == [
        'p1'
    ]
    assert 'h1 is crowded' in run('root', 'plan', 'show', 'p1')[1]
    assert shown(run, 'root', 'plan', 'approve', 'p1')['state'] == 'approved'
    status, _, err = run('root', 'plan', 'reject', 'p1')
    assert status == 1 and 'market.plan.state' in err


def test_hosts_and_heaviness(market_service, period, run):
    """Administrators see hosts, tenants how heavy they are."""
    (host,) = shown(run, 'root', 'host', 'list')
    assert (host['Name'], host['Cores'], host['Memory MiB']) == ('h1', 7, 1024)
    (own,) = shown(run, 'alice', 'heaviness', 'show')
    assert own['Heaviness'] == 0.5


def test_a_cloud_without_the_market_says_so(run, monkeypatch):
    """The service's absence from the catalog is what is said."""
    monkeypatch.setattr('tests.support.market.api_server.SERVICES', (('identity', 'identity/v3'),))
    status, _, err = run('alice', 'price', 'show')
    assert status == 1 and 'market' in err and 'not present in the service catalog' in err


# the plug-in


@pytest.mark.clock
def test_the_plug_in_is_light():
    """Every run of `openstack` imports it: it must not load the SDK, numpy or the service."""
    code = 'import sys, nova_market.osc.plugin; print(*sys.modules)'
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=60, check=True
    )
    loaded = set(done.stdout.split())
    assert not loaded & {'openstack', 'osc_lib', 'numpy', 'flask', 'sqlalchemy', 'oslo_config'}


@pytest.mark.clock
def test_the_installed_command_works(market_service, connect, run):
    """`openstack market ...` as a process of its own: nothing but the answer is printed."""
    granted(market_service, connect, 'alice', 3)
    command = [str(Path(sys.executable).with_name('openstack')), '--os-cloud', 'alice']
    done = subprocess.run(
        [*command, 'market', 'account', 'show', '-f', 'value', '-c', 'balance'],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, '3\n', '')


def test_a_microversion_is_asked_for(market_service, run, monkeypatch):
    """1.1 is served; another is refused before it is asked for."""
    monkeypatch.setenv('OS_MARKET_API_VERSION', '1.1')
    assert shown(run, 'alice', 'bid', 'list') == []
    monkeypatch.setenv('OS_MARKET_API_VERSION', '1.99')
    status, _, err = run('alice', 'bid', 'list')
    assert status == 1 and 'only supports a minimum of 1.1' in err
