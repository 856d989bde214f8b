# SPDX-License-Identifier: Apache-2.0
"""Jobs by SDK and commands against the real API over HTTP; the service's part is played by JobService."""

import io
import json
import socket
import sys

import pytest
from openstack.exceptions import ConflictException, HttpException, NotFoundException

from nova_market.core.job.record import JobKind, JobWish, PreemptAction
from nova_market.core.job.store_values import JobFilter
from nova_market.osc.v1.job_wait import OUTAGES, passes
from tests.support.market.api import ALICE
from tests.support.market.job_service import JobService, working
from tests.support.market.shell import shown

pytestmark = pytest.mark.functional

SCRIPT = """#!/bin/sh
#MARKET --queue render --time-limit 30m
#MARKET --env STEPS=10
echo hello
"""
FAST = ('--interval', '0.01')


@pytest.fixture
def render(market_service, run):
    """A queue of Alice's project; its document."""
    words = (
        'queue',
        'create',
        'render',
        '--flavor',
        'small',
        '--flavor',
        'big',
        '--image',
        'debian',
    )
    return shown(run, 'alice', *words)


@pytest.fixture
def script(tmp_path):
    """write(text, name) -> path of a script."""

    def write(text=SCRIPT, name='frame.sh'):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def service(market_service):
    market = market_service.market
    return JobService(market.stores, market.wall)


def stored(market_service, **chosen):
    """Jobs as they are stored, oldest first."""
    found = market_service.market.stores.jobs.jobs(JobFilter(**chosen))
    return sorted(found, key=lambda one: one.number)


def names(lines, column='Name'):
    return sorted(line[column] for line in lines)


def test_the_sdk_has_queues_and_jobs(market_service, connect):
    """Made, changed, submitted once by one key, cancelled; another project sees nothing of it."""
    market = connect('alice').market
    made = market.create_queue(name='render', flavors=['small'], image='debian')
    assert [one.id for one in market.queues()] == [made.id]
    changed = market.update_queue(made.id, idle_seconds=30, generation=made.generation)
    assert changed.idle_seconds == 30
    with pytest.raises(ConflictException):
        market.update_queue(made.id, idle_seconds=40, generation=made.generation)
    wanted = {'queue': 'render', 'script': '#!/bin/sh\n', 'time_limit': 60, 'name': 'one'}
    jobs = market.create_jobs([wanted, {**wanted, 'name': 'two', 'array': 3}], key='a-key-of-mine')
    again = market.create_jobs([wanted, {**wanted, 'name': 'two', 'array': 3}], key='a-key-of-mine')
    assert [one.id for one in again] == [one.id for one in jobs] and len(jobs) == 4
    assert len(list(market.jobs())) == 4
    one = market.get_job(jobs[0].id)
    assert (one.state, one.ended, one.label, one.script) == ('waiting', False, 'one', '#!/bin/sh\n')
    assert sorted(one.label for one in market.jobs(array_id=jobs[1].array_id)) == [
        'two/0', 'two/1', 'two/2',
    ]  # fmt: skip
    with pytest.raises(ConflictException):
        market.requeue_job(one.id)
    assert market.cancel_job(one.id).ended
    assert [event.action for event in market.job_events(one.id)] == ['cancelled', 'submitted']
    with pytest.raises(ConflictException):
        market.delete_queue(made.id)
    other = connect('bob').market
    assert (list(other.jobs()), list(other.queues())) == ([], [])
    with pytest.raises(NotFoundException):
        other.get_job(one.id)
    with pytest.raises(HttpException, match='queue'):
        other.create_jobs([wanted])


