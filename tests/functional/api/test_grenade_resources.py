# SPDX-License-Identifier: Apache-2.0
"""What Grenade creates before an upgrade and finds after it, by real commands on the real API."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from nova_market.core.ledger.posting import account
from tests.support.devstack.upgrade import STORE
from tests.support.documentation.sessions import ROOT
from tests.support.market.api import OPERATOR
from tests.support.market.api_server import MarketService
from tests.support.market.rounds import PERIOD, add_round

pytestmark = [pytest.mark.functional, pytest.mark.clock]

FUNCTIONS = f"""
{STORE}
die() {{ echo "line $*" >&2; exit 1; }}
sleep() {{ :; }}
"""


class Grenade:
    """Calls resources.sh as Grenade does, as the administrator of a cloud."""

    def __init__(self, service: MarketService, directory: Path) -> None:
        self.service = service
        self._directory = directory
        (directory / 'grenaderc').touch()
        (directory / 'openrc').write_text('export OS_CLOUD=root\n')
        (directory / 'functions').write_text(FUNCTIONS)
        clouds = {'clouds': {'root': service.cloud('root')}}
        (directory / 'clouds.yaml').write_text(yaml.safe_dump(clouds))

    def call(self, phase: str) -> subprocess.CompletedProcess[str]:
        directory = str(self._directory)
        return subprocess.run(
            ['bash', str(ROOT / 'devstack/upgrade/resources.sh'), phase],
            env={
                'PATH': f'{Path(sys.executable).parent}:{os.environ["PATH"]}',
                'PYTHONPATH': str(ROOT),
                'HOME': directory,
                'OS_CLIENT_CONFIG_FILE': f'{directory}/clouds.yaml',
                **dict.fromkeys(('GRENADE_DIR', 'TOP_DIR', 'SAVE_DIR'), directory),
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def does(self, phase: str) -> None:
        done = self.call(phase)
        assert done.returncode == 0, done.stderr

    def rounds_go_on(self) -> None:
        """Each look at the list of rounds finds a new one."""
        periods = iter(range(PERIOD, PERIOD + 100))

        def engine(asked: str) -> None:
            if asked == 'GET /market/v1/rounds':
                add_round(self.service.market, next(periods))

        self.service.before = engine

    def balance(self) -> int:
        """Of the administrator's project."""
        own = account('project', OPERATOR)
        return self.service.market.stores.ledger.balances([own])[own]


@pytest.fixture
def grenade(market_service, tmp_path):
    return Grenade(market_service, tmp_path)


def test_credits_are_found_again_and_removed(grenade):
    """All phases in the order of Grenade; a part of the project's credits is in the budget meanwhile."""
    grenade.rounds_go_on()
    before = grenade.balance()
    for phase in ('create', 'verify', 'verify_noapi', 'verify', 'destroy'):
        grenade.does(phase)
    assert grenade.balance() == before


def test_an_engine_that_stands_still_fails(grenade):
    """With the round that was the last, and where to look."""
    add_round(grenade.service.market)
    grenade.does('create')
    failed = grenade.call('verify')
    assert failed.returncode == 1
    assert f'no round after {PERIOD}' in failed.stderr
    grenade.does('force_destroy')


def test_an_api_that_breaks_meanwhile_fails(grenade):
    """A list of rounds that is missing is no new round."""
    add_round(grenade.service.market)
    grenade.does('create')
    asked = []

    def once(request: str) -> None:
        asked.extend([request] * (request == 'GET /market/v1/rounds'))
        if len(asked) > 1:
            raise RuntimeError('the status is 500')

    grenade.service.before = once
    assert grenade.call('verify').returncode != 0
    assert len(asked) > 1


def test_credits_that_are_lost_fail(grenade):
    """With what is there, and what was there."""
    grenade.rounds_go_on()
    grenade.does('create')
    grenade.does('destroy')
    failed = grenade.call('verify')
    assert failed.returncode == 1
    assert re.search(r'the balance of budget budget:\S+ is 0, and was [1-9]', failed.stderr)
