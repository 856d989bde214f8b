# SPDX-License-Identifier: Apache-2.0
"""Applications through the API: made, shown, changed, suspended, deleted, reported of."""

from datetime import UTC, datetime

import pytest

from nova_market.api.microversion import HEADER
from nova_market.api.request_rates import RequestRates
from nova_market.api.token_bucket import Rate
from nova_market.core.app.cloud_name import NameKind
from nova_market.core.app.policies.traits import PolicyTraits
from nova_market.core.app.record import AppEvent, AppState, DesiredState
from nova_market.core.app.template import Goal
from nova_market.core.ledger.account import Account
from nova_market.errors import DatabaseUnavailable
from nova_market.wiring.api import REPORTS_AT_ONCE
from tests.support.market.api import ALICE, BOB, OF_ALICE, OF_BOB, OPERATOR, make_market
from tests.support.market.applications import APP, CREDENTIAL, TEMPLATE, add_app

pytestmark = pytest.mark.functional

MEMBER = f'member@{ALICE}'
ONE = f'/v1/apps/{APP}'
REPORTS = f'{ONE}/reports'


def after(market, seconds):
    """A time on the service's clock."""
    at = datetime.fromtimestamp(market.stores.wall() + seconds, UTC)
    return at.isoformat().replace('+00:00', 'Z')


def create(market, status=201, token=MEMBER, **parts):
    """The answer to a new application."""
    answer = market.call('POST', '/v1/apps', token, json={**TEMPLATE, **parts})
    assert answer.status_code == status, answer.json
    return answer.json['app'] if status == 201 else answer.json['errors'][0]


def change(market, status=200, app_id=APP, **parts):
    answer = market.call('PATCH', f'/v1/apps/{app_id}', MEMBER, json=parts)
    assert answer.status_code == status, answer.json
    return answer.json['app'] if status == 200 else answer.json['errors'][0]


def report(market, status=204, credential=CREDENTIAL, path=REPORTS, **body):
    headers = {'X-App-Credential': credential} if credential else {}
    answer = market.call('POST', path, headers=headers, json=body)
    assert answer.status_code == status, answer.json
    return None if status == 204 else answer.json['errors'][0]


def test_an_application_is_made_with_budget_trust_and_credential(market):
    """The row has what the controller needs; the credential is shown once and kept as a digest."""
    made = create(market)
    kept = market.stores.apps.app(made['id'])
    assert (made['state'], made['wish'], made['reporting']) == ('waiting', 'run', True)
    assert market.trusts.trusts[kept.trust_id] == ('member-user', ALICE, ('member',))
    budget = market.stores.accounts.account(kept.payer)
    assert (budget.project_id, budget.renew_amount, budget.renew_every) == (ALICE, 5_000_000, 1)
    assert made['budget'] == {
        'id': kept.payer, 'renew_amount': 5_000_000, 'renew_every': 1, 'balance': 0,
    }  # fmt: skip
    assert len(made['credential']) >= 40 and made['credential'] not in str(kept)
    shown = market.call('GET', f'/v1/apps/{made["id"]}', MEMBER).json['app']
    assert 'credential' not in shown and shown['statistics'] is None
    assert 'a secret' not in str(shown)
    (event,) = market.call('GET', f'/v1/apps/{made["id"]}/events', MEMBER).json['events']
    assert (event['action'], event['reason']) == ('created', 'by member-user')


@pytest.mark.parametrize(('has', 'gets'), [(9_000_000, 5_000_000), (3, 3), (0, 0)])
def test_its_budget_is_filled_once_at_the_beginning(market, has, gets):
    """As far as the project can pay; from then on it is renewed with all others."""
    if has:
        path = f'/v1/accounts/project:{ALICE}/grants'
        market.call('POST', path, f'admin@{ALICE}', json={'amount': has})
    made = create(market)
    assert made['budget']['balance'] == gets
    balances = market.stores.ledger.balances([f'project:{ALICE}', made['budget']['id']])
    assert balances == {f'project:{ALICE}': has - gets, made['budget']['id']: gets}
    assert market.stores.ledger.discrepancies() == []


