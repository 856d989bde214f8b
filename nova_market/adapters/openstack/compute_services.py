# SPDX-License-Identifier: Apache-2.0
"""Compute services of a real cloud, disabled and enabled: ports.ComputeServices through Nova and Placement.

For rule W3 of doc/source/specs/leases.rst. Nova has no conditional change of a service, so it is read just
before; what somebody does between both, some milliseconds, is overwritten.
"""

from collections.abc import Callable, Mapping
from typing import Any

from openstack import connection
from openstack import exceptions as sdk_errors

from nova_market.adapters.openstack.answers import translated
from nova_market.core.market.inventory import CloudHost
from nova_market.core.resource import HostName

VERSION = '2.53'
"""Services have ids from here on."""


class NovaServices:
    """Implements ports.ComputeServices. For one thread."""

    def __init__(self, connect: Callable[[], connection.Connection]) -> None:
        """connect: makes the connection, at first use."""
        self._connect = connect
        self._connection: connection.Connection | None = None

    def users(self, host: CloudHost) -> int | None:
        with translated():
            path = f'/resource_providers/{host.node}/allocations'
            answer = self._cloud.placement.get(path)
            if answer.status_code == 404:
                return None
            sdk_errors.raise_from_response(answer)
            return len(answer.json()['allocations'])

    def disable(self, host: HostName, reason: str) -> bool:
        with translated():
            found = self._service(host)
            if found is None or found['status'] != 'enabled':
                return False
            self._put(found, {'status': 'disabled', 'disabled_reason': reason})
        return True

    def enable(self, host: HostName, reason: str) -> bool:
        with translated():
            found = self._service(host)
            if found is None or found['status'] == 'enabled' or found['disabled_reason'] != reason:
                return False
            self._put(found, {'status': 'enabled'})
        return True

    def _service(self, host: HostName) -> Mapping[str, Any] | None:
        query = {'binary': 'nova-compute', 'host': host}
        answer = self._cloud.compute.get('/os-services', params=query, microversion=VERSION)
        sdk_errors.raise_from_response(answer)
        found: list[Mapping[str, Any]] = answer.json()['services']
        return found[0] if found else None

    def _put(self, service: Mapping[str, Any], body: Mapping[str, str]) -> None:
        path = f'/os-services/{service["id"]}'
        answer = self._cloud.compute.put(path, json=dict(body), microversion=VERSION)
        sdk_errors.raise_from_response(answer)

    @property
    def _cloud(self) -> connection.Connection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection
