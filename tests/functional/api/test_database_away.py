# SPDX-License-Identifier: Apache-2.0
"""How long a thread of the API waits for a database that does not answer: rule Q4 of specs/market.rst."""

import socket
import threading
import time
from contextlib import closing

import pytest
from oslo_config import cfg
from sqlalchemy.exc import OperationalError

from nova_market.cmd import api as command
from nova_market.db.database import Database
from nova_market.wiring.database import API_ANSWER, API_AWAY, connect_api
from tests.support.market.api import ALICE, make_market

pytestmark = [pytest.mark.functional, pytest.mark.clock]

MOST = 5.0
"""Seconds for which a thread of the API is held; tests have more on a busy machine."""

SLACK = 10.0


@pytest.fixture
def silent():
    """A port where connections are taken, and nobody ever says anything."""
    with closing(socket.create_server(('127.0.0.1', 0), backlog=64)) as server:
        taken = []

        def accept():
            while True:
                try:
                    taken.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        for one in taken:
            one.close()


def refusing():
    """A port where nobody listens."""
    with closing(socket.create_server(('127.0.0.1', 0))) as server:
        return server.getsockname()[1]


def configured(url):
    conf = cfg.ConfigOpts()
    command.register_opts(conf)
    conf([], project='nova_market', default_config_files=[])
    conf.set_override('connection', url, 'database')
    return conf


@pytest.mark.timeout(120)  # without a bound it would wait for ever
@pytest.mark.parametrize('scheme', ['mysql+pymysql', 'postgresql+psycopg2'])
@pytest.mark.parametrize('how', ['refused', 'silent'])
def test_a_request_is_answered_in_time(scheme, how, silent):
    """Whether connections are refused, or taken and never answered: 503, and the thread is free again."""
    port = refusing() if how == 'refused' else silent
    database = connect_api(configured(f'{scheme}://root:x@127.0.0.1:{port}/x'))
    market = make_market(database)
    began = time.monotonic()
    answer = market.call('GET', '/v1/accounts', f'reader@{ALICE}')
    took = time.monotonic() - began
    database.close()
    assert answer.status_code == 503
    assert answer.json['errors'][0]['code'] == 'market.database.unavailable'
    assert took < MOST + SLACK


def test_the_limits_add_up():
    """A try that begins at the last moment and waits for its answer ends in time."""
    assert API_AWAY + API_ANSWER <= MOST


def test_others_who_work_on_the_same_rows_are_waited_for(tmp_path):
    """A lock is no outage: a request that others overtake is tried for longer."""
    database = Database({'connection': f'sqlite:///{tmp_path}/x'}, away=0.0, answer=1.0)
    tries = []

    def work(connection):
        tries.append(1)
        if len(tries) < 4:
            raise OperationalError('x', {}, Exception('database is locked'))
        return 7

    assert database.write(work) == 7
    database.close()
