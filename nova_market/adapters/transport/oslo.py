# SPDX-License-Identifier: Apache-2.0
"""Frames over oslo.messaging: RabbitMQ's fanout carries those for all, a queue per host those for one.

Implements ports.Transport. Units: seconds of the monotonic clock.

Only oslo.messaging's public interface is used. It must be given the global cfg.CONF: from 18.3 on it
registers options of its own there only. Two threads of ours (one sends, one starts listening and ends)
keep whatever a driver does with a dead broker away from the control loop.
"""

import base64
import binascii
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping

import oslo_messaging
from oslo_config import cfg

from nova_market.adapters.transport.wire_format import MAX_FRAME
from nova_market.core.exchange.frame import BRACE
from nova_market.core.resource import HostName
from nova_market.errors import ConfigurationError

LOG = logging.getLogger(__name__)

TOPIC = 'nova_market.fairness'
DRIVERS = ('rabbit', 'kombu', 'fake')
"""Drivers that can broadcast; kafka's carries notifications only."""

RETRY = 5.0
"""Seconds until listening is tried again after the driver gave up (bad credentials, missing rights)."""

STOP_SECONDS = 3.0
"""Longest time that stop() takes; what is not closed by then ends with the process."""

QUEUE_EXPIRES = 60
"""Seconds that the broker keeps the queue of a host that died. oslo.messaging's own default of 1800
would collect half an hour of all reports in vain."""

PREFETCH = 100
"""Messages that the broker sends ahead; a flood then waits in the broker, not in our memory."""

MAX_WAITING = 4
"""Frames for one host that wait to be sent: an update, a reply, a departure, and one to spare. A newer one
makes an older one worthless."""

MAX_RECEIVERS = 10_000
"""Hosts that frames wait for."""

Receive = Callable[[HostName | None, bytes], None]


class OsloTransport:
    """Implements ports.Transport. Nothing proves who has sent a message, so `sender` is None."""

    def __init__(
        self,
        *,
        conf: cfg.ConfigOpts,
        host: HostName,
        ttl: float,
        addressed: bool = True,
        transport: oslo_messaging.transport.Transport | None = None,
    ) -> None:
        """addressed: are there frames for one host? If not, hosts need no queue for them.

        transport: one that several hosts of a process share; its maker closes it.

        :raises ConfigurationError: transport_url can't work.
        """
        self._host = host
        self._own_transport = transport is None
        self._transport = transport or _transport(conf)
        self._server_name = _server_name(self._transport, host, addressed)
        _prefer(conf, ttl)
        self._receive: Receive | None = None
        self._trouble = ''
        self._dropped: Counter[str] = Counter()
        self._mail = threading.Condition()
        self._for_all: bytes | None = None
        self._for_one: dict[HostName, deque[bytes]] = {}
        self._stopping = threading.Event()
        self._sender: threading.Thread | None = None
        self._server: oslo_messaging.RPCServer | None = None

    @property
    def echoes(self) -> bool:
        return True

    @property
    def trouble(self) -> str:
        return self._trouble

    @property
    def dropped(self) -> Mapping[str, int]:
        with self._mail:
            return dict(self._dropped)

    def start(self, receive: Receive) -> None:
        self._receive = receive
        threading.Thread(target=self._listen, name='exchange-listen', daemon=True).start()
        self._sender = threading.Thread(target=self._send_all, name='exchange-send', daemon=True)
        self._sender.start()

    def broadcast(self, frame: bytes) -> None:
        with self._mail:
            self._for_all = frame
            self._mail.notify()

    def send(self, to: HostName, frame: bytes) -> None:
        with self._mail:
            if to not in self._for_one and len(self._for_one) >= MAX_RECEIVERS:
                self._dropped['unsent'] += 1
                return
            waiting = self._for_one.setdefault(to, deque(maxlen=MAX_WAITING))
            if len(waiting) == MAX_WAITING:
                self._dropped['unsent'] += 1
            waiting.append(frame)
            self._mail.notify()

    def stop(self) -> None:
        with self._mail:
            self._stopping.set()
            self._mail.notify()
        closing = threading.Thread(target=self._close, name='exchange-close', daemon=True)
        closing.start()
        closing.join(STOP_SECONDS)

    # -- sending

    def _send_all(self) -> None:
        """Send what waits whenever there is something, and at the end what still waits."""
        client = oslo_messaging.get_rpc_client(
            self._transport, oslo_messaging.Target(topic=TOPIC), retry=0
        )
        while True:
            with self._mail:
                self._mail.wait_for(self._has_mail)
                ends = self._stopping.is_set()
                for_all, self._for_all = self._for_all, None
                for_one, self._for_one = self._for_one, {}
            if ends and self._trouble:
                return
            self._send_batch(client, for_all, for_one)
            if ends:
                return

    def _has_mail(self) -> bool:
        return self._for_all is not None or bool(self._for_one) or self._stopping.is_set()

    def _send_batch(
        self,
        client: oslo_messaging.RPCClient,
        for_all: bytes | None,
        for_one: Mapping[HostName, deque[bytes]],
    ) -> None:
        """After a failure the rest is thrown away: it would wait as long, and be old by then."""
        batch = [(client.prepare(fanout=True), for_all)] if for_all is not None else []
        for host, frames in for_one.items():
            batch += [(client.prepare(server=host), frame) for frame in frames]
        for sent, (target, frame) in enumerate(batch):
            try:
                target.cast({}, 'tell', **_arguments(frame))
            except Exception as error:
                # a driver may raise anything of the libraries below it
                self._trouble = f'a message can not be sent: {_first_line(error)}'
                with self._mail:
                    self._dropped['unsent'] += len(batch) - sent
                return
        self._trouble = ''

    # -- listening

    def _listen(self) -> None:
        """Start the server; a driver that gives up is started anew until it works."""
        while not self._stopping.is_set():
            server = oslo_messaging.get_rpc_server(
                self._transport,
                oslo_messaging.Target(topic=TOPIC, server=self._server_name),
                [_Endpoint(self._hear)],
                access_policy=oslo_messaging.DefaultRPCAccessPolicy,
            )
            try:
                # one worker: frames are taken in the order in which they came
                server.start(override_pool_size=1)
            except Exception as error:
                self._trouble = f'listening failed: {_first_line(error)}'
                self._stopping.wait(RETRY)
            else:
                self._server = server
                if self._stopping.is_set():
                    _end(server)
                return

    def _hear(self, frame: bytes) -> None:
        assert self._receive is not None
        self._receive(None, frame)

    def _close(self) -> None:
        try:
            if self._sender is not None:
                self._sender.join()
            if self._server is not None:
                _end(self._server)
            if self._own_transport:
                self._transport.cleanup()
        except Exception as error:
            LOG.debug('closing the exchange: %s', _first_line(error))


