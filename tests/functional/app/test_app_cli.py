# SPDX-License-Identifier: Apache-2.0
"""Applications by SDK and commands against the real API over HTTP."""

import json

import pytest
from openstack.exceptions import ConflictException, HttpException, NotFoundException

from nova_market.core.app.cloud_name import NameKind
from nova_market.core.app.record import (
    AppEvent,
    AppState,
    DesiredServerState,
    HookReport,
    StoredSlot,
)
from nova_market.core.ledger.money import MICRO
from nova_market.core.market.owner_server import ServerFlavor
from tests.support.market.api import OF_ALICE
from tests.support.market.api_server import MarketService
from tests.support.market.applications import TEMPLATE
from tests.support.market.shell import shown

pytestmark = pytest.mark.functional

YAML = """
name: zephyr
policy: full_deadline
parameters: {resume: 1.2}
slo:
  deadline: 2096-11-22T06:00:00Z
budget: {renew_amount: 2}
start:
  before: 2096-11-21T20:00:00
components:
  - name: worker
    flavor: m1.small
    image: debian-13
    most_count: 4
"""


@pytest.fixture
def template(tmp_path):
    """write(text) -> path of a template."""

    def write(text=YAML):
        path = tmp_path / 'template.yaml'
        path.write_text(text)
        return str(path)

    return write


def decided(service: MarketService, app_id: str) -> None:
    """What a controller would have left of one period."""
    figures = {
        'period': 7, 'performance': 0.9, 'remaining': 900.0, 'lateness': 0.9, 'budget': MICRO,
        'spent': 3 * MICRO // 2, 'reason': 'its user has no role',
        'components': [
            {'name': 'worker', 'count': 1, 'wanted': 2, 'bid_cpu': MICRO // 4, 'bid_memory': 10,
             'cpu': 0.5, 'memory_mib': 1024.0}
        ],
    }  # fmt: skip
    slot = StoredSlot(app_id=app_id, component='worker', number=1, server_id=OF_ALICE)
    stores = service.market.stores
    stores.apps.decide(
        app_id, AppState.WAITING, {'state': AppState.RUNNING, 'figures': figures}, [slot]
    )
    stores.app_events.tell(
        [AppEvent(app_id=app_id, at=420.0, period=7, action='grew', reason='another server',
                  numbers={'worker': 2.0})]
    )  # fmt: skip


def draining(service: MarketService, app_id: str) -> None:
    """What is shown of a server whose hook has failed."""
    slot = StoredSlot(
        app_id=app_id, component='worker', number=1, server_id=OF_ALICE, drain_at=420.0,
        drain_until=1020.0, intention=DesiredServerState.DRAINING,
    )  # fmt: skip
    service.market.stores.apps.put([slot])
    service.market.stores.app_events.report_hooks(
        HookReport(
            app_id=app_id,
            server_id=OF_ALICE,
            at=430.0,
            drain=slot.drain_id,
            drained=False,
            text='no',
        )
    )


def test_the_sdk_has_applications(market_service, connect):
    """Made, listed over pages, changed, suspended, reported of, deleted; old versions have none."""
    market = connect('alice').market
    made = [market.create_app(**{**TEMPLATE, 'name': f'a{n}'}) for n in range(7)]
    assert len({one.credential for one in made}) == 7
    assert sorted(one.id for one in market.apps()) == sorted(one.id for one in made)
    assert list(connect('bob').market.apps()) == []
    one = market.get_app(made[0].id)
    assert (one.name, one.state, one.renew_amount, one.credential) == (
        'a0',
        'waiting',
        5 * MICRO,
        None,
    )
    changed = market.update_app(one.id, slo={'queue': True}, generation=one.generation)
    assert changed.slo == {'queue': True}
    with pytest.raises(ConflictException):
        market.update_app(one.id, slo=one.slo, generation=one.generation)
    assert market.suspend_app(one.id).wish == 'suspend'
    assert market.resume_app(one.id).wish == 'run'
    market.report_app(one.id, made[0].credential, queue={'waiting': 3, 'busy': 1})
    with pytest.raises(HttpException, match='credential'):
        market.report_app(one.id, made[1].credential, queue={'waiting': 3, 'busy': 1})
    assert market.get_app(one.id).reports[0]['waiting'] == 3
    market.delete_app(one)
    assert market.get_app(one.id).state == 'deleting'
    actions = [event.action for event in market.app_events(one.id, max_items=2)]
    assert actions == ['delete asked', 'resume asked']
    with pytest.raises(NotFoundException):
        connect('bob').market.get_app(one.id)


def test_an_application_is_run_by_commands(market_service, run, template):
    """From a YAML file to its deletion, by name."""
    made = shown(run, 'alice', 'app', 'create', template())
    assert (made['policy'], made['state'], len(made['credential'])) == (
        'full_deadline',
        'waiting',
        43,
    )
    assert made['slo']['deadline'] == '2096-11-22T06:00:00Z'
    assert made['start']['before'] == '2096-11-21T20:00:00Z'
    decided(market_service, made['id'])
    (line,) = shown(run, 'alice', 'app', 'list')
    assert (line['Name'], line['State'], line['Spent']) == ('zephyr', 'running', 3 * MICRO // 2)
    status, out, _ = run('alice', 'app', 'show', 'zephyr')
    assert status == 0 and 'credential' not in out
    assert '1 of 2 wanted (1 to 4) of m1.small; each bids 0.25 + 0.00001, gets 0.5 cores' in out
    assert f'worker-1: {OF_ALICE}, to be present' in out
    assert '| spent          | 1.5' in out and 'its user has no role' in out
    draining(market_service, made['id'])
    _, out, _ = run('alice', 'app', 'show', 'zephyr')
    line = 'draining since 1970-01-01T00:07:00Z, until 1970-01-01T00:17:00Z at most'
    assert f'worker-1: {OF_ALICE}, {line}, its hook failed: no' in out
    (event,) = shown(run, 'alice', 'app', 'events', 'zephyr', '--limit', '1')
    assert (event['Action'], event['Reason']) == ('grew', 'another server')
    assert shown(run, 'alice', 'app', 'suspend', 'zephyr')['wish'] == 'suspend'
    assert shown(run, 'alice', 'app', 'resume', 'zephyr')['wish'] == 'run'
    assert run('alice', 'app', 'delete', 'zephyr')[0] == 0
    assert shown(run, 'alice', 'app', 'show', made['id'])['state'] == 'deleting'
    assert shown(run, 'bob', 'app', 'list') == []
    (line,) = shown(run, 'root', 'app', 'list', '--all-projects')
    assert line['Project'] == made['project_id']


def test_it_is_changed_while_it_runs(market_service, run, template):
    """What is not given stays."""
    path = template()
    before = shown(run, 'alice', 'app', 'create', path, '--name', 'storm')
    change = ('alice', 'app', 'set', 'storm')
    moved = shown(run, *change, '--deadline', '2096-11-22T03:00:00Z', '--low', '0.5')
    assert moved['slo'] == {
        'deadline': '2096-11-22T03:00:00Z', 'low': 0.5, 'reference': 0.9, 'high': 1.0,
    }  # fmt: skip
    assert shown(run, *change, '--renew-amount', '4')['renew_amount'] == 4 * MICRO
    assert shown(run, *change, '--renew-every', '10')['renew_amount'] == 4 * MICRO
    assert shown(run, *change, '--no-renew')['renew_amount'] is None
    assert shown(run, *change, '--parameter', 'resume=2')['parameters'] == {'resume': 2.0}
    assert shown(run, *change, '--no-parameters')['parameters'] == {}
    assert shown(run, *change, '--low', '0.6')['when_suspended'] is None
    assert shown(run, *change, '--when-suspended', 'shelve')['when_suspended'] == 'shelve'
    (before_trust,) = market_service.market.trusts.trusts
    shown(run, *change, '--new-trust')
    apps = market_service.market.stores.apps
    assert apps.app(before['id']).trust_id in set(market_service.market.trusts.trusts) - {
        before_trust
    }
    fresh = shown(run, *change, '--new-credential')['credential']
    assert fresh != before['credential']


@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        (('set', 'web'), 'nothing to change'),
        (('set', 'web', '--deadline', '2096-11-22T03:00:00Z'), 'it has no deadline to move'),
        (('set', 'web', '--low', '9'), 'market.template.invalid'),
        (('set', 'free', '--low', '9'), 'it has no objective'),
        (('set', 'web', '--parameter', 'resume=1'), 'does not take resume: it takes none'),
        (('set', 'web', '--parameter', 'resume=nan'), 'give <name>=<number>'),
        (('show', 'nothing'), '0 applications are named nothing'),
        (('create', '/no/such.yaml'), 'No such file'),
        (('create', '/dev/null'), 'holds no template'),
    ],
    ids=lambda value: ' '.join(value) if isinstance(value, tuple) else '',
)
def test_refusals_say_what_to_do(market_service, run, template, words, expected):
    """One line on stderr."""
    budget = {'renew_amount': 5}
    web = {**TEMPLATE, 'name': 'web', 'budget': budget}
    shown(run, 'alice', 'app', 'create', template(json.dumps(web)))
    free = {**web, 'name': 'free', 'policy': 'best_effort'}
    del free['slo']
    shown(run, 'alice', 'app', 'create', template(json.dumps(free)))
    status, _, err = run('alice', 'app', *words)
    assert status in (1, 2) and expected in err
    assert 'Traceback' not in err


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        (YAML.replace('most_count: 4', 'most_count: 0'), 'most_count'),
        (YAML.replace('full_deadline', 'no-such'), 'no-such is not installed: give best_effort'),
        (YAML.replace('2096-11-22', '1996-11-22'), 'slo.deadline: 1996-11-22T06:00:00Z is past'),
        (YAML + '  - {{', 'is neither YAML nor JSON'),
        (YAML + 'owner: me', 'owner'),
        ('- a list', 'holds no template'),
        ('x: !!python/object:os.system {}', 'is neither YAML nor JSON'),
        ('#' * 200_001, 'more than 200000 bytes'),
    ],
)
def test_a_template_that_cannot_be_run(market_service, run, template, text, expected):
    """The service's own words, or ours where it is no document at all."""
    status, _, err = run('alice', 'app', 'create', template(text))
    assert status == 1 and expected in err
    assert shown(run, 'alice', 'app', 'list') == []


