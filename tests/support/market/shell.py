# SPDX-License-Identifier: Apache-2.0
"""Ways into a running market service: connections of openstacksdk, and the command `openstack market`."""

import json
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import openstack
import pytest
import yaml

from nova_market.core.ledger.money import MICRO
from nova_market.sdk import market_service as market_sdk
from tests.support.market.api_server import PEOPLE, MarketService

Run = Callable[..., Any]


@pytest.fixture
def connect(market_service: MarketService) -> Iterator[Callable[[str], Any]]:
    """A connection of openstacksdk for a person."""
    opened = []

    def connection(name: str) -> Any:
        conn = openstack.connect(
            load_yaml_config=False, load_envvars=False, **market_service.cloud(name)
        )
        market_sdk.load(conn)
        opened.append(conn)
        return conn

    yield connection
    for conn in opened:
        conn.close()


@pytest.fixture
def clouds(market_service: MarketService) -> dict[str, Any]:
    """The logins of clouds.yaml."""
    return {name: market_service.cloud(name) for name in PEOPLE}


@pytest.fixture
def run(
    clouds: dict[str, Any],
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Run]:
    """Runs `openstack --os-cloud NAME market ...`; (status, what it printed, what went wrong)."""
    path = tmp_path / 'clouds.yaml'
    path.write_text(yaml.safe_dump({'clouds': clouds}))
    for name in [name for name in os.environ if name.startswith('OS_')]:
        monkeypatch.delenv(name)
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(path))
    before = logging.getLogger().handlers[:]
    shells = []

    def openstack_market(name: str, *words: str) -> tuple[int, str, str]:
        with warnings.catch_warnings():
            # openstackclient warns of itself when it is imported
            warnings.simplefilter('ignore', DeprecationWarning)
            from openstackclient.shell import OpenStackShell
            from osc_lib.clientmanager import ClientManager

            # a client lives as long as its process, which serves one command
            for cache in vars(ClientManager).values():
                if hasattr(cache, '_handle'):
                    cache._handle = None  # private: of osc_lib, which never clears it
            shell = OpenStackShell()
            shells.append(shell)
            # each shell adds handlers of its own
            logging.getLogger().handlers[:] = before
            capsys.readouterr()  # what services have logged since the command before
            try:
                status = shell.run(['--os-cloud', name, 'market', *words])
            except SystemExit as stop:
                status = int(stop.code or 0)
        out, err = capsys.readouterr()
        return status, out, err

    yield openstack_market
    for shell in shells:
        if shell.client_manager is not None:
            shell.client_manager.sdk_connection.close()
    logging.captureWarnings(False)
    logging.getLogger().handlers[:] = before


def shown(run: Run, name: str, *words: str) -> Any:
    """What a command that must work shows to a program."""
    status, out, err = run(name, *words, '-f', 'json')
    assert status == 0, err
    return json.loads(out)


def granted(market_service: MarketService, connect: Any, name: str, credits_: int) -> str:
    """The account of a person's project, with so many credits in it."""
    target = market_service.project(name)
    connect('root').market.grant(target, credits_ * MICRO)
    return target