def test_its_servers_are_given_where_and_how_to_report(market):
    """What is made at any time later knows the newest credential."""
    text = 'u=@MARKET_URL@ a=@MARKET_APP@ c=@MARKET_CREDENTIAL@'
    made = create(market, components=[{**TEMPLATE['components'][0], 'user_data': text}])

    def user_data():
        return market.stores.apps.user_data(made['id'])['worker']

    assert user_data() == f'u=http://localhost a={made["id"]} c={made["credential"]}'
    fresh = change(market, app_id=made['id'], new_credential=True)['credential']
    assert user_data().endswith(f' c={fresh}')
    change(market, app_id=made['id'], parameters={})
    assert user_data().endswith(f' c={fresh}')
    report(market, path=f'/v1/apps/{made["id"]}/reports', credential=fresh, metric=1)


def test_only_what_the_operator_lets_be_handed_on_is(market):
    """[api]trust_roles names them, member where it is not set; who has none of them makes nothing."""
    database = market.database
    for given, roles in (({}, ('member',)), ({'trust_roles': ()}, ('member', 'reader'))):
        some = make_market(database, **given)
        create(some)
        assert [found for _, _, found in some.trusts.trusts.values()] == [roles]
    none = make_market(database, trust_roles=('creator',))
    assert create(none, 403)['code'] == 'market.trust.refused'
    assert len(market.stores.apps.list(ALICE)) == 2


@pytest.mark.parametrize('away', [True, False])
def test_nothing_is_left_when_keystone_gives_no_trust(market, away):
    """No row, no budget: 503 when it is away, 403 with its own words when it refuses."""
    if away:
        market.trusts.available = False
    else:
        market.trusts.roles.clear()
    error = create(market, 503 if away else 403)
    assert error['code'] == ('market.cloud.unavailable' if away else 'market.trust.refused')
    assert list(market.stores.apps.list(ALICE)) == []
    assert market.call('GET', '/v1/budgets', MEMBER).json['budgets'] == []


def unanswered(market, monkeypatch, method, *, reads=0, done=True):
    """The database does it, and nobody is told; from then on so many reads find no database."""
    apps, left = market.stores.apps, [reads]
    ask, read = getattr(apps, method), apps.app

    def lost(*given):
        if done:
            ask(*given)
        monkeypatch.setattr(apps, 'app', away)
        raise DatabaseUnavailable('the answer got lost')

    def away(app_id):
        left[0] -= 1
        if left[0] >= 0:
            raise DatabaseUnavailable('still away')
        return read(app_id)

    monkeypatch.setattr(apps, method, lost)


@pytest.mark.parametrize(
    ('how', 'status', 'left'),
    [({}, 201, 1), ({'done': False}, 503, 0), ({'reads': 9}, 503, 1)],
    ids=['made', 'not made', 'nobody knows'],
)
def test_what_was_made_although_the_answer_was_lost_keeps_what_it_has(
    market,
    monkeypatch,
    how,
    status,
    left,
):
    """Its trust and its budget go only when it is known that there is no application."""
    unanswered(market, monkeypatch, 'create', **how)
    create(market, status)
    monkeypatch.undo()
    budgets = market.call('GET', '/v1/budgets', MEMBER).json['budgets']
    found = (len(market.stores.apps.list()), len(market.trusts.trusts), len(budgets))
    assert found == (left, left, left)


def test_what_cannot_be_announced_is_done_all_the_same(market, monkeypatch):
    """The credential is shown once: an answer must not be lost for want of an event."""

    def lost(events):
        raise DatabaseUnavailable('no events today')

    monkeypatch.setattr(market.stores.app_events, 'tell', lost)
    assert create(market)['credential']
    assert len(market.stores.apps.list()) == 1


@pytest.mark.parametrize('done', [True, False])
def test_a_trust_that_was_taken_over_although_the_answer_was_lost_stays(
    market,
    monkeypatch,
    done,
):
    """What the application acts by is never ended; one that it does not have is."""
    app_id = create(market)['id']
    unanswered(market, monkeypatch, 'change', done=done)
    change(market, 503, app_id, new_trust=True)
    monkeypatch.undo()
    assert market.stores.apps.app(app_id).trust_id in market.trusts.trusts
    assert ('trust-2' in market.trusts.trusts) is done


def test_a_project_has_so_many_applications(market):
    """One too many leaves neither trust nor budget, and Keystone is not asked for it."""
    few = make_market(market.database, max_apps=1)
    create(few)
    few.trusts.available = False
    assert create(few, 409)['code'] == 'market.app.too_many'
    assert len(few.trusts.trusts) == 1
    assert len(few.call('GET', '/v1/budgets', MEMBER).json['budgets']) == 1