def test_a_queue_is_kept_by_commands(market_service, run):
    """From its creation to its deletion; what is not given stays."""
    made = shown(
        run, 'alice', 'queue', 'create', 'render', '--flavor', 'small', '--image', 'debian',
        '--max-time-limit', '1d', '--short-below', '10m', '--idle', '5m', '--no-reuse', '--network', 'lan',
        '--submitter', 'b' * 32, '--role', 'member', '--max-waiting', '50', '--price', '0.05',
        '--description', 'Frames of the film', '--weight', f'{"b" * 32}=2',
    )  # fmt: skip
    assert made['limits']['max_time_limit'] == 86400 and made['limits']['max_waiting'] == 50
    assert (made['short_below'], made['idle_seconds'], made['reuse']) == (600, 300, False)
    assert made['submitters'] == {'projects': ['b' * 32], 'roles': ['member']}
    assert (made['price_core_hour'], made['share'], made['weights']) == (50_000, 0, {'b' * 32: 2})
    (line,) = shown(run, 'alice', 'queue', 'list')
    assert (line['Name'], line['Policy'], line['State'], line['Waiting']) == (
        'render', 'flexible', 'open', 0,
    )  # fmt: skip
    assert (line['Known As'], made['projects_trust_each_other']) == ('render', False)
    (line,) = shown(run, 'bob', 'queue', 'list')
    assert line['Known As'] is None
    accepted = shown(run, 'bob', 'queue', 'accept', made['id'], '--name', 'frames')
    assert accepted['known_as'] == 'frames'
    assert shown(run, 'bob', 'queue', 'show', 'frames')['name'] == 'render'
    assert run('bob', 'queue', 'reject', 'frames')[0] == 0
    assert run('bob', 'queue', 'show', 'frames')[0] == 1
    change = ('queue', 'set', 'render')
    assert shown(run, 'root', 'queue', 'set', made['id'], '--share', '0.25')['share'] == 0.25
    after = shown(
        run, 'alice', *change, '--no-network', '--no-role', '--no-max-waiting', '--no-weight',
        '--max-servers', '2', '--reuse', '--state', 'closed', '--new-trust', '--max-notice', '2m',
        '--max-retries', '0',
    )  # fmt: skip
    assert (after['networks'], after['submitters']) == ([], {'projects': ['b' * 32], 'roles': []})
    assert (after['limits']['max_waiting'], after['limits']['max_servers']) == (None, 2)
    assert (after['limits']['max_time_limit'], after['reuse'], after['weights']) == (
        86400,
        True,
        {},
    )
    assert (after['state'], after['image'], after['share']) == ('closed', 'debian', 0.25)
    assert shown(run, 'alice', *change, '--name', 'frames')['name'] == 'frames'
    status, out, _ = run('alice', 'queue', 'show', 'frames')
    assert status == 0
    for text in (
        '25.0 %',
        '| 5m ',
        'max_time_limit=1d max_servers=2 max_array=1000 max_notice=2m max_retries=0',
        'short_below=10m max_notice=2m max_least_run_time=1h max_retries=0',
        '0.05',
        f'projects: {"b" * 32}',
    ):
        assert text in out
    (line,) = shown(run, 'root', 'queue', 'list', '--all-projects')
    assert line['Project'] == ALICE
    assert run('alice', 'queue', 'delete', 'frames')[0] == 0


def test_a_refused_job_has_the_option_and_the_units_that_were_typed(render, run):
    """Not the entry of the request, and seconds."""
    assert run('alice', 'queue', 'set', 'render', '--max-time-limit', '1d')[0] == 0
    status, _, err = run(
        'alice', 'job', 'create', '--queue', 'render', '--time-limit', '2d', '--wrap', 'x'
    )
    assert status == 1
    assert '--time-limit: 2d: queue render takes at most 1d: give less (market.job.invalid)' in err


def test_a_queue_keeps_ids_of_projects(render, run):
    """A name is looked up; one that the owner may not look up is refused, for it would admit nobody."""
    change = ('queue', 'set', 'render')
    for words in (('--submitter', 'physics'), ('--weight', 'physics=2')):
        status, _, err = run('alice', *change, *words)
        assert status == 1 and 'you may not look up other projects by name, physics for one' in err
        assert 'give the id of the project' in err
    after = shown(run, 'alice', *change, '--weight', 'astronomy=2', '--submitter', 'b' * 32)
    assert (after['weights'], after['submitters']['projects']) == ({ALICE: 2}, ['b' * 32])


