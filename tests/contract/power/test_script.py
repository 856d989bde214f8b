# SPDX-License-Identifier: Apache-2.0
"""The actuator `script`: how the operator's program is called, and what becomes of one that misbehaves."""

import os
import time
from pathlib import Path

import pytest

from nova_market.adapters.power.script import MAX_OUTPUT, ScriptPower
from nova_market.core.power.host_step import PowerState
from nova_market.errors import ConfigurationError, PowerRefused, PowerUnavailable
from nova_market.wiring.power import power_actuator

pytestmark = [pytest.mark.functional, pytest.mark.clock]

EXAMPLE = Path(__file__).resolve().parents[3] / 'etc/nova_market/power-ipmitool'


@pytest.fixture
def made(tmp_path):
    """made(text): the actuator with a program of this text."""

    def make(text, timeout=20.0):
        path = tmp_path / 'program'
        path.write_text(f'#!/bin/sh\n{text}\n')
        path.chmod(0o700)
        return ScriptPower(str(path), timeout)

    return make


def test_it_is_called_with_action_and_host_and_nothing_else(made, tmp_path, monkeypatch):
    """No shell looks at the name, and no password of the service is in its environment."""
    monkeypatch.setenv('OS_PASSWORD', 'secret')
    actuator = made(f'echo "$#" "$@" >> {tmp_path}/calls; env > {tmp_path}/env; echo on')
    assert actuator.state('compute-1') is PowerState.ON
    actuator.power_on('compute-1')
    actuator.power_off('compute-1')
    actuator.power_off('c.example.org', force=True)
    assert (tmp_path / 'calls').read_text().splitlines() == [
        '2 state compute-1', '2 on compute-1', '2 off compute-1', '2 force-off c.example.org',
    ]  # fmt: skip
    environment = (tmp_path / 'env').read_text()
    assert 'secret' not in environment and 'PATH=' in environment


@pytest.mark.parametrize('name', ['-rf', 'a b', 'a;b', '../a', '', 'a\nb', 'x' * 300])
def test_a_name_that_is_none_is_not_given_to_it(made, tmp_path, name):
    """It would be an option, or something else than a host."""
    actuator = made(f'touch {tmp_path}/called; echo on')
    with pytest.raises(PowerRefused, match='not a name'):
        actuator.state(name)
    assert not (tmp_path / 'called').exists()


def test_the_state_in_capitals_and_one_that_is_none(made):
    """The message has what was written, as one line."""
    assert made('echo OFF').state('h') is PowerState.OFF
    assert made('echo unknown').state('h') is PowerState.UNKNOWN
    with pytest.raises(
        PowerRefused, match=r'h: .*program state wrote "chassis power is on"; it must'
    ):
        made('printf "Chassis\\nPower \\033is on"').state('h')


@pytest.mark.parametrize(('status', 'kind'), [(1, PowerRefused), (75, PowerUnavailable)])
def test_an_exit_status_is_an_error_with_its_reason(made, status, kind):
    """75 is "not now"; the message names host, program, action, status, and what it wrote."""
    with pytest.raises(kind, match=rf'h: .*program on ended with {status}: no route to bmc$'):
        made(f'echo "no route\nto bmc" >&2; exit {status}').power_on('h')


def test_one_that_hangs_is_killed_with_its_children(made, tmp_path):
    """In the time that was set, though a child holds its output."""
    actuator = made(f'sleep 600 & echo $! > {tmp_path}/child; wait', timeout=1.0)
    before = time.monotonic()
    with pytest.raises(PowerUnavailable, match='did not end within 1 s and was killed'):
        actuator.power_on('h')
    assert time.monotonic() - before < 10
    child = int((tmp_path / 'child').read_text())
    for _ in range(100):
        try:
            status = Path(f'/proc/{child}/stat').read_text().rpartition(')')[2].split()[0]
        except FileNotFoundError:
            break
        if status == 'Z':
            break
        time.sleep(0.05)
    else:
        pytest.fail('its child still runs')


def test_one_that_leaves_a_child_does_not_hold_us_up(made, tmp_path):
    """What it started may go on, as with a program that orders and does not wait."""
    actuator = made(f'sleep 30 & echo $! > {tmp_path}/child; echo on')
    before = time.monotonic()
    assert actuator.state('h') is PowerState.ON
    assert time.monotonic() - before < 10
    os.kill(int((tmp_path / 'child').read_text()), 15)


def test_its_output_is_bounded(made):
    """More than is kept is read and thrown away, so that it can end."""
    with pytest.raises(PowerRefused) as caught:
        made(f'head -c {20 * MAX_OUTPUT} /dev/zero | tr "\\0" x; exit 0').state('h')
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ('path', 'why'),
    [('', 'absolute path'), ('power.sh', 'absolute path'), ('/nonexistent/power', 'No such file')],
)
def test_a_program_that_is_not_there(configured, path, why):
    """Refused at start; the option is named."""
    with pytest.raises(ConfigurationError, match=rf'\[power\]script = {path}: .*{why}'):
        power_actuator(configured(actuator='script', script=path))


@pytest.mark.parametrize(
    ('mode', 'why'), [(0o644, 'chmod 755'), (0o775, 'chmod go-w')], ids=['0644', '0775']
)
def test_a_program_with_a_wrong_mode(configured, program, mode, why):
    """It says what to do."""
    program.chmod(mode)
    with pytest.raises(ConfigurationError, match=why):
        power_actuator(configured(actuator='script', script=str(program)))


IPMITOOL = """#!/bin/sh
echo "$@" >> {directory}/calls
case "$*" in *"power status") echo "Chassis Power is off" ;; esac
"""


def test_the_example_speaks_to_ipmitool(tmp_path):
    """etc/nova_market/power-ipmitool, with an ipmitool that writes down its calls."""
    directory = tmp_path / 'bin'
    directory.mkdir()
    (directory / 'ipmitool').write_text(IPMITOOL.format(directory=tmp_path))
    (directory / 'ipmitool').chmod(0o755)
    (tmp_path / 'compute-1').write_text('ADDRESS=10.0.0.1\nUSERNAME=market\n')
    (tmp_path / 'compute-1.password').write_text('sesame')
    text = EXAMPLE.read_text().replace('/etc/nova_market/bmc', str(tmp_path))
    program = tmp_path / 'power'
    program.write_text(text.replace('#!/bin/sh\n', f'#!/bin/sh\nPATH={directory}:$PATH\n', 1))
    program.chmod(0o755)
    actuator = ScriptPower(str(program), 20.0)
    assert actuator.state('compute-1') is PowerState.OFF
    actuator.power_on('compute-1')
    actuator.power_off('compute-1')
    actuator.power_off('compute-1', force=True)
    calls = (tmp_path / 'calls').read_text().splitlines()
    assert [one.rpartition('chassis ')[2] for one in calls] == [
        'power status', 'power on', 'power soft', 'power off',
    ]  # fmt: skip
    assert all('sesame' not in one and '-H 10.0.0.1 -U market' in one for one in calls)
    with pytest.raises(PowerRefused, match=r'compute-2: .*no file'):
        actuator.power_on('compute-2')
