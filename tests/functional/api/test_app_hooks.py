# SPDX-License-Identifier: Apache-2.0
"""What an agent reports of its hooks, and what it is told to do: microversion 1.3 of the API."""

from dataclasses import replace

import pytest

from nova_market.api.microversion import HEADER
from nova_market.core.app.draining import LEAVE_SECONDS
from nova_market.core.app.record import DesiredServerState, HookReport, StoredSlot
from tests.support.market.api import ALICE, ALSO_OF_ALICE, OF_ALICE, OF_BOB
from tests.support.market.applications import APP, CREDENTIAL, TEMPLATE, add_app

pytestmark = pytest.mark.functional

MEMBER = f'member@{ALICE}'
ONE = f'/v1/apps/{APP}'


@pytest.fixture
def running(market):
    """Two servers, of which the second drains since a second ago."""
    add_app(market)
    now = market.stores.wall()
    first = StoredSlot(
        app_id=APP, component='worker', number=1, server_id=OF_ALICE, address='10.0.0.1'
    )
    second = replace(
        first, number=2, server_id=ALSO_OF_ALICE, address='10.0.0.2',
        intention=DesiredServerState.DRAINING, drain_at=now - 1.0, drain_until=now + 600.0,
    )  # fmt: skip
    market.stores.apps.put([first, second])
    return market


def report(market, status=200, credential=CREDENTIAL, version='1.3', **body):
    headers = {'X-App-Credential': credential, HEADER: f'market {version}'}
    answer = market.call('POST', f'{ONE}/reports', headers=headers, json=body)
    assert answer.status_code == status, answer.json
    if status == 204:
        return None
    return answer.json['hooks'] if status == 200 else answer.json['errors'][0]


def slot_of(market, number=2):
    return market.stores.apps.slots(APP)[number - 1]


def later(market, seconds):
    market.wall.now += seconds


def test_a_balancer_gets_the_list_and_then_the_server_its_order(running):
    """First the others take it out, then it ends its work; an acknowledged list is not sent again."""
    first = report(running, server_id=OF_ALICE, hooks={'members': ''})
    listed = first['members']
    assert first['drain'] is None
    assert [(one['number'], one['address'], one['state']) for one in listed['servers']] == [
        (1, '10.0.0.1', 'present'),
        (2, '10.0.0.2', 'draining'),
    ]
    held = report(running, server_id=ALSO_OF_ALICE, hooks={})
    assert held == {
        'drain': {'id': slot_of(running).drain_id, 'begin': False, 'seconds': 600.0},
        'members': None,
    }
    later(running, 2)
    acknowledged = report(running, server_id=OF_ALICE, hooks={'members': listed['version']})
    assert acknowledged == {'drain': None, 'members': None}
    assert report(running, server_id=ALSO_OF_ALICE, hooks={})['drain']['begin'] is True


def test_a_balancer_that_does_not_answer_is_waited_for_a_minute(running):
    """And one that reports without hooks for members is not waited for."""
    report(running, server_id=OF_ALICE, hooks={})
    assert report(running, server_id=ALSO_OF_ALICE, hooks={})['drain']['begin'] is True
    later(running, 2)
    report(running, server_id=OF_ALICE, hooks={'members': ''})
    assert report(running, server_id=ALSO_OF_ALICE, hooks={})['drain']['begin'] is False
    later(running, LEAVE_SECONDS)
    assert report(running, server_id=ALSO_OF_ALICE, hooks={})['drain']['begin'] is True


def test_the_end_of_its_work_is_kept_and_shown(running):
    """A failure with the text that the hook printed, without what would move a terminal's cursor."""
    drain = {'id': slot_of(running).drain_id, 'drained': False, 'text': 'no\x1b[2J way\n'}
    report(running, server_id=ALSO_OF_ALICE, hooks={'drain': drain})
    app = running.call('GET', ONE, MEMBER).json['app']
    assert app['servers'][1]['drain']['failed'] == 'no [2J way '
    assert (app['servers'][0]['drain'], app['servers'][0]['address']) == (None, '10.0.0.1')
    later(running, 2)
    report(running, server_id=ALSO_OF_ALICE, hooks={'drain': {**drain, 'text': 'again'}})
    failures = [e for e in running.stores.app_events.events(APP) if e.action == 'drain failed']
    assert [one.reason for one in failures] == [f'the hook of server {ALSO_OF_ALICE}: no [2J way ']
    later(running, 2)
    report(running, server_id=ALSO_OF_ALICE, hooks={'drain': {'id': drain['id'], 'drained': True}})
    (kept,) = running.stores.app_events.hooks([APP])[APP]
    assert (kept.drained, kept.text) == (True, '')
    assert running.call('GET', ONE, MEMBER).json['app']['servers'][1]['drain']['failed'] is None


