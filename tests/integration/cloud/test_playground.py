# SPDX-License-Identifier: Apache-2.0
"""`tools/cloud up --market`: a newcomer types what contributor/cloud.rst prints, and has a market."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cloud.conftest import ROOT, STATE, UP_TIMEOUT, Cloud
from tests.integration.cloud.left_behind import left_behind
from tests.integration.cloud.waiting import until

pytestmark = [pytest.mark.cloud, pytest.mark.timeout(1500)]

LABELS = {
    *(
        'market-api',
        'market-engine',
        'market-controller',
        'market-jobs',
        'market-leases',
        'market-notices',
    ),
    *('market-h1', 'market-h2'),
}


@pytest.fixture(scope='module')
def market(cloud: Cloud) -> Iterator[Cloud]:
    """With its market, which is gone afterwards: the other modules run one of their own."""
    cloud.tool('up', '--market', timeout=UP_TIMEOUT)
    yield cloud
    cloud.clean()
    cloud.tool('down')


def of_project(cloud: Cloud, project: str, *words: str) -> object:
    return json.loads(cloud.openstack(project, 'market', *words, '-f', 'json'))


def members() -> set[int]:
    """Processes of the cloud and of its hosts, by the names of their control groups."""
    found = set()
    for process in Path('/proc').iterdir():
        try:
            groups = (process / 'cgroup').read_text() if process.name.isdigit() else ''
        except OSError:
            continue
        if re.search(r'/nova-market-(cloud|h[12])-', groups):
            found.add(int(process.name))
    return found


def targets(pid: int) -> set[str]:
    """What the descriptors of a process are."""
    found = set()
    try:
        for one in Path(f'/proc/{pid}/fd').iterdir():
            found.add(os.readlink(one))
    except OSError:
        pass
    return found


def test_all_services_run(market: Cloud) -> None:
    """`status` lists each, and the check of an upgrade finds no mistake."""
    up = {line.split()[0] for line in market.tool('status').splitlines() if ' up ' in line}
    assert up >= LABELS
    found = market.tool('run', 'nova-market-status', 'upgrade', 'check')
    assert found.count('Result: Success') == found.count('Check: ') == 5, found
    for name in ('controller', 'jobs', 'leases', 'notices'):
        until(
            lambda name=name: not market.attempt('run', f'nova-market-{name}', 'status').returncode
        )


def test_a_tenant_s_bid_is_in_force(market: Cloud) -> None:
    """He finds the API by the catalog, and a host confirms what the engine has allocated."""
    assert of_project(market, 'dora', 'price', 'show')
    market.boot('dora', 'd1', 'h1')
    market.openstack('dora', 'market', 'bid', 'set', 'd1', '--cpu', '300', '--memory', '1')

    def confirmed() -> bool:
        listed = of_project(market, 'dora', 'allocation', 'list', '--server', 'd1')
        assert isinstance(listed, list)
        return any(one['Confirmed'] and one['CPU'] for one in listed)

    until(confirmed)
    assert '| allocated ' in market.attempt('run', 'nova-fairness-h1', 'status').stdout


def test_flavors_have_several_sizes(market: Cloud) -> None:
    """One CPU each, as the hosts have, and one with two, for hosts that are given two."""
    listed = json.loads(market.openstack('dora', 'flavor', 'list', '-f', 'json'))
    sizes = {one['Name']: (one['VCPUs'], one['RAM']) for one in listed}
    assert len(set(sizes.values())) >= 5
    assert {vcpus for vcpus, _ in sizes.values()} == {1, 2}


def test_what_runs_has_no_descriptor_of_who_started_it(market: Cloud) -> None:
    """`tools/cloud up | cat` ends when `up` does, and no lock of the script is held after it.

    Before it, `down` has left nothing of the market either.
    """
    market.tool('down')
    assert left_behind(str(STATE)) == left_behind('nova-market-cloud') == []
    reader, writer = os.pipe()
    with subprocess.Popen(
        [ROOT / 'tools' / 'cloud', 'up', '--market'],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[writer],
        text=True,
    ) as up:
        os.close(writer)
        assert up.stdout is not None
        printed, _ = up.communicate(timeout=UP_TIMEOUT)
    assert up.returncode == 0, printed
    pipe = f'pipe:[{os.fstat(reader).st_ino}]'
    ours = members()
    assert len(ours) >= 30
    held = {pid: targets(pid) for pid in ours}
    assert {pid for pid, found in held.items() if pipe in found} == set()
    assert os.read(reader, 1) == b''
    os.close(reader)
    locks = {
        str(STATE / 'run' / 'lock'),
        *(str(STATE / 'hosts' / one / 'lock') for one in ('h1', 'h2')),
    }
    assert {pid: found & locks for pid, found in held.items() if found & locks} == {}