@pytest.mark.parametrize(
    ('name', 'words', 'expected'),
    [
        (
            'alice',
            ('create', 'q'),
            'no flavor and no image: give --flavor and --image of its workers',
        ),
        ('alice', ('create', 'q', '--flavor', 'small'), 'no image: give --image'),
        ('alice', ('create', 'q', '--flavor', 'small', '--image', 'i', '--share', '0.1'), 'share'),
        ('alice', ('create', 'q', '--flavor', 'gone', '--image', 'i'), "no flavor 'gone'"),
        ('alice', ('create', 'a b', '--flavor', 'small', '--image', 'i'), 'name'),
        ('alice', ('create', 'render', '--flavor', 'small', '--image', 'i'), 'render'),
        ('alice', ('set', 'render'), 'nothing to change: "openstack market queue set --help"'),
        ('alice', ('set', 'render', '--policy', 'magic'), "'magic' is not installed, or the op"),
        ('alice', ('set', 'render', '--max-notice', '11m'), 'at most 600 ([jobs]max_notice)'),
        (
            'alice',
            ('set', 'render', '--short-below', '31m'),
            'at most 1800 ([jobs]max_short_below)',
        ),
        ('alice', ('set', 'render', '--max-retries', '-1'), 'give a whole number, 0 or more'),
        ('alice', ('set', 'render', '--short-below', '90'), "'90': give a time with its unit"),
        ('alice', ('set', 'render', '--share', '-1'), "'-1': give a part, 0 or more"),
        ('alice', ('set', 'render', '--network', 'n', '--no-network'), '--network or --no-network'),
        ('alice', ('set', 'render', '--max-running', '0'), 'give a whole number, 1 or more'),
        ('alice', ('set', 'render', '--weight', '2'), 'give <project>=<weight>'),
        ('alice', ('set', 'render', '--max-time-limit', '31d'), '2678400'),
        ('alice', ('set', 'render', '--share', '1.5'), '1.5'),
        ('alice', ('set', 'gone', '--idle', '5m'), 'gone'),
        ('bob', ('show', 'render'), 'render'),
        ('alice', ('delete', 'gone'), 'gone'),
        ('alice', ('stats', 'render', '--every', '90s'), '--every is 90 s: give whole minutes'),
        ('alice', ('stats', 'render', '--plot', 'a.png'), 'a.png: give a name that ends with .svg'),
        ('alice', ('stats', 'render', '--plot', '/no/such/a.svg'), 'a.svg: No such file'),
    ],
    ids=lambda value: ' '.join(value) if isinstance(value, tuple) else '',
)
def test_what_a_queue_refuses(render, run, name, words, expected):
    """One line on stderr: the value, the limit, what to do."""
    status, _, err = run(name, 'queue', *words)
    assert status in (1, 2) and expected in err
    assert 'Traceback' not in err


