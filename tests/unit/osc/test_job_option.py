# SPDX-License-Identifier: Apache-2.0
"""Options of `job create`: on the command line, on #MARKET lines, and both."""

import argparse

import pytest
from osc_lib import exceptions

from nova_market.api.schemas.job import JOB_NEW
from nova_market.document_check import DocumentSchema
from nova_market.errors import BadScript
from nova_market.osc.v1.job_option import add_job_options, merged, request_of, script_values

SCRIPT = """#!/bin/sh
#MARKET --queue render --time-limit 2h
#MARKET --flavor m1.small --env STEPS=10 --env SEED=1
#MARKET --after prepare --best-effort
true
"""


def given(*words: str) -> argparse.Namespace:
    """What the command line has, beside options that are none of the job's."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--wait', action='store_true')
    add_job_options(parser)
    return parser.parse_args(words)


def values(*words: str, script: str = SCRIPT):
    return merged(script_values(script)[0], given(*words))


def test_a_script_has_options_and_what_is_not_given_is_not_sent():
    """No default of the client hides one of the service."""
    assert values() == {
        'queue': 'render', 'time_limit': 7200, 'flavor': 'm1.small', 'kind': 'best_effort',
        'environment': [('STEPS', '10'), ('SEED', '1')], 'after': ['prepare'],
    }  # fmt: skip
    assert values('--wait', script='#!/bin/sh\n') == {}


def test_the_command_line_wins():
    """An option replaces that of the script; variables are merged by name."""
    made = values('--time-limit', '5m', '--after', 'a', '--after', 'b', '--env', 'SEED=2')
    assert (made['time_limit'], made['after'], made['queue']) == (300, ['a', 'b'], 'render')
    body = request_of(made, SCRIPT)
    assert body['environment'] == {'STEPS': '10', 'SEED': '2'}


def test_a_size_replaces_a_flavor_and_a_flavor_a_size():
    """They say the same thing in two ways; both at once is a mistake of one place only."""
    assert request_of(values('--memory', '4G'), SCRIPT)['resources'] == {
        'cores': 1, 'memory_mib': 4096,
    }  # fmt: skip
    assert 'flavor' not in request_of(values('--cores', '2'), SCRIPT)
    sized = '#!/bin/sh\n#MARKET --queue q --time-limit 1h --memory 4G --disk 10\n'
    made = request_of(values('--flavor', 'm1.big', script=sized), sized)
    assert made['flavor'] == 'm1.big' and 'resources' not in made
    with pytest.raises(exceptions.CommandError, match='give --flavor, or --cores, --memory'):
        request_of(values('--flavor', 'm1.big', '--memory', '4G'), SCRIPT)


def test_what_is_sent_is_what_the_service_takes():
    """Every option at once fits the schema of a request."""
    words = (  # noqa: SIM905
        '--name n --cores 2 --memory 4G --disk 10 --servers 4 --priority 200 --retries 0 '
        '--after-condition end --least-run-time 5m --notice 1m --preempt-action suspend '
        '--output-url https://store.example/a?b=c --begin 2096-11-22T06:00:00Z --value 2.5'
    ).split()
    body = request_of(values(*words), SCRIPT)
    DocumentSchema(JOB_NEW).check(body)
    optional = {'checkpoint', 'array', 'flavor'}
    # what the API takes and no option gives would be out of the tenants' reach
    assert set(JOB_NEW['properties']) - set(body) == optional


@pytest.mark.parametrize(
    ('script', 'expected'),
    [
        ('#!/bin/sh\n#MARKET --quue q', 'line 2: unrecognized arguments: --quue q; "openstack'),
        ('#!/bin/sh\n\n#MARKET --time 2h', 'line 3: unrecognized arguments: --time 2h'),
        ('#!/bin/sh\n#MARKET render', 'line 2: unrecognized arguments: render'),
        ('#!/bin/sh\n#MARKET --wait', 'line 2: unrecognized arguments: --wait'),
        ('#!/bin/sh\n#MARKET --time-limit 90', "line 2: argument --time-limit: '90': give a time"),
        ('#!/bin/sh\n#MARKET --memory', 'line 2: argument --memory: expected one argument'),
        ('#!/bin/sh\n#MARKET --array 0-9999', "line 2: argument --array: '0-9999' has 10000 tasks"),
        ('#!/bin/sh\n#MARKET --priority=-1', "line 2: argument --priority: '-1': give a whole"),
        ('#!/bin/sh\n#MARKET --preempt-action x', 'line 2: argument --preempt-action: invalid'),
    ],
)
def test_an_option_of_a_script_that_is_none_is_refused_with_its_line(script, expected):
    """Not dropped: a misspelt limit would be found out hours later."""
    with pytest.raises(BadScript) as refused:
        script_values(script)
    assert str(refused.value).startswith(expected)


def test_lines_after_the_first_command_are_counted():
    """So that the command can warn of them."""
    assert script_values(f'{SCRIPT}#MARKET --name late\n')[1] == (6,)


@pytest.mark.parametrize(
    ('script', 'expected'),
    [
        ('#!/bin/sh\n#MARKET --time-limit 1h', 'no queue: give --queue <queue>'),
        ('#!/bin/sh\n#MARKET --queue q', 'no time limit: give --time-limit, such as 2h'),
    ],
)
def test_what_every_job_needs(script, expected):
    """In the words of the command, rather than of the API."""
    with pytest.raises(exceptions.CommandError, match=expected):
        request_of(values(script=script), script)
