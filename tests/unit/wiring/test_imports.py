# SPDX-License-Identifier: Apache-2.0
"""What a service loads when it starts: what only others need would cost memory and time on each machine."""

import subprocess
import sys

import pytest

from tests.style.test_packaging import ROOT, units

pytestmark = pytest.mark.clock

WEB = {'flask', 'jinja2', 'jsonschema', 'keystonemiddleware', 'webob', 'werkzeug'}
DATABASE = {'alembic', 'oslo_db', 'sqlalchemy'}
HOST = {'libvirt', 'pyroute2'}
BUS = {'oslo_messaging', 'zmq'}
NOBODY = {'matplotlib', 'pyarrow', 'scipy', 'sushy'}
"""Of the simulator, or of a plug-in that is loaded when it is chosen."""
NOT_LOADED = {
    'fairness': WEB | DATABASE | {'oslo_messaging', 'oslo_policy'},
    'engine': WEB | HOST | {'oslo_policy'},
    'controller': WEB | HOST | BUS,
    'jobs': WEB | HOST | {'zmq'},
    'leases': WEB | HOST | {'oslo_policy', 'zmq'},
    'notices': WEB | HOST | BUS,
    'api': HOST | BUS | {'tooz'},
}


def loaded(service: str) -> set[str]:
    """Names of all modules once the program of a service is imported."""
    code = f'import sys, nova_market.cmd.{service}; print(*sys.modules)'
    done = subprocess.run(
        [sys.executable, '-c', code],
        capture_output=True,
        text=True,
        check=True,
        timeout=90,
        cwd=ROOT,
    )
    return set(done.stdout.split())


def test_every_service_is_looked_at() -> None:
    """A new one needs its entry."""
    names = {unit.removeprefix('nova-').removeprefix('market-') for unit in units()}
    assert NOT_LOADED.keys() == names


@pytest.mark.parametrize('service', NOT_LOADED)
def test_a_service_loads_nothing_that_only_others_need(service: str) -> None:
    """No library of theirs, and of the API no more than its policies, by which users are judged."""
    names = loaded(service)
    assert sorted(names & (NOT_LOADED[service] | NOBODY)) == []
    of_api = {name for name in names if name.startswith('nova_market.api.')}
    others = {name for name in of_api if not name.startswith('nova_market.api.policies')}
    assert bool(others) == (service == 'api')
