# SPDX-License-Identifier: Apache-2.0
"""The client alone, from the wheel and PyPI in an empty environment: what it runs, loads and lacks."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.style.test_packaging import ROOT, extra_lines
from tests.support.built import metadata_of, wheel_of_this_tree
from tests.support.market.api_server import PEOPLE, MarketService
from tests.support.market.shell import granted

pytestmark = [pytest.mark.functional, pytest.mark.clock]

Command = Callable[..., subprocess.CompletedProcess[str]]

OF_SERVICES = ('flask', 'libvirt', 'msgspec', 'numpy', 'oslo_messaging', 'sqlalchemy')

EVERY_MODULE = """
import importlib, pkgutil
import nova_market.osc, nova_market.sdk
for package in (nova_market.osc, nova_market.sdk):
    for found in pkgutil.walk_packages(package.__path__, f'{package.__name__}.'):
        importlib.import_module(found.name)
"""

INSTALLED = """
import sys
from importlib.util import find_spec
print(*(name for name in sys.argv[1:] if find_spec(name)))
"""

LOADED = """
import sys
from openstackclient.shell import main
status = main(sys.argv[1:])
print(*sorted(sys.modules), file=sys.stderr)
sys.exit(status)
"""


@pytest.fixture(scope='module', name='wheel')
def path_of_the_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel_of_this_tree(tmp_path_factory.mktemp('wheel'))


@pytest.fixture(scope='module', name='client')
def environment_of_the_client(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of its programs. pip is that of the tests: the environment has nothing of its own."""
    directory = tmp_path_factory.mktemp('client')
    subprocess.run([sys.executable, '-m', 'venv', '--without-pip', directory], check=True)
    pip = [sys.executable, '-m', 'pip', '-q', '--python', directory / 'bin/python', 'install']
    options = ['--no-compile', '--disable-pip-version-check', '-c', ROOT / 'constraints.txt']
    subprocess.run([*pip, *options, 'python-openstackclient', wheel], check=True, timeout=300)
    return directory / 'bin'


@pytest.fixture(name='command')
def command_in_the_environment(
    client: Path, tmp_path: Path, market_service: MarketService
) -> Command:
    """Runs one of its programs as Alice."""
    clouds = {'clouds': {name: market_service.cloud(name) for name in PEOPLE}}
    (tmp_path / 'clouds.yaml').write_text(yaml.safe_dump(clouds))
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(('OS_', 'PYTHON'))
    }

    def run(program: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [client / program, *words],
            env=kept | {'OS_CLOUD': 'alice', 'PYTHONWARNINGS': 'ignore'},
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    return run


def test_the_wheel_has_the_extras(wheel: Path) -> None:
    """Under their names."""
    found = metadata_of(wheel).get_all('Provides-Extra')
    assert sorted(found or ()) == sorted(extra_lines())


def test_a_tenant_needs_nothing_of_the_services(
    command: Command, market_service: MarketService, connect: Any
) -> None:
    """The commands of the market are there and work, and nothing is installed that services alone need."""
    granted(market_service, connect, 'alice', 3)
    shown = command('openstack', 'market', 'account', 'show', '-f', 'value', '-c', 'balance')
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, '3\n', '')
    listed = command('openstack', 'help', 'market', 'account')
    assert 'market account transfer' in listed.stdout, listed.stderr
    assert command('python', '-c', INSTALLED, 'openstack', *OF_SERVICES).stdout == 'openstack\n'
    imported = command('python', '-c', EVERY_MODULE)
    assert (imported.returncode, imported.stderr) == (0, '')


def test_a_program_without_its_extra_names_it(command: Command) -> None:
    """One line with the module and what to do."""
    for program, module, extra in (
        ('nova-market-engine', 'oslo_service', 'controller'),
        ('nova-fairness', 'oslo_service', 'fairness'),
    ):
        done = command(program, '--help')
        wanted = (
            f'{program}: the module {module} is not installed: '
            f"pip install -c constraints.txt '.[{extra}]' in a checkout of nova-market\n"
        )
        assert (done.returncode, done.stdout, done.stderr) == (1, '', wanted)


OF_CORE = {'job', 'job.script', 'ledger', 'ledger.money', 'ledger.posting', 'text', 'timestamp'}
"""Modules of core that every run of `openstack` loads, as it loads all commands to know their names."""


def loaded(command: Command, *words: str) -> set[str]:
    """All modules at the end of a run of `openstack`."""
    done = command('python', '-c', LOADED, *words)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_commands_load_little(command: Command) -> None:
    """One of Nova loads few modules of ours, and one of the market loads beside that the SDK alone."""
    of_nova = loaded(command, 'flavor', 'list')
    core = 'nova_market.core.'
    assert {name.removeprefix(core) for name in of_nova if name.startswith(core)} == OF_CORE
    added = loaded(command, 'market', 'price', 'show') - of_nova
    assert 'nova_market.sdk.v1.price' in added
    assert {name for name in added if not name.startswith('nova_market.sdk.')} == set()
