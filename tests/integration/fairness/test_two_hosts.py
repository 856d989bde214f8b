# SPDX-License-Identifier: Apache-2.0
"""Two services on real guests, over a real broker: what a user runs elsewhere counts here (figure 4)."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from nova_market.experiments.guests.service_process import ServiceProcess, running
from nova_market.testbed.broker import Broker
from nova_market.testbed.guest import GuestSpec
from nova_market.testbed.host import UNDISTURBED, Host
from tests.support.hypervisor.weight_watch import shares
from tests.support.hypervisor.worlds import wait_for

pytestmark = [
    pytest.mark.alone,
    pytest.mark.integration(
        *('libvirtd', 'virtlogd', 'virsh', 'qemu-system-x86_64', 'busybox', 'cpio'),
        *('rabbitmq-server', 'epmd'),
    ),
]

GUESTS = {'d1': ('a', 'd'), 'e1': ('a', 'e'), 'e2': ('b', 'e')}

eventually = partial(wait_for, seconds=90.0)


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[dict[str, Host]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(
                Host(f'two{name}', cpu, 1024, tmp_path / 'bed', options=UNDISTURBED)
            )
            for name, cpu in (('a', '0'), ('b', '1'))
        }


def options(host: Host, broker: Broker) -> dict[str, dict[str, object]]:
    return {
        'DEFAULT': {'transport_url': broker.url},
        'fairness': {'interval': 1.0, 'resources': 'cpu', 'exchange': 'oslo'},
        'exchange': {'topology': 'broadcast'},
        'host': {'name': host.name, 'libvirt_uri': host.uri, 'cpus': host.cpus},
    }


def test_a_user_of_two_hosts_has_less_weight_on_each(
    hosts: dict[str, Host], rabbitmq: Broker, tmp_path: Path
):
    """d and e each have a busy guest on a: equal weights, until the service of b tells of e's other one."""
    guests = {
        name: hosts[host].boot(GuestSpec(name=name, project=owner, load='burn 1'))
        for name, (host, owner) in GUESTS.items()
    }
    a, b = (
        ServiceProcess(tmp_path / name, options(host, rabbitmq)) for name, host in hosts.items()
    )

    def heavy() -> float:
        found = shares(guests)
        return found['d1'] / found['e1']

    def as_decided() -> bool:
        wanted = {one['name']: one['controls']['cpu']['wanted'] for one in a.status()['guests']}
        found = shares(guests)
        return all(found[name] == pytest.approx(wanted[name], rel=0.05) for name in ('d1', 'e1'))

    with running(a):
        eventually(lambda: a.status()['cloud']['hosts'] == 1)
        eventually(lambda: 0.8 < heavy() < 1.25)
        with running(b):
            eventually(lambda: a.status()['cloud']['hosts'] == 2)
            eventually(lambda: heavy() > 1.5)
            eventually(as_decided)
    assert shares(guests) == dict.fromkeys(GUESTS, 1024)
