# SPDX-License-Identifier: Apache-2.0
"""Requests for offers through the API: what one costs, by the size of the cloud, and how many a second.

As a ratio to a request that only reads, `GET /v1/queues/<id>` of the same application in the same run. CPU
seconds of this process, SQLite, in process; then over HTTP: one process of the API, eight connections that
stay open, SQLite and MariaDB, by offers that are open and by idle workers, with the CPU seconds of the API.
On an idle machine with a core for the API, the requests a second are 1000 / CPU milliseconds.
"""

import http.client
import json
import multiprocessing
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from flask import Flask
from werkzeug.serving import make_server
from werkzeug.test import Client

from nova_market.cmd import api as command
from nova_market.core.job.forecast import document_of
from nova_market.core.job.queue import StoredQueue, WorkerState
from nova_market.services.job.forecasting import STATE
from nova_market.wiring.api import database_stores
from tests.benchmarks.bench_jobs_api import CONNECTIONS, KeptOpen, seconds_each
from tests.support.job_records import id_of, worker
from tests.support.market.api_server import PEOPLE
from tests.support.market.deployed_api import configured
from tests.support.offer_builders import forecast, offer
from tests.support.servers.databases import REAL

pytestmark = pytest.mark.benchmark

COUNT = 100
SECONDS = 5.0
VALID = 2.0
"""Seconds, so that some hundred offers are open at once, and not all that were made."""

CLOUDS = ((10, 0), (100, 0), (1000, 0), (1000, 10_000))
"""Hosts with 20 jobs each, and idle workers."""

OPEN = ((1, 1), (100, 100), (10_000, 1), (1, 10_000), (10_000, 10_000))
"""Offers of the project that are open all the time, and idle workers; of 100 hosts."""

HEADERS = {
    'OpenStack-API-Version': 'market 1.5',
    'X-Auth-Token': PEOPLE['alice'].token,
    'Content-Type': 'application/json',
}
ASKED = {'queue': 'night', 'flavor': 'small', 'time_limit': 600}


def sell(stores, hosts, workers=0):
    """A queue, its idle workers, and a forecast of a cloud in which each host has 20 jobs to come."""
    alice = PEOPLE['alice'].project_id
    queue = StoredQueue(
        id=id_of('night'), name='night', project_id=alice, flavors=('small',), image='debian-13',
        price_core_hour=3_600_000,
    )  # fmt: skip
    if stores.queues.queue(queue.id) is None:
        stores.queues.create(queue, 9)
    ends = np.random.default_rng(1).integers(60, 86_400, (hosts, 20))
    taken = [(host, 1.0, 0, int(end)) for host in range(hosts) for end in ends[host]]
    seen = forecast(*taken, cores=(64.0,) * hosts, mib=262_144.0, at=time.time())
    stores.states.write(STATE, document_of(seen))
    stores.attempts.put(
        [
            worker(f'w{n}', state=WorkerState.IDLE, created_at=1.0, project_id=alice)
            for n in range(workers)
        ]
    )


def test_cost_of_a_request(file, market_service):
    """An answer costs some times a read, also for a large cloud."""
    stores = market_service.market.stores
    client = Client(
        command.build(configured(file, response_validation='warn', request_rate=0)),
        Flask.response_class,
    )
    for hosts, workers in CLOUDS:
        sell(stores, hosts, workers)
        floor = seconds_each(client, COUNT, 'GET', f'/v1/queues/{id_of("night")}', headers=HEADERS)
        one = seconds_each(client, COUNT, 'POST', '/v1/offers', headers=HEADERS, json=ASKED)
        print(
            f'{hosts} hosts, {workers} idle workers: {1000 * one:.1f} ms, {one / floor:.1f} x a read'
        )
        assert one / floor < 4


def serve(listener, file, url):
    """One process of the API."""
    conf = configured(file, response_validation='warn', request_rate=0)
    conf.set_override('connection', url, 'database')
    conf.set_override('valid', VALID, 'offers')
    conf.set_override('max_open', 100_000, 'offers')
    server = make_server(
        '127.0.0.1', 0, command.build(conf), threaded=True, request_handler=KeptOpen,
        fd=listener.fileno(),
    )  # fmt: skip
    server.serve_forever()


def answered(port, method, path, body, until):
    """Requests over one connection, one behind the other; their number."""
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
    count = 0
    while time.monotonic() < until:
        connection.request(method, path, body, HEADERS)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status in {200, 201} and b'"offers": []' not in text, text
        count += 1
    connection.close()
    return count


def cpu_seconds(process):
    """What a process has used until now."""
    fields = Path(f'/proc/{process.pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def rate(process, port, method, path, body=None, seconds=SECONDS):
    """(requests a second over all connections, CPU milliseconds of the API for each)."""
    began, used = time.monotonic(), cpu_seconds(process)
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        until = began + seconds
        counts = pool.map(lambda _: answered(port, method, path, body, until), range(CONNECTIONS))
    count = sum(counts)
    return count / (time.monotonic() - began), 1e3 * (cpu_seconds(process) - used) / count


def keep_open(stores, count):
    """So many offers of the project, besides those that are made and soon expire."""
    alice, now = PEOPLE['alice'], time.time()
    made = [
        offer(
            f'kept{n}', project=alice.project_id, created_at=now,
            valid_until=now + 3600.0,
        )
        for n in range(count)
    ]  # fmt: skip
    stores.offers.create(made, 10**6)


# eventlet, which a dependency of ours imports, warns of any fork
@pytest.mark.filterwarnings('ignore:Using fork:DeprecationWarning')
@pytest.mark.parametrize('database_server', ['sqlite', REAL[0]], indirect=True)
@pytest.mark.parametrize(('kept', 'workers'), OPEN)
def test_requests_over_eight_connections(file, market_service, database, url, kept, workers):
    """One process answers a good part of as many requests for offers as of reads."""
    stores = database_stores(database, None, None, None, None, projects=None)
    sell(stores, 100, workers)
    keep_open(stores, kept)
    listener = socket.create_server(('127.0.0.1', 0), backlog=64)
    port = listener.getsockname()[1]
    context = multiprocessing.get_context('fork')
    process = context.Process(target=serve, args=(listener, file, url), daemon=True)
    process.start()
    read, body = f'/v1/queues/{id_of("night")}', json.dumps(ASKED)
    try:
        rate(
            process, port, 'POST', '/v1/offers', body, 1.0
        )  # the first requests import and connect
        reads, floor = rate(process, port, 'GET', read)
        sell(stores, 100)
        asked, one = rate(process, port, 'POST', '/v1/offers', body)
    finally:
        process.terminate()
        process.join()
        listener.close()
    print(
        f'\n{url.split(":")[0]}, {kept} offers open, {workers} idle workers: {asked:.0f} requests for offers '
        f'a second, {one:.1f} ms of CPU, {one / floor:.1f} x a read; {reads:.0f} reads, {floor:.1f} ms'
    )
    assert asked > reads / 5
