# SPDX-License-Identifier: Apache-2.0
"""Templates of applications: what is read, and how what can't be run is refused."""

import json
import math

import pytest

from nova_market.core.app.template import Goal, document, parsed, slo_of, user_data, with_user_data
from nova_market.core.app.template_schema import TEMPLATE
from nova_market.document_check import DocumentSchema, entry_name
from nova_market.errors import BadDocument, BadTemplate

TEMPLATE_SCHEMA = DocumentSchema(TEMPLATE)

DEADLINE = '2026-11-22T06:00:00Z'
WHOLE = {
    'name': 'zephyr',
    'policy': 'full_deadline',
    'parameters': {'resume': 1.2},
    'slo': {'deadline': DEADLINE, 'work_core_seconds': 14400},
    'budget': {'renew_amount': 2_000_000, 'renew_every': 1},
    'start': {'price_below': {'cpu': 500_000}, 'before': '2026-11-21T20:00:00Z', 'else': 'cancel'},
    'components': [
        {
            'name': 'worker',
            'flavor': 'm1.small',
            'image': 'debian-13',
            'networks': ['private'],
            'least_count': 1,
            'most_count': 4,
            'least': {'cpu': 0.25, 'memory_mib': 512},
            'user_data': '#cloud-config\n',
        }
    ],
}


def changed(**parts):
    """The whole template, with top-level entries replaced, or left out where they are None."""
    return {name: value for name, value in {**WHOLE, **parts}.items() if value is not None}


def component(**parts):
    return changed(components=[{**WHOLE['components'][0], **parts}])


def checked(template):
    """As the API and the command do it: the schema, then what a schema can't express."""
    TEMPLATE_SCHEMA.check(template)
    return parsed(template)


def test_a_template_is_read_whole():
    """Every entry finds its place, times become seconds."""
    read = checked(WHOLE)
    assert (read.name, read.policy, dict(read.parameters)) == (
        'zephyr',
        'full_deadline',
        {'resume': 1.2},
    )
    assert read.slo.goal is Goal.DEADLINE and read.slo.deadline == 1795327200.0
    assert read.slo.band == (0.75, 0.9, 1.0)
    assert read.start.before == read.slo.deadline - 10 * 3600
    (worker,) = read.components
    assert (worker.least_count, worker.most_count, worker.least_cpu) == (1, 4, 0.25)


def test_a_document_is_the_template_again():
    """What the store keeps is read as the same template, through JSON; what runs there is kept apart."""
    for one in (WHOLE, changed(start=None, budget=None, parameters=None, slo={'queue': True})):
        read = parsed(one)
        kept = json.loads(json.dumps(document(read)))
        assert 'user_data' not in str(kept)
        texts = user_data(read)
        assert texts == {'worker': '#cloud-config\n'}
        assert with_user_data(parsed(kept), texts) == read


def test_what_is_left_out_has_a_default():
    """Four entries are enough; the budget is filled by hand and it starts at once."""
    small = {'name': 'web', 'flavor': 'm1.small', 'image': 'debian-13'}
    read = parsed(
        {'name': 'x', 'policy': 'queue_driven', 'slo': {'queue': True}, 'components': [small]}
    )
    assert read.budget.renew_amount is None and read.budget.renew_every == 1
    assert not read.start.price_below and read.start.before is None
    assert (read.components[0].most_count, read.components[0].networks) == (1, ())


def test_a_throughput_is_turned_round():
    """The larger the performance value, the worse; no throughput at all is as bad as can be."""
    slo = slo_of({'throughput': {'low': 50, 'reference': 80, 'high': 100}})
    assert slo.band == (1 / 100, 1 / 80, 1 / 50)
    assert slo.performance(40) > slo.band[2] and slo.performance(200) < slo.band[0]
    assert slo.performance(0) == math.inf
    assert slo_of({'metric': {'low': 1, 'reference': 2, 'high': 3}}).performance(4) == 4