def test_a_job_from_its_script_to_its_end(market_service, render, run, script, service):
    """Submitted by a script with options, seen waiting with its reason, running, and ended."""
    path = script()
    made = shown(run, 'alice', 'job', 'create', path, '--env', 'SEED=1', '--memory', '2G')
    assert (made['name'], made['queue'], made['state']) == ('frame.sh', 'render', 'waiting')
    assert (made['time_limit'], made['flavor'], made['cores']) == (1800, 'big', 8)
    assert made['environment'] == {'STEPS': '10', 'SEED': '1'}
    (job,) = stored(market_service)
    service.waits(job, 'room', 'room: 8 cores, at most 5 free on any host', 1_800_000_600.0)
    (line,) = shown(run, 'alice', 'job', 'list')
    assert line['Reason']['text'] == 'room: 8 cores, at most 5 free on any host'
    assert (line['ID'], line['Expected Start']) == (made['id'], '2027-01-15T08:10:00Z')
    _, out, _ = run('alice', 'job', 'list', '--long')
    assert '| room: 8 cores, at most 5 free on any host | 2027-01-15T08:10:00Z |' in out
    assert '| 30m ' in out
    service.starts(job)
    (job,) = stored(market_service)
    service.writes(job, b'frame 1\n')
    assert run('alice', 'job', 'output', 'frame.sh')[:2] == (0, 'frame 1\n')
    market_service.market.wall.now += 90
    service.ends(job, 3, charged=1_500_000)
    assert shown(run, 'alice', 'job', 'list') == []
    (line,) = shown(run, 'alice', 'job', 'list', '--state', 'failed', '--long')
    assert line['Exit Code'] == 3
    status, out, _ = run('alice', 'job', 'show', 'frame.sh')
    assert status == 0
    assert '1.0: failed, on ' in out and 'exit code 3, cpu_seconds=1.5 wall_seconds=90' in out
    assert '| charged         | 1.5' in out and '| reason          | exit code 3' in out
    shown_ = shown(run, 'alice', 'job', 'show', made['id'], '--script')
    assert shown_['script'] == SCRIPT and 'script' not in made
    events = shown(run, 'alice', 'job', 'events', 'frame.sh')
    assert [one['Action'] for one in events] == ['failed', 'started', 'starting', 'submitted']
    (newest,) = shown(run, 'alice', 'job', 'events', 'frame.sh', '--limit', '1')
    assert newest['Reason'] == 'exit code 3'
    assert shown(run, 'alice', 'job', 'requeue', 'frame.sh')[0]['State'] == 'waiting'


def test_every_option_reaches_the_service(market_service, render, run, script):
    """As it was given."""
    save = script('#!/bin/sh\ntar c .\n', 'save.sh')
    before = shown(run, 'alice', 'job', 'create', script())
    made = shown(
        run, 'alice', 'job', 'create', script(), '--name', 'solver', '--flavor', 'small', '--servers', '4',
        '--best-effort', '--priority', '50', '--after', 'frame.sh', '--after-condition', 'end',
        '--retries', '3', '--least-run-time', '10m', '--notice', '2m', '--checkpoint', save,
        '--preempt-action', 'shelve', '--output-url', 'https://store.example/out?sig=1',
        '--begin', '2096-11-22T06:00:00Z', '--value', '2.5', '--time-limit', '1-02:30:00',
    )  # fmt: skip
    assert (made['state'], made['after'], made['after_condition']) == (
        'held',
        [before['id']],
        'end',
    )
    assert (made['kind'], made['priority'], made['servers']) == ('best_effort', 50, 4)
    assert (made['least_run_time'], made['notice'], made['retries']) == (600, 120, 3)
    assert (made['begin'], made['value'], made['time_limit']) == (
        '2096-11-22T06:00:00Z', 2_500_000, 95400,
    )  # fmt: skip
    _, job = stored(market_service)
    assert (job.kind, job.preempt_action) == (JobKind.BEST_EFFORT, PreemptAction.SHELVE)
    content = market_service.market.stores.jobs.content(job.content_id)
    assert content.output_url == 'https://store.example/out?sig=1'
    assert content.checkpoint == '#!/bin/sh\ntar c .\n'
    # named by a script, it is beside that
    beside = script(SCRIPT.replace('--env', '--checkpoint save.sh --env'), 'beside.sh')
    assert shown(
        run, 'alice', 'job', 'show', shown(run, 'alice', 'job', 'create', beside)['id'], '--script'
    )['checkpoint'].startswith('#!/bin/sh')