def test_two_of_one_name_need_an_id(market_service, run, template):
    """Nothing is deleted on a guess."""
    ids = [shown(run, 'alice', 'app', 'create', template())['id'] for _ in range(2)]
    status, _, err = run('alice', 'app', 'delete', 'zephyr')
    assert status == 1 and '2 applications are named zephyr: give the id of one' in err
    assert run('alice', 'app', 'delete', ids[0])[0] == 0
    assert [shown(run, 'alice', 'app', 'show', one)['wish'] for one in ids] == ['delete', 'run']


def test_a_template_is_checked_by_command(market_service, run, template):
    """What create would refuse is refused, with names like the wrong one; nothing is made."""
    market_service.market.names.known = {NameKind.FLAVOR: ['m1.small', 'm1.large']}
    found = shown(run, 'alice', 'app', 'validate', template(), '--name', 'other')
    assert (found['name'], found['renew_amount'], found['renew_every']) == ('other', 2 * MICRO, 1)
    text = YAML.replace('m1.small', 'm1.smal').replace('{resume: 1.2}', '{resume: 1.2}')
    for word in ('validate', 'create'):
        status, _, err = run('alice', 'app', word, template(text))
        assert status == 1 and "components[0].flavor: 'm1.smal'" in err
        assert 'did you mean m1.small' in err
    assert shown(run, 'alice', 'app', 'list') == []


def test_a_least_that_no_server_of_the_flavor_has_is_refused(market_service, run, template):
    """It would wait for ever, whatever it pays; what a server has, people read before they create it."""
    market_service.market.names.flavors = {
        'm1.small': ServerFlavor(id='f1', vcpus=1, memory_mib=128)
    }
    components = YAML.index('components:')
    whole = YAML[:components] + (
        'components:\n  - {name: w, flavor: m1.small, image: debian-13, networks: [lan],\n'
        '     drain_timeout: 300, least: {cpu: CPU, memory_mib: MIB}}\n'
    )
    for cpu, mib, expected in (
        (
            '4',
            '64',
            'least.cpu: 4 is more than a server of flavor m1.small has: give at most 1 cores',
        ),
        (
            '1',
            '512',
            'least.memory_mib: 512 is more than a server of flavor m1.small has: give at most 128',
        ),
    ):
        text = whole.replace('CPU', cpu).replace('MIB', mib)
        for word in ('validate', 'create'):
            status, _, err = run('alice', 'app', word, template(text))
            assert status == 1 and f'components[0].{expected}' in err
    status, out, _ = run(
        'alice', 'app', 'validate', template(whole.replace('CPU', '0.5').replace('MIB', '64'))
    )
    assert status == 0
    assert 'image debian-13, networks lan, least 0.5 cores and 64 MiB, drains for 5m' in out


def test_amounts_are_credits_to_people(market_service, run, template):
    """As they are written, so they are shown; programs read micro-credits."""
    text = YAML.replace('full_deadline', 'stop').replace('{resume: 1.2}', '{cpu_price: 0.4}')
    text = text.replace('start:\n', 'start:\n  price_below: {cpu: 0.5, memory: 0.000002}\n')
    made = shown(run, 'alice', 'app', 'create', template(text))
    assert made['parameters'] == {'cpu_price': 400_000.0}
    assert made['start']['price_below'] == {'cpu': 500_000.0, 'memory': 2.0}
    changed = shown(run, 'alice', 'app', 'set', 'zephyr', '--parameter', 'cpu_price=0.8')
    assert changed['parameters'] == {'cpu_price': 800_000.0}
    _, out, _ = run('alice', 'app', 'show', 'zephyr')
    assert 'cpu_price=0.8' in out and 'price_below=cpu=0.5 memory=0.000002' in out
