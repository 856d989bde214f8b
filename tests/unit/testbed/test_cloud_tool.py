# SPDX-License-Identifier: Apache-2.0
"""tools/cloud where there is no cloud: what is refused, in one line, before anything is done."""

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.clock

ROOT = Path(__file__).resolve().parents[3]


def cloud(state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """tools/cloud with a state directory of the test's own."""
    return subprocess.run(
        [ROOT / 'tools/cloud', *arguments],
        env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'NOVA_MARKET_CLOUD': str(state)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def refusal(state: Path, *arguments: str) -> str:
    """The only line of a command that fails."""
    done = cloud(state, *arguments)
    assert (done.returncode, done.stdout) == (1, ''), done
    (line,) = done.stderr.splitlines()
    assert line.startswith('tools/cloud: ')
    return line.removeprefix('tools/cloud: ')


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        ('run', 'run: a command is missing, for example: tools/cloud run openstack '),
        ('as', 'as: a project (dora emil) and a command are missing'),
        ('as dora', 'as: a command is missing, for example: tools/cloud as dora openstack '),
        ('as fritz openstack', "as: 'fritz' is none of the projects dora emil"),
        ('on', 'on: a host (h1 h2) and a command are missing'),
        ('on h1', 'on: a command is missing, for example: tools/cloud on h1 virsh '),
        ('on h3 true', "on: 'h3' is none of the hosts h1 h2"),
        ('order', 'order: a server and a command are missing, for example: tools/cloud order d1 '),
        ('order d1', 'order: a command is missing, for example: tools/cloud order d1 '),
        ('status --all', "status: unknown option '--all'"),
    ],
)
def test_a_missing_word_is_named(tmp_path: Path, arguments: str, expected: str) -> None:
    """Also by who is not root, and where there is no cloud."""
    assert expected in refusal(tmp_path / 'cloud', *arguments.split())
    assert not (tmp_path / 'cloud').exists()


@pytest.mark.parametrize('cpus', ['9999', '0,9999', '0-9999', '1-0', 'one', '0,', ''])
def test_a_host_has_cpus_of_this_machine(tmp_path: Path, cpus: str) -> None:
    """Refused before packages are installed, which takes minutes."""
    line = refusal(tmp_path / 'cloud', 'up', '--h2', cpus)
    online = Path('/sys/devices/system/cpu/online').read_text().strip()
    assert line.startswith(f'up: --h2 must be CPUs of this machine, of which {online} are online')
    assert line.endswith(f"not '{cpus}'")
    assert not (tmp_path / 'cloud').exists()


@pytest.mark.parametrize('cpus', ['0', '0,0', '0-0', '000'])
def test_cpus_that_are_online_are_no_mistake(tmp_path: Path, cpus: str) -> None:
    """Then the next mistake is named: the name of the directory, or that this is not root."""
    line = refusal(tmp_path / ('a' * 60), 'up', '--h1', cpus)
    assert 'CPUs of this machine' not in line
