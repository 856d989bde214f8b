# SPDX-License-Identifier: Apache-2.0
"""Submission of jobs through the API: what one costs, and what one of a thousand elements costs.

A ratio to the floor: the same application answering `GET /`, which needs no token, no policy, no database. In
process, one thread, SQLite; CPU seconds of this process. 10,000 jobs wait already: the quota is counted.

Over HTTP: one process of the API for each CPU and eight connections that stay open, on MariaDB, all on this
machine: requests of one job, and of a hundred.
"""

import http.client
import json
import multiprocessing
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.test import Client

from nova_market.cmd import api as command
from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.store_values import JobQuotas
from tests.support.job_records import id_of, job, new_jobs
from tests.support.market.api_server import PEOPLE
from tests.support.market.deployed_api import configured
from tests.support.market.queues import JOB_ENTRY

pytestmark = pytest.mark.benchmark

COUNT = 60
WAITING = 10_000
ELEMENTS = 1000
HEADERS = {'OpenStack-API-Version': 'market 1.4'}


def seconds_each(client, count, method, path, **more):
    """CPU seconds of one request."""
    client.open(path, method=method, **more)
    began = time.process_time()
    for _ in range(count):
        answer = client.open(path, method=method, **more)
    assert answer.status_code in {200, 201}, answer.text
    return (time.process_time() - began) / count


def test_cost_of_a_submission(file, market_service):
    """One costs some times the floor; an element of an array costs less than the floor."""
    project = PEOPLE['alice'].project_id
    stores = market_service.market.stores
    queue = StoredQueue(
        id=id_of('night'), name='night', project_id=project, flavors=('small',), image='debian-13'
    )
    stores.queues.create(queue, 9)
    waiting = [job(f'w{n}', project=project) for n in range(WAITING)]
    stores.jobs.submit(new_jobs(*waiting), JobQuotas(most_waiting=10 * WAITING))
    conf = configured(
        file, response_validation='warn', request_rate=0, max_waiting_jobs=10 * WAITING
    )
    client = Client(command.build(conf), Flask.response_class)
    headers = {**HEADERS, 'X-Auth-Token': PEOPLE['alice'].token}

    def submission(**more):
        return {'headers': headers, 'json': {'jobs': [{**JOB_ENTRY, **more}]}}

    floor = seconds_each(client, COUNT, 'GET', '/')
    one = seconds_each(client, COUNT, 'POST', '/v1/jobs', **submission())
    many = seconds_each(client, 3, 'POST', '/v1/jobs', **submission(array=ELEMENTS)) / ELEMENTS
    page = seconds_each(client, COUNT, 'GET', '/v1/jobs?limit=100', headers=headers)
    began = time.process_time()
    found = stores.jobs.waiting()
    read = time.process_time() - began
    print(f'\nGET / (floor): {1 / floor:.0f} requests per second of CPU')
    print(f'a submission: {1 / one:.0f} per second, {one / floor:.1f} x the floor')
    print(f'an element of an array: {1 / many:.0f} per second, {many / floor:.2f} x the floor')
    print(f'a page of 100 jobs: {1 / page:.0f} per second, {page / floor:.1f} x the floor')
    print(f'{len(found.ids)} waiting jobs as columns: {read * 1000:.0f} ms')
    assert one / floor < 25
    assert many / floor < 1


CONNECTIONS = 8
SECONDS = 6.0


class KeptOpen(WSGIRequestHandler):
    """Connections stay open, as behind uWSGI; no line for each request."""

    protocol_version = 'HTTP/1.1'

    def log_request(self, *_):
        pass


def serve(listener, file, url):
    """One process of the API."""
    conf = configured(file, request_rate=0, max_waiting_jobs=10**6)
    conf.set_override('connection', url, 'database')
    server = make_server(
        '127.0.0.1', 0, command.build(conf), threaded=True, request_handler=KeptOpen,
        fd=listener.fileno(),
    )  # fmt: skip
    server.serve_forever()


def submitted(port, jobs, until):
    """Requests of so many jobs over one connection, one behind the other; their number."""
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
    body = json.dumps({'jobs': [JOB_ENTRY] * jobs})
    headers = {**HEADERS, 'X-Auth-Token': PEOPLE['alice'].token, 'Content-Type': 'application/json'}
    count = 0
    while time.monotonic() < until:
        connection.request('POST', '/v1/jobs', body, headers)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 201, text
        count += 1
    connection.close()
    return count


def clients(port, jobs, seconds):
    """Requests a second over all connections."""
    began = time.monotonic()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        until = began + seconds
        counts = list(pool.map(lambda _: submitted(port, jobs, until), range(CONNECTIONS)))
    return sum(counts) / (time.monotonic() - began)


# eventlet, which a dependency of ours imports, warns of any fork
@pytest.mark.filterwarnings('ignore:Using fork:DeprecationWarning')
@pytest.mark.integration('mariadbd', 'setpriv')
@pytest.mark.parametrize('database_server', ['mariadb'], indirect=True)
def test_submission_over_eight_connections(file, market_service, database, url):
    """Jobs a second, one and a hundred in a request; the second is what a client with many jobs does."""
    stores = market_service.market.stores
    queue = StoredQueue(
        id=id_of('night'), name='night', project_id=PEOPLE['alice'].project_id, flavors=('small',),
        image='debian-13',
    )  # fmt: skip
    type(stores.queues)(database, time.time).create(queue, 9)
    listener = socket.create_server(('127.0.0.1', 0), backlog=64)
    port = listener.getsockname()[1]
    context = multiprocessing.get_context('fork')
    workers = [
        context.Process(target=serve, args=(listener, file, url), daemon=True)
        for _ in range(os.cpu_count() or 1)
    ]
    for one in workers:
        one.start()
    try:
        clients(port, 1, 1.0)  # the first requests import and connect
        rate = {jobs: jobs * clients(port, jobs, SECONDS) for jobs in (1, 100)}
    finally:
        for one in workers:
            one.terminate()
            one.join()
        listener.close()
    print(f'\n{CONNECTIONS} connections, {len(workers)} processes of the API, MariaDB:')
    for jobs, found in rate.items():
        print(f'{jobs:4d} in a request: {found:.0f} jobs per second')
    assert rate[100] > 4 * rate[1]
