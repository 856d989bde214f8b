# SPDX-License-Identifier: Apache-2.0
"""A connection to libvirt that comes back: one event loop thread, keep-alive, reconnect at next use.

libvirt's errors become errors.HostUnavailable where the hypervisor does not answer; anything else stays
a libvirt.libvirtError for the caller, who knows what it means.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import libvirt

from nova_market.errors import HostUnavailable
from nova_market.outage_log import OutageLog

LOG = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS = 5
KEEP_ALIVE_MISSES = 3
"""A libvirtd that hangs is given up after about 20 s, instead of blocking the service for good."""

_CONNECTION_LOST = frozenset(
    {
        libvirt.VIR_ERR_NO_CONNECT,
        libvirt.VIR_ERR_INVALID_CONN,
        libvirt.VIR_ERR_RPC,
        libvirt.VIR_ERR_SYSTEM_ERROR,
        libvirt.VIR_ERR_INTERNAL_ERROR,
        libvirt.VIR_ERR_AUTH_FAILED,
        libvirt.VIR_ERR_AUTH_CANCELLED,
        libvirt.VIR_ERR_AUTH_UNAVAILABLE,
    }
)
_TRANSPORT = frozenset({libvirt.VIR_FROM_RPC, libvirt.VIR_FROM_REMOTE})

_EVENTS = {
    libvirt.VIR_DOMAIN_EVENT_STARTED: 'started',
    libvirt.VIR_DOMAIN_EVENT_RESUMED: 'resumed',
    libvirt.VIR_DOMAIN_EVENT_STOPPED: 'stopped',
}
"""Lifecycle events after which the set of guests, or their cgroups, may be new."""

_loop_lock = threading.Lock()
_loop: threading.Thread | None = None


class LibvirtLink:
    """Lazily opened; used by one service thread, while events arrive on the event loop's thread."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._connection: libvirt.virConnect | None = None
        self._closed_by_peer = threading.Event()
        self._event_id = -1
        self._callbacks: list[Callable[[str], None]] = []
        self._outage = OutageLog(
            LOG,
            lost=f'libvirt does not answer on {uri}',
            back=f'libvirt answers again on {uri}',
        )
        self.generation = 0
        """Counts connections: what was cached of an earlier one (domain objects) is void."""

    def connection(self) -> libvirt.virConnect:
        """The open connection, opened anew when it was lost.

        :raises HostUnavailable: libvirt does not answer.
        """
        if self._connection is not None and not self._closed_by_peer.is_set():
            return self._connection
        self._drop()
        start_event_loop()
        try:
            self._connection = self._open()
        except libvirt.libvirtError as error:
            self._drop()
            raise self._unavailable(error) from error
        self._outage.works()
        self.generation += 1
        return self._connection

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Around libvirt calls: a lost connection becomes HostUnavailable, other errors pass."""
        try:
            yield
        except libvirt.libvirtError as error:
            if self._closed_by_peer.is_set() or is_lost(error) or not self._alive():
                self._drop()
                raise self._unavailable(error) from error
            raise

    def subscribe(self, callback: Callable[[str], None]) -> None:
        """`callback(reason)` at each start, stop or arrival; survives reconnections."""
        self._callbacks.append(callback)
        if self._connection is None:
            with suppress(HostUnavailable):
                self.connection()

    def close(self) -> None:
        """Let go; a later use opens a new connection."""
        self._drop()

    def _open(self) -> libvirt.virConnect:
        connection = libvirt.open(self._uri)
        try:
            with suppress(libvirt.libvirtError):  # in-process drivers (test:///) cannot be lost
                connection.registerCloseCallback(_on_close, self._closed_by_peer)
                connection.setKeepAlive(KEEP_ALIVE_SECONDS, KEEP_ALIVE_MISSES)
            self._event_id = connection.domainEventRegisterAny(
                None, libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, _on_lifecycle, self._callbacks
            )
        except libvirt.libvirtError:
            connection.close()
            raise
        return connection

    def _alive(self) -> bool:
        with suppress(libvirt.libvirtError):
            return self._connection is not None and bool(self._connection.isAlive())
        return False

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._closed_by_peer = threading.Event()
        if connection is not None:
            # each callback holds a reference: without these two the socket stays open
            with suppress(libvirt.libvirtError):
                connection.domainEventDeregisterAny(self._event_id)
            with suppress(libvirt.libvirtError):
                connection.unregisterCloseCallback()
            with suppress(libvirt.libvirtError):
                connection.close()

    def _unavailable(self, error: libvirt.libvirtError) -> HostUnavailable:
        self._outage.failed(error)
        return HostUnavailable(
            f'libvirt does not answer on {self._uri} ({error}); '
            'check that libvirtd runs and that this user may open its socket'
        )


def is_lost(error: libvirt.libvirtError) -> bool:
    """Whether the error says that the transport is gone, not that a call was refused."""
    return (
        error.get_error_code() in _CONNECTION_LOST and error.get_error_domain() in _TRANSPORT
    ) or error.get_error_code() in (libvirt.VIR_ERR_NO_CONNECT, libvirt.VIR_ERR_INVALID_CONN)


def is_gone(error: libvirt.libvirtError, domain: libvirt.virDomain) -> bool:
    """Whether a call failed because the domain does not exist or does not run any more.

    libvirt has several codes for it, and translated messages, so the domain is asked.
    """
    if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
        return True
    try:
        return not domain.isActive()
    except libvirt.libvirtError as again:
        return bool(again.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN)


def start_event_loop() -> None:
    """Run libvirt's default event loop in one daemon thread of this process; later calls do nothing.

    It must be registered before the first connection is opened, hence not in the constructor of a link.
    """
    global _loop
    with _loop_lock:
        if _loop is not None:
            return
        # without a handler libvirt prints every error on stderr
        libvirt.registerErrorHandler(_be_quiet, None)
        libvirt.virEventRegisterDefaultImpl()
        _loop = threading.Thread(target=_run_event_loop, name='libvirt-events', daemon=True)
        _loop.start()


def _run_event_loop() -> None:
    while True:
        try:
            libvirt.virEventRunDefaultImpl()
        except libvirt.libvirtError:
            LOG.exception('libvirt event loop')


def _be_quiet(context: object, error: object) -> None:
    pass


def _on_close(connection: libvirt.virConnect, reason: int, closed: threading.Event) -> None:
    closed.set()


def _on_lifecycle(
    connection: libvirt.virConnect,
    domain: libvirt.virDomain,
    event: int,
    detail: int,
    callbacks: list[Callable[[str], None]],
) -> None:
    what = _EVENTS.get(event)
    if what is None:
        return
    for callback in tuple(callbacks):
        try:
            callback(f'guest {domain.UUIDString()} {what}')
        except Exception:  # the loop serves every connection of the process
            LOG.exception('callback of a lifecycle event')