def test_a_policy_of_another_package_is_known_by_what_it_declares(market):
    """Its name stands nowhere in the API."""
    mine = PolicyTraits(goals=frozenset({Goal.METRIC}), parameters=frozenset({'speed'}))
    other = make_market(market.database, policies={'mine': mine})
    assert create(other, policy='mine', parameters={'speed': 3})['policy'] == 'mine'
    refused = create(other, 400, policy='mine', parameters={}, slo={'queue': True})
    assert 'mine works for metric, not for queue' in refused['detail']


@pytest.mark.parametrize(
    ('parts', 'expected'),
    [
        ({'policy': 'wish'}, 'policy: wish is not installed: give best_effort or full_deadline or'),
        ({'policy': 'full_deadline'}, 'slo: full_deadline works for deadline, not for metric'),
        ({'policy': 'value_density'}, 'slo: value_density works for deadline, not for metric'),
        ({'parameters': {'resume': 1}}, 'horizontal does not take resume: it takes none'),
        (
            {'slo': {'deadline': '2001-01-01T00:00:00Z'}},
            'slo.deadline: 2001-01-01T00:00:00Z is past',
        ),
        ({'start': {'before': '2001-01-01T00:00:00Z'}}, 'start.before'),
        (
            {'slo': {'metric': {'low': 2, 'reference': 1, 'high': 3}}},
            'give low <= reference <= high',
        ),
        ({'components': TEMPLATE['components'] * 2}, '2 are named worker'),
        ({'components': []}, 'components in the body'),
        (
            {
                'components': [
                    {**TEMPLATE['components'][0], 'name': f'c{n}', 'networks': ['x' * 255] * 16}
                    for n in range(9)
                ]
            },
            'bytes without user_data: give at most 32768',
        ),
        ({'budget': {'renew_amount': 2**53 + 1}}, 'renew_amount'),
        ({'owner': 'me'}, 'owner'),
    ],
    ids=lambda given: str(given)[:60],
)
def test_a_template_that_cannot_be_run_makes_nothing(market, parts, expected):
    """400, with the entry, its value and what to give."""
    error = create(market, 400, **parts)
    assert expected in error['detail']
    assert not market.trusts.trusts and not market.stores.apps.list()


def test_objective_budget_and_parameters_change_while_it_runs(market):
    """Each in the row, but the budget in its account; an event says what."""
    app_id = create(market, policy='full_deadline', slo={'deadline': after(market, 600)})['id']
    later = after(market, 300)
    assert change(market, app_id=app_id, slo={'deadline': later})['slo']['deadline'] == later
    budget = change(market, app_id=app_id, budget={'renew_every': 3})['budget']
    assert (budget['renew_amount'], budget['renew_every']) == (5_000_000, 3)
    assert change(market, app_id=app_id, parameters={'resume': 2})['parameters'] == {'resume': 2.0}
    kept = market.stores.apps.app(app_id)
    account = market.stores.accounts.account(kept.payer)
    assert (account.renew_every, kept.generation) == (3, 4)
    assert 'is past' in change(market, 400, app_id, slo={'deadline': after(market, -1)})['detail']
    assert 'works for deadline' in change(market, 400, app_id, slo={'queue': True})['detail']
    events = market.call('GET', f'/v1/apps/{app_id}/events?limit=2', MEMBER).json
    assert [one['reason'].partition(',')[0] for one in events['events']] == ['parameters', 'budget']
    assert events['events_links']


def test_a_deadline_is_moved_after_the_time_to_start_by(market):
    """What has started in time may be changed as any other; a deadline that is past is still refused."""
    given = {'policy': 'full_deadline', 'start': {'before': after(market, 60)}}
    app_id = create(market, slo={'deadline': after(market, 600)}, **given)['id']
    market.wall.now += 120
    later = after(market, 900)
    assert change(market, app_id=app_id, slo={'deadline': later})['slo']['deadline'] == later
    error = change(market, 400, app_id, slo={'deadline': after(market, -1)})
    assert error['detail'].startswith('slo.deadline')


def test_what_its_budget_is_stands_in_one_place(market):
    """Whether it is changed as the application's or as a budget, and when that fails half way."""
    made = create(market)
    path = f'/v1/budgets/{made["budget"]["id"]}'
    market.call('PATCH', path, f'manager@{ALICE}', json={'renew_amount': 7})
    assert change(market, app_id=made['id'], budget={'renew_every': 3})['budget'] == {
        'id': made['budget']['id'], 'renew_amount': 7, 'renew_every': 3, 'balance': 0,
    }  # fmt: skip
    kept = market.stores.apps.app(made['id']).template['budget']
    assert kept == {'renew_amount': 5_000_000, 'renew_every': 1}


def test_somebody_else_hands_his_roles_on(market):
    """When whoever made it is gone; the trust there was is left to the controller, which can end it.

    Others' projects are not served.
    """
    made = create(market)
    before = market.stores.apps.app(made['id']).trust_id
    path = f'/v1/apps/{made["id"]}'
    manager, admin = f'manager@{ALICE}', f'admin@{OPERATOR}'
    assert market.call('PATCH', path, manager, json={'new_trust': True}).status_code == 200
    taken = market.stores.apps.app(made['id'])
    after = taken.trust_id
    assert (made['user_id'], taken.user_id) == ('member-user', 'manager-user')
    assert market.trusts.trusts[after] == ('manager-user', ALICE, ('member',))
    assert market.stores.apps.replaced_trusts() == {made['id']: [before]}
    answer = market.call('PATCH', path, admin, json={'new_trust': True})
    assert answer.json['errors'][0]['code'] == 'market.trust.refused'
    market.call('DELETE', path, manager)
    error = market.call('PATCH', path, manager, json={'parameters': {}}).json['errors'][0]
    assert error['code'] == 'market.app.deleting'
    answer = market.call('PATCH', path, manager, json={'new_trust': True})
    assert (answer.status_code, answer.json['app']['state']) == (200, 'deleting')
    assert market.stores.apps.app(made['id']).trust_id not in {before, after}
    assert market.stores.apps.replaced_trusts() == {made['id']: [before, after]}


def test_of_two_that_take_it_over_at_once_no_trust_is_lost(market, monkeypatch):
    """Each that is not the application's in the end is known, to be ended."""
    made = create(market)
    path, apps = f'/v1/apps/{made["id"]}', market.stores.apps
    change_ = apps.change

    def second(*given):
        """Just before the change of the first one."""
        monkeypatch.setattr(apps, 'change', change_)
        change(market, app_id=made['id'], new_trust=True)
        return change_(*given)

    monkeypatch.setattr(apps, 'change', second)
    answer = market.call('PATCH', path, f'manager@{ALICE}', json={'new_trust': True})
    assert answer.status_code == 200
    known = {apps.app(made['id']).trust_id, *apps.replaced_trusts()[made['id']]}
    assert known == set(market.trusts.trusts) and len(known) == 3


def test_a_trust_that_is_not_needed_after_all_is_ended(market):
    """What could not be changed leaves none."""
    made = create(market)
    kept = set(market.trusts.trusts)
    path = f'/v1/apps/{made["id"]}'
    body = {'new_trust': True, 'generation': 9}
    assert market.call('PATCH', path, MEMBER, json=body).status_code == 409
    assert set(market.trusts.trusts) == kept


def test_what_was_changed_meanwhile_is_not_overwritten(market):
    """With a generation only what was read is changed."""
    first = add_app(market).generation
    change(market, generation=first, parameters={})
    error = change(market, 409, generation=first, slo={'queue': True})
    assert error['code'] == 'market.app.generation'


def test_it_is_suspended_resumed_and_deleted_once(market):
    """Wishes, not deeds: the controller acts on them. What is being deleted takes no other wish."""
    add_app(market)
    for what, wish in (('suspend', 'suspend'), ('suspend', 'suspend'), ('resume', 'run')):
        assert market.call('POST', f'{ONE}/{what}', MEMBER).json['app']['wish'] == wish
    actions = [one.action for one in market.stores.app_events.events(APP)]
    assert actions == ['resume asked', 'suspend asked', 'grew']
    for _ in range(2):
        answer = market.call('DELETE', ONE, MEMBER)
        assert (answer.status_code, answer.json['app']['state']) == (202, 'deleting')
    assert market.call('POST', f'{ONE}/resume', MEMBER).json['errors'][0]['code'] == (
        'market.app.deleting'
    )
    assert market.stores.apps.app(APP).wish is DesiredState.DELETE


def test_what_has_ended_is_not_changed_but_deleted(market):
    """A dropped application never comes back; its row goes when its owner says so."""
    add_app(market)
    market.stores.apps.decide(
        APP, AppState.WAITING, {'state': AppState.DROPPED, 'closed': True}, []
    )
    assert change(market, 409, parameters={})['code'] == 'market.app.ended'
    assert report(market, 409, metric=1)['code'] == 'market.app.ended'
    assert market.call('DELETE', ONE, MEMBER).json['app']['state'] == 'deleting'


def test_its_budget_is_not_closed_under_it(market):
    """The budget goes with the application, not before it."""
    budget = add_app(market).payer
    answer = market.call('DELETE', f'/v1/budgets/{budget}', MEMBER)
    assert answer.json['errors'][0]['code'] == 'market.budget.of_app'


def test_others_see_nothing_of_it(market):
    """Bob finds no application, in no list and under no address; an old client neither."""
    add_app(market)
    bob = f'manager@{BOB}'
    assert market.call('GET', '/v1/apps', bob).json['apps'] == []
    for method, path in (('GET', ONE), ('DELETE', ONE), ('GET', f'{ONE}/events')):
        assert market.call(method, path, bob).json['errors'][0]['code'] == 'market.app.not_found'
    old = market.call('GET', ONE, MEMBER, headers={'OpenStack-API-Version': 'market 1.1'})
    assert (old.status_code, 'from version 1.2 on' in old.json['message']) == (404, True)


def test_lists_have_pages(market):
    """Links lead through all of them once."""
    made = sorted(create(market)['id'] for _ in range(5))
    path, found = '/v1/apps?limit=2', []
    while path:
        page = market.call('GET', path, MEMBER).json
        found += [one['id'] for one in page['apps']]
        links = page.get('apps_links')
        path = '/v1/apps' + links[0]['href'].partition('/v1/apps')[2] if links else ''
    assert found == made


def test_what_is_reported_is_shown(market):
    """Of the application and of a server of it; what is not reported stays as it was."""
    add_app(market)
    report(market, metric=0.7, progress={'total': 100, 'done': 40, 'seconds_each': 2})
    report(market, server_id=OF_ALICE, queue={'waiting': 3, 'busy': 1})
    market.wall.now += 2
    report(market, metric=0.9)
    shown = market.call('GET', ONE, MEMBER).json['app']['reports']
    of_all, of_one = sorted(shown, key=lambda one: one['server_id'] or '')
    assert (of_all['metric'], of_all['done'], of_all['server_id']) == (0.9, 40, None)
    assert (of_one['waiting'], of_one['busy'], of_one['metric']) == (3, 1, None)


@pytest.mark.parametrize(
    ('credential', 'path'),
    [
        (None, REPORTS),
        ('shown-once-', REPORTS),
        (f'member@{ALICE}', REPORTS.replace('aaaa', 'bbbb')),
        (CREDENTIAL, REPORTS.replace('aaaa', 'bbbb')),
    ],
    ids=['none', 'wrong', 'no app', "another's"],
)
def test_a_report_needs_the_credential_of_its_application(market, credential, path):
    """The same refusal whether there is such an application or not."""
    add_app(market)
    headers = {'X-App-Credential': credential} if credential else {}
    answer = market.call('POST', path, headers=headers, json={'metric': 1})
    malformed = credential is not None and '@' in credential
    assert answer.status_code == (400 if malformed else 401)
    assert dict(market.stores.app_events.reports([APP])).get(APP, ()) in ((), [])


def test_a_token_is_no_credential_and_a_credential_no_token(market):
    """Either opens its own doors only."""
    add_app(market)
    answer = market.call('POST', REPORTS, MEMBER, json={'metric': 1})
    assert answer.status_code == 401
    answer = market.call('GET', ONE, CREDENTIAL, headers={'X-App-Credential': CREDENTIAL})
    assert answer.status_code == 401


