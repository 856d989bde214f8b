# SPDX-License-Identifier: Apache-2.0
"""What a program prints when a module is missing; tests/functional/test_client_alone.py runs some."""

import runpy
import sys
from pathlib import Path

import pytest

from nova_market.cmd.extras import explain


def printed(
    directory: Path,
    capsys: pytest.CaptureFixture[str],
    code: str,
    module: str = 'nova_market.cmd.engine',
) -> str:
    """On stderr, of an error that this code of a module raises."""
    path = directory / 'module.py'
    path.write_text(code)
    with pytest.raises(Exception) as caught:
        runpy.run_path(str(path), run_name=module)
    explain(caught.type, caught.value, caught.tb)
    return capsys.readouterr().err


def test_a_missing_module_names_the_extra(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the program that was called, by whatever path."""
    monkeypatch.setattr(sys, 'argv', ['/opt/nova-market/bin/nova-market-api', '--help'])
    assert printed(tmp_path, capsys, 'from flask_that_is_missing import Flask') == (
        'nova-market-api: the module flask_that_is_missing is not installed: '
        "pip install -c constraints.txt '.[api]' in a checkout of nova-market\n"
    )


@pytest.mark.parametrize(
    ('program', 'module', 'code'),
    [
        ('nova-market-engine', 'sqlalchemy.engine', 'import missing'),
        ('nova-market-engine', 'nova_market.cmd.engine', 'import nova_market.missing'),
        ('nova-market-engine', 'nova_market.cmd.engine', 'from os import missing'),
        ('nova-market-engine', 'nova_market.cmd.engine', '1 / 0'),
        ('pytest', 'nova_market.cmd.engine', 'import missing'),
    ],
    ids=['of another distribution', 'of ours', 'a name', 'another error', 'another program'],
)
def test_what_no_extra_brings_stays_a_traceback(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    module: str,
    code: str,
) -> None:
    """A broken installation and a mistake of ours look like what they are."""
    monkeypatch.setattr(sys, 'argv', [program])
    assert printed(tmp_path, capsys, code, module).startswith('Traceback (most recent call last)')