def test_a_guest_cannot_fill_the_events_with_failures(running):
    """Only the present draining counts, once; what is said of another one is not kept."""
    drain_id = slot_of(running).drain_id
    for sent in (drain_id, drain_id + 1, drain_id, 1, drain_id):
        drain = {'id': sent, 'drained': False, 'text': f'of {sent}'}
        report(running, server_id=ALSO_OF_ALICE, hooks={'drain': drain})
        later(running, 2)
    report(running, server_id=OF_ALICE, hooks={'drain': {'id': 1, 'drained': False}})
    events = running.call('GET', f'{ONE}/events', MEMBER).json['events']
    assert [one['action'] for one in events].count('drain failed') == 1
    (kept,) = [
        one for one in running.stores.app_events.hooks([APP])[APP] if one.server_id == ALSO_OF_ALICE
    ]
    assert (kept.drain, kept.text) == (drain_id, f'of {drain_id}')


def test_hooks_and_a_metric_are_reported_together_or_apart(running):
    """Each has its own time: an agent that only asks does not make an old metric new."""
    report(running, server_id=OF_ALICE, metric=1.0, hooks={})
    at = running.stores.wall()
    later(running, 5)
    report(running, server_id=OF_ALICE, hooks={})
    (kept,) = running.stores.app_events.reports([APP])[APP]
    assert (kept.at, kept.metric) == (at, 1.0)


@pytest.mark.parametrize(
    ('status', 'body', 'expected'),
    [
        (401, {'credential': 'x', 'hooks': {}}, 'market.app.credential'),
        (404, {'server_id': OF_BOB, 'hooks': {}}, 'market.server.not_found'),
        (400, {'hooks': {'drain': {'id': 1, 'drained': True}}}, 'market.report.invalid'),
        (400, {'hooks': {'members': 'x'}}, 'market.request.invalid'),
        (400, {'hooks': {'run': 'rm'}}, 'market.request.invalid'),
        (400, {'version': '1.2', 'hooks': {}}, 'market.request.invalid'),
        (400, {'hooks': {'drain': {'id': 1, 'drained': True, 'text': 'x' * 201}}}, 'market.request.invalid'),
    ],
)  # fmt: skip
def test_what_is_refused(running, status, body, expected):
    """With a stable code; nothing is kept."""
    assert report(running, status, **body)['code'] == expected
    assert running.stores.app_events.hooks([APP]) == {}


def test_the_list_is_of_the_own_application_only(running):
    """Whatever others run."""
    other = replace(running.stores.apps.app(APP), id='b', credential='')
    running.stores.apps.create(other, 9)
    running.stores.apps.put([replace(slot_of(running), app_id='b', server_id=OF_BOB)])
    servers = report(running, hooks={'members': ''})['members']['servers']
    assert {one['server_id'] for one in servers} == {OF_ALICE, ALSO_OF_ALICE}


def test_an_order_is_repeated_until_it_is_carried_out(running):
    """Also for a server that is being deleted: an agent must not take it for taken back."""
    gone = replace(slot_of(running), intention=DesiredServerState.GONE)
    running.stores.apps.put([gone])
    order = report(running, server_id=ALSO_OF_ALICE, hooks={})['drain']
    assert order['id'] == gone.drain_id


def test_older_versions_see_what_they_know(running):
    """In 1.2 a draining server is one that is to go, and templates have no drain_timeout."""
    running.stores.app_events.report_hooks(HookReport(app_id=APP, server_id=OF_ALICE, at=1.0))
    old = running.call('GET', ONE, MEMBER, headers={HEADER: 'market 1.2'}).json['app']
    assert [one['intention'] for one in old['servers']] == ['present', 'gone']
    assert not {'drain', 'address'} & old['servers'][1].keys()
    assert 'drain_timeout' not in old['components'][0]
    new = running.call('GET', ONE, MEMBER).json['app']
    assert [one['intention'] for one in new['servers']] == ['present', 'draining']
    assert new['components'][0]['drain_timeout'] == 0
    assert report(running, 204, version='1.2', server_id=OF_ALICE, metric=1.0) is None


def test_a_template_may_give_servers_time(market):
    """From 1.3 on, up to a day."""
    component = {**TEMPLATE['components'][0], 'drain_timeout': 600}
    template = {**TEMPLATE, 'components': [component]}
    refused = market.call('POST', '/v1/apps', MEMBER, json=template, headers={HEADER: 'market 1.2'})
    assert refused.status_code == 400
    assert (
        'components[0].drain_timeout is there from version 1.3'
        in refused.json['errors'][0]['detail']
    )
    made = market.call('POST', '/v1/apps', MEMBER, json=template).json['app']
    assert made['components'][0]['drain_timeout'] == 600
    template['components'] = [{**component, 'drain_timeout': 86_401}]
    refused = market.call('POST', '/v1/apps', MEMBER, json=template)
    assert '86400' in refused.json['errors'][0]['detail']
