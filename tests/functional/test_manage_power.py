# SPDX-License-Identifier: Apache-2.0
"""nova-market-manage power: what an operator tries an actuator with."""

import pytest

from nova_market.cmd import manage

pytestmark = [pytest.mark.functional, pytest.mark.clock]


@pytest.fixture
def power(tmp_path, capsys):
    """power(arguments): (exit status, standard output, standard error), with a program as the actuator."""
    program = tmp_path / 'program'
    program.write_text(
        '#!/bin/sh\ncase $2 in lost) echo "no such host" >&2; exit 1;; esac\n'
        f'echo "$@" >> {tmp_path}/calls; echo off\n'
    )
    program.chmod(0o755)
    config = tmp_path / 'nova_market.conf'
    config.write_text(f'[power]\nactuator = script\nscript = {program}\n')

    def run(*arguments):
        status = manage.main(['--config-file', str(config), 'power', *arguments])
        out, error = capsys.readouterr()
        return status, out, error

    run.calls = tmp_path / 'calls'
    return run


def test_states_are_shown(power):
    """One line for each host."""
    assert power('show', 'compute-1', 'compute-2') == (0, 'compute-1 off\ncompute-2 off\n', '')


def test_a_host_that_fails_does_not_hide_the_others(power):
    """Its reason is on standard error, the status is 1."""
    status, out, error = power('on', 'lost', 'compute-2')
    assert (status, out) == (1, '')
    assert error.startswith('nova-market-manage: lost: ') and 'no such host' in error
    assert power.calls.read_text() == 'on compute-2\n'


def test_no_command_switches_a_host_off(power):
    """The steps of W3 do, which look whether it is empty."""
    with pytest.raises(SystemExit):
        power('off', 'compute-1')
    assert not power.calls.exists()


def test_what_switches_nothing_says_so(tmp_path, capsys):
    """The operator would wait for a host that nobody has switched on."""
    config = tmp_path / 'nova_market.conf'
    config.write_text('[power]\nactuator = none\n')
    assert manage.main(['--config-file', str(config), 'power', 'on', 'compute-1']) != 0
    assert 'switches nothing' in capsys.readouterr().err


def test_states_that_nothing_can_see_name_the_option(tmp_path, capsys):
    """Without an actuator every host is unknown, also one that does not exist."""
    path = tmp_path / 'nova_market.conf'
    path.write_text('')
    assert manage.main(['--config-file', str(path), 'power', 'show', 'h1']) == 0
    out, error = capsys.readouterr()
    assert out == 'h1 unknown\n' and '[power]actuator = none cannot see' in error
