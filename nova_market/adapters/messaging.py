# SPDX-License-Identifier: Apache-2.0
"""The exchange over oslo.messaging: every host casts its report to all, RabbitMQ's fanout carries it.

Implements the message exchange of IFI-2016.04, section IV-D.2. Units: seconds of the monotonic clock.

Differs from the paper: one message per host and interval with one partial sum per owner, and nothing is
waited for. A host also listens to itself: its own report coming back is how it knows that the transport
works, however the driver hides reconnections.

Only oslo.messaging's public interface is used. It must be given the global cfg.CONF: from 18.3 on it
registers options of its own there only. Two threads of ours (one sends, one starts listening and ends)
keep whatever a driver does with a dead broker away from the control loop.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping

import oslo_messaging
from oslo_config import cfg

from nova_market.core.exchange import CloudTotals, Departure, HostReport, decode, encode
from nova_market.core.quantity import HostName
from nova_market.core.report_book import FOREIGN_NAME, STALE, Echo, ReportBook
from nova_market.errors import ConfigurationError, MalformedReport, OversizedReport
from nova_market.ports import Clock

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
would collect half an hour of everybody's reports for nobody."""

PREFETCH = 100
"""Messages that the broker sends ahead; a flood then waits in the broker, not in our memory."""


class OsloExchange:
    """Implements ports.Exchange."""

    def __init__(
        self,
        *,
        conf: cfg.ConfigOpts,
        host: HostName,
        metric: str,
        ttl: float,
        clock: Clock,
        transport: oslo_messaging.transport.Transport | None = None,
    ) -> None:
        """transport: one that several exchanges of a process share; its maker closes it.

        :raises ConfigurationError: transport_url can't work.
        """
        self._conf = conf
        self._host = host
        self._ttl = ttl
        self._clock = clock
        self._own_transport = transport is None
        self._transport = transport or _transport(conf)
        _prefer(conf, ttl)
        self._lock = threading.Lock()
        self._book = ReportBook(metric, ttl)
        self._echo = Echo(clock.monotonic(), ttl)
        self._dropped: Counter[str] = Counter()
        self._down = False
        self._started = clock.monotonic()
        self._last: HostReport | None = None
        self._mail = threading.Condition()
        self._waiting: HostReport | None = None
        self._stopping = threading.Event()
        self._sender: threading.Thread | None = None
        self._server: oslo_messaging.RPCServer | None = None

    @property
    def dropped(self) -> Mapping[str, int]:
        """Reason -> messages of peers that were thrown away."""
        with self._lock:
            return dict(self._dropped)

    def start(self) -> None:
        self._started = self._clock.monotonic()
        threading.Thread(target=self._listen, name='exchange-listen', daemon=True).start()
        self._sender = threading.Thread(target=self._send_all, name='exchange-send', daemon=True)
        self._sender.start()

    def publish(self, report: HostReport) -> None:
        now = self._clock.monotonic()
        with self._lock:
            self._last = report
            self._book.replace(report, now)
            self._echo.publish(report.version, now)
        with self._mail:
            self._waiting = report
            self._mail.notify()

    def totals(self) -> CloudTotals:
        now = self._clock.monotonic()
        with self._lock:
            age = self._echo.age(now)
            totals = self._book.totals(now, age)
        if age > self._ttl and now - self._started > self._ttl:
            self._fails(f'none of our reports of the last {age:.0f} s came back')
        return totals

    def stop(self) -> None:
        with self._mail:
            self._stopping.set()
            self._mail.notify()
        closing = threading.Thread(target=self._close, name='exchange-close', daemon=True)
        closing.start()
        closing.join(STOP_SECONDS)

    # -- sending

    def _send_all(self) -> None:
        """Send the newest report whenever there is one, and at the end the last word."""
        client = oslo_messaging.get_rpc_client(
            self._transport, oslo_messaging.Target(topic=TOPIC, fanout=True), retry=0
        )
        while True:
            with self._mail:
                self._mail.wait_for(lambda: self._waiting is not None or self._stopping.is_set())
                report, self._waiting = self._waiting, None
            if self._stopping.is_set():
                break
            if report is not None:
                self._send(client, report)
        self._say_goodbye(client)

    def _say_goodbye(self, client: oslo_messaging.RPCClient) -> None:
        with self._lock:
            last = None if self._down else self._last
            if last is None:
                return
            word = Departure(
                host=self._host, incarnation=last.incarnation, sequence=last.sequence + 1
            )
            # it comes back like a report, while the listener still runs
            self._echo.publish(word.version, self._clock.monotonic())
        self._send(client, word)

    def _send(self, client: oslo_messaging.RPCClient, word: HostReport | Departure) -> None:
        try:
            client.cast({}, 'tell', text=encode(word))
        except MalformedReport as error:
            LOG.error('this host has no say in the exchange: %s', error)
        except Exception as error:
            # a driver may raise anything of the libraries below it
            self._fails(f'a report can not be sent: {_first_line(error)}')

    # -- listening

    def _listen(self) -> None:
        """Start the server; a driver that gives up is started anew until it works."""
        while not self._stopping.is_set():
            server = oslo_messaging.get_rpc_server(
                self._transport,
                oslo_messaging.Target(
                    topic=TOPIC, server=_server_name(self._transport, self._host)
                ),
                [_Endpoint(self._hear)],
                access_policy=oslo_messaging.DefaultRPCAccessPolicy,
            )
            try:
                # one worker: reports are taken in the order in which they came
                server.start(override_pool_size=1)
            except Exception as error:
                self._fails(f'listening failed: {_first_line(error)}')
                self._stopping.wait(RETRY)
            else:
                self._server = server
                if self._stopping.is_set():
                    server.stop()
                return

    def _hear(self, text: object) -> None:
        """Take one message of whoever it is; it never raises."""
        now = self._clock.monotonic()
        detail = ''
        try:
            word = decode(text)
        except OversizedReport as error:
            reason, detail = 'oversized', str(error)
        except MalformedReport as error:
            reason, detail = 'malformed', str(error)
        else:
            if word.host == self._host:
                reason = self._hear_self(word)
            else:
                with self._lock:
                    departs = isinstance(word, Departure)
                    reason = self._book.leave(word, now) if departs else self._book.put(word, now)
                detail = f'host {word.host}'
        if reason:
            self._drop(reason, detail)

    def _hear_self(self, word: HostReport | Departure) -> str:
        with self._lock:
            reason = self._echo.receive(word.version)
            fresh = self._echo.age(self._clock.monotonic()) <= self._ttl
        if not reason and fresh:
            self._works()
        return reason

    def _drop(self, reason: str, detail: str) -> None:
        with self._lock:
            self._dropped[reason] += 1
            first = self._dropped[reason] == 1 and reason != STALE
        if first and reason == FOREIGN_NAME:
            LOG.warning(
                'a message in the name of this host (%s) that it has not sent: does another service use '
                'this name ([host]name)? Further ones are only counted',
                self._host,
            )
        elif first:
            LOG.warning(
                'a message is dropped as %s (%s); further ones are only counted', reason, detail
            )
        else:
            LOG.debug('a message is dropped as %s: %s', reason, detail)

    # -- state

    def _fails(self, why: str) -> None:
        with self._lock:
            before, self._down = self._down, True
        if not before:
            LOG.warning(
                'the exchange is down, other hosts are forgotten after %g s: %s', self._ttl, why
            )

    def _works(self) -> None:
        with self._lock:
            before, self._down = self._down, False
        if before:
            LOG.info('the exchange works again')

    def _close(self) -> None:
        try:
            if self._sender is not None:
                self._sender.join()
            if self._server is not None:
                self._server.stop()
                self._server.wait()
            if self._own_transport:
                self._transport.cleanup()
        except Exception as error:
            LOG.debug('closing the exchange: %s', _first_line(error))


