# SPDX-License-Identifier: Apache-2.0
"""The OpenStack in a box for tests: brought up for the modules that ask, and down at the end.

NOVA_MARKET_CLOUD names its state directory, as for tools/cloud itself. A cloud that ran before the tests is
left running, without what the tests made in it. Of a run that was killed nothing stays: its processes are
ended first (tools/test.d/sweep.py), then what it made is removed (leftovers), and a cloud that it has started
is down when this run ends.
"""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import openstack
import pytest

from tests.integration.cloud.leftovers import CloudCleaner
from tests.integration.cloud.service_logs import ServiceLogs
from tests.integration.cloud.waiting import PATIENCE, printers, say_now, until

ROOT = Path(__file__).resolve().parents[3]
STATE = Path(os.environ.get('NOVA_MARKET_CLOUD', '/var/lib/nova-market-cloud'))
HOSTS = ('h1', 'h2')
OF_TESTS = STATE / 'run' / 'of-tests'
"""Is there as long as a cloud runs that tests have started."""

UP_TIMEOUT = 1200.0
"""Seconds; the first `up` installs OpenStack."""

FEW = 20
"""Lines of a failure that are said at once."""

Json = dict[str, Any]

service_logs: list[ServiceLogs] = []
"""Those of the session, until a test has failed."""


class Cloud:
    """tools/cloud, from Python."""

    def tool(self, *arguments: str, timeout: float = PATIENCE) -> str:
        """Standard output of tools/cloud; its standard error is in the assertion when it fails."""
        done = self.attempt(*arguments, timeout=timeout)
        assert done.returncode == 0, f'tools/cloud {" ".join(arguments)}: {done.stderr[-2000:]}'
        return done.stdout

    def attempt(
        self, *arguments: str, timeout: float = PATIENCE
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(ROOT / 'tools' / 'cloud'), *arguments],
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout,
        )

    def up(self) -> None:
        self.tool('up', timeout=UP_TIMEOUT)

    def is_up(self) -> bool:
        return self.attempt('status').returncode == 0

    def has_market(self) -> bool:
        """One that `up --market` has started."""
        return 'market-api ' in self.attempt('status').stdout

    def is_free(self) -> bool:
        """No `up` or `down` is at work, nor a command that one has started before it was killed."""
        lock = STATE / 'run' / 'lock'
        return not lock.exists() or not subprocess.run(['flock', '-n', lock, 'true']).returncode

    def clean(self) -> None:
        """Without what tests have made."""
        CloudCleaner(self.admin(), HOSTS, self.virsh).clean()

    def environment(self) -> dict[str, str]:
        """OS_* of the administrator, and what services of the market are configured with."""
        lines = self.tool('run', 'env').splitlines()
        return dict(
            line.split('=', 1) for line in lines if line.startswith(('OS_', 'NOVA_MARKET_'))
        )

    def admin(self) -> openstack.connection.Connection:
        environment = self.environment()
        return openstack.connect(
            auth_url=environment['OS_AUTH_URL'],
            username=environment['OS_USERNAME'],
            password=environment['OS_PASSWORD'],
            project_name=environment['OS_PROJECT_NAME'],
            user_domain_name='Default',
            project_domain_name='Default',
            region_name=environment['OS_REGION_NAME'],
            compute_api_version='2.90',
        )

    def openstack(self, project: str, *arguments: str) -> str:
        """A client's command, as the project's user or as admin."""
        who = ['run'] if project == 'admin' else ['as', project]
        return self.tool(*who, 'openstack', *arguments)

    def boot(self, project: str, name: str, host: str, flavor: str = 'tiny') -> str:
        """The id of a new server that is ACTIVE on that host and whose guest obeys."""
        made = self.create(project, name, host, flavor)
        self.wait_until_obeying(name)
        return made

    def create(self, project: str, name: str, host: str, flavor: str = 'tiny') -> str:
        """The id of a new server that is ACTIVE on that host; its guest may still boot."""
        made = self.openstack(
            project,
            *('server', 'create', '--image', 'guest', '--flavor', flavor, '--network', 'guests'),
            *('--host', host, '--wait', '-f', 'json', name),
        )
        return str(json.loads(made)['id'])

    def wait_until_obeying(self, name: str) -> None:
        until(lambda: self.attempt('order', name, 'load').returncode == 0)

    def servers(self) -> dict[str, Json]:
        """Every server of every project, by name: Status, Host, ID and more."""
        listed = self.openstack('admin', 'server', 'list', '--all-projects', '--long', '-f', 'json')
        return {server['Name']: server for server in json.loads(listed)}

    def project_id(self, name: str) -> str:
        return self.openstack('admin', 'project', 'show', name, '-f', 'value', '-c', 'id').strip()

    def order(self, server: str, command: str) -> str:
        return self.tool('order', server, *command.split()).strip()

    def uri(self, host: str) -> str:
        """libvirt's, for connections from outside the host's namespaces."""
        lines = self.attempt('status').stdout.splitlines()
        return next(line.split()[1] for line in lines if line.startswith(f'{host} '))

    def virsh(self, host: str, *arguments: str) -> str:
        return self.tool('on', host, 'virsh', '-q', *arguments)


