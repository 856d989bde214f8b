# SPDX-License-Identifier: Apache-2.0
"""The OpenStack in a box for tests: brought up for the modules that ask, and down at the end.

NOVA_MARKET_CLOUD names its state directory, as for tools/cloud itself. A cloud that ran before the tests is
left running, without the servers that the tests made.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import openstack
import pytest

ROOT = Path(__file__).resolve().parents[3]
UP_TIMEOUT = 1200.0
"""Seconds; the first `up` installs OpenStack."""

Json = dict[str, Any]


class Cloud:
    """tools/cloud, from Python."""

    def tool(self, *arguments: str, timeout: float = 180.0) -> str:
        """Standard output of tools/cloud; its standard error is in the assertion when it fails."""
        done = self.attempt(*arguments, timeout=timeout)
        assert done.returncode == 0, f'tools/cloud {" ".join(arguments)}: {done.stderr[-2000:]}'
        return done.stdout

    def attempt(self, *arguments: str, timeout: float = 180.0) -> subprocess.CompletedProcess[str]:
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

    def openstack(self, project: str, *arguments: str, timeout: float = 180.0) -> str:
        """A client's command, as the project's user or as admin."""
        who = ['run'] if project == 'admin' else ['as', project]
        return self.tool(*who, 'openstack', *arguments, timeout=timeout)

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

    def wait_until_obeying(self, name: str, timeout: float = 120.0) -> None:
        deadline = time.monotonic() + timeout
        while self.attempt('order', name, 'load').returncode:
            assert time.monotonic() < deadline, f'the guest of {name} does not obey'

    def servers(self) -> dict[str, Json]:
        """Every server of every project, by name: Status, Host, ID and more."""
        listed = self.openstack('admin', 'server', 'list', '--all-projects', '--long', '-f', 'json')
        return {server['Name']: server for server in json.loads(listed)}

    def project_id(self, name: str) -> str:
        return self.openstack('admin', 'project', 'show', name, '-f', 'value', '-c', 'id').strip()

    def delete_servers(self) -> None:
        ids = [server['ID'] for server in self.servers().values()]
        if ids:
            self.openstack('admin', 'server', 'delete', '--wait', *ids)

    def order(self, server: str, command: str) -> str:
        return self.tool('order', server, *command.split()).strip()

    def uri(self, host: str) -> str:
        """libvirt's, for connections from outside the host's namespaces."""
        lines = self.attempt('status').stdout.splitlines()
        return next(line.split()[1] for line in lines if line.startswith(f'{host} '))

    def virsh(self, host: str, *arguments: str) -> str:
        return self.tool('on', host, 'virsh', '-q', *arguments)


def within(seconds: float, ask: Callable[[], object]) -> float:
    """Seconds until ask() is true; fails when it does not become so."""
    began = time.monotonic()
    while not ask():
        assert time.monotonic() - began < seconds, f'not within {seconds:.0f} s'
        time.sleep(0.2)
    return time.monotonic() - began


def say(text: str) -> None:
    """A figure for whoever reads the output."""
    sys.stderr.write(f'{text}\n')


def at(text: str) -> float:
    """Seconds since the epoch of a time as the API shows it."""
    return datetime.fromisoformat(text).timestamp()


@pytest.fixture(scope='session')
def whole_cloud() -> Iterator[Cloud]:
    cloud = Cloud()
    was_up = cloud.is_up()
    yield cloud
    if not was_up:
        cloud.tool('down', timeout=300)


@pytest.fixture(scope='module')
def cloud(whole_cloud: Cloud) -> Iterator[Cloud]:
    """Up and without servers; a module may stop it, the next one brings it up again."""
    whole_cloud.up()
    whole_cloud.delete_servers()
    yield whole_cloud
    if whole_cloud.is_up():
        whole_cloud.delete_servers()


@pytest.fixture(scope='module')
def environment(cloud: Cloud) -> dict[str, str]:
    """OS_* of the administrator, and the URL of the broker."""
    lines = cloud.tool('run', 'env').splitlines()
    return dict(line.split('=', 1) for line in lines if line.startswith(('OS_', 'NOVA_MARKET_')))


@pytest.fixture(scope='module')
def admin(environment: dict[str, str]) -> openstack.connection.Connection:
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
