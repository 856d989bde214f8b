# SPDX-License-Identifier: Apache-2.0
"""Templates as people write them: credits, dates and durations become what the API takes."""

import pytest
import yaml
from osc_lib import exceptions

from nova_market.osc.v1.app_file import sent, template_of

NOW = 1_795_888_800.0
"""2026-11-28T18:00:00Z"""

WHOLE = """
name: farm
budget: {renew_amount: 5, renew_every: 10}
parameters: {cpu_price: 0.4, resume: 0.8, cpu: 0.25}
slo: {deadline: 2h, work_core_seconds: 60}
start: {price_below: {cpu: 0.4, memory: 0.000002}, before: 2026-11-29}
"""


def test_amounts_are_credits_and_times_may_be_durations():
    """5 is five credits; what is no amount and no time stays as it is."""
    assert sent(yaml.safe_load(WHOLE), NOW) == {
        'name': 'farm',
        'budget': {'renew_amount': 5_000_000, 'renew_every': 10},
        'parameters': {'cpu_price': 400_000.0, 'resume': 0.8, 'cpu': 250_000.0},
        'slo': {'deadline': '2026-11-28T20:00:00Z', 'work_core_seconds': 60},
        'start': {
            'price_below': {'cpu': 400_000.0, 'memory': 2.0}, 'before': '2026-11-29T00:00:00Z',
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('2026-11-28T18:00', '2026-11-28T18:00:00Z'),
        ('2026-11-28T18:00:00Z', '2026-11-28T18:00:00Z'),
        ('2026-11-28 18:00:30', '2026-11-28T18:00:30Z'),
        ('"2026-11-28T18:00+01:00"', '2026-11-28T17:00:00Z'),
        ('2026-11-28T18:00:00+01:00', '2026-11-28T17:00:00Z'),
        ('1d12h', '2026-11-30T06:00:00Z'),
        ('tomorrow', '2026-11-29T00:00:00Z'),
    ],
)
def test_a_time_may_be_written_in_several_ways(text, expected):
    """As commands take it, and as YAML understands it; what is sent is in UTC."""
    document = yaml.safe_load(f'slo: {{deadline: {text}}}')
    assert sent(document, NOW)['slo']['deadline'] == expected


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('budget: {renew_amount: 5000 credits}', 5_000_000_000),
        ('budget: {renew_amount: 40000000 credits}', 40 * 10**12),
        ('budget: {renew_amount: "0.5"}', 500_000),
        ('budget: {renew_amount: null}', None),
        ('budget: {renew_amount: 9999}', 9999 * 10**6),
    ],
)
def test_an_amount_may_have_its_unit(text, expected):
    """It has to where micro-credits may be meant."""
    assert sent(yaml.safe_load(text), NOW)['budget']['renew_amount'] == expected


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        (
            'budget: {renew_amount: 40000000}',
            ('budget.renew_amount: 40000000 without a unit: amounts are in credits, and were in '
            'micro-credits once; write 40 if it is from then, or "40000000 credits" if it is right'),
        ),
        ('budget: {renew_amount: 10000}', 'write 0.01 if it is from then'),
        ('budget: {renew_amount: much}', "budget.renew_amount: 'much' is no amount: write credits"),
        ('budget: {renew_amount: -1}', 'budget.renew_amount: -1 is no amount'),
        ('budget: {renew_amount: 0.0000001}', 'at most 6 digits after the point, such as 5 or 0.25'),
        ('budget: {renew_amount: true}', 'budget.renew_amount: True is no amount'),
        ('start: {price_below: {cpu: 400000}}', 'start.price_below.cpu: 400000 without a unit'),
        ('start: {price_below: {memory: 20}}', 'write 0.00002 if it is from then'),
        ('start: {price_below: {cpu: cheap}}', "start.price_below.cpu: 'cheap' is no price"),
        ('parameters: {cpu_price: 400000}', 'parameters.cpu_price: 400000 without a unit'),
        (
            'slo: {deadline: soon}',
            ("slo.deadline: 'soon' is no time: give one such as 2h (from now), tomorrow, 2026-11-21 or "
            '2026-11-21T12:00, in UTC'),
        ),
        ('slo: {deadline: 60}', "slo.deadline: '60' is no time"),
        ('start: {before: [2h]}', 'start.before: "[\'2h\']" is no time'),
        ('slo: {deadline: 999999999d}', "slo.deadline: '999999999d' is not in the years 1 to 9999"),
    ],
)  # fmt: skip
def test_what_is_no_amount_and_no_time_is_refused(tmp_path, text, expected):
    """With file, entry, value and an example; an old template is no small fortune."""
    path = tmp_path / 't.yaml'
    path.write_text(text)
    with pytest.raises(exceptions.CommandError) as refused:
        template_of(str(path), NOW)
    assert str(refused.value).startswith(f'{path}: ')
    assert expected in str(refused.value)


@pytest.mark.parametrize(
    'text', ['budget: 5', 'slo: soon', 'start: {price_below: 3}', 'parameters: [1]']
)
def test_what_has_another_form_is_left_to_the_service(text):
    """Its error names the entry and what it may be."""
    document = yaml.safe_load(text)
    assert sent(document, NOW) == document