def test_commands_and_standard_input_are_scripts(market_service, render, run, monkeypatch):
    """--wrap as sbatch has it; - as everybody has it."""
    short = ('--queue', 'render', '--time-limit', '10m')
    shown(run, 'alice', 'job', 'create', *short, '--wrap', 'make -j4 check')
    monkeypatch.setattr(sys, 'stdin', io.TextIOWrapper(io.BytesIO(SCRIPT.encode())))
    shown(run, 'alice', 'job', 'create', '-')
    first, second = stored(market_service)
    content = market_service.market.stores.jobs.content
    assert (first.name, content(first.content_id).script) == ('wrap', '#!/bin/sh\nmake -j4 check\n')
    assert (second.name, content(second.content_id).script) == ('stdin', SCRIPT)


def test_arrays_and_what_comes_after_them(market_service, render, run, script, service):
    """An array is named as a whole, or element by element."""
    made = shown(
        run, 'alice', 'job', 'create', script(), '--array', '0-3,10-20:5', '--name', 'frames'
    )
    assert (made['jobs'], made['states']) == (7, {'waiting': 7})
    assert [job.array_index for job in stored(market_service)] == [0, 1, 2, 3, 10, 15, 20]
    film = ('job', 'create', '--queue', 'render', '--time-limit', '5m', '--wrap', 'join', '--name')
    held = shown(run, 'alice', *film, 'film', '--after', 'frames')
    assert (held['state'], held['after']) == ('held', [made['id']])
    one = shown(run, 'alice', *film, 'teaser', '--after', 'frames/10', '--after', 'frames/10')
    assert one['after'] == [shown(run, 'alice', 'job', 'show', 'frames/10')['id']]
    for job in stored(market_service)[:2]:
        service.starts(job)
    running = shown(run, 'alice', 'job', 'list', '--state', 'running', '--queue', 'render')
    assert names(running) == ['frames/0', 'frames/1']
    lines = shown(run, 'alice', 'job', 'cancel', 'frames/2', 'teaser')
    assert names(lines) == ['frames/2', 'teaser'] and names(lines, 'State') == ['cancelled'] * 2
    lines = shown(run, 'alice', 'job', 'cancel', made['id'])
    assert 'frames/2' not in names(lines) and len(lines) == 6
    wishes = {job.array_index: str(job.wish) for job in stored(market_service, array_id=made['id'])}
    assert (wishes[0], wishes[3]) == ('cancel', 'run')
    lines = shown(run, 'alice', 'job', 'requeue', made['id'])
    assert names(lines) == [f'frames/{n}' for n in (0, 1, 10, 15, 2, 20, 3)]
    assert len(shown(run, 'alice', 'job', 'list', '--array', made['id'], '--all')) == 7
    assert len(shown(run, 'alice', 'job', 'list', '--limit', '2')) == 2


def test_a_name_is_that_of_the_job_that_has_not_ended(market_service, render, run, script):
    """Scripts are run again and again; nothing is cancelled on a guess."""
    create = ('job', 'create', script())
    first = shown(run, 'alice', *create)
    shown(run, 'alice', 'job', 'cancel', 'frame.sh')
    second = shown(run, 'alice', *create)
    assert shown(run, 'alice', 'job', 'show', 'frame.sh')['id'] == second['id']
    third = shown(run, 'alice', *create)
    status, _, err = run('alice', 'job', 'cancel', 'frame.sh')
    assert status == 1 and '2 jobs or arrays are named frame.sh: give the id of one: ' in err
    for one in (second, third):
        assert shown(run, 'alice', 'job', 'cancel', one['id'])[0]['State'] == 'cancelled'
    assert shown(run, 'alice', 'job', 'show', 'frame.sh')['id'] == third['id']
    assert names(shown(run, 'alice', 'job', 'list', '--all'), 'ID') == sorted(
        one['id'] for one in (first, second, third)
    )
    status, _, err = run('alice', 'job', 'cancel', first['id'], 'gone', 'gone/3')
    assert status == 1 and 'gone: there is no job gone: "openstack market job list --all"' in err
    status, _, other = run('alice', 'job', 'show', '/tmp/frame.sh')
    assert status == 1 and 'there is no job /tmp/frame.sh' in other
    assert 'gone/3: there is no job gone/3' in err and 'of 1 others it was accepted' in err


