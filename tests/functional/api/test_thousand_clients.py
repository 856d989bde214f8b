# SPDX-License-Identifier: Apache-2.0
"""A thousand clients at once, and one process with eight threads: all are answered, nothing is lost."""

import json
import resource
import socket
import threading
from collections import Counter
from contextlib import closing, contextmanager
from http.client import HTTPResponse

import pytest
from werkzeug.serving import WSGIRequestHandler, make_server

from nova_market.api.request_rates import RequestRates
from nova_market.api.token_bucket import Rate
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import MINT, Posting, Reason
from tests.support.market.api import DOMAIN, make_market
from tests.support.market.queues import JOB_ENTRY, make_queue

pytestmark = [pytest.mark.functional, pytest.mark.clock]

CLIENTS, THREADS, PROJECTS = 1000, 8, 20
HELD = 100
"""Micro-credits that each project has at first; a transfer moves one."""


class Quiet(WSGIRequestHandler):
    def log(self, *arguments):
        """Requests are not printed."""


@contextmanager
def serving(application):
    """A process of the API as it is deployed: so many threads, and all others wait to be taken."""
    with closing(socket.create_server(('127.0.0.1', 0), backlog=2 * CLIENTS)) as listener:
        # of the threads that see a connection one takes it, and the others go on
        listener.setblocking(False)
        port = listener.getsockname()[1]
        servers = [
            make_server('127.0.0.1', port, application, request_handler=Quiet, fd=listener.fileno())
            for _ in range(THREADS)
        ]
        threads = [threading.Thread(target=one.serve_forever, args=(0.05,)) for one in servers]
        for one in threads:
            one.start()
        yield port
        for one in servers:
            one.shutdown()
        for one in threads:
            one.join()
        for one in servers:
            one.server_close()


def projects():
    return [f'{n:032x}' for n in range(1, PROJECTS + 1)]


def transfer(number):
    """(path, body, headers): a micro-credit to the next project; each second one repeats the one before."""
    whose = projects()[number // 2 % PROJECTS]
    other = projects()[(number // 2 + 1) % PROJECTS]
    body = {'from': f'project:{whose}', 'to': f'project:{other}', 'amount': 1}
    return whose, '/v1/transfers', body, {'Idempotency-Key': f'k{number // 2}'}


def submission(number):
    return projects()[0], '/v1/jobs', {'jobs': [JOB_ENTRY]}, {'Idempotency-Key': f'j{number}'}


def reading(number):
    whose = projects()[number % PROJECTS]
    return whose, f'/v1/accounts/project:{whose}', None, {}


def request(number):
    """What the client of this number sends."""
    kind = (transfer, transfer, submission, reading)[number // 2 % 4]
    whose, path, body, more = kind(number)
    text = b'' if body is None else json.dumps(body).encode()
    headers = {
        'Host': 'x', 'Connection': 'close', 'X-Auth-Token': f'manager@{whose}',
        'OpenStack-API-Version': 'market latest', 'Content-Type': 'application/json',
        'Content-Length': str(len(text)), **more,
    }  # fmt: skip
    head = ''.join(f'{name}: {value}\r\n' for name, value in headers.items())
    return f'{"GET" if body is None else "POST"} {path} HTTP/1.1\r\n{head}\r\n'.encode() + text


@pytest.fixture
def many_files():
    """Each client is a connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4 * CLIENTS), hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def funded(database, **options):
    """A market with so many projects of Keystone; the first one has a queue."""
    market = make_market(database, **options)
    market.directory.projects |= {one: (DOMAIN, one) for one in projects()}
    names = [f'project:{one}' for one in projects()]
    market.stores.accounts.open(
        [Account(id=name, project_id=name.partition(':')[2]) for name in names]
    )
    market.stores.ledger.post(
        [
            Posting(key=f'g:{name}', reason=Reason.GRANT, debit=MINT, credit=name, amount=HELD)
            for name in names
        ]
    )
    market.trusts.roles |= {('member-user', projects()[0]): {'member'}}
    make_queue(market, f'member@{projects()[0]}')
    return market


def sent(port):
    """All requests at once; the status and document of each answer, by client."""
    connections = [socket.create_connection(('127.0.0.1', port)) for _ in range(CLIENTS)]
    for number, one in enumerate(connections):
        one.sendall(request(number))
    found = []
    for one in connections:
        with closing(one):
            answer = HTTPResponse(one)
            answer.begin()
            found.append((answer.status, json.loads(answer.read())))
    return found


def test_all_are_answered_and_nothing_is_lost(database, many_files):
    """Each transfer and each submission counts once, also those that were sent twice at the same time."""
    market = funded(database, max_waiting_jobs=CLIENTS)
    with serving(market.application) as port:
        answers = sent(port)
    statuses = Counter(status for status, _ in answers)
    assert statuses.keys() <= {200, 201} and sum(statuses.values()) == CLIENTS, statuses
    moved = Counter(
        (document['transfer']['key'], status)
        for status, document in answers
        if 'transfer' in document
    )
    keys = {key for key, _ in moved}
    assert len(keys) == CLIENTS // 4
    assert all(moved[key, 201] == 1 for key in keys), 'one of each two was the first'
    assert all(market.stores.ledger.posted([key]) for key in keys)
    jobs = [document['jobs'][0]['id'] for _, document in answers if 'jobs' in document]
    assert len(set(jobs)) == CLIENTS // 4
    assert all(market.stores.jobs.job(one) for one in jobs)
    assert market.stores.ledger.discrepancies() == []


def test_one_project_that_floods_is_refused_and_the_others_are_served(database, many_files):
    """Refused requests have done nothing: the ledger has those that were answered with 201, and no others."""
    rates = RequestRates(requests=Rate(per_second=0.01, burst=50.0))
    market = funded(database, rates=rates)
    with serving(market.application) as port:
        answers = sent(port)
    statuses = Counter(status for status, _ in answers)
    assert statuses.keys() == {200, 201, 429} and sum(statuses.values()) == CLIENTS, statuses
    made = {
        document['transfer']['key']
        for status, document in answers
        if status in (200, 201) and 'transfer' in document
    }
    every = [f'transfer:0:{transfer(n)[0]}/k{n // 2}' for n in range(0, CLIENTS, 2)]
    assert market.stores.ledger.posted(every).keys() == made
    assert market.stores.ledger.discrepancies() == []
