# SPDX-License-Identifier: Apache-2.0
"""tools/bootstrap.sh: which packages it takes from bindep.txt, and what it does to a machine's policy."""

import subprocess
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.clock

ROOT = Path(__file__).resolve().parents[2]

# apt-get of the test: says whether daemons may start while it installs.
APT_GET = """#!/bin/sh
case " $* " in *" install "*) ;; *) exit 0 ;; esac
if [ -x "$POLICY_RC_D" ] && ! "$POLICY_RC_D"; then echo daemons forbidden; else echo daemons allowed; fi
exit "${APT_STATUS:-0}"
"""

DPKG = """#!/bin/sh
echo "dpkg $*"
exit "${DPKG_STATUS:-0}"
"""


def bash(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ['bash', '-c', f'set -euo pipefail; source tools/bootstrap.sh; {script}'],
        cwd=ROOT,
        env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', **environment},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def packages(*profiles: str) -> set[str]:
    return set(bash(f'packages {" ".join(profiles)}').stdout.split())


def test_without_a_profile_only_what_building_needs() -> None:
    """tools/test --fast installs no daemon."""
    assert {'gcc', 'libvirt-dev', 'python3-venv'} <= packages()
    assert not {'libvirt-daemon-system', 'rabbitmq-server', 'mariadb-server'} & packages()


def test_a_profile_adds_to_it() -> None:
    """Each profile has what it names and what all need."""
    assert packages() < packages('demo') < packages('test') | packages('cloud')
    assert 'rabbitmq-server' in packages('test')
    assert 'openvswitch-switch' in packages('cloud') - packages('test')


@pytest.mark.parametrize('status', ['0', '100'])
def test_no_daemon_starts_without_an_init_system(tmp_path: Path, status: str) -> None:
    """A policy forbids it for the time of the installation, also of one that fails, and is gone then."""
    done = install(tmp_path, APT_STATUS=status)
    assert done.returncode == int(status)
    assert 'daemons forbidden' in done.stderr
    assert not (tmp_path / 'policy-rc.d').exists()


def test_a_policy_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """Somebody else's policy is neither replaced nor removed."""
    policy = tmp_path / 'policy-rc.d'
    policy.write_text('#!/bin/sh\nexit 0\n')
    policy.chmod(0o755)
    assert 'daemons allowed' in install(tmp_path).stderr
    assert policy.read_text() == '#!/bin/sh\nexit 0\n'


def test_with_systemd_packages_do_as_they_do(tmp_path: Path) -> None:
    """Where systemd runs, nothing is forbidden."""
    (tmp_path / 'systemd').mkdir()
    assert 'daemons allowed' in install(tmp_path).stderr


def test_an_installation_that_was_killed_is_ended_first(tmp_path: Path) -> None:
    """dpkg refuses everything else until then; where it can't be ended, nothing more is tried."""
    assert 'dpkg --configure -a' in install(tmp_path).stderr
    broken = install(tmp_path, DPKG_STATUS='1')
    assert broken.returncode == 1
    assert 'daemons forbidden' not in broken.stderr


def install(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs apt_install with the programs above and a policy file and systemd directory of the test."""
    programs = tmp_path / 'bin'
    programs.mkdir(exist_ok=True)
    for name, script in (('apt-get', APT_GET), ('dpkg', DPKG)):
        (programs / name).write_text(script)
        (programs / name).chmod(0o755)
    return bash(
        f'export PATH={programs}:$PATH; apt_install something',
        POLICY_RC_D=str(tmp_path / 'policy-rc.d'),
        SYSTEMD_RUNS=str(tmp_path / 'systemd'),
        **environment,
    )


def test_a_directory_that_is_no_environment_is_not_cleared(tmp_path: Path) -> None:
    """NOVA_MARKET_VENV on a directory with something in it: refused, and the something is kept."""
    venv = tmp_path / 'precious'
    venv.mkdir()
    (venv / 'letter').write_text('dear')
    done = bash('make_venv', NOVA_MARKET_VENV=str(venv))
    assert done.returncode == 1
    assert 'left alone' in done.stderr
    assert (venv / 'letter').read_text() == 'dear'


@pytest.mark.parametrize('status', [0, 3])
def test_what_a_step_prints_is_in_its_log(tmp_path: Path, status: int) -> None:
    """Warnings of pip and apt do not hide the progress; the end of the log is shown when the step fails."""
    warning = 'WARNING: Location is ignored'
    done = bash(
        f"open_logs demo; logged packages bash -c 'echo {warning}; echo done >&2; exit {status}'",
        NOVA_MARKET_VENV=str(tmp_path / 'venv'),
    )
    log = tmp_path / 'venv-logs/demo/packages.log'
    assert done.returncode == status
    assert log.read_text() == f'{warning}\ndone\n'
    assert str(log.parent) in done.stderr
    assert (warning in done.stderr, str(log) in done.stderr) == (status > 0, status > 0)


def test_what_takes_long_shows_that_it_works(tmp_path: Path) -> None:
    """Now and then a line names the log and has the last line of it; none comes after the end."""
    done = bash(
        'EVERY=1; open_logs demo; '
        "logged pip bash -c 'echo Collecting nova; sleep 2.5'; sleep 1.5; echo over >&2",
        NOVA_MARKET_VENV=str(tmp_path / 'venv'),
    )
    log = tmp_path / 'venv-logs/demo/pip.log'
    lines = [line.partition('] ')[2] or line for line in done.stderr.splitlines()]
    assert lines[1:] == [
        f'pip: for 1 s now; {log}: Collecting nova',
        f'pip: for 2 s now; {log}: Collecting nova',
        'over',
    ]
    assert log.read_text() == 'Collecting nova\n'


def test_of_a_log_the_words_are_shown(tmp_path: Path) -> None:
    """No time, no more than fits into a line, and nothing that a terminal would obey."""
    log = tmp_path / 'log'
    log.write_text('first\n2026-11-29 05:47:47.299 3111 INFO alembic \x1b[1m' + 60 * 'x')
    shown = bash(f'last_line {log}').stdout
    assert shown == ('INFO alembic [1m' + 60 * 'x')[:60] + '\n'


def test_progress_ends_with_the_command_that_gives_up(tmp_path: Path) -> None:
    """Who reads the output, as in `tools/cloud up | tee LOG`, gets the end of it at once."""
    began = time.monotonic()
    done = bash(f"give_up() {{ die 'no more'; }}; with_progress pip {tmp_path}/pip.log give_up")
    assert time.monotonic() - began < 10.0
    assert done.returncode == 1
    assert (tmp_path / 'pip.log').read_text().endswith(': no more\n')


def test_a_loop_that_waits_speaks_now_and_then() -> None:
    """Not when something else was said just before."""
    done = bash('EVERY=1; still early; sleep 1.2; still late; still again; say last')
    assert [line.partition('] ')[2] for line in done.stderr.splitlines()] == ['late', 'last']


def test_packages_are_counted_and_not_listed(tmp_path: Path) -> None:
    """A line of their names would be 240 columns wide."""
    done = bash(
        'missing_packages() { echo one; echo two; }; apt_install() { echo "$@"; }; '
        'open_logs demo; install_packages',
        NOVA_MARKET_VENV=str(tmp_path / 'venv'),
    )
    log = tmp_path / 'venv-logs/demo/packages.log'
    assert log.read_text() == 'one two\n'
    assert f"packages: installing 2 of Debian's; see {log}" in done.stderr


@pytest.mark.parametrize('tool', ['test', 'demo'])
def test_help_needs_nothing(tool: str) -> None:
    """--help answers before anything is installed."""
    done = subprocess.run(
        [f'{ROOT}/tools/{tool}', '--help'],
        env={'PATH': '/usr/bin:/bin', 'NOVA_MARKET_VENV': '/nonexistent'},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.startswith('Usage: tools/')


def test_an_unknown_option_is_one_clear_line() -> None:
    """A typing error names the option and where help is."""
    done = subprocess.run(
        [f'{ROOT}/tools/test', '--quick'], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 1
    assert "'--quick'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
