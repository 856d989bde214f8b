# SPDX-License-Identifier: Apache-2.0
"""The key directory: what is read, what is refused, and that files are replaced whole."""

import os
import stat
from pathlib import Path

import pytest

from nova_market.adapters.transport.zmq import keys as curve_keys
from nova_market.adapters.transport.zmq.keys import KeyDirectory, public_key
from nova_market.errors import ConfigurationError

KEY = bytes(range(32))
OTHER = bytes(range(1, 33))
THIRD = bytes(range(2, 34))


@pytest.fixture
def keys(tmp_path):
    made = KeyDirectory(str(tmp_path / 'keys'), 'a')
    made.create()
    return made


def mode(*parts):
    return stat.S_IMODE(os.stat(os.path.join(*parts)).st_mode)


def test_a_new_key_pair(keys):
    """The secret is nobody else's to read or to see in a log; the public key lies ready to be copied."""
    ring = keys.load()
    assert len(ring.own.public) == len(ring.own.secret) == 32
    assert ring.own.secret != ring.own.public
    assert mode(keys.path, 'host.key') == 0o600
    assert mode(keys.path, 'a.pub') == 0o644
    assert Path(keys.public_path()).read_text() == ring.own.public.hex() + '\n'
    assert ring.peers == {} and ring.following is None and ring.problems == ()
    assert ring.own.secret.hex() not in repr(ring) and repr(ring.own.secret) not in repr(ring)


def test_a_key_is_not_replaced_by_accident(keys):
    """Only on demand, and then the old one is gone."""
    old = keys.load().own
    with pytest.raises(ConfigurationError, match='this host has a key'):
        keys.create()
    assert keys.load().own == old
    assert keys.create(replace=True).own != old


def test_a_directory_without_a_secret(tmp_path):
    """The error names the file and the command."""
    with pytest.raises(ConfigurationError, match=r'host\.key.*nova-market-manage keys create'):
        KeyDirectory(str(tmp_path), 'a').load()


@pytest.mark.parametrize('permissions', [0o640, 0o604, 0o660, 0o601])
def test_a_secret_open_to_others_is_refused(keys, permissions):
    """As ssh does."""
    os.chmod(os.path.join(keys.path, 'host.key'), permissions)
    with pytest.raises(ConfigurationError, match=f'mode {permissions:04o}.*chmod 600'):
        keys.load()


@pytest.mark.parametrize(
    'text', ['', 'ab' * 31, 'zz' * 32, 'ab' * 32 + '\n' + 'cd' * 32, 'x' * 5000]
)
def test_a_damaged_secret_is_refused_and_not_shown(keys, text):
    """Not even the broken one may get into a log."""
    path = os.path.join(keys.path, 'host.key')
    with open(path, 'w') as stream:
        stream.write(text)
    with pytest.raises(ConfigurationError, match=r'host\.key') as caught:
        keys.load()
    assert len(text) < 20 or text[:20] not in str(caught.value)


def test_peers_are_allowed_and_revoked(keys):
    """One by one, key by key."""
    keys.add('b', [KEY])
    assert keys.add('b', [KEY, OTHER]) == (KEY, OTHER)
    keys.add('c', [THIRD])
    ring = keys.load()
    assert ring.peers == {'b': (KEY, OTHER), 'c': (THIRD,)}
    assert ring.names == {KEY: 'b', OTHER: 'b', THIRD: 'c'}
    assert keys.remove('b', KEY) == (OTHER,)
    assert keys.load().names == {OTHER: 'b', THIRD: 'c'}
    assert keys.remove('b', OTHER) == ()
    assert keys.remove('c') == ()
    assert keys.load().peers == {}


def test_what_cannot_be_allowed(keys):
    """Three keys, another host's key, this host's key under another name, this host's secret."""
    own = keys.load().own
    keys.add('b', [KEY, OTHER])
    for host, wanted, what in [
        ('b', THIRD, 'would have 3 keys, at most 2'),
        ('c', KEY, 'this is the key of b'),
        ('c', own.public, 'this is the key of this host'),
        ('c', own.secret, 'SECRET'),
        ('../b', THIRD, 'host name'),
        ('.b', THIRD, 'host name'),
        ('', THIRD, 'host name'),
        ('b' * 254, THIRD, 'host name'),
    ]:
        with pytest.raises(ConfigurationError, match=what):
            keys.add(host, [wanted])
    assert keys.load().peers == {'b': (KEY, OTHER)}


def test_what_cannot_be_revoked(keys):
    """The error says where it was looked for."""
    keys.add('b', [KEY])
    with pytest.raises(ConfigurationError, match='c: not in the allow-list'):
        keys.remove('c')
    with pytest.raises(ConfigurationError, match='does not have the key'):
        keys.remove('b', OTHER)
    assert keys.load().peers == {'b': (KEY,)}


