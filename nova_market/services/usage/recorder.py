# SPDX-License-Identifier: Apache-2.0
"""Writes what hosts report of their servers to the history, rolls it up and purges it.

Implements rule U1 of doc/source/specs/usage.rst. It has a thread of its own: a round of the market waits
neither for it nor for its database. What hosts report waits in memory until its minute is over everywhere,
the market knows the server, and the database answers; each host has a room of its own for it
(core.usage.waiting). Units: seconds. What one server used, and a row of the history, cost themselves alone
when they cannot be handled.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from nova_market.core.lease.carrier import LEASE
from nova_market.core.market.inventory import CloudServer
from nova_market.core.resource import HostName
from nova_market.core.usage.history import SeriesUse, ServerSize, attributed
from nova_market.core.usage.resolution import LATE, Resolution
from nova_market.core.usage.use import MinuteUse
from nova_market.core.usage.waiting import WaitingReports
from nova_market.errors import DatabaseUnavailable, SchemaBehind
from nova_market.outage_log import OutageLog
from nova_market.ports import Clock, UsageStore
from nova_market.row_boundary import RowBoundary

LOG = logging.getLogger(__name__)

TURN = 5.0
"""From one turn of the thread to the next."""

SETTLED = 20
"""After the end of a minute until it is written: hosts send it with their next round. One that is late is
written all the same."""

EARLY = 120
"""How far a host's clock may be ahead; what it reports of a later minute is dropped."""

ROUNDS = 5
"""Of the market, in any of which a server must have been on the host that reports it."""

MAX_LEASE = 64
"""Of metadata, which a tenant writes; a lease has 36."""

MOST_LEASES = 8
"""That a server may name in a day, none included: each is a series of its own, which is kept for years."""

PURGES = 20
"""Transactions of a purge in one turn."""

OUTAGE = (DatabaseUnavailable, SchemaBehind)