def say(text: str) -> None:
    """A figure for whoever reads the output."""
    sys.stderr.write(f'{text}\n')


def at(text: str) -> float:
    """Seconds since the epoch of a time as the API shows it."""
    return datetime.fromisoformat(text).timestamp()


def pytest_configure(config: pytest.Config) -> None:
    """pytest captures what tests print; a line of progress is for whoever waits."""

    def print_now(text: str) -> None:
        reporter = config.pluginmanager.getplugin('terminalreporter')
        capture = config.pluginmanager.getplugin('capturemanager')
        with capture.global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(text)

    printers.append(print_now)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    for logs in service_logs:
        logs.begin()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The first failure comes with what services have logged; those after it mostly come from it.

    Each is also said at once, as the run goes on for an hour.
    """
    report = yield
    if report.failed:
        last = [*report.capstderr.splitlines()[-FEW:], *report.longreprtext.splitlines()[-FEW:]]
        say_now('\n'.join([f'{report.nodeid} has failed:', *last]))
    if report.failed and service_logs:
        logged = service_logs.pop().tails()
        report.sections.append(('What services have logged since this test began', logged))
    return report


@pytest.fixture(scope='session')
def whole_cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    subprocess.run([sys.executable, str(ROOT / 'tools/test.d/sweep.py')], check=False)
    cloud = Cloud()
    until(cloud.is_free)
    keep = cloud.is_up() and not OF_TESTS.exists()
    if keep and cloud.has_market():
        pytest.exit(
            'the cloud has a market, and the tests run one of their own: run tools/cloud down', 1
        )
    if not keep:
        OF_TESTS.parent.mkdir(parents=True, exist_ok=True)
        OF_TESTS.touch()
    of_hosts = (STATE / 'hosts' / host / 'log' for host in HOSTS)
    service_logs.append(ServiceLogs([STATE / 'log', *of_hosts, tmp_path_factory.getbasetemp()]))
    service_logs[0].begin()
    yield cloud
    if not keep:
        cloud.tool('down')
        OF_TESTS.unlink(missing_ok=True)


@pytest.fixture(scope='module')
def cloud(whole_cloud: Cloud) -> Iterator[Cloud]:
    """Up and clean; a module may stop it, the next one brings it up again."""
    whole_cloud.up()
    whole_cloud.clean()
    yield whole_cloud
    if whole_cloud.is_up():
        whole_cloud.clean()


@pytest.fixture(scope='module')
def environment(cloud: Cloud) -> dict[str, str]:
    return cloud.environment()


@pytest.fixture(scope='module')
def admin(cloud: Cloud) -> openstack.connection.Connection:
    return cloud.admin()