class _Endpoint:
    """What peers may call."""

    def __init__(self, hear: Callable[[object], None]) -> None:
        self._hear = hear

    def tell(self, ctxt: object, text: object = None, **unknown: object) -> None:
        del ctxt, unknown
        self._hear(text)


def _transport(conf: cfg.ConfigOpts) -> oslo_messaging.transport.Transport:
    """A transport from transport_url, not connected yet. Messages name no part of the URL: it has secrets.

    :raises ConfigurationError: it can't work.
    """
    try:
        driver = oslo_messaging.TransportURL.parse(conf).transport
        if driver not in DRIVERS:
            raise ConfigurationError(
                f'transport_url names the driver {driver!r}, which can not broadcast; use rabbit:// or set '
                '[fairness]exchange = local'
            )
        return oslo_messaging.get_rpc_transport(conf)
    except (
        oslo_messaging.InvalidTransportURL,
        oslo_messaging.DriverLoadFailure,
        ValueError,
    ) as error:
        raise ConfigurationError(
            f'transport_url can not be used ({type(error).__name__}); it must look like '
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


def _server_name(transport: oslo_messaging.transport.Transport, host: HostName) -> str:
    """All hosts share a server name, and with it the two queues that a broadcast does not need.

    A host then owns one queue only, and that one expires. The fake driver tells listeners apart by this
    name, so there it is the host's.
    """
    driver = oslo_messaging.TransportURL.parse(transport.conf).transport
    return host if driver == 'fake' else 'all'


def _first_line(error: BaseException) -> str:
    return f'{type(error).__name__}: {error}'.splitlines()[0][:200]
