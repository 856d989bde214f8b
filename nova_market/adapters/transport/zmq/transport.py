# SPDX-License-Identifier: Apache-2.0
"""Frames among hosts over ZeroMQ: no broker, every connection authenticated and encrypted by CURVE.

Implements the message exchange of IFI-2016.04, section IV-D.2, with the library that the paper used. Units:
seconds of the monotonic clock; bytes.

Differs from the paper: a host connects only to the hosts that it sends to, and they answer over the same
connection; no call waits for a peer, and of the frames that cannot be sent the newest are kept. Hosts prove
their names by the keys in adapters.transport.zmq.keys.

One thread owns all sockets. The others leave frames in mailboxes, one per host, and wake it.
"""

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping

from oslo_config import cfg

from nova_market.adapters.transport.wire_format import MAX_FRAME
from nova_market.adapters.transport.zmq.endpoint import Endpoint
from nova_market.adapters.transport.zmq.keys import KeyDirectory, KeyRing
from nova_market.adapters.transport.zmq.listener import OVERSIZED
from nova_market.adapters.transport.zmq.mailboxes import Mailboxes
from nova_market.adapters.transport.zmq.sockets import bindable, is_loopback, usable
from nova_market.core.exchange.peer_budget import CUT_OFF, PeerBudgets
from nova_market.core.resource import HostName
from nova_market.errors import ConfigurationError
from nova_market.outage_log import OutageLog

LOG = logging.getLogger(__name__)

TICK = 0.5
"""Seconds between two looks at lines and addresses."""

RELOAD = 5.0
"""Seconds between two looks at the key files."""

STOP_SECONDS = 3.0
"""Longest time that stop() takes; what is not sent by then is lost."""

ENGINE_BIND = 'tcp://127.0.0.1:*'
"""Where the end of a market engine listens: for nobody."""

NO_ADDRESS = 'no_address'
NO_LINE = 'no_line'

Receive = Callable[[HostName | None, bytes], None]


