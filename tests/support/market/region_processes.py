# SPDX-License-Identifier: Apache-2.0
"""APIs of several regions as processes on 127.0.0.1, behind a small Keystone; regions that misbehave."""

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from nova_market.core.job.forecast import document_of
from nova_market.core.job.queue import QueueName, StoredQueue
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import MINT, Posting, Reason, account
from nova_market.db.database import Database
from nova_market.services.job.forecasting import STATE
from nova_market.wiring.api import database_stores
from tests.support.job_records import id_of
from tests.support.market.api_server import PASSWORD, PEOPLE, MarketService
from tests.support.offer_builders import forecast
from tests.support.servers.databases import NO_WAIT

STARTING_SECONDS = 150.0
ACCOUNT = """
auth_type = password
auth_url = {url}/identity/v3
username = market
password = {password}
project_name = services
user_domain_name = Default
project_domain_name = Default
"""
CREDENTIAL = """
auth_type = v3applicationcredential
auth_url = {url}/identity/v3
application_credential_id = asking
application_credential_secret = {password}
"""


@dataclass(frozen=True, kw_only=True)
class Region:
    """price: credits of a core and an hour; children, timeout: of [offers]."""

    name: str
    price: float
    children: tuple[str, ...] = ()
    timeout: float = 20.0


@dataclass(frozen=True, kw_only=True)
class RegionProcess:
    """A running API. stores: on its database; log: what it has written."""

    url: str
    stores: Any
    log: Path


@contextmanager
def region_processes(
    service: MarketService, folder: Path, tables: Path, regions: tuple[Region, ...]
) -> Iterator[dict[str, RegionProcess]]:
    """One API for each region, each with a queue `night` of Alice's project; they are in the catalog."""
    running, processes = {}, []
    try:
        for one in regions:
            made, process = _started(service, folder, tables, one)
            processes.append(process)
            running[one.name] = made
            service.regions[one.name] = made.url
        for made in running.values():
            _wait(made)
        yield running
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def _started(
    service: MarketService, folder: Path, tables: Path, region: Region
) -> tuple[RegionProcess, subprocess.Popen[bytes]]:
    path = folder / f'{region.name}.sqlite'
    shutil.copy(tables, path)
    database = Database({'connection': f'sqlite:///{path}', **NO_WAIT})
    stores = database_stores(database, None, None, None, None, projects=None)
    _sell(stores, region)
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    account_text = ACCOUNT.format(url=service.url, password=PASSWORD)
    conf, log = folder / f'{region.name}.conf', folder / f'{region.name}.log'
    conf.write_text(
        f'[database]\nconnection = sqlite:///{path}\n[api]\nresponse_validation = error\n'
        f'[offers]\nregion = {region.name}\nchildren = {",".join(region.children)}\n'
        f'forecast_age = 3600\nchild_timeout = {region.timeout}\n'
        f'[openstack]\n{account_text}region_name = RegionOne\n'
        f'[regions]\n{CREDENTIAL.format(url=service.url, password=PASSWORD)}\n'
        f'[keystone_authtoken]\n{account_text}interface = public\nmemcached_servers =\n'
        f'www_authenticate_uri = {service.url}/identity\n'
    )
    words = [sys.executable, '-m', 'nova_market.cmd.api', '--config-file', str(conf)]
    with log.open('wb') as output:
        process = subprocess.Popen([*words, '--port', str(port)], stdout=output, stderr=output)
    return RegionProcess(url=f'http://127.0.0.1:{port}', stores=stores, log=log), process


def _sell(stores: Any, region: Region) -> None:
    """A queue with room, and credits of Alice's."""
    alice = PEOPLE['alice'].project_id
    queue = StoredQueue(
        id=id_of(f'night {region.name}'), name='night', project_id='f' * 32, projects=(alice,),
        flavors=('small',), image='debian', price_core_hour=int(region.price * 1e6),
    )  # fmt: skip
    stores.queues.create(queue, 9)
    stores.queues.accept(queue.id, QueueName(project_id=alice, name='night', user_id='u'), 9)
    seen = forecast(at=time.time())
    published = replace(seen, queues={queue.id: seen.queues[id_of('night')]})
    stores.states.write(STATE, document_of(published))
    name = account('project', alice)
    stores.accounts.open([Account(id=name, project_id=alice)])
    stores.ledger.post(
        [Posting(key='g', reason=Reason.GRANT, debit=MINT, credit=name, amount=10**9)]
    )


def _wait(made: RegionProcess) -> None:
    port = int(made.url.rpartition(':')[2])
    end = time.monotonic() + STARTING_SECONDS
    while True:
        try:
            socket.create_connection(('127.0.0.1', port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < end, made.log.read_text()
            time.sleep(0.1)


Reply = Callable[[dict[str, Any], Any], None]


@dataclass
class Stranger:
    """A region whose API answers what the test wants. asked: requests; gone: clients that did not wait"""

    url: str
    reply: Reply
    asked: list[dict[str, Any]] = field(default_factory=list)
    gone: int = 0


@contextmanager
def stranger() -> Iterator[Stranger]:
    """Something that answers HTTP. reply: called with the request and the handler, which it writes to."""
    made = Stranger(url='', reply=lambda asked, handler: send(handler, 500, b'{}'))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
            made.asked.append(asked)
            try:
                made.reply(asked, self)
            except OSError:
                made.gone += 1
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.daemon_threads = True
    made.url = f'http://127.0.0.1:{server.server_port}'
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def send(handler: Any, status: int, body: bytes, **headers: str) -> None:
    """A whole response."""
    handler.send_response(status)
    for name, value in {'Content-Type': 'application/json', **headers}.items():
        handler.send_header(name.replace('_', '-'), value)
    handler.send_header('Content-Length', str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