def test_one_bad_file_leaves_out_one_peer(keys):
    """The others are believed, and what is left out is said."""
    peers = os.path.join(keys.path, 'peers')
    own = keys.load().own.public
    keys.add('b', [KEY])
    files = {
        'c.pub': 'nonsense',
        'd.pub': '',
        'e.pub': f'{OTHER.hex()}\n# a comment\n\n{THIRD.hex().upper()}\n',
        'f.pub': KEY.hex(),
        'g.pub': own.hex(),
        'h h.pub': THIRD.hex(),
        'i.pub': 'x' * 100_000,
        '.j.pub': 'half written',
        'README': 'not a key',
    }
    for name, text in files.items():
        with open(os.path.join(peers, name), 'w') as stream:
            stream.write(text)
    with open(os.path.join(peers, 'k.pub'), 'wb') as stream:
        stream.write(b'\xff\x00\xfe')
    ring = keys.load()
    assert ring.peers == {'b': (KEY,), 'e': (OTHER, THIRD)}
    left_out = ('c.pub', 'd.pub', 'f.pub', 'g.pub', "'h h'", 'i.pub', 'k.pub')
    assert len(ring.problems) == len(left_out)
    for name in left_out:
        assert any(name in problem for problem in ring.problems), name
    assert all(problem.isprintable() for problem in ring.problems)


def test_a_rotation(keys):
    """The next pair is known to nobody until it is copied; then it is used; the old one is gone."""
    old = keys.load().own
    begun = keys.begin_rotation()
    assert begun.own == old
    published = Path(keys.public_path()).read_text().split()
    assert published == [old.public.hex(), begun.following.public.hex()]
    assert mode(keys.path, 'host.key.next') == 0o600
    with pytest.raises(ConfigurationError, match='a rotation has begun'):
        keys.begin_rotation()
    done = keys.finish_rotation()
    assert done.own == begun.following and done.following is None
    assert Path(keys.public_path()).read_text().split() == [done.own.public.hex()]
    for end in (keys.finish_rotation, keys.cancel_rotation):
        with pytest.raises(ConfigurationError, match='no rotation has begun'):
            end()


def test_a_rotation_that_is_given_up(keys):
    """Nothing has changed."""
    before = keys.load()
    keys.begin_rotation()
    assert keys.cancel_rotation() == before == keys.load()


def test_changes_are_noticed(keys):
    """Whoever makes them and however; looking changes nothing."""
    seen = [keys.signature()]
    assert keys.signature() == seen[0]

    def differs():
        seen.append(keys.signature())
        return seen[-1] not in seen[:-1]

    keys.add('b', [KEY])
    assert differs()
    keys.add('b', [OTHER])
    assert differs()
    with open(os.path.join(keys.path, 'peers', 'b.pub'), 'a') as stream:
        stream.write('# by hand\n')
    assert differs()
    keys.begin_rotation()
    assert differs()
    keys.finish_rotation()
    assert differs()
    os.rename(os.path.join(keys.path, 'peers'), os.path.join(keys.path, 'away'))
    assert differs()
    assert keys.load().peers == {}
    assert 'can not be read' in keys.load().problems[0]


def test_a_failed_write_leaves_the_old_file(keys, monkeypatch):
    """And no half of the new one."""
    keys.add('b', [KEY])
    before = sorted(os.listdir(os.path.join(keys.path, 'peers')))

    def full(handle):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(curve_keys.os, 'fsync', full)
    with pytest.raises(OSError, match='No space left'):
        keys.add('b', [OTHER])
    monkeypatch.undo()
    assert keys.load().peers == {'b': (KEY,)}
    assert sorted(os.listdir(os.path.join(keys.path, 'peers'))) == before


def test_root_makes_keys_for_the_service(tmp_path):
    """Files belong to the owner of the directory, who must be able to read them."""
    path = tmp_path / 'keys'
    path.mkdir()
    owner = os.getuid() or 12345  # who is not root can't give files away, and need not
    os.chown(path, owner, -1)
    keys = KeyDirectory(str(path), 'a')
    keys.create()
    keys.add('b', [KEY])
    for name in ('host.key', 'a.pub', 'peers', 'peers/b.pub'):
        assert (path / name).stat().st_uid == owner, name


@pytest.mark.parametrize('text', ['', 'ab', 'g' * 64, 'ab' * 33, 'ab ' * 32])
def test_a_key_that_is_none(text):
    """The error shows what was given and what is wanted."""
    with pytest.raises(ConfigurationError, match='must be 64 hexadecimal digits'):
        public_key(text)


def test_a_key_may_be_written_in_capitals():
    """And with spaces around, as it comes from a clipboard."""
    assert public_key(f' {KEY.hex().upper()}\n') == KEY


def test_the_hosts_of_the_allow_list(keys, tmp_path):
    """Also one whose file is being written, or has a fault."""
    assert keys.names() == frozenset()
    keys.add('b', [KEY])
    keys.add('c', [OTHER])
    assert keys.names() == {'b', 'c'}
    assert KeyDirectory(str(tmp_path / 'nothing'), 'a').names() == frozenset()
