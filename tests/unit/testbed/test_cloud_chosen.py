# SPDX-License-Identifier: Apache-2.0
"""tools/cloud.d/chosen.py: which server an order is for."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.clock

SCRIPT = Path(__file__).resolve().parents[3] / 'tools/cloud.d/chosen.py'
SERVERS = [
    {'ID': 'a1', 'Name': 'd1', 'Host': 'h1', 'Status': 'ACTIVE'},
    {'ID': 'b2', 'Name': 'twice', 'Host': 'h2', 'Status': 'ACTIVE'},
    {'ID': 'c3', 'Name': 'twice', 'Host': None, 'Status': 'ERROR'},
    # somebody has named a server as another's id
    {'ID': 'd4', 'Name': 'a1', 'Host': 'h2', 'Status': 'ACTIVE'},
]


def chosen(server: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, server],
        input=json.dumps(SERVERS),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize(
    ('server', 'expected'), [('d1', 'h1 a1'), ('a1', 'h1 a1'), ('b2', 'h2 b2')]
)
def test_one_server_is_meant(server: str, expected: str) -> None:
    """By its name or its id, which goes before a name."""
    done = chosen(server)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, expected.split(), '')


@pytest.mark.parametrize(
    ('server', 'expected'),
    [
        ('twice', '2 servers are named twice: b2 on h2, c3 on no host; give the id of one'),
        ('d', 'there is no server d; tools/cloud run openstack server list --all lists them'),
        ('c3', 'the server c3 is on no host; its status is ERROR'),
    ],
)
def test_an_order_without_one_server_is_refused(server: str, expected: str) -> None:
    """One line, and nothing that could be taken for a host."""
    done = chosen(server)
    assert (done.returncode, done.stdout) == (1, '')
    assert done.stderr == f'tools/cloud: order: {expected}\n'
