# SPDX-License-Identifier: Apache-2.0
"""A machine boots, and its services are there before the database and the message broker."""

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.db import schema
from nova_market.db.database import Database
from nova_market.experiments.guests.service_process import Daemon, Options
from nova_market.services.leader_loop import LEADS
from nova_market.testbed.broker import Broker, free_ports
from nova_market.testbed.database_server import DatabaseServer, MariaDb, PostgreSql
from tests.support.hypervisor.worlds import wait_for
from tests.support.openstack.nova import FakeNova, serving

pytestmark = [pytest.mark.integration('setpriv', 'rabbitmq-server', 'epmd')]

SERVICES = ('engine', 'controller', 'jobs', 'leases', 'notices')
WAITS = 'the service waits to start: the database does not answer'
STARTS = 'the database answers, the service starts'
TOKEN = 'a long random text'

eventually = partial(wait_for, seconds=90.0)


@pytest.fixture(
    params=[
        pytest.param(MariaDb, marks=pytest.mark.integration('mariadbd')),
        pytest.param(PostgreSql, marks=pytest.mark.integration('pg_ctlcluster')),
    ]
)
def server(request: pytest.FixtureRequest) -> Iterator[DatabaseServer]:
    """Has the tables, and is down."""
    with request.param() as made:
        database = Database({'connection': made.url})
        schema.sync(database)
        database.close()
        made.kill()
        yield made


@pytest.fixture
def nova() -> Iterator[FakeNova]:
    clock = ManualClock(wall=time.time())
    with serving(FakeNova(MemoryCloud(clock, [], []))) as made:
        yield made


def options(server: DatabaseServer, broker: Broker, nova: FakeNova) -> Options:
    account = {
        'auth_type': 'password',
        'auth_url': f'{nova.url}/v3',
        'username': 'm',
        'password': 'p',
        'project_name': 'service',
        'user_domain_id': 'default',
        'project_domain_id': 'default',
    }
    return {
        'DEFAULT': {'transport_url': broker.url},
        'database': {'connection': server.url},
        'openstack': account,
        'keystone_authtoken': account,
        'fairness': {'exchange': 'oslo'},
        'exchange': {'members': 'h1', 'market_engines': 'engine.first'},
        'market': {'name': 'engine.first', 'period': 10},
        'api': {'metrics_enabled': True, 'metrics_token': TOKEN},
        'jobs': {'worker_url': 'http://127.0.0.1:9', 'interval': 1},
    }


def asked(port: int) -> int:
    """The status of an answer for which the API needs the database; 0 without an answer."""
    request = urllib.request.Request(
        f'http://127.0.0.1:{port}/metrics', headers={'Authorization': f'Bearer {TOKEN}'}
    )
    try:
        with urllib.request.urlopen(request, timeout=30.0) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def test_all_wait_for_the_database_and_rabbitmq(
    server: DatabaseServer, rabbitmq: Broker, nova: FakeNova, tmp_path: Path
) -> None:
    """Each reports once that it waits, none ends, and each begins when the database is there.

    The broker comes last: the engine leads without it, and then listens there.
    """
    (port,) = free_ports(1)
    given = options(server, rabbitmq, nova)
    services = {name: Daemon(name, tmp_path / name, given) for name in SERVICES}
    api = Daemon('api', tmp_path / 'api', given, words=('--port', str(port)))

    def logged(text: str) -> list[int]:
        return [service.log.read_text().count(text) for service in services.values()]

    rabbitmq.stop()
    try:
        for one in (*services.values(), api):
            one.launch()
        eventually(lambda: logged(WAITS) == [1] * len(SERVICES))
        eventually(lambda: asked(port) == 503)
        # a few more looks for it
        time.sleep(4.0)
        assert not [one.name for one in (*services.values(), api) if one.ended]
        server.start()
        eventually(lambda: all(logged(LEADS)))
        eventually(lambda: asked(port) == 200)
        assert logged(WAITS) == logged(STARTS) == [1] * len(SERVICES)
        assert not [one.name for one in (*services.values(), api) if one.ended]
        rabbitmq.start()
        eventually(lambda: 'nova_market' in rabbitmq.ctl('list_queues', 'name', '--silent'))
        assert logged('Traceback') == [0] * len(SERVICES)
        assert 'Traceback' not in api.log.read_text()
        assert api.log.read_text().count('the database does not answer') <= 1
    finally:
        for one in (*services.values(), api):
            one.stop()
        if not rabbitmq.runs:
            rabbitmq.start()
