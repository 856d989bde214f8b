# SPDX-License-Identifier: Apache-2.0
"""The directory of a playground: what is refused, what is kept, who can read it."""

import json
import subprocess
from pathlib import Path

import pytest

from nova_market.errors import BadPlayground
from nova_market.playground.folder import FORMAT, Folder


def opened(path: Path) -> Folder:
    made = Folder(path)
    made.open('version 1')
    return made


def test_a_new_directory_is_for_its_owner_only(tmp_path: Path) -> None:
    """With its parents; an empty one is taken as well."""
    made = opened(tmp_path / 'a' / 'b')
    assert (tmp_path / 'a' / 'b').stat().st_mode & 0o777 == 0o700
    made.close()
    (tmp_path / 'empty').mkdir()
    opened(tmp_path / 'empty').close()


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    """The first one goes on; when it has ended the next one may begin."""
    first = opened(tmp_path)
    with pytest.raises(BadPlayground, match=r'runs in .* already; end it with Ctrl-C'):
        opened(tmp_path)
    first.close()
    opened(tmp_path).close()


def test_what_is_not_ours_is_not_touched(tmp_path: Path) -> None:
    """Nothing is written there."""
    (tmp_path / 'thesis.tex').write_text('x')
    with pytest.raises(BadPlayground, match=r'not empty, and no playground .* new or empty'):
        opened(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ['thesis.tex']


def test_another_format_is_refused_with_the_version_that_made_it(tmp_path: Path) -> None:
    """And what cannot be read."""
    marker = tmp_path / 'playground.json'
    opened(tmp_path).close()
    marker.write_text(json.dumps({'format': FORMAT + 1, 'version': 'nova-market 9'}))
    with pytest.raises(BadPlayground, match=r'made by nova-market 9, and version 1 does not read'):
        opened(tmp_path)
    for text in ('', '[]', '{"format": 1}', 'null'):
        marker.write_text(text)
        with pytest.raises(BadPlayground, match='cannot be read'):
            opened(tmp_path)


@pytest.mark.parametrize('name', ['a?b', 'a#b'])
def test_a_path_that_no_url_can_have_is_refused(tmp_path: Path, name: str) -> None:
    """Before anything is made."""
    with pytest.raises(BadPlayground, match='URL of its database'):
        opened(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    """It is no directory."""
    (tmp_path / 'file').write_text('')
    with pytest.raises(BadPlayground, match='give another --directory'):
        opened(tmp_path / 'file')


def test_a_start_that_saved_nothing_leaves_nothing(tmp_path: Path) -> None:
    """Its database would not fit to a cloud that begins anew."""
    made = opened(tmp_path)
    for name in ('market.sqlite', 'market.sqlite-wal'):
        (tmp_path / name).touch()
    made.begin_anew()
    assert not list(tmp_path.glob('market.sqlite*'))
    made.begin_anew()
    made.close()


def test_passwords_are_made_once(tmp_path: Path) -> None:
    """Random ones, for those who log in and the services."""
    made, other = opened(tmp_path / 'a'), opened(tmp_path / 'b')
    known = made.passwords()
    assert sorted(known) == ['alice', 'bob', 'market', 'operator']
    assert made.passwords() == known
    assert not set(known.values()) & set(other.passwords().values())
    assert all(len(one) >= 20 for one in known.values())
    made.close()
    other.close()


def test_what_has_a_password_is_for_its_owner_only(tmp_path: Path) -> None:
    """Also when it is written again over a file that others could read."""
    made = opened(tmp_path)
    (tmp_path / 'clouds.yaml').touch(0o644)
    made.configure('http://127.0.0.1:1')
    made.save({'wall': 1.0})
    for name in ('clouds.yaml', 'nova_market.conf', 'passwords.json', 'shell', 'world.json'):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0, name
    assert made.world() == {'wall': 1.0}
    made.close()


@pytest.mark.clock
def test_the_shell_runs_a_command_as_somebody(tmp_path: Path) -> None:
    """With the logins and the clock of its directory, whatever the caller's environment has."""
    made = opened(tmp_path / "it's here")
    made.configure('http://127.0.0.1:1')
    made.close()
    words = 'echo $OS_CLOUD; echo $OS_CLIENT_CONFIG_FILE; echo $OS_MARKET_CLOCK; echo ${OS_PASSWORD-none}'
    for user, given in (('alice', []), ('bob', ['bob'])):
        done = subprocess.run(
            [made.path / 'shell', *(given or ['alice']), 'sh', '-c', words],
            env={'PATH': '/usr/bin:/bin', 'OS_PASSWORD': 'of elsewhere', 'OS_CLOUD': 'production'},
            capture_output=True, text=True, check=True, timeout=60, cwd='/',
        )  # fmt: skip
        assert done.stdout.splitlines() == [
            user, f'{made.path}/clouds.yaml', f'{made.path}/clock.json', 'none',
        ]  # fmt: skip