@pytest.mark.parametrize(
    ('template', 'expected'),
    [
        ([], 'the template: []: give an object with name, policy, components'),
        (changed(slo={}), 'slo: give one of deadline, metric, throughput, queue; found none'),
        (changed(when_suspended='delete'), "when_suspended: 'delete': give one of suspend, shelve"),
        (changed(owner='me'), "'owner' is not known: give name, policy, parameters, slo, budget"),
        (changed(name=''), "name: '': give a printable text of 1 to 255"),
        (changed(policy='no such'), "policy: 'no such': give the name of a scaling policy"),
        (changed(parameters={'resume': float('nan')}), 'parameters.resume: nan: give a number'),
        (changed(parameters={'Resume': 1}), 'a lower-case name'),
        (changed(parameters={f'p{n}': 1 for n in range(17)}), 'an object of at most 16 entries (numbers'),
        (changed(slo={'deadline': DEADLINE, 'queue': True}), 'found deadline, queue'),
        (changed(slo={'queue': False}), 'slo.queue: false: give true'),
        (changed(slo={'deadline': 'tomorrow'}), "slo.deadline: 'tomorrow': give a time in ISO 8601"),
        (changed(slo={'deadline': '1969-01-01T00:00:00Z'}), 'after 1970'),
        (changed(slo={'deadline': '9999-12-31T23:59:59-23:59'}), 'before 9999'),
        (changed(slo={'deadline': '0001-01-01T00:00:00+23:59'}), 'after 1970'),
        (changed(slo={'deadline': DEADLINE, 'low': 2}), 'low 2, reference 0.9, high 1'),
        (changed(slo={'metric': {'low': 1, 'reference': 2}}), 'slo.metric: high is missing'),
        (changed(slo={'metric': {'low': 0, 'reference': 2, 'high': 3}}), 'slo.metric.low: 0: give'),
        (changed(budget={'renew_amount': -1}), 'budget.renew_amount: -1: give a whole number from 0 to'),
        (changed(budget={'renew_amount': 1.5}), 'budget.renew_amount: 1.5'),
        (changed(budget={'renew_every': 0}), 'budget.renew_every: 0: give a whole number from 1 to 214'),
        (changed(start={'price_below': {'disk': 1}}), "start.price_below: 'disk' is not known"),
        (changed(start={'price_below': {'cpu': -1}}), 'start.price_below.cpu: -1'),
        (changed(start={'else': 'wait'}), "start.else: 'wait': give"),
        (changed(components=[]), 'components: []: give a list of 1 to 20'),
        (changed(components=WHOLE['components'] * 2), 'components: 2 are named worker'),
        (component(name='A_b'), 'components[0].name'),
        (component(least_count=5), 'component worker: least_count 5 is above most_count 4'),
        (component(most_count=1001), 'components[0].most_count: 1001: give a whole number from 1 to 1000'),
        (component(least_count=True), 'least_count: true'),
        (component(least={'cpu': -0.1}), 'components[0].least.cpu: -0.1: give a number from 0'),
        (component(networks='private'), 'networks'),
        (component(networks=['']), 'networks[0]'),
        (component(user_data='x' * 48_001), 'a text of 48001 characters: give a text of at most 48000'),
        (component(user_data='é' * 24_001), 'user_data: 48002 bytes: give at most 48000'),
        (component(flavor='a\u200b'), 'component worker: flavor: '),
        (changed(slo={'deadline': '2026-02-31T00:00:00Z'}), 'give a time in ISO 8601'),
        (component(user_data='\ud800'), 'UTF-8'),
        (component(size=1), "'size' is not known"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_run_is_refused(template, expected):
    """The refusal names the entry, its value and what may be given."""
    with pytest.raises((BadDocument, BadTemplate)) as refused:
        checked(template)
    error = refused.value
    text = str(error)
    if isinstance(error, BadDocument):
        text = f'{entry_name(error.path) or "the template"}: {error.problem}'
    assert expected in text
