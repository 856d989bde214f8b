# SPDX-License-Identifier: Apache-2.0
"""What tests have made in the cloud is removed, whichever run has made it, and also when that was killed.

The cloud is then as `tools/cloud up` makes it: without servers, aggregates, trusts, claims on its hosts and
traits of ours, and with both hosts enabled. Queues and leases are rows of tables that each bed makes anew
(deployed_market). Services are processes: tools/test.d/sweep.py ends them, before this, because they would go
on to make servers.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openstack import exceptions as sdk_errors
from openstack.compute.v2.server import Server
from openstack.connection import Connection

from nova_market.adapters.openstack.placement_traits import PlacementTraits
from nova_market.core.resource import HostName
from tests.integration.cloud.waiting import say_now, until

OWN_PORTS = ('network:', 'nova-market:')
"""How owners of ports begin that are the cloud's: DHCP, and the gate of the market API."""

AGAIN = 60.0
"""Seconds after which the order to delete a server counts as lost, with a broker that was killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudSnapshot:
    """What there is when no server is left.

    hosts:      id of a nova-compute -> whether new servers may go there
    aggregates: id -> hosts in it
    claims:     consumers for which Placement holds something
    guests:     (host, name of a domain of libvirt)
    marked:     hosts with our trait
    ports:      id -> owner
    trusts:     ids
    """

    hosts: Mapping[str, bool] = field(default_factory=dict)
    aggregates: Mapping[str, Sequence[str]] = field(default_factory=dict)
    claims: Collection[str] = ()
    guests: Collection[tuple[str, str]] = ()
    marked: Collection[str] = ()
    ports: Mapping[str, str] = field(default_factory=dict)
    trusts: Collection[str] = ()


def removals(found: CloudSnapshot) -> list[tuple[str, ...]]:
    """(what CloudCleaner does, with what), in order: an aggregate loses its hosts before it is deleted."""
    foreign = [one for one, owner in found.ports.items() if not owner.startswith(OWN_PORTS)]
    return [
        *sorted(('enable', one) for one, enabled in found.hosts.items() if not enabled),
        *sorted(('leave', one, host) for one, hosts in found.aggregates.items() for host in hosts),
        *sorted(('delete_aggregate', one) for one in found.aggregates),
        *sorted(('delete_guest', *one) for one in found.guests),
        *sorted(('delete_claim', one) for one in found.claims),
        *sorted(('unmark', one) for one in found.marked),
        *sorted(('delete_port', one) for one in foreign),
        *sorted(('delete_trust', one) for one in found.trusts),
    ]


class LostDeletions:
    """Nova ignores a deletion when it has begun one, whose order may never have come to the host."""

    def __init__(self, admin: Connection) -> None:
        self._admin = admin
        self._since: dict[str, float] = {}

    def reset(self) -> list[Server]:
        """All servers; those for which it has lasted too long can be deleted again, as by an operator."""
        now = time.monotonic()
        servers = list(self._admin.compute.servers(all_projects=True))
        deleting = [server.id for server in servers if server.task_state == 'deleting']
        self._since = {server_id: self._since.get(server_id, now) for server_id in deleting}
        for server_id, began in list(self._since.items()):
            if now - began >= AGAIN:
                say_now(f'leftovers: reset_server_state {server_id}')
                self._admin.compute.reset_server_state(server_id, 'error')
                del self._since[server_id]
        return servers


class CloudCleaner:
    """As the administrator. virsh(host, words...): what it prints on a compute host."""

    def __init__(self, admin: Connection, hosts: Sequence[str], virsh: Callable[..., str]) -> None:
        self._admin = admin
        self._hosts = hosts
        self._virsh = virsh
        self._traits = PlacementTraits(lambda: admin)

    def clean(self) -> None:
        """Remove, and print each thing.

        :raises AssertionError: a server stays.
        """
        self._delete_servers()
        for action, *arguments in removals(self._seen()):
            say_now(f'leftovers: {action} {" ".join(arguments)}')
            getattr(self, f'_{action}')(*arguments)

    def _delete_servers(self) -> None:
        lost = LostDeletions(self._admin)

        def gone() -> bool:
            found = lost.reset()
            for one in found:
                if one.task_state != 'deleting':
                    say_now(f'leftovers: delete_server {one.id} {one.name} ({one.status})')
                    self._admin.compute.delete_server(one.id)
            return not found

        until(gone)

    def _seen(self) -> CloudSnapshot:
        compute, network = self._admin.compute, self._admin.network
        return CloudSnapshot(
            hosts={
                one.id: one.status == 'enabled' for one in compute.services(binary='nova-compute')
            },
            aggregates={str(one.id): one.hosts or () for one in compute.aggregates()},
            claims=self._claims(),
            guests=[
                (host, name)
                for host in self._hosts
                for name in self._virsh(host, 'list', '--all', '--name').split()
            ],
            marked=self._traits.marked(),
            ports={one.id: one.device_owner or '' for one in network.ports()},
            trusts=[one.id for one in self._admin.identity.trusts()],
        )

    def _claims(self) -> set[str]:
        hosts = [
            one['uuid'] for one in self._placement('/resource_providers')['resource_providers']
        ]
        paths = [f'/resource_providers/{host}/allocations' for host in hosts]
        return {consumer for path in paths for consumer in self._placement(path)['allocations']}

    def _placement(self, path: str) -> Any:
        answer = self._admin.placement.get(path)
        sdk_errors.raise_from_response(answer)
        return answer.json()

    def _enable(self, service: str) -> None:
        self._admin.compute.enable_service(service)

    def _leave(self, aggregate: str, host: str) -> None:
        self._admin.compute.remove_host_from_aggregate(aggregate, host)

    def _delete_aggregate(self, aggregate: str) -> None:
        self._admin.compute.delete_aggregate(aggregate)

    def _delete_guest(self, host: str, domain: str) -> None:
        if domain in self._virsh(host, 'list', '--name').split():
            self._virsh(host, 'destroy', domain)
        self._virsh(host, 'undefine', domain)

    def _delete_claim(self, consumer: str) -> None:
        answer = self._admin.placement.delete(f'/allocations/{consumer}')
        if answer.status_code != 404:  # Nova has been faster
            sdk_errors.raise_from_response(answer)

    def _unmark(self, host: str) -> None:
        self._traits.unmark(HostName(host))

    def _delete_port(self, port: str) -> None:
        self._admin.network.delete_port(port)

    def _delete_trust(self, trust: str) -> None:
        self._admin.identity.delete_trust(trust)
