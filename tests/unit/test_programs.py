# SPDX-License-Identifier: Apache-2.0
"""What all programs of the package have in common on their command lines."""

import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import oslo_config
import pytest
from oslo_config import cfg

from nova_market.cmd import command_line
from tests.style.test_packaging import ROOT, declared_entry_points

PROGRAMS = {
    name: target.partition(':')[0]
    for group, name, target in declared_entry_points()
    if group == 'console_scripts'
}
AGENTS = sorted((ROOT / 'nova_market/guest_agent').glob('[!_]*.py'))


def printed(*words: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, check=True, capture_output=True, text=True, timeout=90
    )
    return done.stdout


@pytest.mark.clock
@pytest.mark.parametrize('module', PROGRAMS.values(), ids=PROGRAMS.keys())
def test_every_program_has_the_version_of_the_package(module: str) -> None:
    """Without a configuration, a database or root, and with the same words everywhere."""
    assert printed('-m', module, '--version') == f'nova-market {metadata.version("nova-market")}\n'


@pytest.mark.clock
@pytest.mark.parametrize('agent', AGENTS, ids=lambda path: path.stem)
def test_a_copy_in_a_guest_does_not_guess(agent: Path, tmp_path: Path) -> None:
    """An agent that was copied into a guest may be older than a package that is installed there."""
    for path in AGENTS:
        shutil.copy(path, tmp_path)
    shown = printed(tmp_path / agent.name, '--version')
    assert shown == 'nova-market version unknown: a copy outside of its package\n'


def test_files_that_are_not_installed_have_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is no reason for a program not to start."""
    monkeypatch.setattr(command_line, 'PACKAGE', 'nova-market-of-nobody')
    assert 'version unknown' in command_line.version()


def test_completion_that_does_not_work_is_not_offered(capsys: pytest.CaptureFixture[str]) -> None:
    """oslo.config has the option; it fails, as the wheel lacks the templates of the scripts."""
    for words in (['--help'], ['--shell_completion', 'bash']):
        with pytest.raises(SystemExit):
            command_line.parse(cfg.ConfigOpts(), words, 'nova-some', 'Does something.')
    shown = capsys.readouterr()
    assert '--version' in shown.out
    assert '--shell_completion' not in shown.out
    assert 'unrecognized arguments: --shell_completion' in shown.err


def test_completion_is_offered_again_when_it_works() -> None:
    """This fails when oslo.config has the templates: then the option need not be taken away."""
    assert not (Path(oslo_config.__file__).parent / 'templates').exists()


@pytest.fixture(name='completion', scope='module')
def completion_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `openstack complete` writes, and the one function that it needs of the package bash-completion."""
    path = tmp_path_factory.mktemp('completion') / 'openstack'
    stub = (
        """_get_comp_words_by_ref() { cur=${typed[-1]} prev=${typed[-2]} words=("${typed[@]}"); }"""
    )
    written = printed('-m', 'openstackclient.shell', 'complete', '--name', 'openstack')
    path.write_text(f'{written}\n{stub}\n')
    return path


@pytest.mark.clock
@pytest.mark.parametrize(
    ('typed', 'offered'),
    [
        ('market bid se', ['set']),
        ('market set-a', ['set-aside']),
        ('market bid set --max-m', ['--max-memory']),
    ],
)
def test_bash_completes_the_commands(completion: Path, typed: str, offered: list[str]) -> None:
    """As doc/source/cli/openstack-market.rst promises."""
    script = '. "$0"; typed=(openstack "$@"); _openstack; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ['bash', '-c', script, completion, *typed.split()],
        check=True, capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert done.stdout.split() == offered
