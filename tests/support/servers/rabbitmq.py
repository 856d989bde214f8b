# SPDX-License-Identifier: Apache-2.0
"""A RabbitMQ of a test's own: on loopback only, free ports, all state in one directory.

Import the fixture into a test module to use it::

    from tests.support.servers.rabbitmq import rabbitmq  # noqa: F401

and mark the test `integration("rabbitmq-server", "epmd")`. A broker takes five to fifteen seconds to start,
so one serves a whole module; it may be stopped and started again, its users survive that.
"""

import shutil
from collections.abc import Iterator

import pytest

from nova_market.testbed.broker import Broker


@pytest.fixture(scope='module')
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A running broker; a test that stops it starts it again."""
    directory = tmp_path_factory.mktemp('rabbitmq')
    broker = Broker(directory)
    try:
        broker.start()
        yield broker
    finally:
        broker.close()
        shutil.rmtree(directory, ignore_errors=True)
