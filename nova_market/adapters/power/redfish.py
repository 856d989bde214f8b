# SPDX-License-Identifier: Apache-2.0
"""The power actuator `redfish`: the management controller (BMC) of each host, by sushy (extra `redfish`).

A session for each call, ended with it, since controllers have few of them; or basic authentication, for a
controller that has no sessions. Certificates are always checked. A call makes at most six requests, each
tried three times at most and limited to `timeout` seconds between two pieces of an answer.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from oslo_config import cfg

from nova_market.adapters.power.redfish_hosts import OPTION, Controller, controllers
from nova_market.core.power.host_step import PowerState
from nova_market.core.resource import HostName
from nova_market.errors import ConfigurationError, PowerRefused, PowerUnavailable

CONNECT = 5.0
TRIES = 2
"""Of a request that gets no answer, and further ones after HTTP 5xx; a second apart."""

SHOWN = 400
"""Characters of a controller's message that are kept."""

STATES = {'On': PowerState.ON, 'Off': PowerState.OFF}
"""Of Redfish's PowerState; PoweringOn, PoweringOff and Paused are UNKNOWN."""

ON = ('On', 'ForceOn')
OFF = ('GracefulShutdown', 'ForceOff')
FORCE_OFF = ('ForceOff',)
"""ResetType, the first that a controller allows."""


class RedfishPower:
    """Implements ports.PowerActuator."""

    acts = True

    def __init__(self, hosts: Mapping[HostName, Controller], timeout: float) -> None:
        """timeout: seconds of a request. :raises ConfigurationError: sushy is not installed."""
        try:
            import sushy
            from sushy import auth, connector, exceptions
        except ImportError as error:
            raise ConfigurationError(
                'the power actuator redfish needs sushy: install the extra redfish of nova-market'
            ) from error
        self._sushy, self._auth, self._errors = sushy, auth, exceptions
        self._connector = connector.Connector
        self._hosts = hosts
        self._timeout = timeout

    def state(self, host: HostName) -> PowerState:
        with self._system(host) as system:
            return _state(system)

    def power_on(self, host: HostName) -> None:
        self._reset(host, PowerState.ON, ON)

    def power_off(self, host: HostName, *, force: bool = False) -> None:
        self._reset(host, PowerState.OFF, FORCE_OFF if force else OFF)

    def _reset(self, host: HostName, wanted: PowerState, kinds: tuple[str, ...]) -> None:
        with self._system(host) as system:
            if _state(system) is wanted:
                return
            allowed = {one.value: one for one in system.get_allowed_reset_system_values()}
            kind = next((one for one in kinds if one in allowed), None)
            if kind is None:
                raise PowerRefused(
                    f'{host}: its controller allows none of {", ".join(kinds)}, but '
                    f'{", ".join(sorted(allowed)) or "nothing"}; switch it by [power]actuator = script'
                )
            system.reset_system(allowed[kind])

    @contextmanager
    def _system(self, host: HostName) -> Iterator[Any]:
        """The host at its controller.

        :raises PowerUnavailable, PowerRefused: as the port.
        """
        one = self._hosts.get(host)
        if one is None:
            raise PowerRefused(f'{host}: not in the file of {OPTION}; add it, or exclude the host')
        kind = self._auth.BasicAuth if one.auth == 'basic' else self._auth.SessionAuth
        auth = kind(username=one.username, password=one.password)
        made = self._connector(
            one.address,
            verify=one.certificates or True,
            server_side_retries=TRIES,
            server_side_retries_delay=1,
            default_request_timeout=self._timeout,
            connect_timeout=min(CONNECT, self._timeout),
        )
        with self._translated(host, one.address):
            try:
                root = self._sushy.Sushy(one.address, auth=auth, connector=made)
                yield root.get_system(one.system or None)
            finally:
                # a session that cannot be ended now expires
                with suppress(Exception):
                    auth.close()
                made.close()

    @contextmanager
    def _translated(self, host: HostName, address: str) -> Iterator[None]:
        where, errors = f'{host}: its controller {address}', self._errors
        try:
            yield
        except errors.AccessError as error:
            raise PowerRefused(
                f'{where} does not accept the username and password of {OPTION}: {_text(error)}'
            ) from None
        except errors.ResourceNotFoundError as error:
            raise PowerRefused(
                f'{where} has no such system; give "system" in {OPTION}: {_text(error)}'
            ) from None
        except (errors.ConnectionError, errors.ServerSideError) as error:
            raise PowerUnavailable(f'{where} does not answer: {_text(error)}') from None
        except errors.HTTPError as error:
            raise PowerRefused(f'{where} refuses: {_text(error)}') from None
        except (errors.SushyError, OSError, ValueError, RecursionError) as error:
            raise PowerUnavailable(f'{where} is not understood: {_text(error)}') from None


def redfish(conf: cfg.ConfigOpts) -> RedfishPower:
    """Plug-in `redfish`. :raises ConfigurationError: the file, or sushy is not installed."""
    return RedfishPower(controllers(conf.power.redfish_hosts), conf.power.redfish_timeout)


def _state(system: Any) -> PowerState:
    found = system.power_state
    return STATES.get(found.value if found else '', PowerState.UNKNOWN)


def _text(error: Exception) -> str:
    return ' '.join(str(error).split())[:SHOWN]