def test_how_its_servers_rest_is_there_from_1_3_on(market):
    """Before, it is neither taken nor shown; an application needs an objective before, too."""
    before = {'OpenStack-API-Version': 'market 1.2'}
    assert create(market)['when_suspended'] is None
    made = create(market, when_suspended='shelve')
    path = f'/v1/apps/{made["id"]}'
    assert made['when_suspended'] == 'shelve'
    assert (
        change(market, app_id=made['id'], when_suspended='suspend')['when_suspended'] == 'suspend'
    )
    old = market.call('GET', path, MEMBER, headers=before).json['app']
    assert 'when_suspended' not in old
    free = {name: value for name, value in TEMPLATE.items() if name != 'slo'} | {
        'policy': 'best_effort'
    }
    assert market.call('POST', '/v1/apps', MEMBER, json=free).json['app']['slo'] == {}
    for method, where, body in (
        ('POST', '/v1/apps', {**TEMPLATE, 'when_suspended': 'shelve'}),
        ('POST', '/v1/apps', free),
        ('PATCH', path, {'when_suspended': 'shelve'}),
    ):
        refused = market.call(method, where, MEMBER, json=body, headers=before)
        assert refused.status_code == 400
        assert 'is there from version 1.3 on' in refused.json['message']


@pytest.mark.parametrize('version', ['', 'market 1.1', 'market latest'])
def test_a_monitor_need_not_name_a_version(market, version):
    """Whatever it says, its report is taken."""
    add_app(market)
    headers = {'X-App-Credential': CREDENTIAL, 'OpenStack-API-Version': version}
    assert market.call('POST', REPORTS, headers=headers, json={'metric': 1}).status_code == 204


def test_a_new_credential_ends_the_old_one(market):
    """And is shown once as well."""
    add_app(market)
    fresh = change(market, new_credential=True)['credential']
    assert report(market, 401, metric=1)['code'] == 'market.app.credential'
    report(market, credential=fresh, metric=1)
    assert 'credential' not in change(market, parameters={})


@pytest.mark.parametrize(
    ('body', 'status'),
    [
        ({}, 400),
        ({'server_id': OF_ALICE}, 400),
        ({'metric': -1}, 400),
        ({'metric': 1e16}, 400),
        ({'metric': True}, 400),
        ({'metric': '1'}, 400),
        ({'progress': {'total': 1}}, 400),
        ({'progress': {'total': 1, 'done': 2}}, 400),
        ({'queue': {'waiting': -1, 'busy': 0}}, 400),
        ({'queue': {'waiting': 1.5, 'busy': 0}}, 400),
        ({'metric': 1, 'owner': 'me'}, 400),
        ({'metric': 1, 'server_id': OF_BOB}, 404),
    ],
    ids=str,
)
def test_a_report_of_nonsense_is_refused(market, body, status):
    """Numbers out of range, what is not a server of it."""
    add_app(market)
    report(market, status, **body)
    assert not market.stores.app_events.reports([APP]).get(APP)


def test_reports_of_nan_or_without_end_are_refused(market):
    """NaN is no JSON; a long body is not read."""
    add_app(market)
    headers = {'X-App-Credential': CREDENTIAL}
    for data, status in ((b'{"metric": NaN}', 400), (b' ' * 200_000, 413)):
        answer = market.call(
            'POST', REPORTS, headers=headers, data=data, content_type='application/json'
        )
        assert answer.status_code == status


def test_reports_come_at_a_bounded_rate(database):
    """Too soon is 429; each server has its own pace; the wait is short."""
    rate = Rate(per_second=1.0, burst=REPORTS_AT_ONCE)
    # however long a report takes, it is one
    market = make_market(database, rates=RequestRates(reports=rate, unit=1e-9))
    add_app(market)
    for _ in range(2):  # a metric, and what hooks of the same guest have done
        report(market, metric=1)
    refused = report(market, 429, metric=2)
    assert (refused['code'], refused['retry_after']) == ('market.app.too_often', 1)
    report(market, server_id=OF_ALICE, metric=1)
    report(market, 401, credential='x', metric=1)
    market.wall.now += 1
    report(market, metric=2)


