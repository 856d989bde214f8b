# SPDX-License-Identifier: Apache-2.0
"""nova-market-manage as an administrator types it: two hosts that get to know each other, and mistakes."""

import json

import pytest

from nova_market.adapters.transport.zmq.keys import KeyDirectory
from nova_market.cmd import manage

pytestmark = pytest.mark.functional

KEY = 'ab' * 32


@pytest.fixture
def run(tmp_path, capsys):
    """Run the command for a host; returns exit code, standard output and standard error."""

    def typed(host, *words):
        code = manage.main(['--path', str(tmp_path / host), '--name', host, 'keys', *words])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return typed


def test_two_hosts_get_to_know_each_other(run, tmp_path):
    """By the line that `create` prints, and by the file that it leaves."""
    code, shown, _ = run('a', 'create')
    assert code == 0
    run('b', 'create')
    words = shown.splitlines()[-1].split()
    assert words[:3] == ['nova-market-manage', 'keys', 'add']
    assert run('b', *words[2:])[:2] == (0, 'a: one key\n')
    assert run('a', 'add', 'b', '--file', str(tmp_path / 'b' / 'b.pub'))[0] == 0
    a, b = (KeyDirectory(str(tmp_path / host), host).load() for host in 'ab')
    assert a.peers == {'b': (b.own.public,)} and b.peers == {'a': (a.own.public,)}
    assert run('a', 'show')[1] == f'a {a.own.public.hex()} in use\n'
    assert run('a', 'list')[1] == f'b  {b.own.public.hex()}\n'
    assert json.loads(run('a', 'list', '-f', 'json')[1]) == {
        'host': 'a',
        'peers': {'b': [b.own.public.hex()]},
        'left_out': [],
    }


def test_a_rotation(run, tmp_path):
    """Begin, copy, finish, revoke."""
    run('a', 'create')
    run('b', 'create')
    public = tmp_path / 'a' / 'a.pub'
    copied = tmp_path / 'b' / 'peers' / 'a.pub'
    copied.write_text(public.read_text())
    assert run('a', 'rotate')[0] == 0
    copied.write_text(public.read_text())
    shown = run('a', 'show')[1].split()
    assert shown[2:4] == ['in', 'use'] and shown[-1] == 'next'
    assert len(run('b', 'list')[1].splitlines()) == 2
    assert run('a', 'rotate', '--finish')[0] == 0
    assert run('b', 'remove', 'a', shown[1])[1] == 'a: one key\n'
    assert run('b', 'list')[1].split() == ['a', shown[5]]
    assert run('b', 'remove', 'a')[1] == 'a: is not believed any more\n'


@pytest.mark.parametrize(
    ('words', 'what'),
    [
        (['create'], 'this host has a key'),
        (['add', 'b', 'short'], 'must be 64 hexadecimal digits'),
        (['add', 'b'], 'name its key or keys, or --file'),
        (['add', 'b', KEY, '--file', 'x'], 'and not both'),
        (['add', 'b', '--file', '/nonexistent'], '/nonexistent: cannot be read'),
        (['add', '../b', KEY], 'host name'),
        (['remove', 'b'], 'not in the allow-list'),
        (['rotate', '--finish'], 'no rotation has begun'),
        (['rotate', '--cancel'], 'no rotation has begun'),
    ],
)
def test_a_mistake_is_one_line(run, words, what):
    """On standard error, exit status 1, no traceback."""
    run('a', 'create')
    code, shown, complaint = run('a', *words)
    assert code == 1 and shown == ''
    assert what in complaint and complaint.startswith('nova-market-manage: ')
    assert complaint.count('\n') == 1


def test_what_is_left_out_is_seen(run, tmp_path):
    """A host that is not believed because of its file makes `list` end with 2."""
    run('a', 'create')
    (tmp_path / 'a' / 'peers' / 'b.pub').write_text('nonsense')
    code, shown, complaint = run('a', 'list')
    assert code == 2 and shown == ''
    assert 'b.pub' in complaint


def test_the_directory_comes_from_the_configuration(tmp_path, capsys):
    """As the service finds it."""
    file = tmp_path / 'nova_market.conf'
    file.write_text(f'[host]\nname = a\n[exchange]\nzmq_key_path = {tmp_path}/keys\n')
    assert manage.main(['--config-file', str(file), 'keys', 'create']) == 0
    assert KeyDirectory(f'{tmp_path}/keys', 'a').load().peers == {}
    assert capsys.readouterr().out.startswith('a ')


@pytest.mark.parametrize(
    'words', [[], ['keys'], ['keys', 'burn'], ['--help'], ['keys', 'rotate', '--help']]
)
def test_usage(words, capsys):
    """Without an action, or with --help, it explains itself."""
    with pytest.raises(SystemExit) as caught:
        manage.main(words)
    shown = capsys.readouterr()
    assert 'usage: nova-market-manage' in shown.out + shown.err
    assert caught.value.code == (0 if '--help' in words else 2)
