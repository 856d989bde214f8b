# SPDX-License-Identifier: Apache-2.0
"""A playground: cloud, services, API and Keystone in one process, at one address of this machine.

One thread calls life, guests, tenants and services in turn, threads of the HTTP server answer requests.
What is in memory is saved every few seconds and at the end, so that the next start goes on where this one
was.
"""

import logging
import random
import socket
import threading
import time
from typing import Any

from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server
from werkzeug.wrappers import Response

from nova_market.adapters.clock import FastClock
from nova_market.core.usage.use import MINUTE
from nova_market.errors import BadPlayground
from nova_market.playground import services as wired
from nova_market.playground.calls import Calls
from nova_market.playground.compute import compute, image
from nova_market.playground.folder import ADDRESS, Folder
from nova_market.playground.guests import Monitors, Workers
from nova_market.playground.identity import Identity
from nova_market.playground.keystone import keystone
from nova_market.playground.life import DAY, HOUR, Life
from nova_market.playground.mail import Mailbox
from nova_market.playground.tenants import Tenants
from nova_market.playground.world import World
from nova_market.wiring.api import Wsgi

LOG = logging.getLogger(__name__)

BEGINS = 8 * HOUR
"""Of the day on which it is started first, UTC."""

FIRST, STEP = 5, 60.0
"""At the first start so many steps are made at once, of so many seconds each: then there are prices."""

MORNING, HURRY = 2 * HOUR, 120.0
"""After that the cloud's clock runs so fast until so much has passed, so that there is something to see."""

MOST_MINUTES = 30
"""That life catches up with after a pause of the machine; it skips the others."""

PAUSE = 0.25
"""Seconds of the machine's clock between two steps."""

LONGEST = 60.0
"""Seconds of the cloud's clock that a step is for, at most: with more, services would miss what guests send.
On a slow machine the clock runs slower instead."""

SAVED = 5.0
"""Seconds of the machine's clock from one save to the next."""


