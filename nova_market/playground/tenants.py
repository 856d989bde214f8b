# SPDX-License-Identifier: Apache-2.0
"""What the people of the cloud ask the market for, again and again, through the API.

Queues with more jobs than their shares let run, an application with a deadline, leases, bids, notices by
mail. What the API refuses is logged, and asked for again when it is due next. Units: seconds of the cloud's
clock.
"""

from collections.abc import Callable, Mapping
from typing import Any

from nova_market.core.lease.carrier import LEASE
from nova_market.core.ledger.money import MICRO
from nova_market.core.timestamp import seconds, stamp
from nova_market.playground.calls import Calls
from nova_market.playground.guests import Monitors
from nova_market.playground.life import HOUR, daylight
from nova_market.playground.mail import Mailbox
from nova_market.playground.people import ALICE, BOB, OPERATOR, TENANTS, Person
from nova_market.playground.world import World

SCRIPT = """#!/bin/sh
echo {name} $MARKET_ARRAY_INDEX begins on $(hostname)
sleep {seconds}
echo done
"""
QUEUES: Mapping[str, tuple[Person, float, str]] = {
    'render': (ALICE, 0.03, 'rigid'),
    'sequencing': (BOB, 0.03, 'flexible'),
}
"""Name -> who owns it, its share of the cloud, and its policy: with `rigid` no job goes beyond the share."""

DEADLINE = 3 * HOUR
"""From the start of an application to its deadline."""

WORK = 4 * 2.2 * HOUR
"""Core-seconds of an application on four cores: it needs most of what its flavor allows."""

AT_ONCE = {'medium': 4, 'large': 2}
"""Jobs of a flavor for which the share of a queue is enough at a time: arrays are longer by day."""

PATIENCE = 12
"""Jobs that wait for a project: then it submits no more."""

QUIET = 240.0
"""From the first step until there are jobs: then Alice's address is confirmed, and she hears of them."""

BEGUN = ('starting', 'active', 'ending')


