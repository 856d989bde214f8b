# SPDX-License-Identifier: Apache-2.0
"""What an owner may ask of an application, and what that changes of its row."""

from dataclasses import replace

import pytest

from nova_market.core.app.credential import digest
from nova_market.core.app.policies.traits import PolicyTraits
from nova_market.core.app.record import AppState, DesiredState
from nova_market.core.app.request import AppChange, changed_columns, new_app
from nova_market.core.app.template import Goal, Rest, parsed
from nova_market.errors import AppDeleting, AppEnded, BadTemplate

NOW = 1_000_000.0
POLICIES = {
    'mine': PolicyTraits(goals=frozenset({Goal.METRIC}), parameters=frozenset({'speed'})),
    'timed': PolicyTraits(goals=frozenset({Goal.DEADLINE})),
    'free': PolicyTraits(goals=frozenset(Goal)),
}
METRIC = {'metric': {'low': 1, 'reference': 2, 'high': 3}}
TEMPLATE = {
    'name': 'web',
    'policy': 'mine',
    'parameters': {'speed': 2},
    'slo': METRIC,
    'budget': {'renew_amount': 5, 'renew_every': 2},
    'components': [
        {'name': 'w', 'flavor': 'f', 'image': 'i', 'user_data': 'key @MARKET_CREDENTIAL@'}
    ],
}
OLD, NEW = 'o' * 43, 'n' * 43


def made(**parts):
    given = {**TEMPLATE, **parts}
    return new_app(
        {name: value for name, value in given.items() if value is not None},
        POLICIES,
        app_id='a1',
        project_id='p1',
        user_id='u1',
        credential=OLD,
        url='http://market',
        now=NOW,
    )


def columns(app, **change):
    return changed_columns(app, AppChange(**change), POLICIES, {'w': f'key {OLD}'}, NOW)


def test_a_new_application_has_a_budget_of_its_own_and_its_credential_filled_in():
    """Of the credential a digest is kept; user_data is not in the template that is stored."""
    wanted = made()
    assert wanted.app.credential == digest(OLD)
    assert wanted.user_data == {'w': f'key {OLD}'} and 'user_data' not in str(wanted.app.template)
    assert (wanted.budget.id, wanted.budget.renew_amount) == (wanted.app.payer, 5)
    assert wanted.app.created_at == NOW


@pytest.mark.parametrize(
    ('parts', 'text'),
    [
        ({'policy': 'other'}, 'policy: other is not installed: give free or mine or timed'),
        ({'parameters': {'size': 1}}, 'mine does not take size: it takes speed'),
        ({'slo': None}, 'slo: mine needs one: give metric'),
        ({'slo': {'queue': True}}, 'slo: mine works for metric, not for queue'),
        ({'policy': 'timed', 'parameters': {}}, 'slo: timed works for deadline, not for metric'),
        (
            {
                'policy': 'timed',
                'parameters': {},
                'slo': {'deadline': '1970-01-02T00:00:00Z'},
            },
            'slo.deadline: 1970-01-02T00:00:00Z is past',
        ),
        ({'start': {'before': '1970-01-02T00:00:00Z'}}, 'start.before: 1970-01-02T00:00:00Z is'),
    ],
)
def test_a_template_that_no_policy_can_serve_is_refused(parts, text):
    """By what the policies declare, whoever wrote them."""
    with pytest.raises(BadTemplate, match=text):
        made(**parts)


def test_a_change_sets_only_what_it_names():
    """A new credential replaces the old one where it was filled in."""
    app = made().app
    changed = columns(app, slo={'metric': {'low': 1, 'reference': 1, 'high': 1}})
    assert set(changed) == {'template'} and changed['template']['parameters'] == {'speed': 2.0}
    renewed = columns(app, credential=NEW)
    assert renewed['user_data'] == {'w': f'key {NEW}'} and renewed['credential'] == digest(NEW)
    assert columns(app, wish=DesiredState.SUSPEND) == {'wish': DesiredState.SUSPEND}


def test_an_application_that_is_being_deleted_takes_a_new_trust_only():
    """Without one its servers could not be deleted."""
    app = replace(made().app, wish=DesiredState.DELETE, state=AppState.FINISHED, closed=True)
    with pytest.raises(AppDeleting):
        columns(app, wish=DesiredState.RUN)
    changed = columns(app, slo=METRIC, trust_id='t2', user_id='u2')
    assert changed == {'trust_id': 't2', 'user_id': 'u2', 'wish': DesiredState.DELETE}


def test_an_application_that_has_ended_can_be_deleted():
    """And takes a new trust until what it had was given back."""
    app = replace(made().app, state=AppState.FINISHED)
    with pytest.raises(AppEnded):
        columns(app, slo=METRIC)
    assert columns(app, trust_id='t2')['trust_id'] == 't2'
    with pytest.raises(AppEnded):
        columns(replace(app, closed=True), trust_id='t2')
    assert columns(replace(app, closed=True), wish=DesiredState.DELETE) == {
        'wish': DesiredState.DELETE
    }


def test_a_policy_that_serves_every_goal_needs_no_objective():
    """What is not there is stored as an empty one; one may be given later."""
    app = made(policy='free', parameters={}, slo=None).app
    assert app.template['slo'] == {}
    found = columns(app, slo=METRIC)
    assert found['template']['slo']['metric']['low'] == 1


def test_how_its_servers_rest_can_be_changed():
    """Where nothing is given it stays as it was: as the operator has it at first."""
    app = made().app
    assert app.template['when_suspended'] is None
    changed = columns(app, when_suspended=Rest.SHELVE)['template']
    assert changed['when_suspended'] == 'shelve'
    later = columns(replace(app, template=changed), slo=METRIC)['template']
    assert later['when_suspended'] == 'shelve'


def test_an_application_of_the_version_before_rests_as_the_operator_has_it():
    """Its row has no entry for it."""
    app = made().app
    old = {name: value for name, value in app.template.items() if name != 'when_suspended'}
    assert parsed(old).when_suspended is None
    assert columns(replace(app, template=old), slo=METRIC)['template']['when_suspended'] is None
