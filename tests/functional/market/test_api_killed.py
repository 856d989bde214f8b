# SPDX-License-Identifier: Apache-2.0
"""The API is killed while it moves credits, and an engine charges beside it: no credit is lost or doubled.

Rules M1 and M2 of doc/source/specs/market.rst. Clients do what they should: they send a request again under
the same key until there is an answer.
"""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import requests

from nova_market.core.ledger.posting import MINT, NO_PERIOD, Posting, Reason, account
from nova_market.db.ledger import DatabaseLedger
from tests.functional.market.test_killed import wrong_in
from tests.support.market.api_server import MANAGERS, PEOPLE, market_service
from tests.support.market.deployed_api import file
from tests.support.market_bed import stores_of

__all__ = ['file', 'market_service']

pytestmark = [pytest.mark.functional, pytest.mark.clock]

ROOT = Path(__file__).resolve().parents[3]
KILLS = 8
PERIOD = 1.0


class Api:
    """The API at one port, in processes that come after each other."""

    def __init__(self, configuration):
        with socket.create_server(('127.0.0.1', 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f'http://127.0.0.1:{self.port}'
        words = ['-W', 'ignore', '-m', 'tests.support.market.api_processes']
        self._helper = subprocess.Popen(
            [sys.executable, *words, str(configuration), str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        )
        self._pid = 0
        self.start()

    def start(self):
        self._helper.stdin.write('\n')
        self._helper.stdin.flush()
        self._pid = int(self._helper.stdout.readline())

    def kill(self):
        os.kill(self._pid, signal.SIGKILL)

    def stop(self):
        with contextlib.suppress(ProcessLookupError):
            self.kill()
        self._helper.stdin.close()
        self._helper.wait(10)
        self._helper.stdout.close()


class Client(threading.Thread):
    """Sends one request after the other, each until it is answered.

    moved: micro-credits by (from, to), of what was answered; again: requests that were sent more than once
    """

    def __init__(self, url, person, ends, seed):
        super().__init__(daemon=True)
        self.moved, self.again, self.wrong = Counter(), 0, []
        self._url, self._person, self._ends = url, person, ends
        self._rng = random.Random(seed)
        self._name = f'{person.name}-{seed}'

    def run(self):
        number = 0
        while not self._ends.is_set():
            number += 1
            amount = self._rng.randrange(1, 1000)
            path, body, moves = self._request(amount)
            self._send(path, body, f'{self._name}-{number}')
            self.moved[moves] += amount

    def _request(self, amount):
        mine = account('project', self._person.project_id)
        if self._person.role == 'admin':
            to = account('project', PEOPLE[self._rng.choice(['alice', 'bob'])].project_id)
            return f'/v1/accounts/{to}/grants', {'amount': amount}, (MINT, to)
        other = 'bob' if self._person.name == 'alice' else 'alice'
        to = account('project', PEOPLE[other].project_id)
        return '/v1/transfers', {'from': mine, 'to': to, 'amount': amount}, (mine, to)

    def _send(self, path, body, key):
        tries = 0
        while True:
            tries += 1
            headers = {'X-Auth-Token': self._person.token, 'Idempotency-Key': key}
            try:
                answer = requests.post(self._url + path, json=body, headers=headers, timeout=30)
            except requests.RequestException:
                time.sleep(0.02)
                continue
            if answer.status_code in (200, 201):
                self.again += tries > 1
                return
            if answer.status_code < 500 and answer.status_code != 429:
                self.wrong.append(f'{answer.status_code}: {answer.text[:200]}')
                return
            time.sleep(0.05)


@pytest.fixture
def api(file):
    made = Api(file)
    yield made
    made.stop()


@pytest.fixture
def engine(market_service, tmp_path):
    """An engine that holds, charges and gives back on the same ledger."""
    url = f'sqlite:///{tmp_path}/market.sqlite'
    module = 'tests.support.market.engine_processes'
    helper = subprocess.Popen(
        [sys.executable, '-W', 'ignore', '-m', module, url, str(tmp_path), str(PERIOD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    helper.stdin.write('engine\n')
    helper.stdin.flush()
    pid = int(helper.stdout.readline())
    yield pid
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    helper.stdin.close()
    helper.wait(10)
    helper.stdout.close()


def test_the_api_killed_at_random_moments(market_service, api, engine):
    """kill -9 of the API, again and again, under clients that move credits back and forth."""
    rng, ends = random.Random(7), threading.Event()
    ledger = DatabaseLedger(market_service.database, time.time)
    first = Counter({(MINT, market_service.project(name)): 10**9 for name in ('alice', 'bob')})
    ledger.post(
        [
            Posting(key=f'first-{to}', reason=Reason.GRANT, debit=MINT, credit=to, amount=amount)
            for (_, to), amount in first.items()
        ]
    )
    people = [PEOPLE['root'], *MANAGERS, *MANAGERS]
    clients = [Client(api.url, person, ends, seed) for seed, person in enumerate(people)]
    for client in clients:
        client.start()
    for _ in range(KILLS):
        time.sleep(rng.uniform(0.3, 1.5))
        api.kill()
        api.start()
    time.sleep(1.0)
    ends.set()
    for client in clients:
        client.join(60)
        assert not client.is_alive()
    time.sleep(4 * PERIOD)
    os.kill(engine, signal.SIGKILL)

    assert not wrong_in(stores_of(market_service.database, time.time), ledger)
    assert [wrong for client in clients for wrong in client.wrong] == []
    answered = sum((client.moved for client in clients), first)
    for reason, of_mint in ((Reason.GRANT, True), (Reason.TRANSFER, False)):
        expected = {moves: n for moves, n in answered.items() if (moves[0] == MINT) == of_mint}
        assert ledger.totals(NO_PERIOD, reason) == expected
    assert sum(client.again for client in clients) >= KILLS / 2, 'or nothing was cut off'