class UsageRecorder:
    """take() and know() from any thread; turn() from its own, or from a test."""

    def __init__(
        self,
        store: UsageStore,
        clock: Clock,
        leads: Callable[[], bool],
        boundary: RowBoundary | None = None,
    ) -> None:
        """leads: does this engine lead? Who does not lead writes what it has, and rolls up nothing.

        boundary: of the store's database
        """
        self._boundary = boundary or RowBoundary()
        self._store = store
        self._clock = clock
        self._leads = leads
        self._lock = threading.Lock()
        self._waiting = WaitingReports()
        self._here: Mapping[HostName, Sequence[str]] = {}
        self._known: dict[str, ServerSize] = {}
        self._places: deque[dict[str, HostName]] = deque(maxlen=ROUNDS)
        # a day, and what servers have named in it
        self._named: tuple[int, dict[str, set[str]]] = (0, {})
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._outage = OutageLog(
            LOG,
            lost='usage history is not written and waits in memory',
            back='usage history is written again',
        )

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name='usage', daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Let go; what was not written is lost."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(TURN)

    def take(self, host: HostName, use: MinuteUse) -> None:
        """What a host reports of one minute. Never blocks, never raises."""
        with self._lock:
            self._waiting.take(host, use, self._here.get(host, ()))

    def know(self, servers: Iterable[CloudServer]) -> None:
        """All servers of the cloud, as the round that was decided now read them."""
        listed = tuple(servers)
        self._places.append({one.id: one.host for one in listed})
        self._known = {
            one.id: ServerSize(
                project_id=one.project_id,
                vcpus=one.vcpus,
                memory_mib=one.memory_mib,
                lease_id=self._lease_of(one),
                # one that has just been moved was measured where it was
                hosts=frozenset(place[one.id] for place in self._places if one.id in place),
            )
            for one in listed
        }
        here: dict[HostName, list[str]] = {}
        for server, size in self._known.items():
            for host in size.hosts:
                here.setdefault(HostName(host), []).append(server)
        with self._lock:
            self._here = here
            self._waiting.forget(here)

    def _lease_of(self, server: CloudServer) -> str:
        """What a server names as its lease, '' beyond MOST_LEASES in a day."""
        day = Resolution.DAY.begin(int(self._clock.wall()))
        if day != self._named[0]:
            self._named = day, {}
        named = str(server.metadata.get(LEASE, ''))[:MAX_LEASE]
        before = self._named[1].setdefault(server.id, {''})
        if len(before) < MOST_LEASES:
            before.add(named)
        return named if named in before else ''

    def turn(self) -> None:
        """Write what is due, roll up and purge. Raises nothing."""
        due = self._due()
        try:
            self._write(due)
            if self._leads():
                self._upkeep()
        except OUTAGE as error:
            self._outage.failed(error)
        except Exception:
            LOG.exception('usage history: a turn failed; it is tried again')
        else:
            self._outage.works()
            self._report_dropped()

    def _run(self) -> None:
        while not self._stopping.wait(TURN):
            self.turn()

    def _due(self) -> list[tuple[HostName, MinuteUse]]:
        """What waits and is over, oldest first; it waits no longer."""
        with self._lock:
            return self._waiting.due(self._clock.wall(), SETTLED, EARLY)

    def _write(self, due: list[tuple[HostName, MinuteUse]]) -> None:
        """Minute by minute; what cannot be written now waits again.

        :raises DatabaseUnavailable, SchemaBehind: not now.
        """
        wall = self._clock.wall()
        while due:
            at = due[0][1].at
            minute = [one for one in due if one[1].at == at]
            rows = [one for given in minute for one in attributed(*given, self._known)]
            try:
                done = self._boundary.batch('use of server', rows, _server_of, 'write', self._add)
            except OUTAGE:
                self._wait_again(due)
                raise
            due = due[len(minute) :]
            left = _without(minute, {(one.series.host, one.series.server_id) for one in done})
            if wall - at < LATE:
                self._wait_again(left)
            else:
                self._drop(sum(len(use.servers) for _, use in left))

    def _add(self, rows: Sequence[SeriesUse]) -> Sequence[SeriesUse]:
        counted = self._store.add(rows)
        self._drop(counted.late + counted.lost)
        LOG.debug('usage of minute %d: %s', rows[0].at, counted)
        return rows

    def _wait_again(self, uses: list[tuple[HostName, MinuteUse]]) -> None:
        with self._lock:
            for host, use in uses:
                self._waiting.wait(host, use)

    def _drop(self, count: int) -> None:
        with self._lock:
            self._waiting.dropped += count

    def _upkeep(self) -> None:
        with self._boundary.row('usage', 'history', 'roll up'):
            while self._store.roll(self._clock.wall()) and not self._stopping.is_set():
                pass
        with self._boundary.row('usage', 'history', 'purge'):
            self._purge()

    def _purge(self) -> None:
        for _ in range(PURGES):
            if not self._store.purge(self._clock.wall()):
                return

    def _report_dropped(self) -> None:
        with self._lock:
            dropped, self._waiting.dropped = self._waiting.dropped, 0
        if dropped:
            LOG.warning(
                'usage history: %d minutes of servers were dropped: they came too late or from a clock that '
                'is ahead, the market does not know the server there, their host reported more than a host '
                'can, too many waited for the database, or what is stored of their minute cannot be read',
                dropped,
            )


def _without(
    uses: Sequence[tuple[HostName, MinuteUse]], done: Collection[tuple[HostName, str]]
) -> list[tuple[HostName, MinuteUse]]:
    """What is left of these; done: host and server."""
    left = []
    for host, use in uses:
        servers = {name: one for name, one in use.servers.items() if (host, name) not in done}
        if servers:
            left.append((host, MinuteUse(at=use.at, servers=servers)))
    return left


def _server_of(one: SeriesUse) -> str:
    return one.series.server_id
