# SPDX-License-Identifier: Apache-2.0
"""nova-market-manage: what an administrator does by hand: keys of the exchange over ZeroMQ, the database."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from oslo_config import cfg

from nova_market.adapters.transport.zmq.keys import (
    KeyDirectory,
    KeyRing,
    public_key,
    public_keys_in,
)
from nova_market.cmd import command_line, manage_db, manage_power
from nova_market.conf import database as database_options
from nova_market.conf import opts
from nova_market.core.resource import HostName
from nova_market.errors import ConfigurationError, NovaMarketError
from nova_market.wiring.names import host_name
from nova_market.wiring.options import explained

PROGRAM = 'nova-market-manage'
EXIT_FAILED = 1
EXIT_INCOMPLETE = 2
"""keys list: something in the directory is left out."""

Run = Callable[[cfg.ConfigOpts], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0 done, 1 failed with one line on stderr, 2 see `keys list`."""
    conf = cfg.ConfigOpts()
    try:
        _parse(conf, argv)
        return int(conf.command.run(conf))
    except (NovaMarketError, cfg.Error, OSError) as error:
        print(f'{PROGRAM}: {explained(conf, error)}', file=sys.stderr)
        return EXIT_FAILED


def _parse(conf: cfg.ConfigOpts, argv: Sequence[str] | None) -> None:
    opts.register_opts(conf)
    database_options.register_opts(conf)
    conf.register_cli_opts(
        [
            cfg.StrOpt(
                'path', metavar='DIR', help='Key directory; default: [exchange]zmq_key_path.'
            ),
            cfg.StrOpt(
                'name',
                metavar='HOST',
                help='Name of the host whose directory this is; default: [host]name or the host name.',
            ),
            cfg.SubCommandOpt('command', title='commands', handler=_add_commands),
        ]
    )
    command_line.parse(
        conf, argv, PROGRAM,
        'keys: the CURVE keys by which hosts prove to each other who they are in the exchange '
        'over ZeroMQ; a running nova-fairness uses every change within seconds, without a restart. '
        'db: the database of the market. power: what switches hosts on and off.',
    )  # fmt: skip


def _add_commands(subparsers: Any) -> None:
    subparsers.required = True
    manage_db.add_commands(subparsers)
    manage_power.add_commands(subparsers)
    keys = subparsers.add_parser('keys', help='Keys of the exchange over ZeroMQ.')
    actions = keys.add_subparsers(title='actions', metavar='ACTION', required=True, dest='action')

    def add(name: str, run: Run, text: str) -> Any:
        parser = actions.add_parser(name, help=text, description=text)
        parser.set_defaults(run=run)
        return parser

    create = add('create', _create, 'Create the key pair of this host, and its key directory.')
    create.add_argument(
        '--force', action='store_true',
        help='replace the keys that this host has; until the others have the new public key they reject '
        'this host',
    )  # fmt: skip
    add('show', _show, "Print this host's public keys, as the other hosts need them.")
    allowed = add('add', _add, 'Accept a peer by its public key.')
    allowed.add_argument('peer', metavar='HOST', help='[host]name of the peer')
    allowed.add_argument('key', metavar='KEY', nargs='*', help='64 hexadecimal digits; at most two')
    allowed.add_argument('--file', metavar='FILE', help="the peer's HOST.pub instead of KEY")
    revoked = add('remove', _remove, 'Revoke one key of a peer, or the peer.')
    revoked.add_argument('peer', metavar='HOST', help='name of the peer')
    revoked.add_argument('key', metavar='KEY', nargs='?', help='this key only')
    rotated = add(
        'rotate', _rotate,
        'Replace the key pair without a gap: "rotate" makes the next pair, then every peer is given the '
        'new public key, then "rotate --finish" uses it, then the peers revoke the old one.',
    )  # fmt: skip
    end = rotated.add_mutually_exclusive_group()
    end.add_argument('--finish', action='store_true', help='use the next pair from now on')
    end.add_argument('--cancel', action='store_true', help='forget the next pair')
    listed = add(
        'list', _list, 'List the accepted hosts and their keys. Exit status 2: see stderr.'
    )
    listed.add_argument(
        '-f', '--format', choices=('table', 'json'), default='table', help='default: table'
    )


def _directory(conf: cfg.ConfigOpts) -> KeyDirectory:
    host = conf.name or host_name(conf)
    return KeyDirectory(conf.path or conf.exchange.zmq_key_path, HostName(host))


def _create(conf: cfg.ConfigOpts) -> int:
    directory = _directory(conf)
    ring = directory.create(replace=conf.command.force)
    _tell_public(directory, ring)
    return 0


def _show(conf: cfg.ConfigOpts) -> int:
    directory = _directory(conf)
    ring = directory.load()
    print(f'{directory.host} {ring.own.public.hex()} in use')
    if ring.following:
        print(f'{directory.host} {ring.following.public.hex()} next')
    return 0


def _add(conf: cfg.ConfigOpts) -> int:
    host, words, file = conf.command.peer, conf.command.key, conf.command.file
    if bool(words) == bool(file):
        raise ConfigurationError(f'{host}: name its key or keys, or --file FILE, and not both')
    keys = public_keys_in(file) if file else [public_key(word) for word in words]
    together = _directory(conf).add(host, keys)
    print(f'{host}: {_number(together)}')
    return 0


def _remove(conf: cfg.ConfigOpts) -> int:
    host, word = conf.command.peer, conf.command.key
    left = _directory(conf).remove(host, public_key(word) if word else None)
    print(f'{host}: {_number(left) if left else "is not believed any more"}')
    return 0


def _rotate(conf: cfg.ConfigOpts) -> int:
    directory = _directory(conf)
    if conf.command.finish:
        ring = directory.finish_rotation()
        print(
            f'{directory.host} uses the new key now; let the others revoke the old one: each of them'
        )
        print(f'needs {directory.public_path()} as peers/{directory.host}.pub again')
    elif conf.command.cancel:
        ring = directory.cancel_rotation()
        print(f'{directory.host} keeps its key')
    else:
        ring = directory.begin_rotation()
        _tell_public(directory, ring)
        print('when all of them have it: nova-market-manage keys rotate --finish')
    return 0


def _list(conf: cfg.ConfigOpts) -> int:
    directory = _directory(conf)
    ring = directory.load()
    if conf.command.format == 'json':
        peers = {host: [key.hex() for key in keys] for host, keys in ring.peers.items()}
        print(
            json.dumps(
                {'host': directory.host, 'peers': peers, 'left_out': ring.problems}, indent=2
            )
        )
    else:
        width = max(map(len, ring.peers), default=0)
        for host, keys in ring.peers.items():
            for key in keys:
                print(f'{host:{width}}  {key.hex()}')
    for problem in ring.problems:
        print(f'{PROGRAM}: left out: {problem}', file=sys.stderr)
    return EXIT_INCOMPLETE if ring.problems else 0


def _tell_public(directory: KeyDirectory, ring: KeyRing) -> None:
    newest = (ring.following or ring.own).public.hex()
    path = directory.public_path()
    print(f'{directory.host} {newest}')
    print(f'every other host needs this key: copy {path} into its peers{os.sep}, or run there')
    print(f'{PROGRAM} keys add {directory.host} {newest}')


def _number(keys: Sequence[bytes]) -> str:
    return 'one key' if len(keys) == 1 else f'{len(keys)} keys'


if __name__ == '__main__':
    sys.exit(main())
