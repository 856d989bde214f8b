# SPDX-License-Identifier: Apache-2.0
"""The market on the cloud in a box: two engines, the API, nova-fairness on both hosts, and its users.

Everything runs as it would be deployed: MariaDB, RabbitMQ, keystone's tokens, the service user `market`, and
people who use the command `openstack market`.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import openstack

from nova_market.adapters.control.cpu import CpuShares
from nova_market.adapters.hypervisor.libvirt_host import LibvirtHost
from nova_market.adapters.hypervisor.supply import SupplySettings
from nova_market.cmd.manage_db import ADDS_UP
from nova_market.db.database import Database
from nova_market.experiments.guests.service_process import Daemon, Options, ServiceProcess
from nova_market.sdk import market_service
from tests.integration.cloud.conftest import HOSTS, STATE, Cloud
from tests.integration.cloud.waiting import until
from tests.support.servers.databases import drop_tables

PERIOD = 10
INTERVAL = 2.0
ENGINES = ('engine.one', 'engine.two')


class MarketBed:
    """start() makes the tables anew and runs everything; close() ends it and puts the guests' values back."""

    def __init__(
        self,
        cloud: Cloud,
        environment: Mapping[str, str],
        directory: Path,
        api_port: int | None = None,
    ) -> None:
        """api_port: of the market API, where it is not that of the catalog"""
        self.cloud = cloud
        # more options of the engines, by group; in force when they are launched anew
        self.engine_options: dict[str, dict[str, object]] = {}
        self._environment = environment
        self._directory = directory
        self.engines = {name: self._engine(name, 'off') for name in ENGINES}
        self.api = Daemon(
            'api',
            directory / 'api',
            self.options(),
            words=('--port', str(api_port or port_of(environment['NOVA_MARKET_API_URL']))),
        )
        self.services = {
            host: ServiceProcess(directory / host, self._host_options(host, cpu))
            for cpu, host in enumerate(HOSTS)
        }
        self.views = {
            host: LibvirtHost(cloud.uri(host), SupplySettings(), fallback_owner='unknown')
            for host in HOSTS
        }

    def start(self) -> None:
        self.make_tables()
        for service in self.services.values():
            service.start()
        self.api.launch()
        for engine in self.engines.values():
            engine.launch()
        until(self.answers)

    def make_tables(self) -> None:
        """Anew: credits of an earlier bed would change what a project is refused."""
        database = Database({'connection': self._environment['NOVA_MARKET_DATABASE_URL']})
        drop_tables(database)
        database.close()
        self.api.configure()
        self.manage('db', 'sync')

    def close(self) -> None:
        for engine in self.engines.values():
            engine.stop()
        self.api.stop()
        for service in self.services.values():
            service.stop()
        for view in self.views.values():
            view.close()

    def rebalance(self, mode: str) -> None:
        """Both engines anew, with this mode of rebalancing."""
        for name in ENGINES:
            self.engines[name].stop()
            self.engines[name] = self._engine(name, mode)
            self.engines[name].launch()

    def leader(self) -> str:
        """Name of the engine that has decided the newest round."""
        return str(self.round()['leader'])

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(self._environment['NOVA_MARKET_API_URL'] + '/', timeout=5):
                return True
        except OSError:
            return False

    def manage(self, *words: str) -> str:
        """nova-market-manage; its standard output."""
        program = [sys.executable, '-m', 'nova_market.cmd.manage']
        return output_of([*program, '--config-file', str(self.api.config), *words])

    def adds_up(self) -> bool:
        """Whether balances and postings of all accounts agree."""
        return ADDS_UP in self.manage('db', 'verify')

    def market(self, project: str, *words: str) -> Any:
        """`openstack market ...` as the project's user or as admin; what it says as JSON."""
        return json.loads(self.say(project, *words, '-f', 'json'))

    def say(self, project: str, *words: str) -> str:
        """The same, for commands that print nothing to be read."""
        program = [sys.executable, '-m', 'openstackclient.shell', 'market']
        return output_of([*program, *words], env=self.who(project))

    def connection(self, project: str) -> Any:
        """openstacksdk's, as the project's user or as admin, with the market."""
        chosen = {k[3:].lower(): v for k, v in self.who(project).items() if k.startswith('OS_')}
        names = ('auth_url', 'username', 'password', 'project_name', 'region_name')
        found = openstack.connect(
            **{name: chosen[name] for name in names},
            user_domain_name='Default',
            project_domain_name='Default',
            load_yaml_config=False,
            load_envvars=False,
        )
        market_service.load(found)
        return found

    def who(self, project: str) -> dict[str, str]:
        """The environment in which a client is this project's user."""
        run = ['run'] if project == 'admin' else ['as', project]
        lines = self.cloud.tool(*run, 'env').splitlines()
        chosen = dict(line.split('=', 1) for line in lines if line.startswith('OS_'))
        return {k: v for k, v in os.environ.items() if not k.startswith('OS_')} | chosen

    def round(self, period: int | None = None) -> dict[str, Any]:
        """One round as an administrator sees it; without a period the newest."""
        words = [str(period)] if period is not None else []
        return dict(self.market('admin', 'round', 'show', *words))

    def weights(self) -> dict[str, tuple[str, int]]:
        """Server -> (host, cpu.shares), as the kernel has them."""
        found = {}
        for host, view in self.views.items():
            guests = [item.guest for item in view.sample().guests]
            for guest_id, control in CpuShares(view).read(guests).items():
                found[str(guest_id)] = (host, int(control.value or 0))
        return found

    def used(self, seconds: float) -> dict[str, float]:
        """ACTIVE server -> cores that it used in the coming `seconds`, by its counters."""
        servers = self.cloud.servers().values()
        active = {server['ID'] for server in servers if server['Status'] == 'ACTIVE'}
        before, began = self._counters(active), time.monotonic()
        time.sleep(seconds)
        after, passed = self._counters(active), time.monotonic() - began
        return {server: (after[server] - before[server]) / 1e9 / passed for server in active}

    def _counters(self, servers: Collection[str]) -> dict[str, int]:
        """Nanoseconds of CPU. A sample lacks a guest that libvirt is busy with at that moment."""
        found: dict[str, int] = {}

        def complete() -> bool:
            for view in self.views.values():
                for item in view.sample().guests:
                    found[str(item.guest.id)] = item.counters.cpu_time_ns
            return found.keys() >= set(servers)

        until(complete)
        return found

    def crash(self, label: str) -> None:
        """kill -9 a daemon of the cloud, with what it has started."""
        pid = int((STATE / 'run' / 'pid' / label).read_text().split()[0])
        for victim in (*descendants(pid), pid):
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def options(self) -> dict[str, dict[str, object]]:
        environment = self._environment
        account: dict[str, object] = {
            'auth_type': 'password',
            'auth_url': environment['OS_AUTH_URL'],
            'username': 'market',
            'password': environment['NOVA_MARKET_SERVICE_PASSWORD'],
            'project_name': 'service',
            'user_domain_name': 'Default',
            'project_domain_name': 'Default',
            'region_name': environment['OS_REGION_NAME'],
        }
        return {
            'DEFAULT': {'transport_url': environment['NOVA_MARKET_TRANSPORT_URL'], 'debug': 'true'},
            'database': {'connection': environment['NOVA_MARKET_DATABASE_URL']},
            'openstack': account,
            'keystone_authtoken': account,
            'fairness': {'exchange': 'oslo'},
            'exchange': {'members': ','.join(HOSTS), 'market_engines': ','.join(ENGINES)},
            'market': {
                'period': PERIOD,
                # the hosts have one CPU each, and all of it is for guests
                'host_reserve_cores': 0,
                'host_reserve_memory_mib': 64,
                'coordination_url': f'file://{self._directory}/coordination',
            },
            'api': {'response_validation': 'error'},
        }

    def _engine(self, name: str, mode: str) -> Daemon:
        options = self.options()
        options['market'] |= {'name': name}
        options |= self.engine_options
        options['rebalancing'] = {
            'mode': mode,
            'every': 1,
            'tolerated_error': 0.1,
            'copy_rate': 0,
        }
        return Daemon('engine', self._directory / name, options)

    def _host_options(self, host: str, cpu: int) -> Options:
        options = self.options()
        del options['database'], options['openstack'], options['keystone_authtoken'], options['api']
        options['fairness'] |= {
            'interval': INTERVAL,
            'resources': 'cpu',
            'policy': 'market',
            'memory_control': 'off',
        }
        options['host'] = {'name': host, 'libvirt_uri': self.cloud.uri(host), 'cpus': cpu}
        return options


def port_of(url: str) -> int:
    return int(url.rpartition(':')[2])


def output_of(command: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    """Standard output; its standard error is in the assertion when it fails."""
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=180, env=env
    )
    assert done.returncode == 0, f'{" ".join(command)}: {done.stdout}{done.stderr[-2000:]}'
    return done.stdout


def descendants(pid: int) -> list[int]:
    """Processes that it has started, and theirs."""
    found = []
    for task in Path(f'/proc/{pid}/task').glob('*/children'):
        for child in map(int, task.read_text().split()):
            found += [child, *descendants(child)]
    return found
