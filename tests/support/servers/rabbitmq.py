# SPDX-License-Identifier: Apache-2.0
"""A RabbitMQ of the tests' own: on loopback only, free ports, all state in one directory.

A folder's conftest.py imports the fixtures, and a test that uses one is marked
`integration("rabbitmq-server", "epmd")`. A broker takes five to fifteen seconds to start, so one serves the
whole run; each module finds it without queues. It may be stopped and started again: its users survive that.
"""

import contextlib
import shutil
from collections.abc import Iterator

import pytest

from nova_market.testbed.broker import Broker


@pytest.fixture(scope='session')
def shared_rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """The broker of the run."""
    directory = tmp_path_factory.mktemp('rabbitmq')
    broker = Broker(directory)
    try:
        broker.start()
        yield broker
    finally:
        broker.close()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope='module')
def rabbitmq(shared_rabbitmq: Broker) -> Broker:
    """A running broker without queues; a test that stops it starts it again."""
    with contextlib.closing(shared_rabbitmq.connection()) as connection:
        channel = connection.channel()
        for name in shared_rabbitmq.ctl('list_queues', 'name', '--silent').split():
            channel.queue_delete(name)
    return shared_rabbitmq