class Playground:
    """start(), then step() again and again or run(), then stop(). folder: opened by whoever makes it"""

    def __init__(
        self, folder: Folder, port: int, *, begins: float | None = None, seed: int | None = None
    ) -> None:
        """port: 0 for any that is free

        begins: what the cloud's clock has at the first start; None: it is this morning
        seed: of what happens by chance; None: another one each time

        :raises BadPlayground: the port is taken.
        """
        self.folder = folder
        kept = folder.world()
        self.new = kept is None
        first = time.time() // DAY * DAY + BEGINS if begins is None else begins
        wall = float(kept['wall']) if kept else first
        self._morning = float(kept['morning']) if kept else wall + MORNING
        self.clock = FastClock(wall)
        self.world = World(self.clock, random.Random(seed))
        self.mailbox = Mailbox(folder.path / 'mail')
        self.identity = Identity(folder.passwords(), self.world.trusts)
        with _listening(port) as listening:
            self.url = f'http://{ADDRESS}:{listening.getsockname()[1]}'
            if self.new:
                folder.begin_anew()
            conf = wired.configuration(folder.configure(self.url))
            database = wired.tables(conf)
            self.services = wired.services(conf, database, self.world, self.identity, self.mailbox)
            api = wired.application(conf, database, self.world, self.identity)
            # which makes a socket of its own of it
            self._server = self._serving(api, listening)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name='http')
        self.calls = calls = Calls(api, self.identity, f'{self.url}/market')
        self.life = Life(self.world, self.services.usage.take)
        self.workers = Workers(self.world, calls)
        self.monitors = Monitors(self.world, calls)
        self.tenants = Tenants(self.world, calls, self.monitors, self.mailbox)
        self._minute = int(wall // MINUTE)
        self._usage_due = self._saved_at = 0.0
        if kept:
            self._restore(kept)

    def _serving(self, api: Wsgi, listening: socket.socket) -> BaseWSGIServer:
        whole = DispatcherMiddleware(
            Response('A playground of nova-market.\n', content_type='text/plain'),
            {
                '/identity': keystone(self.identity, lambda: self.url),
                '/compute': compute(self.world, self.identity, lambda: self.url),
                '/image': image(self.identity, lambda: self.url),
                '/market': api,
            },
        )
        return make_server(
            ADDRESS, 0, whole, threaded=True, request_handler=_Quiet, fd=listening.fileno()
        )

    def start(self) -> None:
        """Listen; at the first start fill the cloud, and decide the first rounds."""
        self._thread.start()
        self.services.start()
        if self.new:
            self.life.begin()
            for _ in range(FIRST):
                self.step()
                self.clock.advance(STEP)
        self.step()
        self.save()

    def run(self, speed: float, stopping: threading.Event) -> None:
        """Until it is to stop. speed: of the cloud's clock once the morning is over, 1: as the machine's"""
        took = 0.0
        while not stopping.wait(PAUSE):
            self._run_at(max(speed, HURRY) if self.clock.wall() < self._morning else speed, took)
            began = time.monotonic()
            try:
                self.step()
            except Exception:
                # a defect in one step, or a database that is busy: the market goes on
                LOG.exception('a step failed; the next one is made all the same')
            took = (3 * took + time.monotonic() - began) / 4
            if time.monotonic() - self._saved_at >= SAVED:
                self.save()
        self.clock.run(0.0)

    def _run_at(self, wanted: float, took: float) -> None:
        """At the speed that is wanted, or as fast as steps allow. took: seconds, of one"""
        speed = min(wanted, LONGEST / (took + PAUSE))
        if not 0.8 * speed <= self.clock.speed <= 1.2 * speed or self.clock.speed > wanted:
            self.clock.run(speed)
            self._state_clock()

    def step(self) -> None:
        """Everybody does what is due now."""
        with self.world.lock:
            self.world.catch_up()
            last = int(self.clock.wall() // MINUTE)
            for minute in range(max(self._minute, last - MOST_MINUTES), last):
                self._minute = minute + 1  # one that fails is not tried again
                self.life.step(minute * MINUTE)
                self.tenants.step(minute * MINUTE)
                self.monitors.step()
            self._minute = max(self._minute, last)
            self.workers.step()
            self.services.tick()
            self.world.look()
        if self.clock.wall() >= self._usage_due:
            self.services.usage.turn()
            self._usage_due = self.clock.wall() + wired.USAGE_EVERY

    def save(self) -> None:
        """Keep what is in memory."""
        with self.world.lock:
            document = {
                'wall': self.clock.wall(),
                'morning': self._morning,
                'minute': self._minute,
                'world': self.world.kept(),
                'workers': self.workers.kept(),
                'monitors': self.monitors.kept(),
                'tenants': self.tenants.kept(),
            }
        self.folder.save(document)
        self._state_clock()
        self._saved_at = time.monotonic()

    def stop(self) -> None:
        """Save, and end everything that was started."""
        if self._thread.is_alive():
            self.save()
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
        self.services.close()

    def _restore(self, kept: Any) -> None:
        # the database may be ahead of what was saved last, where a playground was killed
        last = wired.last_round(self.services.database) * MINUTE
        self.clock.advance(max(last - self.clock.wall(), 0.0))
        self._minute = kept['minute']
        self.world.restore(kept['world'])
        self.workers.restore(kept['workers'])
        self.monitors.restore(kept['monitors'])
        self.tenants.restore(kept['tenants'])

    def _state_clock(self) -> None:
        self.folder.state_clock(self.clock.wall(), time.time(), self.clock.speed)


class _Quiet(WSGIRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log(self, kind: str, message: str, *arguments: Any) -> None:
        """Requests are not printed."""


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((ADDRESS, port))
    except OSError as error:
        raise BadPlayground(
            f'port {port} at {ADDRESS} cannot be opened ({error.strerror}): give another --port, 0 for any'
        ) from None
