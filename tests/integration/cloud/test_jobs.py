# SPDX-License-Identifier: Apache-2.0
"""Jobs on a real Nova: two queues of two projects, forty jobs on two hosts, and everything fails once.

SVMSched, section 4.2; rules J2 to J5 and F5 of doc/source/specs/jobs.rst. Dora's queue `render` has a share
and runs production jobs of emil; emil's queue `night` has none and runs best-effort jobs of dora. So whatever
a job costs moves from one project to the other. The tests build on each other, in this order.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import keystoneauth1.exceptions
import openstack
import pytest

from nova_market.core.ledger.money import MICRO
from tests.integration.cloud.conftest import Cloud, at, say
from tests.integration.cloud.deployed_jobs import (
    FLAVOR,
    INTERVAL,
    SERVICES,
    SLOTS,
    JobsBed,
    running_bed,
)
from tests.integration.cloud.leftovers import LostDeletions
from tests.integration.cloud.waiting import until

pytestmark = [
    pytest.mark.cloud('mariadbd', 'libvirtd', 'ovs-vswitchd', 'qemu-system-x86_64'),
    pytest.mark.timeout(3600),
    pytest.mark.filterwarnings('ignore::PendingDeprecationWarning'),
]

OWNERS = {'render': ('dora', 'emil'), 'night': ('emil', 'dora')}
"""Queue -> its project, and the one that submits."""

PRICES = {'render': 3_600_000, 'night': 1_800_000}
"""Micro-credits for a core and an hour: 1000 and 500 for a second."""

SHARE = 0.5
GRANT = 1000
NOTICE = 10
EACH = 20
"""Jobs of each queue."""

ROUNDS = 400
SCRIPT = """#!/bin/sh
wget -q -O /dev/null "$WITNESS/$MARKET_JOB_ID/$MARKET_ATTEMPT" || exit 99
number=$((MARKET_ARRAY_INDEX + 1)) step=0
while [ $step -lt $STEPS ]; do
    n=0
    while [ $n -lt $ROUNDS ]; do
        number=$(((number * 1103515245 + 12345) % 2147483648))
        n=$((n + 1))
    done
    step=$((step + 1))
    sleep 1
done
echo "$MARKET_QUEUE $MARKET_ARRAY_INDEX: $number"
exit $((MARKET_ARRAY_INDEX % 3))
"""
STEPS = {'render': 30, 'night': 60}
"""Of about a second and a half each: long enough for failures in the middle of them."""

END = 2400.0
"""Seconds for forty jobs, with eight guests under emulation on two cores."""

Json = dict[str, Any]


def result(index: int, steps: int) -> int:
    """What the script of this index prints."""
    number = index + 1
    for _ in range(steps * ROUNDS):
        number = (number * 1103515245 + 12345) % 2147483648
    return number


@pytest.fixture(scope='module')
def bed(
    cloud: Cloud,
    environment: dict[str, str],
    admin: openstack.connection.Connection,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[JobsBed]:
    with running_bed(cloud, environment, admin, tmp_path_factory.mktemp('jobs')) as made:
        yield made


@pytest.fixture(scope='module')
def accounts(cloud: Cloud) -> dict[str, str]:
    """project -> its account"""
    return {name: f'project:{cloud.project_id(name)}' for name in ('dora', 'emil')}


@pytest.fixture(scope='module')
def projects(bed: JobsBed, accounts: dict[str, str]) -> dict[str, Any]:
    """project -> its connection to the market; each has credits."""
    found = {name: bed.market.connection(name).market for name in ('dora', 'emil', 'admin')}
    for account in accounts.values():
        found['admin'].grant(account, GRANT * MICRO)
    return found


@pytest.fixture(scope='module')
def queues(projects: dict[str, Any], accounts: dict[str, str]) -> None:
    for name, (owner, submitter) in OWNERS.items():
        made = projects[owner].create_queue(
            name=name,
            flavors=[FLAVOR],
            image='worker',
            networks=['guests'],
            policy='rigid',
            idle_seconds=60,
            limits={'max_time_limit': 3600},
            price_core_hour=PRICES[name],
            submitters={'projects': [accounts[submitter].removeprefix('project:')]},
        )
        for customer in (submitter, 'admin'):
            projects[customer].accept_queue(made.id)
    projects['admin'].update_queue('render', share=SHARE)


def submit(
    bed: JobsBed, projects: dict[str, Any], queue: str, indices: range, **more: Any
) -> list[str]:
    """Ids of an array's jobs."""
    environment = {
        'WITNESS': bed.witness.url,
        'STEPS': str(STEPS[queue]),
        'ROUNDS': str(ROUNDS),
    }
    body = {
        'queue': queue,
        'name': queue,
        'script': SCRIPT,
        'time_limit': 1800,
        'environment': environment,
        'array': list(indices),
        'kind': 'production' if queue == 'render' else 'best_effort',
        'notice': NOTICE,
        **more,
    }
    by = projects[OWNERS[queue][1]]
    return [one.id for one in by.create_jobs([body])]


def jobs_of(projects: dict[str, Any], queue: str, *states: str) -> list[Any]:
    return list(projects['admin'].jobs(queue=queue, all_projects='true', states=states))


def events(projects: dict[str, Any], job_id: str) -> dict[tuple[str, int], float]:
    """When, by what happened and the attempt."""
    return {(e.action, e.attempt): at(e.at) for e in projects['admin'].job_events(job_id)}


@pytest.mark.usefixtures('queues')
def test_the_first_job(bed: JobsBed, projects: dict[str, Any]):
    """From one command to its exit code and output: a server boots, gives it a user, and is there still."""
    began = time.monotonic()
    script = 'id -un; echo "$MARKET_QUEUE on $(uname -s)"; exit 7'
    words = ('job', 'create', '--queue', 'render', '--time-limit', '10m', '--name', 'first')
    bed.market.say('emil', *words, '--wrap', script, '-f', 'json')
    listed = lambda: jobs_of(projects, 'render', 'failed', 'finished', 'cancelled')  # noqa: E731
    until(listed)
    job = projects['emil'].get_job(listed()[0].id)
    when = events(projects, job.id)
    say(
        f'first job: ended {time.monotonic() - began:.1f} s after the command; '
        f'submitted -> starting {when["starting", 1] - at(job.submitted_at):.1f} s, '
        f'-> started {when["started", 1] - at(job.submitted_at):.1f} s'
    )
    assert (job.state, job.exit_code, job.reason['code']) == ('failed', 7, 'exit')
    assert projects['emil'].job_output(job.id).text == 'nova-job\nrender on Linux\n'
    servers = bed.cloud.servers()
    assert [one['Status'] for one in servers.values()] == ['ACTIVE']


def running(projects: dict[str, Any], queue: str) -> list[Any]:
    return jobs_of(projects, queue, 'running')


def test_a_production_job_preempts_the_newest_best_effort_job(
    bed: JobsBed, projects: dict[str, Any]
):
    """Eight best-effort jobs fill both hosts; one production job takes the room of the newest."""
    with bed.witness.holding():
        submit(bed, projects, 'night', range(SLOTS - 1))
        until(lambda: len(jobs_of(projects, 'night', 'starting', 'running')) == SLOTS - 1)
        submit(bed, projects, 'night', range(SLOTS - 1, EACH))
        passed = until(lambda: len(running(projects, 'night')) == SLOTS)
        say(f'{SLOTS} jobs run in guests {passed:.1f} s after their submission')
        hosts = Counter(one['Host'] for one in bed.cloud.servers().values())
        assert hosts == {'h1': SLOTS // 2, 'h2': SLOTS // 2}
        # the one that was chosen last, also where Nova had no room for the first try of another
        began = {
            one.id: events(projects, one.id)['starting', one.attempt]
            for one in running(projects, 'night')
        }
        newest = [name for name, when in began.items() if when == max(began.values())]
        urgent = submit(bed, projects, 'render', range(1))[0]
        until(lambda: displaced(projects))
        (victim,) = displaced(projects)
    assert victim in newest
    until(lambda: projects['emil'].get_job(urgent).started_at)
    mine, theirs = events(projects, urgent), events(projects, victim)
    submitted = mine['submitted', 0]
    say(
        f'preemption: ordered {theirs["preempting", 1] - submitted:.1f} s after the submission, '
        f'over after {theirs["preempted", 1] - submitted:.1f} s, '
        f'the production job runs after {mine["started", 1] - submitted:.1f} s'
    )
    assert theirs['preempted', 1] - theirs['preempting', 1] <= NOTICE + 30
    assert displaced(projects) == [victim]


def displaced(projects: dict[str, Any]) -> list[str]:
    """Best-effort jobs that wait again, or run again."""
    again = [one for one in jobs_of(projects, 'night') if one.attempt > (one.state != 'waiting')]
    # another one may have been started on a host on which Nova had no room
    return [one.id for one in again if any(a == 'preempted' for a, _ in events(projects, one.id))]


@pytest.mark.parametrize('failing', ['service', 'mariadb', 'nova-api', 'rabbitmq'])
def test_it_fails_while_jobs_run(bed: JobsBed, projects: dict[str, Any], failing: str):
    """Each is killed with jobs in guests, and comes back; the jobs go on."""
    if failing == 'service':
        submit(bed, projects, 'render', range(1, EACH))
        until(lambda: len(running(projects, 'render')) >= 2)
    before = {
        one.id: one.attempt for q in STEPS for one in jobs_of(projects, q, 'starting', 'running')
    }
    assert before
    began = time.monotonic()
    if failing == 'service':
        leader = next(name for name in SERVICES if bed.leads(name))
        other = next(name for name in SERVICES if name != leader)
        bed.services[leader].kill()
        until(lambda: bed.leads(other))
        say(f'service: {other} leads {time.monotonic() - began:.1f} s after {leader} was killed')
        bed.services[leader].launch()
    else:
        bed.market.crash(failing)
        time.sleep(5 * INTERVAL)
        bed.cloud.up()
        say(f'{failing}: away for {time.monotonic() - began:.1f} s')
    since = time.time()
    until(patient(lambda: advanced(projects, since)))
    say(f'{failing}: a job has started or ended {time.monotonic() - began:.1f} s after the crash')
    for job_id, attempt in before.items():
        job = projects['admin'].get_job(job_id)
        assert job.lost == 0, job.reason
        assert job.attempt == attempt or job.queue == 'night', (job_id, job.reason)


def patient(ask: Callable[[], object]) -> Callable[[], object]:
    """False instead of an error: what was killed may not answer yet."""

    def asked() -> object:
        try:
            return ask()
        except (openstack.exceptions.SDKException, keystoneauth1.exceptions.ClientException):
            return False

    return asked


def advanced(projects: dict[str, Any], since: float) -> bool:
    """Whether a job has started or ended since then."""
    return any(at(one.changed_at) > since for queue in STEPS for one in jobs_of(projects, queue))


def test_all_results_arrive_once(bed: JobsBed, projects: dict[str, Any]):
    """Forty jobs have ended with their own exit code and output; each attempt was started once."""

    def ended() -> bool:
        return all(one.ended for queue in STEPS for one in jobs_of(projects, queue))

    until(patient(ended), END)
    jobs = [projects['admin'].get_job(one.id) for q in STEPS for one in jobs_of(projects, q)]
    jobs = [job for job in jobs if job.name != 'first']
    assert len(jobs) == 2 * EACH
    for job in jobs:
        index = job.array_index
        assert job.exit_code == index % 3, job.reason
        expected = f'{job.queue} {index}: {result(index, STEPS[job.queue])}\n'
        assert projects['admin'].job_output(job.id).text == expected
        assert job.lost == 0, job.reason
    attempts = [(job.id, a) for job in jobs for a in job.attempts]
    runs = {f'{job_id}/{a["number"]}' for job_id, a in attempts if a['started_at']}
    # a run that was stopped before its first command has told nobody
    assert set(bed.witness.seen) <= runs
    assert set(bed.witness.seen) >= {f'{job.id}/{job.attempt}' for job in jobs}
    assert set(bed.witness.seen.values()) == {1}
    waits = [at(job.started_at) - at(job.submitted_at) for job in jobs]
    say(
        f'{len(jobs)} jobs, {len(attempts)} attempts, {len(runs)} began, '
        f'{sum(bed.witness.seen.values())} starts seen; waits {min(waits):.0f} to {max(waits):.0f} s'
    )


def test_the_share_was_held(projects: dict[str, Any]):
    """Never more production jobs than the share has room for, although more waited."""
    spans = [
        (at(a['started_at']), at(a['ended_at']))
        for job in jobs_of(projects, 'render')
        for a in projects['admin'].get_job(job.id).attempts
        if a['started_at']
    ]
    most = max(sum(begin <= t < end for begin, end in spans) for t, _ in spans)
    minutes = list(projects['admin'].queue_stats('render'))
    say(f'at most {most} production jobs at once; {len(minutes)} minutes of statistics')
    # one of the share may boot while the others run
    assert SHARE * SLOTS - 1 <= most <= SHARE * SLOTS
    assert max(one.cores for one in minutes) <= SHARE * SLOTS


def test_the_credits_agree(bed: JobsBed, projects: dict[str, Any], accounts: dict[str, str]):
    """To the micro-credit: what jobs were charged is what statements have; nothing is held.

    Jobs that were displaced were so by the project of their queue: such a run is neither charged nor paid.
    """
    admin = projects['admin']
    balances = {one.id: one.balance for one in admin.accounts(all_projects='true')}
    assert sum(balances.values()) == 0
    assert balances['escrow'] == 0
    assert bed.market.adds_up()
    jobs = [admin.get_job(one.id) for queue in STEPS for one in jobs_of(projects, queue)]
    flow = Counter(dict.fromkeys(accounts.values(), GRANT * MICRO))
    for job in jobs:
        owner, payer = OWNERS[job.queue]
        flow[accounts[payer]] -= job.charged
        flow[accounts[owner]] += job.charged
        assert job.compensation == 0
        assert 0 < job.charged <= job.cost_limit
        price = PRICES[job.queue] / 3600
        assert job.charged == pytest.approx(bed.charged_seconds(job.id) * price, abs=1.0)
    assert dict(flow) == {account: balances[account] for account in accounts.values()}
    charged = sum(job.charged for job in jobs)
    lines = [line for a in accounts.values() for line in admin.statement(a)]
    posted = Counter({'charge': 0, 'compensation': 0})
    for line in lines:
        if line.change > 0:
            posted[line.reason] += line.change
    assert (posted['charge'], posted['compensation']) == (charged, 0)
    say(f'charged {charged} micro-credits in {len(jobs)} jobs')


def test_a_deleted_queue_leaves_no_server(bed: JobsBed, admin: openstack.connection.Connection):
    """Workers, ports and trusts are gone, and the queues with them.

    What Nova has forgotten to delete, as it was killed on the way, an operator sees to.
    """
    for name, (owner, _) in OWNERS.items():
        bed.market.say(owner, 'queue', 'delete', name)
    lost = LostDeletions(admin)

    def gone() -> bool:
        lost.reset()
        listed = bed.market.say('admin', 'queue', 'list', '--all-projects', '-f', 'json')
        return not json.loads(listed)

    passed = until(gone)
    say(f'queues are gone after {passed:.1f} s')
    assert bed.cloud.servers() == {}
    assert [port.id for port in admin.network.ports() if port.device_owner.startswith('comp')] == []