@pytest.mark.parametrize('code', [0, 3])
def test_waiting_ends_with_the_exit_code_of_the_job(market_service, render, run, service, code):
    """And shows where it is on standard error."""

    def find():
        return next(iter(stored(market_service)), None)

    create = (
        'job',
        'create',
        '--queue',
        'render',
        '--time-limit',
        '10m',
        '--wrap',
        'make',
        '--wait',
    )
    with working(service, market_service, find, code):
        status, out, err = run('alice', *create, *FAST, '-f', 'json')
    assert status == code
    assert json.loads(out)['exit_code'] == code
    end = 'finished' if code == 0 else 'failed'
    assert err.splitlines() == [
        'wrap: waiting', 'wrap: running since 2027-01-15T08:00:00Z', f'wrap: {end}; exit code {code}',
    ]  # fmt: skip


def test_waiting_for_an_array_ends_with_the_largest_exit_code(market_service, render, run, service):
    """One job of two is cancelled meanwhile."""

    def find():
        found = stored(market_service)
        if len(found) == 2 and found[1].state == 'waiting':
            market_service.market.stores.jobs.want(found[1].id, JobWish.CANCEL, 'alice')
        return next(iter(found), None)

    create = (
        'job',
        'create',
        '--queue',
        'render',
        '--time-limit',
        '10m',
        '--wrap',
        'make',
        '--wait',
    )
    with working(service, market_service, find, 5):
        status, out, err = run('alice', *create, '--array', '0-1', *FAST, '-f', 'json')
    assert (status, json.loads(out)['states']) == (5, {'failed': 1, 'cancelled': 1})
    assert err.splitlines() == [
        'wrap: 1 waiting, 1 cancelled', 'wrap: 1 running, 1 cancelled', 'wrap: 1 cancelled, 1 failed',
    ]  # fmt: skip


def test_a_service_that_cannot_be_reached_is_waited_for(market_service, connect):
    """What the client raises then is known to be an outage."""
    market = connect('alice').market
    assert list(market.jobs()) == []
    with socket.create_server(('127.0.0.1', 0)) as closed:
        market.endpoint_override = 'http://{}:{}/v1'.format(*closed.getsockname())
    with pytest.raises(OUTAGES) as caught:
        list(market.jobs())
    assert passes(caught.value)


def test_one_key_submits_once(market_service, render, run, script):
    """However often it is sent; with another script it is refused."""
    create = ('job', 'create', script(), '--key', 'nightly-2026-11-22')
    first, again = (shown(run, 'alice', *create) for _ in range(2))
    assert first['id'] == again['id'] and len(stored(market_service)) == 1
    status, _, err = run('alice', *create, '--time-limit', '1h')
    assert status == 1 and 'key' in err
    shown(run, 'alice', 'job', 'create', script())
    shown(run, 'alice', 'job', 'create', script())
    assert len(stored(market_service)) == 3


WRAP = ('--wrap', 'true', '--queue', 'render', '--time-limit', '10m')


