# SPDX-License-Identifier: Apache-2.0
"""A tender on a real Nova: sixty tasks of two users with deadlines in one queue on two hosts.

INRIA RR-7837, sections 3.2 to 3.5; rules O1 to O3 and T1 to T4 of doc/source/specs/tender.rst. The
administrator's project owns the queue `bureau`; dora and emil ask for offers, five at a time, and accept the
best one of each; so some are gone when they are accepted, and what comes with the refusal is tried. The tests
build on each other, in this order.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from openstack.connection import Connection

from nova_market.core.ledger.money import MICRO
from tests.integration.cloud.conftest import Cloud, at, say
from tests.integration.cloud.deployed_jobs import FLAVOR, SERVICES, SLOTS, JobsBed, running_bed
from tests.integration.cloud.waiting import until

pytestmark = [
    pytest.mark.cloud('mariadbd', 'libvirtd', 'ovs-vswitchd', 'qemu-system-x86_64'),
    pytest.mark.timeout(3600),
    pytest.mark.filterwarnings('ignore::PendingDeprecationWarning'),
]

QUEUE = 'bureau'
USERS = ('dora', 'emil')
EACH = 30
AT_ONCE = 5
"""Offers that a user asks for before it accepts them."""

HASTY = 5
"""Every fifth task is due so early that many of them find no offer."""

CORE_PRICE, MEMORY_PRICE = 3_600_000, 3_600
"""The first ones, micro-credits for an hour: a task of one core and 1 GiB costs 2024 a second."""

PERIOD = 20
GRANT = 1000
TIME_LIMIT = 120
RUNS = 20
"""Seconds that a task sleeps for."""

IDLE = 45
TRIES = 20
END = 1800.0
SCRIPT = f"""#!/bin/sh
wget -q -O /dev/null "WITNESS/$MARKET_JOB_ID/$MARKET_ATTEMPT" || exit 99
sleep {RUNS}
echo "done by $(id -un)"
"""

Json = dict[str, Any]


@dataclass
class User:
    """A client that takes the best of what it is offered.

    accepted: offers as they were honoured; jobs: their ids; gone: refusals that had alternatives
    none: reasons of requests without an offer; refusals: what came with offers that were gone
    """

    market: Any
    witness: str
    accepted: list[Json] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    gone: int = 0
    instead: int = 0
    none: list[str] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)

    def run(self, tasks: Sequence[int]) -> None:
        for first in range(0, len(tasks), AT_ONCE):
            batch = tasks[first : first + AT_ONCE]
            asked = [(number, self.ask(number)) for number in batch]
            for number, offers in asked:
                self.take(number, offers)

    def ask(self, number: int) -> list[Json]:
        due = 400 if number % HASTY == 0 else 1500
        body = {
            'queue': QUEUE,
            'time_limit': TIME_LIMIT,
            'deadline': datetime.fromtimestamp(time.time() + due, UTC).strftime(
                '%Y-%m-%dT%H:%M:%SZ'
            ),
        }
        answer = self.post('/offers', body, {201})
        if not answer['offers']:
            self.none += answer['why']
        return list(answer['offers'])

    def take(self, number: int, offers: list[Json]) -> None:
        job = {'name': f'task-{number}', 'script': SCRIPT.replace('WITNESS', self.witness)}
        for _ in range(TRIES):
            if not offers:
                return
            answer = self.post(f'/offers/{offers[0]["id"]}/accept', {'job': job}, {201, 409})
            if 'offer' in answer:
                self.accepted.append(answer['offer'])
                self.jobs.append(answer['job']['id'])
                return
            self.gone += 1
            refusal = answer['errors'][0]
            self.refusals[refusal['detail'].partition(': ')[2]] += 1
            offers = refusal['alternatives']
            self.instead += bool(offers)
        pytest.fail(f'task {number}: refused {TRIES} times')

    def post(self, path: str, body: Json, expected: set[int]) -> Json:
        found = self.market.post(path, json=body, microversion='1.6')
        assert found.status_code in expected, found.text
        return dict(found.json())


@pytest.fixture(scope='module')
def bed(
    cloud: Cloud,
    environment: dict[str, str],
    admin: Connection,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[JobsBed]:
    with running_bed(cloud, environment, admin, tmp_path_factory.mktemp('tender')) as made:
        yield made


@pytest.fixture(scope='module')
def users(bed: JobsBed, cloud: Cloud) -> dict[str, User]:
    """Each has credits; the queue takes tasks of both."""
    admin = bed.market.connection('admin').market
    ids = {name: cloud.project_id(name) for name in USERS}
    for project in ids.values():
        admin.grant(f'project:{project}', GRANT * MICRO)
    made = admin.create_queue(
        name=QUEUE,
        flavors=[FLAVOR],
        image='worker',
        networks=['guests'],
        policy='tender',
        parameters={'memory_price': MEMORY_PRICE, 'price_period': PERIOD},
        price_core_hour=CORE_PRICE,
        idle_seconds=IDLE,
        limits={'max_time_limit': 3600},
        submitters={'projects': list(ids.values())},
        projects_trust_each_other=True,
    )
    admin.update_queue(QUEUE, share=1.0)
    markets = {name: bed.market.connection(name).market for name in USERS}
    for market in markets.values():
        market.accept_queue(made.id)
    return {name: User(market, bed.witness.url) for name, market in markets.items()}


@pytest.fixture(scope='module')
def admin_market(bed: JobsBed) -> Any:
    return bed.market.connection('admin').market


@pytest.fixture(scope='module')
def seen() -> dict[str, Any]:
    """What is carried from test to test."""
    return {'prices': []}


def tasks(admin_market: Any) -> list[Any]:
    return list(admin_market.jobs(queue=QUEUE, all_projects='true'))


def test_one_task_has_one_worker(
    bed: JobsBed, users: dict[str, User], admin_market: Any, seen: dict[str, Any]
):
    """The first offer is for a new worker; a second task would be offered the room behind it, too."""
    dora = users['dora']
    offers: list[Json] = []

    def answered() -> bool:
        offers[:] = dora.ask(1)
        return bool(offers)

    until(answered)
    assert [one['how'] for one in offers] == ['new_worker']
    dora.none.clear()
    dora.take(1, offers)
    until(lambda: admin_market.get_job(dora.jobs[0]).started_at)
    kinds = {one['how'] for one in dora.ask(2)}
    assert kinds == {'busy_worker', 'new_worker'}
    job = admin_market.get_job(dora.jobs[0])
    assert len(bed.cloud.servers()) == 1
    seen['price'] = queue_prices(bed)
    say(
        f'first task: ran {at(job.started_at) - at(job.submitted_at):.1f} s after acceptance, '
        f'offered {dora.accepted[0]["seconds"] - TIME_LIMIT:.1f} s; prices {seen["price"]}'
    )


def queue_prices(bed: JobsBed) -> tuple[float, float]:
    """Of a core and of a MiB, micro-credits for an hour."""
    shown = bed.market.market('admin', 'queue', 'show', QUEUE)['tender']['prices']
    return shown['core_hour'], shown['mib_hour']


def test_sixty_tasks_of_two_users_while_the_service_is_killed(
    bed: JobsBed, users: dict[str, User], admin_market: Any, seen: dict[str, Any]
):
    """Both ask and accept at once; workers grow to what the hosts hold; the leader is killed."""
    lots = {
        'dora': range(2, EACH + 1),
        'emil': range(EACH + 1, 2 * EACH + 1),
    }
    began = time.monotonic()
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(users[name].run, list(lots[name])) for name in USERS]:
            done.result()
    say(f'sixty tasks asked and accepted in {time.monotonic() - began:.1f} s')
    for name, user in users.items():
        say(
            f'{name}: {len(user.accepted)} accepted '
            f'{dict(Counter(one["how"] for one in user.accepted))}, {user.gone} gone, '
            f'{user.instead} of them with alternatives, no offer: '
            f'{Counter(user.none).most_common(3)}; {user.refusals.most_common(3)}'
        )
    assert sum(user.gone for user in users.values()) > 0
    assert sum(user.instead for user in users.values()) > 0
    until(lambda: len(bed.cloud.servers()) == SLOTS)
    hosts = Counter(one['Host'] for one in bed.cloud.servers().values())
    assert hosts == {'h1': SLOTS // 2, 'h2': SLOTS // 2}
    until(lambda: any(one.state == 'running' for one in tasks(admin_market)))
    leader = next(name for name in SERVICES if bed.leads(name))
    other = next(name for name in SERVICES if name != leader)
    killed = time.monotonic()
    bed.services[leader].kill()
    until(lambda: bed.leads(other))
    say(f'{other} leads {time.monotonic() - killed:.1f} s after {leader} was killed')
    bed.services[leader].launch()


def test_all_accepted_tasks_end(
    bed: JobsBed, users: dict[str, User], admin_market: Any, seen: dict[str, Any]
):
    """Each once, by the time that was promised, or money comes back."""
    began = time.monotonic()
    most = 0

    def ended() -> bool:
        nonlocal most
        most = max(most, len(bed.cloud.servers()))
        seen['prices'].append(queue_prices(bed))
        return all(one.ended for one in tasks(admin_market))

    until(ended, END)
    cores, memory = zip(*seen['prices'], strict=True)
    say(
        f'all ended after {time.monotonic() - began:.1f} s; price of a core {min(cores):.0f} to '
        f'{max(cores):.0f}, of a MiB {min(memory):.0f} to {max(memory):.0f}'
    )
    assert max(cores) > CORE_PRICE
    assert max(memory) > MEMORY_PRICE
    accepted = [job_id for user in users.values() for job_id in user.jobs]
    assert sorted(one.id for one in tasks(admin_market)) == sorted(accepted)
    assert most == SLOTS
    jobs = [admin_market.get_job(job_id) for job_id in accepted]
    for job in jobs:
        assert (job.state, job.exit_code, job.lost) == ('finished', 0, 0), job.reason
        assert admin_market.job_output(job.id).text == 'done by nova-job\n'
    assert dict(bed.witness.seen) == {f'{job.id}/{job.attempt}': 1 for job in jobs}
    workers = {a['server_id'] for job in jobs for a in job.attempts}
    say(f'{len(jobs)} tasks on {len(workers)} servers')


def test_idle_workers_go(bed: JobsBed):
    passed = until(lambda: not bed.cloud.servers())
    say(f'no server is left {passed:.1f} s after the last task')


def test_each_user_paid_what_was_offered(
    bed: JobsBed, users: dict[str, User], admin_market: Any, cloud: Cloud
):
    """To the micro-credit: charges and what came back for lateness; nothing is held any more."""
    settled = lambda: all(  # noqa: E731
        one['state'] == 'closed' for user in users.values() for one in offers_of(user)
    )
    until(settled)
    balances = {one.id: one.balance for one in admin_market.accounts(all_projects='true')}
    assert sum(balances.values()) == 0
    assert balances['escrow'] == 0
    assert bed.market.adds_up()
    income = late = 0
    for name, user in users.items():
        paid = 0
        for offer in offers_of(user):
            job = admin_market.get_job(offer['job_id'])
            promise = next(one for one in user.accepted if one['id'] == offer['id'])
            assert offer['cost'] == promise['cost']
            assert 0 < job.charged <= offer['cost']
            rate = offer['cost'] / TIME_LIMIT
            assert job.charged == pytest.approx(bed.charged_seconds(job.id) * rate, abs=1.0)
            was_late = at(job.ended_at) > at(offer['finish'])
            late += was_late
            assert was_late or not offer['refunded']
            paid += job.charged - offer['refunded']
        assert balances[f'project:{cloud.project_id(name)}'] == GRANT * MICRO - paid
        income += paid
        say(f'{name} paid {paid} micro-credits for {len(user.accepted)} tasks')
    assert balances[f'project:{cloud.project_id("admin")}'] == income
    say(f'{late} tasks ended after the promised time')
    assert late <= EACH // 10


def offers_of(user: User) -> list[Json]:
    """Those that it has accepted, as they are now."""
    return [user.market.get(f'/offers/{one["id"]}', microversion='1.6').json()['offer']
            for one in user.accepted]  # fmt: skip


def test_the_queue_goes(bed: JobsBed):
    bed.market.say('admin', 'queue', 'delete', QUEUE)
    until(
        lambda: (
            not json.loads(bed.market.say('admin', 'queue', 'list', '--all-projects', '-f', 'json'))
        ),
    )
    assert bed.cloud.servers() == {}