def test_statistics_are_those_of_the_last_decision(market):
    """As the controller kept them."""
    add_app(market)
    figures = {
        'period': 7, 'performance': 1.5, 'remaining': None, 'lateness': None, 'budget': 5,
        'spent': 12, 'reason': 'another server',
        'components': [{'name': 'worker', 'count': 1, 'wanted': 2, 'bid_cpu': 3, 'bid_memory': 4,
                        'cpu': 0.5, 'memory_mib': 512.0}],
    }  # fmt: skip
    market.stores.apps.decide(
        APP, AppState.WAITING, {'state': AppState.RUNNING, 'period': 7, 'figures': figures}, []
    )
    shown = market.call('GET', ONE, MEMBER).json['app']
    assert shown['statistics'] == figures
    assert (shown['state'], shown['spent'], shown['servers'][0]['server_id']) == (
        'running', 12, OF_ALICE,
    )  # fmt: skip
    assert market.call('GET', '/v1/apps', MEMBER).json['apps'][0]['spent'] == 12


def test_an_event_with_an_infinite_number_costs_that_event(market):
    """No controller writes one (R1 of passes)."""
    add_app(market)
    before = market.call('GET', f'{ONE}/events', MEMBER).json
    event = AppEvent(app_id=APP, at=61.0, period=1, action='x', numbers={'late': float('inf')})
    market.stores.app_events.tell([event])
    assert market.call('GET', f'{ONE}/events', MEMBER).json == before


def test_a_budget_of_nobody_is_closed_as_before(market):
    """Only those of applications are held."""
    market.stores.accounts.open([Account(id='budget:x', project_id=ALICE)])
    assert market.call('DELETE', '/v1/budgets/budget:x', MEMBER).status_code == 204


UNKNOWN = [
    ({'flavor': 'smal'}, "components[0].flavor: 'smal': there is no such flavor", 'mean small?'),
    (
        {'image': 'debian-12'},
        "components[0].image: 'debian-12': there is no such image",
        'debian-13?',
    ),
    ({'networks': ['private', 'x']}, "components[0].networks[1]: 'x'", '"openstack network list"'),
    ({'networks': ['twice']}, "'twice': 2 are named so: give the id of one", 'network list'),
]


@pytest.fixture
def named(market):
    """A cloud whose names are known."""
    market.names.known = {
        NameKind.FLAVOR: ['small', 'big'], NameKind.IMAGE: ['debian-13', 'cirros'],
        NameKind.NETWORK: ['private', 'twice', 'twice'],
    }  # fmt: skip
    return market


@pytest.mark.parametrize(('wrong', 'where', 'meant'), UNKNOWN)
def test_unknown_names_are_refused_at_once(named, wrong, where, meant):
    """With those that are like them, and nothing is made; validation says the same."""
    parts = {'components': [{**TEMPLATE['components'][0], **wrong}]}
    error = create(named, 400, **parts)
    assert error['code'] == 'market.template.invalid'
    assert where in error['detail'] and meant in error['detail']
    checked = named.call('POST', '/v1/apps/validate', MEMBER, json={**TEMPLATE, **parts})
    assert checked.json['errors'][0]['detail'] == error['detail']
    assert list(named.stores.apps.list(ALICE)) == [] and named.trusts.trusts == {}
    assert named.call('GET', '/v1/budgets', MEMBER).json['budgets'] == []


def test_names_are_looked_up_from_version_17_on(named):
    """As before, the controller finds out for older clients."""
    parts = {**TEMPLATE, 'components': [{**TEMPLATE['components'][0], 'flavor': 'none'}]}
    headers = {HEADER: 'market 1.16'}
    assert named.call('POST', '/v1/apps', MEMBER, json=parts, headers=headers).status_code == 201


def test_without_nova_no_application_is_made(named):
    """503, and the same request can be sent again."""
    named.names.available = False
    assert create(named, 503)['code'] == 'market.cloud.unavailable'
    assert list(named.stores.apps.list(ALICE)) == []


def test_a_template_is_checked_without_making_anything(named):
    """The answer is the template with its defaults; who may not create may not ask."""
    answer = named.call('POST', '/v1/apps/validate', MEMBER, json=TEMPLATE)
    assert answer.status_code == 200, answer.json
    found = answer.json['template']
    assert found['budget'] == {'renew_amount': 5_000_000, 'renew_every': 1}
    assert found['components'][0]['least_count'] == 1 and 'user_data' not in found['components'][0]
    assert list(named.stores.apps.list(ALICE)) == [] and named.trusts.trusts == {}
    wrong = {**TEMPLATE, 'policy': 'nothing'}
    refused = named.call('POST', '/v1/apps/validate', MEMBER, json=wrong).json['errors'][0]
    assert 'policy: nothing is not installed' in refused['detail']