@pytest.mark.parametrize(
    ('words', 'expected'),
    [
        ((), 'give a script, or --wrap <command>'),
        (('/no/such.sh', '--wrap', 'true'), 'give a script, or --wrap <command>'),
        (('--wrap', ' '), '--wrap is empty: give a command'),
        (('/no/such.sh',), '/no/such.sh: No such file'),
        (('/dev/null',), '/dev/null: the script is empty'),
        (('--wrap', 'true', '--time-limit', '1h'), 'no queue: give --queue <queue>'),
        (('--wrap', 'true', '--queue', 'render'), 'no time limit: give --time-limit, such as 2h'),
        ((*WRAP, '--time-limit', '90'), "'90': give a time with its unit"),
        ((*WRAP, '--memory', '4GB'), "'4GB': give memory with its unit"),
        ((*WRAP, '--array', '0-1000'), 'has 1001 tasks, more than 1000: create several arrays'),
        ((*WRAP, '--env', '1X=2'), "'1X=2': give <name>=<value>"),
        (
            (*WRAP, '--flavor', 'small', '--cores', '2'),
            'give --flavor, or --cores, --memory and --disk',
        ),
        ((*WRAP, '--checkpoint', '/dev/null'), '/dev/null: the script is empty'),
        ((*WRAP, '--after', 'gone'), 'there is no job gone'),
        ((*WRAP, '--interval', '0'), "'0': give a number of seconds, 0.01 or more"),
        # the service's own refusals
        ((*WRAP, '--queue', 'gone'), "there is no queue 'gone' that takes jobs of yours"),
        ((*WRAP, '--time-limit', '40d'), '3456000'),
        ((*WRAP, '--memory', '1T'), 'no flavor of queue render has that'),
        ((*WRAP, '--flavor', 'huge'), "'huge' is not of queue render: give small, big"),
        ((*WRAP, '--servers', '65'), '65'),
        ((*WRAP, '--env', 'MARKET_X=1'), 'names that begin with MARKET_ are set by the worker'),
        ((*WRAP, '--name', '-x'), 'expected one argument'),
        ((*WRAP, '--name', 'a b'), 'a b'),
        ((*WRAP, '--output-url', 'file:///etc/passwd'), 'output_url'),
    ],
    ids=lambda value: ' '.join(value) if isinstance(value, tuple) else '',
)
def test_a_job_that_is_refused(market_service, render, run, words, expected):
    """One line on stderr: the value, the limit, what to do; nothing is submitted."""
    status, _, err = run('alice', 'job', 'create', *words)
    assert status in (1, 2) and expected in err, err
    assert 'Traceback' not in err
    assert stored(market_service) == []


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('#!/bin/sh\n#MARKET --memroy 1G\n', 'line 2: unrecognized arguments: --memroy 1G'),
        ('#!/bin/sh\n#MARKET --name "a\n', 'line 2: a quote is not closed'),
        ('#!/bin/sh\r\ntrue\r\n', 'line 1 ends as on Windows'),
        ('echo hello\n', "line 1 is 'echo hello': a script begins with #!"),
        ('#!/bin/sh\n' + '#' * 65_536, 'has more than 65536 bytes: have the script fetch'),
        (b'#!/bin/sh\n\xff', 'is no text in UTF-8 (byte 10)'),
    ],
)
def test_a_script_that_is_refused(market_service, render, run, tmp_path, text, expected):
    """With the path and the line, before anything is sent."""
    path = tmp_path / 'bad.sh'
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    status, _, err = run(
        'alice', 'job', 'create', str(path), '--queue', 'render', '--time-limit', '1h'
    )
    assert status == 1 and f'{path}' in err and expected in err
    assert stored(market_service) == []


def test_options_after_the_first_command_are_warned_of(market_service, render, run, script):
    """They are no options, as in sbatch, which says nothing."""
    status, _, err = run('alice', 'job', 'create', script(f'{SCRIPT}#MARKET --name late\n'))
    assert (status, err) == (0, 'line 5: #MARKET after the first command is not read\n')
    assert stored(market_service)[0].name == 'frame.sh'