class Tenants:
    """step() for each minute. What was done is kept, so that it goes on where it was."""

    def __init__(self, world: World, calls: Calls, monitors: Monitors, mailbox: Mailbox) -> None:
        self._world = world
        self._calls = calls
        self._monitors = monitors
        self._mailbox = mailbox
        self._next: dict[str, float] = {}
        self._serving: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    def kept(self) -> dict[str, Any]:
        """As a JSON document, for `restore`."""
        return {'next': self._next, 'serving': self._serving, 'counts': self._counts}

    def restore(self, document: Mapping[str, Any]) -> None:
        """What `kept` gave."""
        self._next, self._serving = dict(document['next']), dict(document['serving'])
        self._counts = dict(document['counts'])

    def step(self, minute: float) -> None:
        """minute: its first second since the epoch"""
        rng = self._world.rng
        if not self._next:
            self._next['jobs'] = minute + QUIET
        self._due('queues', minute, 0.0, self._queues)
        self._due('notices', minute, 0.0, self._notices)
        self._due('jobs', minute, rng.uniform(600, 1500), self._jobs)
        self._due('app', minute, DEADLINE + 600, self._app)
        self._due('lease', minute, rng.uniform(2, 4) * HOUR, self._lease)
        self._due('bid', minute, rng.uniform(300, 1200), self._bid)
        self._leased()

    def _due(self, name: str, minute: float, pause: float, act: Callable[[float], bool]) -> None:
        """pause: until the next time, 0: never again. What fails is tried again after two minutes."""
        if minute < self._next.get(name, 0.0):
            return
        done = act(minute)
        self._next[name] = minute + (120.0 if not done else pause or float('inf'))

    def _queues(self, minute: float) -> bool:
        calls = self._calls
        for person in TENANTS:
            account = f'/v1/accounts/project:{person.project_id}'
            calls.of(OPERATOR, 'PATCH', account, {'name': person.project})
        for name, (owner, share, policy) in QUEUES.items():
            body = {
                'name': name,
                'policy': policy,
                'flavors': ['medium', 'small', 'large'],
                'image': 'debian-13',
                'price_core_hour': 20 * MICRO,
                'idle_seconds': 120,
            }
            made = calls.of(owner, 'POST', '/v1/queues', body)
            if made is None:
                return name in self._next
            queue = made['queue']['id']
            calls.of(OPERATOR, 'PATCH', f'/v1/queues/{queue}', {'share': share})
        return True

    def _notices(self, minute: float) -> bool:
        """Alice wants mail about her jobs and leases, and confirms her address by the code in the mail."""
        user = f'/v1/notices/{ALICE.id}'
        if self._calls.of(ALICE, 'GET', user) is None:
            body = {'mail': f'{ALICE.name}@example.org', 'events': ['job.*', 'lease.*', 'credit.*']}
            self._calls.of(ALICE, 'PUT', user, body)
            return False
        code = self._mailbox.code(f'{ALICE.name}@example.org')
        return (
            code is not None
            and self._calls.of(ALICE, 'POST', f'{user}/confirm', {'code': code}) is not None
        )

    def _jobs(self, minute: float) -> bool:
        """An array for each queue, a larger one by day; none where many jobs wait already."""
        rng = self._world.rng
        for queue, (owner, _, _) in QUEUES.items():
            waiting = self._calls.of(owner, 'GET', '/v1/jobs?state=waiting')
            if waiting is None or len(waiting['jobs']) > PATIENCE:
                continue
            length = rng.choice((900, 1800, 2700))
            flavor = rng.choice(tuple(AT_ONCE))
            name = self._name('frames' if owner is ALICE else 'reads')
            job = {
                'queue': queue,
                'name': name,
                'script': SCRIPT.format(name=name, seconds=length),
                'time_limit': 2 * length,
                'array': round(AT_ONCE[flavor] * rng.uniform(1.5, 2.5) * (0.5 + daylight(minute))),
                'flavor': flavor,
            }
            if self._calls.of(owner, 'POST', '/v1/jobs', {'jobs': [job]}) is None:
                return False
        return True

    def _app(self, minute: float) -> bool:
        """A simulation whose result is due in three hours, with a budget that usually is enough."""
        template = {
            'name': self._name('zephyr'),
            'policy': 'full_deadline',
            'slo': {'deadline': stamp(minute + DEADLINE), 'work_core_seconds': WORK},
            'budget': {'renew_amount': 60 * MICRO},
            'components': [
                {
                    'name': 'solver',
                    'flavor': 'large',
                    'image': 'zephyr-4',
                    'least': {'cpu': 0.25, 'memory_mib': 512},
                }
            ],
        }
        made = self._calls.of(ALICE, 'POST', '/v1/apps', template)
        if made is None:
            return False
        app = made['app']
        self._monitors.watch(app['id'], app['credential'], WORK)
        return True

    def _lease(self, minute: float) -> bool:
        """A whole host soon, or half of one later, for one to three hours."""
        rng = self._world.rng
        person = rng.choice(TENANTS)
        whole = rng.random() < 0.5
        size = {'whole': True} if whole else {'cores': 8, 'memory_mib': 16_384}
        body = {
            'name': self._name('room'),
            'purpose': 'a measurement that nobody may disturb' if whole else 'a course',
            'duration': rng.choice((1, 2, 3)) * HOUR,
            'earliest': stamp(minute + rng.choice((0.5, 1, 2)) * HOUR),
            'nodes': 1,
            **size,
        }
        return self._calls.of(person, 'POST', '/v1/leases', body) is not None

    def _bid(self, minute: float) -> bool:
        """Somebody thinks again of what one of his servers is worth."""
        rng, person = self._world.rng, self._world.rng.choice(TENANTS)
        own = [one for one in self._world.seen.values() if one.project_id == person.project_id]
        if not own:
            return False
        server = rng.choice(sorted(own, key=lambda one: one.id))
        worth = server.vcpus * rng.uniform(0.2, 2.0) * (0.3 + daylight(minute))
        body = {'cpu': round(worth * MICRO), 'memory': round(worth / 20 * MICRO)}
        return self._calls.of(person, 'PUT', f'/v1/bids/{server.id}', body) is not None

    def _name(self, kind: str) -> str:
        """The next one of its kind."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f'{kind}-{self._counts[kind]}'

    def _leased(self) -> None:
        """Room that is leased soon is kept free; a lease that begins gets servers of its own."""
        now = self._world.clock.wall()
        found = self._calls.of(OPERATOR, 'GET', '/v1/leases?all_projects=true')
        if found is None:
            return
        booked = {one['id']: one for one in found['leases'] if one['ended_at'] is None}
        leased: dict[str, tuple[float, float]] = {}
        for one in booked.values():
            for node in one['nodes'] if seconds(one['start']) < now + 2 * HOUR else ():
                vcpus, mib = leased.get(node['host'], (0.0, 0.0))
                leased[node['host']] = (vcpus + node['cores'], mib + node['memory_mib'])
        self._world.leased = leased
        for name in [one for one in self._serving if booked.get(one, {}).get('state') not in BEGUN]:
            for server in self._serving.pop(name):
                self._world.remove(server)
        for name, one in booked.items():
            if one['state'] in BEGUN and name not in self._serving:
                self._serving[name] = self._servers_for(one)

    def _servers_for(self, lease: Mapping[str, Any]) -> list[str]:
        """Two servers on each node."""
        made = [
            self._world.boot(
                lease['project_id'], f'{lease["name"]}-{number}', 'large',
                {LEASE: lease['id']}, [node['host']],
            )
            for node in lease['nodes']
            for number in (1, 2)
        ]  # fmt: skip
        self._world.look()
        return [one for one in made if one]