class ZmqTransport:
    """Implements ports.Transport."""

    echoes = False

    def __init__(
        self,
        host: HostName,
        bind: str,
        addresses: Callable[[], Mapping[HostName, str]],
        keys: KeyDirectory | None,
    ) -> None:
        """addresses: tcp://ADDRESS:PORT of each host; called often, must not block.

        keys: None = nobody proves anything and nothing is encrypted, on loopback addresses only.

        :raises ConfigurationError: the address is none, or it needs keys.
        """
        if not bindable(bind):
            raise ConfigurationError(
                f'[exchange]zmq_bind = {bind}: must be tcp://ADDRESS:PORT, for example tcp://10.0.0.5:9653'
            )
        if keys is None and not is_loopback(bind):
            raise ConfigurationError(
                f'[exchange]zmq_bind = {bind}: without keys only a loopback address is allowed; make keys '
                'with "nova-market-manage keys create" and set [exchange]zmq_key_path'
            )
        self._host = host
        self._bind = bind
        self._addresses = addresses
        self._keys = keys
        self._lock = threading.Lock()
        self._mail = Mailboxes()
        self._dropped: Counter[str] = Counter()
        self._refusals: dict[HostName, OutageLog] = {}
        self._trouble = ''
        self._wake = -1
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._sockets: Endpoint | None = None
        self._signature: tuple[object, ...] = ()
        self._ring: KeyRing | None = None
        self._budgets = PeerBudgets()

    @property
    def dropped(self) -> Mapping[str, int]:
        with self._lock:
            return {**self._dropped, **self._mail.dropped}

    @property
    def trouble(self) -> str:
        return self._trouble

    @property
    def endpoint(self) -> str:
        """Where this host listens, with the port that the system has chosen for ':*'."""
        return self._bind

    @property
    def connected(self) -> tuple[HostName, ...]:
        """Hosts to which a connection of this host carries frames now."""
        sockets = self._sockets
        return sockets.connections.up if sockets is not None else ()

    def start(self, receive: Receive) -> None:
        """:raises ConfigurationError: the secret key or the address can't be used."""
        signature: tuple[object, ...] = ()
        ring: KeyRing | None = None
        if self._keys is not None:
            signature, ring = self._keys.signature(), self._keys.load()
            self._tell_problems(ring)
        self._receive = receive
        self._signature = signature
        self._ring = ring
        wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        try:
            self._sockets = self._endpoint(ring, wake)
        except BaseException:
            os.close(wake)
            raise
        self._bind = self._sockets.endpoint
        self._wake = wake
        self._thread = threading.Thread(target=self._run, name='exchange-zmq', daemon=True)
        self._thread.start()

    def send(self, to: HostName, frame: bytes) -> None:
        self._post((to,), frame)

    def broadcast(self, frame: bytes) -> None:
        self._post([host for host in self._addresses() if host != self._host], frame)

    def stop(self) -> None:
        if self._thread is None:
            return
        self._stopping.set()
        self._wake_up()
        self._thread.join(STOP_SECONDS)

    # -- on the threads of the callers

    def _post(self, hosts: list[HostName] | tuple[HostName, ...], frame: bytes) -> None:
        if len(frame) > MAX_FRAME:
            self._drop(OVERSIZED, f'{len(frame)} bytes of our own, at most {MAX_FRAME}')
            return
        for host in hosts:
            self._mail.post(host, frame)
        self._wake_up()

    def _wake_up(self) -> None:
        with self._lock:
            if self._wake >= 0:
                os.eventfd_write(self._wake, 1)

    # -- on the thread of the sockets

    def _run(self) -> None:
        try:
            tick = reload = time.monotonic()
            while not self._stopping.is_set():
                self._turn()
                now = time.monotonic()
                if now - tick >= TICK:
                    tick = now
                    if now - reload >= RELOAD:
                        reload = now
                        self._reload_keys()
                    self._tend(now)
                    self._send_all(now)
            self._send_all(time.monotonic())
        except Exception:
            self._trouble = 'the thread of the ZeroMQ sockets has ended'
            LOG.exception('the exchange over ZeroMQ has ended, this host goes on alone')
        finally:
            self._close()

    def _turn(self) -> None:
        """Wait for something, take what has come, send what can be sent."""
        sockets = self._sockets
        if sockets is None:
            self._stopping.wait(TICK)
            return
        ready = sockets.wait(TICK)
        rung = self._wake in ready
        if rung:
            os.eventfd_read(self._wake)
        for received in sockets.frames(ready, time.monotonic()):
            self._deliver(received.sender, received.frame)
        now = time.monotonic()
        changes = list(sockets.changes(ready, now))
        for host, state in changes:
            self._tell_line(host, state)
        if rung or changes:
            self._send_all(now)
        self._cut_off()

    def _cut_off(self) -> None:
        """End the connections of peers that take more than their budgets.

        A ROUTER cannot end a single one, so all are made anew, and those of the peer are refused.
        """
        hosts = self._budgets.newly_cut_off()
        for host in hosts:
            LOG.warning(
                'host %s is cut off for %d s: it sends more, or makes more connections, than a host may',
                host,
                CUT_OFF,
            )
        if hosts:
            self._end_sockets()

    def _end_sockets(self) -> None:
        """They are opened again by the next look at them."""
        if self._sockets is not None:
            self._sockets.close()
            self._sockets = None
            self._budgets.disconnect_all()

    def _endpoint(self, ring: KeyRing | None, wake: int) -> Endpoint:
        return Endpoint(self._bind, self._host, ring, self._drop, self._budgets, wake)

    def _deliver(self, sender: HostName | None, frame: bytes) -> None:
        begun = time.thread_time()
        try:
            self._receive(sender, frame)
        except Exception:
            LOG.exception('a frame of host %s could not be handled', sender)
        if sender is not None:
            self._budgets.work(sender, time.thread_time() - begun, time.monotonic())

    def _send_all(self, now: float) -> None:
        waiting = self._mail.waiting()
        if not waiting or self._sockets is None:
            return
        addresses = self._addresses()
        for host in waiting:
            self._send_to(self._sockets, host, addresses.get(host, ''), now)

    def _send_to(self, sockets: Endpoint, host: HostName, address: str, now: float) -> None:
        """Send what waits for a host, in order, as far as it goes now."""
        while (frame := self._mail.take(host)) is not None:
            if not sockets.send(host, frame, now):
                self._mail.put_back(host, frame)
                self._connect(sockets, host, address, now)
                return

    def _connect(self, sockets: Endpoint, host: HostName, address: str, now: float) -> None:
        """Make a line to a host; without an address its mail is thrown away."""
        problem: str | None
        if not usable(address):
            reason = NO_ADDRESS
            problem = f'host {host} is not reached at {address!r}: not tcp://ADDRESS:PORT'
        elif self._keys is None and not is_loopback(address):
            reason = NO_LINE
            problem = f'host {host} at {address}: without keys only loopback addresses are used'
        else:
            reason, problem = NO_LINE, sockets.connections.open(host, address, now)
        if problem is None:
            return
        for _ in range(self._mail.empty(host)):
            self._drop(reason, problem)

    def _tend(self, now: float) -> None:
        """Keep lines as addresses and keys are now; forget mail of hosts that are gone."""
        addresses = self._addresses()
        if self._sockets is None:
            self._reopen()
        else:
            connections = self._sockets.connections
            for host in connections.hosts:
                if connections.address(host) != addresses.get(host):
                    connections.close_line(host)
            self._sockets.renew(self._ring, now)
        self._mail.forget_others(addresses)

    def _reopen(self) -> None:
        try:
            self._sockets = self._endpoint(self._ring, self._wake)
            self._trouble = ''
        except ConfigurationError as error:
            self._trouble = str(error)

    def _reload_keys(self) -> None:
        if self._keys is None or (signature := self._keys.signature()) == self._signature:
            return
        self._signature = signature
        try:
            ring = self._keys.load()
        except ConfigurationError as error:
            LOG.warning('keys are not read again, the old ones stay in use: %s', error)
            return
        assert self._ring is not None
        LOG.info('keys were read again: %d peers', len(ring.peers))
        self._tell_problems(ring)
        own_is_new = ring.own != self._ring.own
        self._ring = ring
        if own_is_new and self._sockets is not None:
            LOG.info('this host has another key, all connections are made anew')
            self._end_sockets()

    def _close(self) -> None:
        with self._lock:
            wake, self._wake = self._wake, -1
        os.close(wake)
        if self._sockets is not None:
            self._sockets.close()

    # -- telling

    def _drop(self, reason: str, detail: str) -> None:
        with self._lock:
            self._dropped[reason] += 1
            first = self._dropped[reason] == 1
        if first:
            LOG.warning(
                'a frame or a connection is dropped as %s (%s); further ones are only counted',
                reason,
                detail,
            )
        else:
            LOG.debug('dropped as %s: %s', reason, detail)

    def _tell_problems(self, ring: KeyRing) -> None:
        for problem in ring.problems:
            LOG.warning('a public key is left out: %s', problem)

    def _tell_line(self, host: HostName, state: str) -> None:
        if state == 'refused':
            self._refusals.setdefault(host, _refusal(host)).failed(
                'it does not have the public key of this host, or its own key is not the one in the '
                'allow-list here; tried again until it works'
            )
        elif state == 'up' and host in self._refusals:
            self._refusals.pop(host).works()
        else:
            LOG.debug('line to host %s: %s', host, state)


def _refusal(host: HostName) -> OutageLog:
    return OutageLog(
        LOG,
        lost=f'host {host} refuses the connection',
        back=f'host {host} accepts the connection now',
    )


def zmq_transport(
    *,
    conf: cfg.ConfigOpts,
    host: HostName,
    ttl: float,
    addresses: Callable[[], Mapping[HostName, str]],
    engine: bool = False,
) -> ZmqTransport:
    """A transport that is not started, always with keys.

    engine: hosts answer over the connections that an engine makes, so it needs no port that others reach, and
    shares neither port nor key with the nova-fairness of its own machine.

    :raises ConfigurationError: an option that can't work.
    """
    del ttl  # frames are kept by number, not by age
    options = conf.exchange
    bind = ENGINE_BIND if engine else options.zmq_bind
    keys = KeyDirectory(options.zmq_engine_key_path if engine else options.zmq_key_path, host)
    return ZmqTransport(host, bind, addresses, keys)