class _Endpoint:
    """What peers may call; `tell` is the name of the method on the wire."""

    def __init__(self, hear: Callable[[bytes], None]) -> None:
        self._hear = hear

    def tell(self, ctxt: object, text: object = None, frame: object = None, **more: object) -> None:
        del ctxt, more
        self._hear(frame_in(text, frame))


def oslo_transport(
    *,
    conf: cfg.ConfigOpts,
    host: HostName,
    ttl: float,
    addresses: Callable[[], Mapping[HostName, str]],
    engine: bool = False,
) -> OsloTransport:
    """Plug-in `oslo` of nova_market.exchange.

    :raises ConfigurationError: transport_url can't work.
    """
    del addresses, engine
    # the market's engine sends to single hosts, and they reply
    addressed = conf.exchange.topology == 'aggregate' or bool(conf.exchange.market_engines)
    return OsloTransport(conf=conf, host=host, ttl=ttl, addressed=addressed)


def _arguments(frame: bytes) -> dict[str, str]:
    """A frame for oslo.messaging, which carries JSON: plain ones as they are, others as base64."""
    if frame.startswith(BRACE):
        return {'text': frame.decode()}
    return {'frame': base64.b64encode(frame).decode()}


def frame_in(text: object, frame: object) -> bytes:
    """What a peer has sent. What is no frame at all becomes an empty one, which the schema refuses."""
    if isinstance(text, str):
        # one byte more than is looked at: no need to copy the rest of what is too long
        return text[: MAX_FRAME + 1].encode(errors='replace')
    if isinstance(frame, str) and frame.isascii():
        if len(frame) > 4 * (MAX_FRAME // 3 + 2):
            return bytes(MAX_FRAME + 1)
        try:
            return base64.b64decode(frame, validate=True)
        except binascii.Error:
            return b''
    return b''


def _transport(conf: cfg.ConfigOpts) -> oslo_messaging.transport.Transport:
    """A transport from transport_url, not connected yet. Messages name no part of the URL: it has secrets.

    :raises ConfigurationError: it can't work.
    """
    try:
        url = oslo_messaging.TransportURL.parse(conf)
        driver = url.transport
        if driver in ('rabbit', 'kombu') and not url.hosts:
            raise ConfigurationError(
                'transport_url is not set; set it in [DEFAULT] as for nova: rabbit://USER:PASSWORD@HOST:5672/VHOST'
            )
        if driver not in DRIVERS:
            raise ConfigurationError(
                f'transport_url names the driver {driver!r}, which cannot broadcast; use rabbit:// or set '
                '[fairness]exchange = local'
            )
        return oslo_messaging.get_rpc_transport(conf)
    except (
        oslo_messaging.InvalidTransportURL,
        oslo_messaging.DriverLoadFailure,
        ValueError,
    ) as error:
        raise ConfigurationError(
            f'transport_url cannot be used ({type(error).__name__}); it must look like '
            'rabbit://USER:PASSWORD@HOST:5672/VHOST'
        ) from None


def _prefer(conf: cfg.ConfigOpts, ttl: float) -> None:
    """Defaults that suit messages of a few seconds' worth; what the operator has set stays in force."""
    wanted = {
        'rabbit_transient_queues_ttl': max(QUEUE_EXPIRES, int(2 * ttl)),
        'rabbit_qos_prefetch_count': PREFETCH,
        'rabbit_interval_max': max(1, min(30, int(ttl / 3))),
    }
    for name, value in wanted.items():
        try:
            conf.set_default(name, value, group='oslo_messaging_rabbit')
        except (cfg.NoSuchGroupError, cfg.NoSuchOptError):
            return  # another driver


def _server_name(
    transport: oslo_messaging.transport.Transport, host: HostName, addressed: bool
) -> str:
    """Whom a frame for one host names; the broker keeps a queue of this name for good.

    Where all frames are for everybody the hosts share a name, and with it two queues that stay empty. A
    host then owns one queue only, and that one expires. The fake driver tells listeners apart by this
    name, so there it is always the host's.
    """
    driver = oslo_messaging.TransportURL.parse(transport.conf).transport
    return host if addressed or driver == 'fake' else 'all'


def _end(server: oslo_messaging.MessageHandlingServer) -> None:
    """Stop it and release what it has: a thread that looks for work a thousand times a second, too."""
    server.stop()
    server.wait()


def _first_line(error: BaseException) -> str:
    return f'{type(error).__name__}: {error}'.splitlines()[0][:200]
