# SPDX-License-Identifier: Apache-2.0
"""The options of nova-market-playground, and how it ends when it cannot run."""

import re
import socket
from pathlib import Path

import pytest

from nova_market.cmd import playground


@pytest.mark.parametrize(
    ('words', 'complaint'),
    [
        (['--speed', '0'], r"'0': give a number from 0\.1 to 600"),
        (['--speed', 'nan'], 'give a number from'),
        (['--speed', '1e9'], 'give a number from'),
        (['--speed', 'fast'], 'give a number from'),
        (['--port', '65536'], "'65536': give a number from 0 to 65535"),
        (['--port', '-1'], 'give a number from 0 to 65535'),
        (['--port', 'http'], 'give a number from 0 to 65535'),
        (['here'], 'unrecognized arguments: here'),
    ],
)
def test_a_wrong_option_is_named(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what is allowed, before anything is made."""
    with pytest.raises(SystemExit) as caught:
        playground.main(words)
    assert caught.value.code == 2
    shown = ' '.join(capsys.readouterr().err.split())
    assert re.search(complaint, shown), shown


def test_a_directory_of_something_else_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit status 1, and without a traceback."""
    (tmp_path / 'thesis.tex').touch()
    assert playground.main(['--directory', str(tmp_path)]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith('nova-market-playground: ') and shown.count('\n') == 1
    assert 'is not empty' in shown
    assert [one.name for one in tmp_path.iterdir()] == ['thesis.tex']


def test_a_port_that_is_taken_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The directory can be used afterwards."""
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = str(taken.getsockname()[1])
        assert playground.main(['--directory', str(tmp_path / 'new'), '--port', port]) == 1
    shown = capsys.readouterr().err
    assert f'port {port} at 127.0.0.1 cannot be opened' in shown and 'give another --port' in shown
    assert not (tmp_path / 'new/market.sqlite').exists()
