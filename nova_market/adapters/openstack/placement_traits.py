# SPDX-License-Identifier: Apache-2.0
"""Our trait on the resource providers of compute hosts, in Placement.

Implements ports.ProviderTraits. Other traits of a provider are left as they are; when somebody else changes
it at the same time, Placement refuses the older change and it is tried again. Needs an account that Placement
lets change providers (admin or service). For one thread.

Nova's hypervisors are listed once after each `marked`, however many hosts are changed then: in a large cloud
that is many requests. Of a host with several nodes all are marked.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from openstack import exceptions as sdk_errors

from nova_market.adapters.openstack.answers import items, translated
from nova_market.core.rebalancing.cordon import CLOSED_TRAIT
from nova_market.core.resource import HostName
from nova_market.errors import CloudUnavailable

COMPUTE, PLACEMENT = '2.53', '1.18'
TRIES = 4
PAGE = 1000


class PlacementTraits:
    """connect: makes the connection of openstacksdk, at first use."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._connection: Any = None
        self._listed: Mapping[HostName, Sequence[str]] | None = None
        self._announced = False

    def marked(self) -> frozenset[HostName]:
        self._listed = None
        with translated():
            answer = self._placement('get', f'/resource_providers?required={CLOSED_TRAIT}')
            if answer.status_code == 400:  # there is no such trait, or no longer
                self._announced = False
                return frozenset()
            sdk_errors.raise_from_response(answer)
            wanted = {str(one['uuid']) for one in answer.json()['resource_providers']}
            if not wanted:
                return frozenset()
            return frozenset(
                h for h, nodes in self._nodes().items() if not wanted.isdisjoint(nodes)
            )

    def mark(self, host: HostName) -> None:
        if not self._announced:
            self.announce()
        with translated():
            self._change(host, lambda traits: traits | {CLOSED_TRAIT})

    def unmark(self, host: HostName) -> None:
        with translated():
            self._change(host, lambda traits: traits - {CLOSED_TRAIT})

    def announce(self) -> None:
        with translated():
            sdk_errors.raise_from_response(self._placement('put', f'/traits/{CLOSED_TRAIT}'))
        self._announced = True

    def _change(self, host: HostName, change: Callable[[set[str]], set[str]]) -> None:
        for node in self._nodes().get(host, ()):
            self._change_provider(node, change)

    def _change_provider(self, node: str, change: Callable[[set[str]], set[str]]) -> None:
        path = f'/resource_providers/{node}/traits'
        for _ in range(TRIES):
            answer = self._placement('get', path)
            if answer.status_code == 404:
                return
            sdk_errors.raise_from_response(answer)
            found = answer.json()
            traits = change(set(found['traits']))
            if traits == set(found['traits']):
                return
            generation = found['resource_provider_generation']
            body = {'traits': sorted(traits), 'resource_provider_generation': generation}
            answer = self._placement('put', path, json=body)
            if answer.status_code != 409:
                sdk_errors.raise_from_response(answer)
                return
        raise CloudUnavailable(f'resource provider {node} changes all the time')

    def _nodes(self) -> Mapping[HostName, Sequence[str]]:
        """Host -> its resource providers, which have the ids of its hypervisors."""
        if self._listed is None:
            self._listed = self._list()
        return self._listed

    def _list(self) -> Mapping[HostName, Sequence[str]]:
        found: dict[HostName, list[str]] = {}
        for node in items(self._hypervisors, '/os-hypervisors/detail', 'hypervisors', limit=PAGE):
            found.setdefault(HostName(str(node['service']['host'])), []).append(str(node['id']))
        return found

    def _hypervisors(self, path: str) -> Mapping[str, Any]:
        answer = self._cloud.compute.get(path, microversion=COMPUTE)
        sdk_errors.raise_from_response(answer)
        page: Mapping[str, Any] = answer.json()
        return page

    def _placement(self, method: str, path: str, **more: Any) -> Any:
        return getattr(self._cloud.placement, method)(path, microversion=PLACEMENT, **more)

    @property
    def _cloud(self) -> Any:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection
