# SPDX-License-Identifier: Apache-2.0
"""What runs in servers of queues and applications: agents that take jobs, monitors that report progress.

A job's script runs for as long as its `sleep` lines state, on the cloud's clock, and prints what its `echo`
lines state; all else in it takes no time. An application works as fast as its servers' cores let it. Both
call the real API, as nova-market-worker and nova-market-report do.
"""

import base64
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from nova_market.core.app.record import APP_MARKS
from nova_market.core.market.owner_server import ServerState
from nova_market.playground.calls import Calls
from nova_market.playground.world import World

WORKER = re.compile(r'^WORKER=(\S+)$', re.M)
CREDENTIAL = re.compile(r'^([A-Za-z0-9_-]{43})$', re.M)
SLEEP = re.compile(r'^\s*sleep ([0-9]{1,6})\s*$', re.M)
ECHO = re.compile(r'^\s*echo (.{1,200})$', re.M)
EXIT = re.compile(r'^\s*exit ([0-9]{1,3})\s*$', re.M)
GONE = (401, 404, 409)
"""It is not, or no longer, this worker's job."""


@dataclass(slots=True)
class Agent:
    """In one server. job: that runs; began: when; calls_at: when it calls next; left: it was sent away"""

    worker_id: str
    credential: str
    session: str
    job: dict[str, Any] | None = None
    began: float = 0.0
    calls_at: float = 0.0
    left: bool = False


class Workers:
    """All agents."""

    def __init__(self, world: World, calls: Calls) -> None:
        self._world = world
        self._calls = calls
        self._agents: dict[str, Agent] = {}

    def kept(self) -> dict[str, Any]:
        """As a JSON document, for `restore`."""
        return {name: asdict(one) for name, one in self._agents.items()}

    def restore(self, document: Mapping[str, Any]) -> None:
        """What `kept` gave."""
        self._agents = {name: Agent(**one) for name, one in document.items()}

    def step(self) -> None:
        """Each agent does what is due."""
        made, now = self._world.workers.made, self._world.clock.wall()
        for name in [one for one in self._agents if one not in made]:
            del self._agents[name]
        for name, server in sorted(made.items()):
            if server.state is not ServerState.RUNNING:
                continue
            agent = self._agents.get(name) or self._booted(name, server.user_data)
            if agent is not None and not agent.left and now >= agent.calls_at:
                self._call(agent, now)

    def _booted(self, name: str, user_data: str) -> Agent | None:
        worker, credential = WORKER.search(user_data), CREDENTIAL.search(user_data)
        if worker is None or credential is None:
            return None
        made = Agent(worker[1], credential[1], secrets.token_urlsafe(32))
        self._agents[name] = made
        return made

    def _call(self, agent: Agent, now: float) -> None:
        if agent.job is None:
            answer = self._send(agent, 'next', {'clock': now, 'session': agent.session})
            if answer is None:
                return
            agent.credential, agent.left = agent.session, answer['order'] == 'exit'
            agent.calls_at = now + answer.get('seconds', 10.0)
            if answer['order'] == 'run':
                agent.job, agent.began, agent.calls_at = answer['job'], now, 0.0
                self._beat(agent, now, {})
            return
        script = agent.job['script']
        ran = now - agent.began
        length = sum(float(one) for one in SLEEP.findall(script))
        if ran >= min(length, agent.job['time_limit']):
            over = length > agent.job['time_limit']
            code = EXIT.findall(script)
            ended = {} if over else {'exit_code': int(code[-1]) % 256 if code else 0}
            self._end(agent, ran, 'time_limit' if over else 'exit', ended)
        else:
            self._beat(agent, now, {'ran': ran})

    def _beat(self, agent: Agent, now: float, body: dict[str, Any]) -> None:
        answer = self._send(agent, 'heartbeat', {**_part(agent), **body, **_output(agent)})
        if answer is None:
            return
        agent.calls_at = now + answer['seconds']
        ends = {'stop': 'stopped', 'cancel': 'cancelled'}.get(answer['order'])
        if ends:
            self._end(agent, now - agent.began, ends, {})

    def _end(self, agent: Agent, ran: float, end: str, body: dict[str, Any]) -> None:
        result = {**_part(agent), **_output(agent), 'end': end, 'wall_seconds': ran, **body}
        if self._send(agent, 'result', result) is not None:
            agent.job = None

    def _send(self, agent: Agent, what: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """The answer; None: not now, or the job is not this worker's any more."""
        path = f'/v1/worker/{agent.worker_id}/{what}'
        status, answer = self._calls.guest(path, {'credential': agent.credential, **body})
        if status in GONE:
            agent.job = None
        return answer if status == 200 else None


def _part(agent: Agent) -> dict[str, Any]:
    assert agent.job is not None
    return {'job_id': agent.job['id'], 'attempt': agent.job['attempt']}


def _output(agent: Agent) -> dict[str, Any]:
    """What the lines before the first `sleep` print, with the variables of the job."""
    assert agent.job is not None
    known = agent.job['environment']
    lines = [
        re.sub(r'\$\{?(\w+)\}?', lambda found: known.get(found[1], ''), one).strip('\'"')
        for one in ECHO.findall(agent.job['script'])
    ]
    text = ''.join(f'{line}\n' for line in lines).encode()
    return {'output': base64.b64encode(text).decode(), 'output_bytes': len(text)}


STEPS = 1000
"""Of which an application reports how many are done."""


@dataclass(slots=True)
class Progress:
    """Of an application. work: core-seconds in all; done: of them; at: when it was looked at last"""

    credential: str
    work: float
    at: float
    done: float = 0.0
    over: bool = False


class Monitors:
    """Of the applications whose credential is known."""

    def __init__(self, world: World, calls: Calls) -> None:
        self._world = world
        self._calls = calls
        self._apps: dict[str, Progress] = {}

    def kept(self) -> dict[str, Any]:
        """As a JSON document, for `restore`."""
        return {name: asdict(one) for name, one in self._apps.items()}

    def restore(self, document: Mapping[str, Any]) -> None:
        """What `kept` gave."""
        self._apps = {name: Progress(**one) for name, one in document.items()}

    def watch(self, app_id: str, credential: str, work: float) -> None:
        """A new application. work: core-seconds"""
        self._apps[app_id] = Progress(credential, work, self._world.clock.wall())

    def step(self) -> None:
        """What each has done since, and a report of it."""
        given = {
            one.server_id: one.cores
            for host in self._world.enforcement.applied.values()
            for one in host
        }
        now = self._world.clock.wall()
        for app_id, one in list(self._apps.items()):
            cores = sum(
                min(given.get(name, 0.0), server.flavor.vcpus)
                for name, server in self._world.apps.made.items()
                if server.state is ServerState.RUNNING
                and server.metadata.get(APP_MARKS.owner) == app_id
            )
            one.done = min(one.done + cores * max(now - one.at, 0.0), one.work)
            one.at = now
            if cores and not self._report(app_id, one):
                del self._apps[app_id]

    def _report(self, app_id: str, one: Progress) -> bool:
        """False: it has ended."""
        body = {'progress': {'total': STEPS, 'done': STEPS * one.done / one.work}}
        path, headers = f'/v1/apps/{app_id}/reports', {'X-App-Credential': one.credential}
        status, _ = self._calls.guest(path, body, headers)
        return status not in (401, 409)
