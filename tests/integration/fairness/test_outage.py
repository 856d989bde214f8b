# SPDX-License-Identifier: Apache-2.0
"""Two services lose RabbitMQ for longer than it keeps their queues."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from nova_market.experiments.guests.service_process import ServiceProcess, running
from nova_market.testbed.broker import Broker
from tests.support.hypervisor.worlds import LibvirtBed, wait_for

pytestmark = [
    pytest.mark.integration(
        'libvirtd', 'virtlogd', 'qemu-system-x86_64', 'rabbitmq-server', 'epmd'
    ),
]

EXPIRES = 2
"""Seconds that the broker keeps a queue nobody listens to (rabbit_transient_queues_ttl)."""

HOSTS = ('one', 'two')

eventually = partial(wait_for, seconds=60.0)


@pytest.fixture
def bed() -> Iterator[LibvirtBed]:
    made = LibvirtBed()
    yield made
    made.remove()


def expiring(broker: Broker) -> set[str]:
    """Our queues that the broker drops after EXPIRES seconds without a listener."""
    rows = json.loads(broker.ctl('list_queues', 'name', 'arguments', '--formatter=json'))
    return {
        row['name']
        for row in rows
        if row['name'].startswith('nova_market')
        and 'x-expires' in str(row['arguments'])
        and str(1000 * EXPIRES) in str(row['arguments'])
    }


def test_queues_have_expired_when_the_broker_answers_again(
    bed: LibvirtBed,
    rabbitmq: Broker,
    tmp_path: Path,
):
    """Each host goes on alone; then it makes its queue anew, and both are heard again, with no restart."""
    services = [
        ServiceProcess(
            tmp_path / name,
            {
                'DEFAULT': {'transport_url': rabbitmq.url},
                'fairness': {'interval': 1, 'exchange': 'oslo', 'dry_run': True},
                'exchange': {'topology': 'broadcast'},
                'host': {'name': name, 'libvirt_uri': bed.uri, 'cpus': '0'},
                'oslo_messaging_rabbit': {'rabbit_transient_queues_ttl': EXPIRES},
            },
        )
        for name in HOSTS
    ]

    def see(hosts: int) -> bool:
        return all(service.status()['cloud']['hosts'] == hosts for service in services)

    def logged(words: str) -> bool:
        return all(words in service.log.read_text() for service in services)

    with running(*services):
        eventually(lambda: see(2))
        assert expiring(rabbitmq)
        # as a broken network between hosts and broker: it lives, and nobody can reach it
        rabbitmq.ctl('suspend_listeners')
        try:
            rabbitmq.ctl('close_all_connections', 'outage')
            eventually(lambda: not expiring(rabbitmq))
            eventually(lambda: see(1))
            eventually(lambda: logged('the exchange is down'))
        finally:
            rabbitmq.ctl('resume_listeners')
        eventually(lambda: see(2), seconds=90.0)
        eventually(lambda: logged('the exchange works again'))
        assert expiring(rabbitmq)
        assert all(service.status()['cloud']['fresh'] for service in services)
