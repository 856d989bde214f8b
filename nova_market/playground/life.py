# SPDX-License-Identifier: Apache-2.0
"""What goes on in the cloud by itself: servers of each project come and go, more by day than by night.

One step is a minute of the cloud's clock. Each project has a number of servers at night and one at noon;
between six and twenty o'clock (UTC) the number rises and falls. The newest servers go first, and some others
are made anew. Some servers bid by their metadata, more by day. What servers use is written to the usage
history.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count

from nova_market.core.app.record import APP_MARKS
from nova_market.core.job.queue import WORKER_MARKS
from nova_market.core.lease.carrier import LEASE
from nova_market.core.market.inventory import CloudServer
from nova_market.core.resource import HostName, OwnerId
from nova_market.core.usage.use import MINUTE, Minute, MinuteUse, ServerUse
from nova_market.playground.people import PROJECTS, id_of
from nova_market.playground.world import FLAVORS, World

DAY, HOUR = 86_400.0, 3600.0
DAWN, DUSK = 6.0, 20.0
"""Hours of UTC between which the day lies."""

BID, BID_MEMORY = 'market:bid_cpu', 'market:bid_memory'


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """Of one project. night, noon: servers; flavors: of them, one after the other; bid: credits per core and
    period of each server that bids at noon, 0: none bids; every: one server in so many does
    """

    night: int
    noon: int
    flavors: tuple[str, ...]
    bid: float = 0.0
    every: int = 2


HABITS: Mapping[str, Habit] = dict(
    zip(
        PROJECTS,
        (
            Habit(night=2, noon=7, flavors=('medium', 'large'), bid=0.9),
            Habit(night=2, noon=8, flavors=('medium', 'small', 'large'), bid=0.5),
            Habit(night=1, noon=7, flavors=('medium',)),
            Habit(night=1, noon=5, flavors=('large', 'xlarge'), bid=1.2, every=3),
            Habit(night=1, noon=5, flavors=('medium', 'large')),
            Habit(night=1, noon=5, flavors=('small', 'medium')),
            Habit(night=1, noon=9, flavors=('small',)),
            Habit(night=1, noon=12, flavors=('small', 'medium'), bid=0.7),
            Habit(night=1, noon=4, flavors=('large',)),
            Habit(night=1, noon=7, flavors=('medium',), bid=1.6, every=3),
            Habit(night=0, noon=4, flavors=('large', 'xlarge'), bid=0.4),
            Habit(night=2, noon=14, flavors=('small', 'medium'), bid=2.0, every=4),
        ),
        strict=True,
    )
)

RENEWED = 1 / 480
"""Chance that a server is made anew in a minute: after eight hours on average."""


def daylight(at: float) -> float:
    """0 at night, 1 at the middle of the day. at: seconds since the epoch"""
    hour = at % DAY / HOUR
    if not DAWN <= hour <= DUSK:
        return 0.0
    return math.sqrt(math.sin(math.pi * (hour - DAWN) / (DUSK - DAWN)))


class Life:
    """step() for each minute."""

    def __init__(self, world: World, report: Callable[[HostName, MinuteUse], None]) -> None:
        """report: takes what the servers of a host used in a minute"""
        self._world = world
        self._report = report

    def begin(self) -> None:
        """The servers that are there at first."""
        at = self._world.clock.wall()
        for project in PROJECTS:
            for _ in range(_wanted(HABITS[project], at)):
                self._come(project)

    def step(self, minute: int) -> None:
        """minute: its first second since the epoch"""
        self._world.look()
        for project in PROJECTS:
            self._project(project, minute)
        self._world.look()
        self._use(minute)

    def _project(self, project: str, at: float) -> None:
        habit, rng = HABITS[project], self._world.rng
        there = self._servers(project)
        for one in there:
            if rng.random() < RENEWED:
                self._world.remove(one.id)
                self._world.look()
                self._come(project)
        there = self._servers(project)
        wanted = _wanted(habit, at)
        # not all at once: one in three minutes
        if len(there) < wanted and rng.random() < 1 / 3:
            self._come(project)
        elif len(there) > wanted and rng.random() < 1 / 3:
            newest = max(there, key=lambda one: (self._world.created[one.id], one.id))
            self._world.remove(newest.id)
            self._world.look()
        there = self._servers(project)
        if habit.bid and there and rng.random() < 1 / 15:
            self._bid_again(rng.choice(there), habit, at)

    def _servers(self, project: str) -> list[CloudServer]:
        """Those that this life has made, the others are of applications, queues and leases."""
        created = self._world.created
        owner = id_of('project', project)
        return [
            one
            for name, one in sorted(self._world.seen.items())
            if one.project_id == owner and name in created and LEASE not in one.metadata
        ]

    def _come(self, project: str) -> None:
        habit, world = HABITS[project], self._world
        taken = {one.name for one in world.seen.values()}
        number = next(n for n in count(1) if f'{project}-{n}' not in taken)
        flavor = habit.flavors[number % len(habit.flavors)]
        bids = habit.bid > 0 and number % habit.every == 0
        metadata = _bid(habit, flavor, world.clock.wall()) if bids else {}
        world.boot(id_of('project', project), f'{project}-{number}', flavor, metadata)
        world.look()

    def _bid_again(self, server: CloudServer, habit: Habit, at: float) -> None:
        """A bid by metadata follows the time of day."""
        if BID in server.metadata:
            part = server.vcpus * (0.3 + daylight(at)) * self._world.rng.uniform(0.8, 1.2)
            self._world.cloud.put_server(
                replace(server, metadata={**server.metadata, BID: f'{habit.bid * part:.2f}'})
            )

    def _use(self, minute: int) -> None:
        """What servers use: of what their hosts give them now; and the heaviness that follows."""
        given = {
            one.server_id: one.cores
            for host in self._world.enforcement.applied.values()
            for one in host
        }
        hosts: dict[HostName, dict[str, ServerUse]] = {}
        cores: dict[str, float] = {}
        for name, one in sorted(self._world.seen.items()):
            load = _load(one, minute)
            busy = min(one.vcpus * load, given.get(name, one.vcpus))
            cores[one.project_id] = cores.get(one.project_id, 0.0) + busy
            hosts.setdefault(one.host, {})[name] = _used(one, busy, load)
        for host, servers in hosts.items():
            self._report(host, MinuteUse(at=Minute(minute), servers=servers))
        mean = sum(cores.values()) / max(len(cores), 1)
        # relative to an equal division, within the range of the metric greediness
        self._world.enforcement.heavy = {
            OwnerId(owner): (busy - mean) / (busy + mean) for owner, busy in sorted(cores.items())
        }


def _wanted(habit: Habit, at: float) -> int:
    return round(habit.night + (habit.noon - habit.night) * daylight(at))


def _bid(habit: Habit, flavor: str, at: float) -> dict[str, str]:
    cores, _, _ = FLAVORS[flavor]
    credits_ = habit.bid * cores * (0.3 + daylight(at))
    return {BID: f'{credits_:.2f}', BID_MEMORY: f'{credits_ / 20:.3f}'}


def _load(server: CloudServer, minute: int) -> float:
    """Part of its cores that a server wants in a minute, 0.1 to 1: another rhythm for each."""
    phase = sum(server.id.encode()) % 60
    if not {APP_MARKS.owner, WORKER_MARKS.owner}.isdisjoint(server.metadata):
        return 1.0
    wave = math.sin(2 * math.pi * (minute / HOUR * (1 + phase % 3) + phase / 60))
    return 0.55 + 0.45 * wave * (0.5 + 0.5 * daylight(minute))


def _used(server: CloudServer, busy: float, load: float) -> ServerUse:
    memory = round(server.memory_mib * (0.4 + 0.4 * load))
    return ServerUse(
        seconds=MINUTE,
        core_ms=round(busy * MINUTE * 1000),
        memory_mib_seconds=memory * MINUTE,
        memory_mib_max=memory,
        disk_bytes=round(busy * MINUTE * 2**20),
        disk_operations=round(busy * MINUTE * 50),
        network_bytes=round(busy * MINUTE * 2**21),
    )
