# SPDX-License-Identifier: Apache-2.0
"""Agents in the servers of a cloud in memory, which call the real API as worker.py does (JW1 to JW5).

A script is `sleep SECONDS`, `exit CODE`, or both, on lines of their own; the clock is the test's. What really
ran is kept by the agents themselves, so that a test can compare it with what the service believes.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from nova_market.adapters.in_memory.owner_cloud import MemoryOwnerCloud
from nova_market.core.market.owner_server import ServerState
from tests.support.market.api import Market


@dataclass
class Run:
    """One server's part of a job, as the guest knows it. end: None while it runs, or was cut off."""

    job_id: str
    attempt: int
    server_id: str
    began: float
    ended: float | None = None
    end: str | None = None


@dataclass
class Agent:
    """worker_id: from the user data of its server; credential: too, until its session takes its place."""

    worker_id: str
    credential: str
    job: dict[str, Any] | None = None
    run: Run | None = None
    result: dict[str, Any] | None = None
    left: bool = False
    session: str = field(init=False)
    """What it exchanges its credential for."""

    def __post_init__(self) -> None:
        self.session = f'session-of-{self.credential}'[:50]


@dataclass
class SimulatedWorkers:
    """mute: servers whose agents do not call; away: nothing arrives at all. runs: all there were."""

    market: Market
    cloud: MemoryOwnerCloud
    agents: dict[str, Agent] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    mute: set[str] = field(default_factory=set)
    away: bool = False

    @property
    def now(self) -> float:
        return float(self.market.wall())

    def tick(self) -> None:
        """Each agent does what is due."""
        self.cloud.hosted()
        for server_id in [one for one in self.agents if one not in self.cloud.made]:
            self._gone(server_id)
        for server_id, made in sorted(self.cloud.made.items()):
            if made.state is not ServerState.RUNNING:
                if made.state is ServerState.DELETING:
                    self._gone(server_id)
                continue
            agent = self.agents.get(server_id) or self._booted(server_id, made.user_data)
            if agent is not None and not agent.left and server_id not in self.mute:
                self._step(server_id, agent)

    def running(self) -> list[tuple[str, int]]:
        """(job, attempt) that run now in some guest, one for each server."""
        found = [a.run for a in self.agents.values() if a.run is not None and a.run.ended is None]
        return sorted((one.job_id, one.attempt) for one in found)

    def ends(self, job_id: str) -> list[str | None]:
        """How the runs of a job ended, in the order in which they began."""
        return [one.end for one in self.runs if one.job_id == job_id]

    def _gone(self, server_id: str) -> None:
        agent = self.agents.pop(server_id, None)
        if agent is not None and agent.run is not None and agent.run.ended is None:
            agent.run.ended, agent.run.end = self.now, 'cut off'

    def _booted(self, server_id: str, user_data: str) -> Agent | None:
        worker = re.search(r'^WORKER=(\S+)$', user_data, re.M)
        credential = re.search(r'^([A-Za-z0-9_-]{43})$', user_data, re.M)
        if worker is None or credential is None:
            return None
        made = Agent(worker.group(1), credential.group(1))
        self.agents[server_id] = made
        return made

    def _step(self, server_id: str, agent: Agent) -> None:
        if agent.result is not None and self._send(agent, 'result', agent.result) is not None:
            agent.result, agent.job, agent.run = None, None, None
        if agent.job is None:
            self._ask(agent)
            if agent.job is not None:
                self._begin(server_id, agent)
        elif agent.run is not None and agent.result is None:
            self._beat(agent, agent.run)

    def _ask(self, agent: Agent) -> None:
        answer = self._send(agent, 'next', {'clock': self.now, 'session': agent.session})
        if answer is not None:
            agent.credential = agent.session
        if answer is not None and answer['order'] == 'run':
            agent.job = answer['job']
        agent.left = answer is not None and answer['order'] == 'exit'

    def _begin(self, server_id: str, agent: Agent) -> None:
        assert agent.job is not None
        part = {'job_id': agent.job['id'], 'attempt': agent.job['attempt']}
        answer = self._send(agent, 'heartbeat', part)
        if answer is None or answer['order'] != 'go_on':
            agent.job = None
            return
        agent.run = Run(part['job_id'], part['attempt'], server_id, self.now)
        self.runs.append(agent.run)

    def _beat(self, agent: Agent, run: Run) -> None:
        assert agent.job is not None
        ran = self.now - run.began
        seconds, code = _script(agent.job['script'])
        part = {'job_id': run.job_id, 'attempt': run.attempt}
        if ran >= min(seconds, agent.job['time_limit']):
            over = seconds > agent.job['time_limit']
            self._end(agent, run, 'time_limit' if over else 'exit', code)
            return
        answer = self._send(agent, 'heartbeat', {**part, 'ran': ran})
        if answer is not None and answer['order'] in ('stop', 'cancel'):
            self._end(agent, run, {'stop': 'stopped', 'cancel': 'cancelled'}[answer['order']], 0)

    def _end(self, agent: Agent, run: Run, end: str, code: int) -> None:
        run.ended, run.end = self.now, end
        agent.result = {
            'job_id': run.job_id,
            'attempt': run.attempt,
            'end': end,
            'wall_seconds': self.now - run.began,
            **({'exit_code': code} if end == 'exit' else {}),
        }
        if self._send(agent, 'result', agent.result) is not None:
            agent.result, agent.job, agent.run = None, None, None

    def _send(self, agent: Agent, what: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """The answer; None when nothing arrived. What is not, or no longer, this worker's is ended."""
        if self.away:
            return None
        path = f'/v1/worker/{agent.worker_id}/{what}'
        answer = self.market.call('POST', path, json={'credential': agent.credential, **body})
        if answer.status_code in (401, 404, 409):
            if agent.run is not None and agent.run.ended is None:
                agent.run.ended, agent.run.end = self.now, 'refused'
            agent.job, agent.run, agent.result = None, None, None
            return None
        if answer.status_code != 200:
            assert answer.status_code >= 500, answer.text
            return None
        document: dict[str, Any] = answer.json
        return document


def _script(text: str) -> tuple[float, int]:
    """(seconds, exit code)."""
    seconds = re.search(r'^sleep ([0-9.]+)$', text, re.M)
    code = re.search(r'^exit ([0-9]+)$', text, re.M)
    return float(seconds.group(1)) if seconds else 0.0, int(code.group(1)) if code else 0
