# SPDX-License-Identifier: Apache-2.0
"""The power actuator `ironic`: hosts that are nodes of an Ironic, with the account of group [openstack].

A node in maintenance is never switched: somebody works on it.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from openstack import connection
from openstack import exceptions as sdk_errors
from oslo_config import cfg

from nova_market.adapters.openstack.answers import translated
from nova_market.adapters.openstack.session import connector
from nova_market.core.power.host_step import PowerState
from nova_market.core.resource import HostName
from nova_market.errors import CloudUnavailable, ConfigurationError, PowerRefused, PowerUnavailable

STATES = {'power on': PowerState.ON, 'power off': PowerState.OFF}
"""Of a node's power_state; None and `error` are UNKNOWN."""

LOCKED = 409
REFUSED = frozenset({400, 401, 403, 406})


class IronicPower:
    """Implements ports.PowerActuator."""

    acts = True

    def __init__(self, connect: Callable[[], connection.Connection], node: str) -> None:
        """node: name of a host's node, with {host} or {short} for the host's name.

        :raises ConfigurationError: node has none of both.
        """
        if '{host}' not in node and '{short}' not in node:
            raise ConfigurationError(
                f'[power]ironic_node = {node}: give the name of a node with {{host}} or {{short}} in it'
            )
        self._connect = connect
        self._node = node
        self._cloud: connection.Connection | None = None
        self._lock = threading.Lock()

    def state(self, host: HostName) -> PowerState:
        with self._asking(host) as cloud:
            node = cloud.get_node(self._name(host))
            return PowerState.UNKNOWN if node.target_power_state else _state(node)

    def power_on(self, host: HostName) -> None:
        self._switch(host, PowerState.ON, 'power on')

    def power_off(self, host: HostName, *, force: bool = False) -> None:
        self._switch(host, PowerState.OFF, 'power off' if force else 'soft power off')

    def _switch(self, host: HostName, wanted: PowerState, target: str) -> None:
        with self._asking(host) as cloud:
            node = cloud.get_node(self._name(host))
            if node.is_maintenance:
                raise PowerRefused(
                    f'{host}: its node {self._name(host)} is in maintenance; it is switched after '
                    f'"openstack baremetal node maintenance unset {self._name(host)}"'
                )
            if _state(node) is not wanted:
                cloud.set_node_power_state(node.id, target)

    def _name(self, host: HostName) -> str:
        return self._node.replace('{host}', host).replace('{short}', host.split('.')[0])

    @contextmanager
    def _asking(self, host: HostName) -> Iterator[Any]:
        """:raises PowerUnavailable, PowerRefused: as the port."""
        where = f'{host}: node {self._name(host)} of Ironic'
        try:
            with translated():
                try:
                    with self._lock:
                        self._cloud = self._cloud or self._connect()
                    baremetal = self._cloud.baremetal
                    # its own tries, some with pauses of a minute, are not ours: the next period tries again
                    baremetal.status_code_retries = 0
                    baremetal.connect_retries = 0
                    yield baremetal
                except sdk_errors.NotFoundException:
                    raise PowerRefused(
                        f'{where}: there is none; check [power]ironic_node = {self._node}'
                    ) from None
                except sdk_errors.HttpException as error:
                    if error.status_code == LOCKED:
                        raise PowerUnavailable(f'{where} is locked by another order') from None
                    if error.status_code in REFUSED:
                        raise PowerRefused(f'{where}: {str(error)[:200]}') from None
                    raise
        except CloudUnavailable as error:
            raise PowerUnavailable(f'{where}: {error}') from None


def ironic(conf: cfg.ConfigOpts) -> IronicPower:
    """Plug-in `ironic`. :raises ConfigurationError: the account is not complete."""
    return IronicPower(connector(conf, 'the power actuator ironic'), conf.power.ironic_node)


def _state(node: Any) -> PowerState:
    return STATES.get(node.power_state, PowerState.UNKNOWN)
