# SPDX-License-Identifier: Apache-2.0
"""The service of jobs on the cloud in a box: the API, two services, and a witness of what guests have run.

Workers are booted by the real Nova from the image `worker`, whose guest runs the user data of a config drive,
and call the API at this machine's address in the network of the guests.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from openstack.connection import Connection

from nova_market.db.database import Database
from nova_market.db.job_attempts import DatabaseJobAttempts
from nova_market.experiments.guests.service_process import Daemon
from nova_market.services.leader_loop import LEADS, STANDS_BY
from tests.integration.cloud.conftest import Cloud
from tests.integration.cloud.deployed_market import MarketBed
from tests.integration.cloud.waiting import until

INTERVAL = 2.0
SERVICES = ('jobs.one', 'jobs.two')
PACE = {'poll': 3, 'heartbeat': 5, 'missed': 24}
"""Two minutes of silence: guests under emulation may get a fraction of a CPU."""


FLAVOR = 'roomy'
"""1 core and 1 GiB: the hosts have 4 GiB each, so that eight servers fill the cloud."""

SLOTS = 8


class Witness:
    """An HTTP server in the network of the guests: each run of a job reports its start once.

    seen: how often each path was asked for; it has what no database of ours has
    """

    def __init__(self, address: str) -> None:
        self.seen: Counter[str] = Counter()
        self._answers = threading.Event()
        self._answers.set()
        seen, answers = self.seen, self._answers

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                seen[self.path.strip('/')] += 1
                answers.wait()
                self.send_response(200)
                self.send_header('Content-Length', '0')
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer((address, 0), Handler)
        self.url = f'http://{address}:{self._server.server_port}'
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Jobs that start meanwhile wait for its answer, however long the others take to boot."""
        self._answers.clear()
        try:
            yield
        finally:
            self._answers.set()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class JobsBed:
    """start() makes the tables anew and runs API and services; close() ends them."""

    def __init__(self, cloud: Cloud, environment: Mapping[str, str], directory: Path) -> None:
        url = environment['NOVA_MARKET_WORKER_URL']
        self._database_url = environment['NOVA_MARKET_DATABASE_URL']
        self.cloud = cloud
        self.market = MarketBed(cloud, environment, directory)
        jobs = {
            'interval': INTERVAL,
            'worker_url': url,
            'first_pause': 5,
            'start_timeout': 300,
            **PACE,
        }
        self.market.api.options = {**self.market.options(), 'jobs': PACE}
        self.services = {
            name: Daemon(
                'jobs',
                directory / name,
                {**self.market.options(), 'jobs': {**jobs, 'name': name}},
            )
            for name in SERVICES
        }
        self.witness = Witness(str(urlsplit(url).hostname))

    def start(self) -> None:
        self.market.make_tables()
        self.market.api.launch()
        until(self.market.answers)
        for service in self.services.values():
            service.launch()

    def leads(self, name: str) -> bool:
        """Whether this service has announced that it leads, and runs."""
        service = self.services[name]
        if service.ended or not service.log.exists():
            return False
        log = service.log.read_text()
        return log.rfind(f'{name} {LEADS}') > log.rfind(f'{name} {STANDS_BY}')

    def charged_seconds(self, job_id: str) -> float:
        """Of the last attempt, from when its worker was given the script: before the start that is shown."""
        database = Database({'connection': self._database_url})
        try:
            last = DatabaseJobAttempts(database).attempts([job_id])[job_id][-1]
        finally:
            database.close()
        return last.ended_at - last.given_at - last.excluded

    def close(self) -> None:
        for service in self.services.values():
            service.stop()
        self.witness.close()
        self.market.close()


@contextmanager
def running_bed(
    cloud: Cloud, environment: Mapping[str, str], admin: Connection, directory: Path
) -> Iterator[JobsBed]:
    """A bed that runs, in a cloud that has the flavor of its workers."""
    if admin.compute.find_flavor(FLAVOR) is None:
        admin.compute.create_flavor(name=FLAVOR, vcpus=1, ram=1024, disk=1)
    made = JobsBed(cloud, environment, directory)
    try:
        made.start()
        yield made
    finally:
        made.close()
