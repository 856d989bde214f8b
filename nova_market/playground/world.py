# SPDX-License-Identifier: Apache-2.0
"""The cloud below the services: hosts, servers, flavors and images in memory, kept in one document.

Servers are packed: each goes to the fullest host that has cores for it, else to the one with most room, so
that other hosts become empty and sleep. What is leased is kept free. Units: cores, MiB, seconds.
"""

import random
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from nova_market.adapters.in_memory.cloud import MemoryCloud
from nova_market.adapters.in_memory.enforcement import MemoryEnforcement
from nova_market.adapters.in_memory.owner_cloud import MemoryOwnerCloud
from nova_market.core.app.record import APP_MARKS
from nova_market.core.job.queue import WORKER_MARKS
from nova_market.core.lease.carrier import LEASE
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.owner_server import OwnedServer, ServerFlavor
from nova_market.core.resource import HostName
from nova_market.playground.machines import Machines
from nova_market.playground.people import DOMAIN, PEOPLE, id_of
from nova_market.ports import Clock

HOSTS = tuple(HostName(f'rack{rack}-{number}') for rack in (1, 2) for number in range(1, 7))
CORES, MEMORY_MIB, DISK_GIB = 16.0, 98_304.0, 2_000.0
"""Of each host. Placement gives out RATIO times its cores."""

RATIO = 1.5
FLAVORS = {
    'small': (1, 2048, 20),
    'medium': (2, 4096, 40),
    'large': (4, 8192, 80),
    'xlarge': (8, 16_384, 160),
}
"""Cores, MiB and GiB of disk."""

IMAGES = ('cirros', 'debian-13', 'zephyr-4')
BOOT, LEAVE = 40.0, 10.0
"""Seconds that a server takes to start, and to go."""


