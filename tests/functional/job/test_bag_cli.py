# SPDX-License-Identifier: Apache-2.0
"""Bags of tasks by SDK and commands against the real API over HTTP."""

import json

import pytest
from openstack.exceptions import BadRequestException

from tests.support.market.shell import shown

pytestmark = pytest.mark.functional

FILE = """
name: film
queue: render
order: importance
budget: 12.5
poll: 2m
defaults: {time_limit: 10m, within: 2h, command: "blender -f $FRAME", flavor: small}
tasks:
- {name: frame-1, environment: {FRAME: 1}, importance: 5}
- {name: frame-2, environment: {FRAME: 2}}
- {name: cut, file: cut.sh, time_limit: 90, deadline: 2040-01-01T00:00:00Z}
"""
SCRIPT = '#!/bin/sh\ntrue\n'


@pytest.fixture
def render(connect):
    """A queue of Alice's project."""
    return connect('alice').market.create_queue(
        name='render', flavors=['small', 'big'], image='debian', price_core_hour=3_600_000
    )


@pytest.fixture
def film(tmp_path):
    (tmp_path / 'cut.sh').write_text(SCRIPT)
    path = tmp_path / 'film.yaml'
    path.write_text(FILE)
    return str(path)


def test_the_sdk_sends_a_large_bag_in_parts(render, connect):
    """In three requests; what is refused in a later part leaves no bag that is negotiated."""
    market = connect('alice').market
    tasks = [{'name': f't{n}', 'environment': {'N': str(n)}} for n in range(2500)]
    given = {'queues': ['render'], 'defaults': {'script': SCRIPT, 'time_limit': 60}}
    bag = market.create_bag(key='k', tasks=tasks, **given)
    assert (bag.state, bag.tasks['waiting']) == ('open', 2500)
    assert market.create_bag(key='k', tasks=tasks, **given).id == bag.id
    assert [one.name for one in market.bag_tasks(bag.id)] == [one['name'] for one in tasks]
    tasks[-1]['name'] = 't0'
    with pytest.raises(BadRequestException, match='t0'):
        market.create_bag(tasks=tasks, name='twice', **given)
    assert next((one.name, one.state) for one in market.bags()) == ('twice', 'cancelled')
    assert market.update_bag(bag.id, poll=60).poll == 60
    assert market.cancel_bag(bag.id, jobs=True).tasks['cancelled'] == 2500
    assert [one.action for one in market.bag_events(bag.id)] == ['cancelled', 'changed', 'created']


def test_a_bag_by_commands(render, connect, run, film):
    """Created from a file, listed, shown, changed, cancelled; its tasks and events."""
    status, out, err = run('alice', 'bag', 'create', film, '-f', 'json')
    assert status == 0, err
    made = json.loads(out)
    assert (made['name'], made['order'], made['budget'], made['poll']) == (
        'film',
        'importance',
        12_500_000,
        120,
    )
    assert made['tasks']['waiting'] == 3 and made['state'] == 'open'
    status, out, err = run('alice', 'bag', 'tasks', 'film', '-f', 'json')
    first, _, third = json.loads(out)
    assert (first['Name'], first['Importance'], first['Time Limit']) == ('frame-1', 5, 600)
    assert (third['Time Limit'], third['Deadline'][:10]) == (90, '2040-01-01')
    status, out, _ = run('alice', 'bag', 'list')
    assert status == 0 and '3 all, 3 waiting' in out
    status, out, err = run(
        'alice',
        'bag',
        'set',
        'film',
        '--no-budget',
        '--order',
        'risk',
        '--no-retry',
        '--within',
        '3h',
    )
    assert status == 0, err
    show = shown(run, 'alice', 'bag', 'show', 'film')
    assert (show['order'], show['retry'], show['budget'], show['poll']) == (
        'risk',
        False,
        None,
        120,
    )
    status, out, _ = run('alice', 'bag', 'set', 'film')
    assert status == 1
    assert shown(run, 'alice', 'bag', 'cancel', '--jobs', 'film')['state'] == 'cancelled'
    status, out, _ = run('alice', 'bag', 'events', 'film', '--task', 'cut', '-f', 'json')
    assert [one['Action'] for one in json.loads(out)] == ['cancelled', 'changed', 'created']
    assert run('bob', 'bag', 'show', made['id'])[0] == 1
    assert 'there is no bag nothing' in run('alice', 'bag', 'show', 'nothing')[2]


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('tasks: []', 'tasks: give a list'),
        ('- a', 'holds no bag'),
        ('a: [', 'neither YAML nor JSON'),
        ('queue: render\ntasks: [7]', 'tasks[0]: give entries'),
        ('tasks: [{time_limit: 60, command: a, script: b}]', 'script and command are both given'),
        ('queue: render\ntasks: [{time_limit: soon, command: a}]', 'tasks[0].time_limit'),
        ('tasks: [{time_limit: 60, command: a, importance: .nan}]', 'tasks[0].importance: nan'),
        ('queue: render\ntasks: [{time_limit: 60, command: a, importance: 1.0e+308}]', 'tasks[0].importance'),
        ('queue: render\ntasks: [{time_limit: 60, file: none.sh}]', 'none.sh: No such file'),
        ('queue: render\nbudget: much\ntasks: [{time_limit: 60, command: a}]', 'budget'),
        ('queue: render\ntasks: [{time_limit: 60, command: a, size: 5}]', 'size'),
        ('tasks: [{time_limit: 60, command: a}]', 'queues'),
    ],
)  # fmt: skip
def test_a_file_that_is_refused(render, run, tmp_path, text, words):
    """One line with the entry and what to give; nothing is stored."""
    path = tmp_path / 'bag.yaml'
    path.write_text(text)
    status, _, err = run('alice', 'bag', 'create', str(path))
    assert status == 1 and words in err, err
    assert json.loads(run('alice', 'bag', 'list', '-f', 'json')[1]) == []