def test_outputs(market_service, render, run, script, service):
    """As text, as a document, of a rank and of an attempt; what is not kept is reported."""
    shown(run, 'alice', 'job', 'create', script(), '--servers', '2')
    status, out, err = run('alice', 'job', 'output', 'frame.sh')
    assert (status, out) == (0, '')
    assert err.startswith('it has not begun, so it has written nothing: it is waiting')
    service.starts(stored(market_service)[0])
    (job,) = stored(market_service)
    service.writes(job, b'the end\xff\n', total=100)
    service.writes(job, b'of the second\n', rank=1)
    status, out, err = run('alice', 'job', 'output', 'frame.sh')
    assert (status, out) == (0, 'the end\ufffd\n')
    assert err.startswith('the first 91 of 100 bytes are not kept: give --output-url')
    assert run('alice', 'job', 'output', 'frame.sh', '--rank', '1')[1] == 'of the second\n'
    found = shown(run, 'alice', 'job', 'output', 'frame.sh', '--attempt', '1')
    assert (found['job_id'], found['attempt'], found['rank']) == (job.id, 1, 0)
    assert (found['bytes'], found['total_bytes']) == (9, 100)
    assert run('alice', 'job', 'output', 'frame.sh', '-f', 'value', '-c', 'bytes')[1] == '9\n'
    service.ends(job, 0)
    status, out, _ = run('alice', 'job', 'output', 'frame.sh', '--follow', *FAST)
    assert (status, out) == (0, 'the end\ufffd\n')
    for words, expected in (
        (('--follow', '-f', 'json'), '--follow shows plain text: give it without -f'),
        (('--follow', '--attempt', '1'), 'give it without --attempt'),
    ):
        status, _, err = run('alice', 'job', 'output', 'frame.sh', *words)
        assert status == 1 and expected in err


def test_an_array_has_no_output_of_its_own(market_service, render, run, script):
    """Its elements have."""
    shown(run, 'alice', 'job', 'create', script(), '--array', '0-1', '--name', 'frames')
    status, _, err = run('alice', 'job', 'output', 'frames')
    assert status == 1 and 'frames is an array of 2 jobs: give one of them, such as frames/0' in err


def test_statistics_as_a_table_and_as_a_plot(market_service, render, run, service, tmp_path):
    """By the minute or longer; the plot is written beside the table."""
    first = int(market_service.market.wall.now) // 60 - 120
    service.has_worked(
        render['id'],
        {first + n: {'cores': 2.0, 'share': 0.1, 'running': 2, 'started': 1} for n in range(120)},
    )
    since = ('--since', '2027-01-15T06:00:00Z')
    assert len(shown(run, 'alice', 'queue', 'stats', 'render', *since)) == 120
    path = tmp_path / 'render.svg'
    words = (*since, '--every', '1h', '--plot', str(path))
    found = shown(run, 'alice', 'queue', 'stats', 'render', *words)
    assert [(one['At'], one['Cores'], one['Started']) for one in found] == [
        ('2027-01-15T07:00:00Z', 2.0, 60), ('2027-01-15T06:00:00Z', 2.0, 60),
    ]  # fmt: skip
    assert found[0]['Share'] == pytest.approx(0.1)
    assert path.read_text().startswith('<svg xmlns="http://www.w3.org/2000/svg"')


def test_an_operator_sees_all_queues_together(market_service, run, service, tmp_path):
    """With no queue or with "all", until a time; a project does not."""
    first = int(market_service.market.wall.now) // 60 - 120
    service.has_worked(
        '', {first + n: {'cores': 6.0, 'share': 0.3, 'finished': 1} for n in range(120)}
    )
    path = tmp_path / 'cloud.svg'
    window = ('--since', '2027-01-15T06:00:00Z', '--until', '2027-01-15T06:59:00Z')
    for words in ((), ('all', '--plot', str(path))):
        (line,) = shown(run, 'root', 'queue', 'stats', *words, *window, '--every', '1h')
        assert (line['Cores'], line['Finished']) == (6.0, 60)
    drawn = path.read_text()
    assert 'All queues' in drawn and '% of the cloud' in drawn and 'dash' not in drawn
    status, _, err = run('alice', 'queue', 'stats')
    assert status == 1 and 'market:queues:show_cloud' in err