class World:
    """The cloud in memory. Whoever changes it holds `lock`; `seen` may be read without it.

    seen: its servers by id, when somebody looked last
    leased: cores and MiB of hosts that only servers of a lease may have
    """

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self.lock = threading.RLock()
        self.clock = clock
        self.rng = rng
        self.leased: Mapping[str, tuple[float, float]] = {}
        self.seen: Mapping[str, CloudServer] = {}
        self.cloud = MemoryCloud(clock, [_host(name) for name in HOSTS])
        self.machines = Machines(self.cloud, clock)
        self.enforcement = MemoryEnforcement()
        self.trusts: dict[str, str] = {}
        flavors = {
            name: ServerFlavor(id=id_of('flavor', name), vcpus=cores, memory_mib=mib)
            for name, (cores, mib, _) in FLAVORS.items()
        }
        self.apps = self._owners(flavors, APP_MARKS, 'a9900000-0000-4000-8000-{:012x}')
        self.workers = self._owners(flavors, WORKER_MARKS, 'b0b00000-0000-4000-8000-{:012x}')
        self.created: dict[str, float] = {}

    def _owners(
        self, flavors: Mapping[str, ServerFlavor], marks: Any, ids: str
    ) -> MemoryOwnerCloud:
        made = MemoryOwnerCloud(
            self.cloud, self.clock, flavors, boot=BOOT, leave=LEAVE, ids=ids, marks=marks, full=True,
            place=lambda flavor: self.place(flavor.vcpus, flavor.memory_mib),
        )  # fmt: skip
        made.trusts = self.trusts
        return made

    def kept(self) -> dict[str, Any]:
        """All of it as a JSON document, for `restore`. Migrations that go on are broken off by a stop."""
        servers = [
            asdict(replace(one, status='ACTIVE') if one.status == 'MIGRATING' else one)
            for one in self.cloud.servers()
        ]
        return {
            'hosts': [asdict(one) for one in self.cloud.hosts()],
            'servers': servers,
            'created': self.created,
            'machines': self.machines.kept(),
            'trusts': self.trusts,
            'apps': self.apps.kept(),
            'workers': self.workers.kept(),
        }

    def restore(self, document: Mapping[str, Any]) -> None:
        """What `kept` gave, in place of what there is."""
        for given in document['hosts']:
            self.cloud.put_host(CloudHost(**{**given, 'name': HostName(given['name'])}))
        for given in document['servers']:
            self.cloud.put_server(CloudServer(**{**given, 'host': HostName(given['host'])}))
        self.created = dict(document['created'])
        self.machines.restore(document['machines'])
        self.trusts.update(document['trusts'])
        self.apps.restore(document['apps'])
        self.workers.restore(document['workers'])

    def catch_up(self) -> None:
        """What time has brought: hosts that have booted, servers that have started or gone."""
        self.machines.catch_up()
        self.enforcement.silent = {h.name for h in self.cloud.hosts() if not h.answering}
        for owners in (self.apps, self.workers):
            owners.hosted()
        self.look()

    def look(self) -> None:
        """Bring `seen` up to date."""
        self.seen = {one.id: one for one in self.cloud.servers()}

    def place(self, vcpus: float, memory_mib: float, hosts: Sequence[str] = ()) -> str:
        """A host that has room; '' when none has. hosts: of a lease, whose room may be taken; (): none."""
        kept = {} if hosts else self.leased
        used = {host.name: kept.get(host.name, (0.0, 0.0)) for host in self.cloud.hosts()}
        for one in self.cloud.servers():
            # the room of a lease has been counted with its servers
            if hosts or LEASE not in one.metadata:
                cores, mib = used[one.host]
                used[one.host] = (cores + one.vcpus, mib + one.memory_mib)
        fits: list[tuple[float, str]] = []
        crowded: list[tuple[float, str]] = []
        for host in self.cloud.hosts():
            cores, mib = used[host.name][0] + vcpus, used[host.name][1] + memory_mib
            if not (host.enabled and host.answering) or (hosts and host.name not in hosts):
                continue
            if cores <= host.counted['VCPU'] and mib <= host.counted['MEMORY_MB']:
                (fits if cores <= host.cores - 1 else crowded).append((cores, str(host.name)))
        if fits:
            # of equally full ones the first by name
            return min(fits, key=lambda one: (-one[0], one[1]))[1]
        return min(crowded, default=(0.0, ''))[1]

    def boot(
        self,
        project_id: str,
        name: str,
        flavor: str,
        metadata: Mapping[str, str],
        hosts: Sequence[str] = (),
    ) -> str:
        """A server of a project; its id, '' when no host has room. hosts: as in `place`"""
        vcpus, memory_mib, disk = FLAVORS[flavor]
        host = self.place(vcpus, memory_mib, hosts)
        if not host:
            return ''
        server_id = str(uuid.UUID(int=self.rng.getrandbits(128), version=4))
        self.cloud.put_server(
            CloudServer(
                id=server_id,
                project_id=project_id,
                host=HostName(host),
                vcpus=vcpus,
                memory_mib=memory_mib,
                name=name,
                flavor=id_of('flavor', flavor),
                metadata=dict(metadata),
                counted={'VCPU': vcpus, 'MEMORY_MB': memory_mib, 'DISK_GB': disk},
            )
        )
        self.created[server_id] = self.clock.wall()
        return server_id

    def remove(self, server_id: str) -> None:
        """A server is deleted; one of an application or a queue by whoever owns it, too."""
        self.created.pop(server_id, None)
        self.cloud.remove(server_id)
        for owners in (self.apps, self.workers):
            owners.remove(server_id)

    def change(self, server_id: str, metadata: Mapping[str, str]) -> None:
        """Metadata of a server is added to, or replaced."""
        found = self.seen.get(server_id)
        if found is not None:
            self.cloud.put_server(replace(found, metadata={**found.metadata, **metadata}))

    # ports.ServerOwners, ports.Flavors, ports.Projects
    def server(self, server_id: str) -> OwnedServer | None:
        found = self.seen.get(server_id)
        if found is None:
            return None
        return OwnedServer(
            project_id=found.project_id, vcpus=found.vcpus, memory_mib=found.memory_mib
        )

    def flavor(self, name: str) -> tuple[float, float] | None:
        found = self.size(name)
        return None if found is None else found[:2]

    def size(self, name: str) -> tuple[float, float, float] | None:
        for one, (cores, mib, disk) in FLAVORS.items():
            if name in (one, id_of('flavor', one)):
                return float(cores), float(mib), float(disk)
        return None

    def project(self, text: str, domain_id: str) -> str | None:
        known = {one.project_id: one.project for one in PEOPLE.values()}
        if text in known:
            return text
        names = {name: project for project, name in known.items()}
        return names.get(text) if domain_id == DOMAIN else None


def _host(name: HostName) -> CloudHost:
    return CloudHost(
        name=name,
        cores=CORES,
        memory_mib=MEMORY_MIB,
        zone='nova',
        node=str(uuid.UUID(id_of('node', name))),
        counted={'VCPU': CORES * RATIO, 'MEMORY_MB': MEMORY_MIB, 'DISK_GB': DISK_GIB},
    )
