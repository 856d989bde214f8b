# SPDX-License-Identifier: Apache-2.0
"""Hosts in network namespaces on two bridges, joined by a cable that can be pulled.

    h01 .. h05 -- west ====== east -- h06 .. h10

Everything is in namespaces of the bed's own; processes and namespaces end with it, also on failure.
"""

import contextlib
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

from nova_market.adapters.transport.zmq.keys import KeyDirectory
from tests.support.namespaces import fresh_prefix, run

NET = '10.78.0'
PORT = 9653


class Peer:
    """A process of tests.support.exchange.zmq_peer in a namespace, and the last line that it has printed."""

    def __init__(self, namespace: str, about: dict, log: Path) -> None:
        self.host = about['host']
        self.last: dict = {}
        self._log = log.open('ab')
        self.process = subprocess.Popen(
            [
                *inside(namespace),
                sys.executable,
                '-m',
                'tests.support.exchange.zmq_peer',
                json.dumps(about),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.last = json.loads(line)

    def order(self, word: str) -> None:
        self.process.stdin.write(word + '\n')
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._end()

    def leave(self) -> None:
        """Stop it as an administrator would; it tells the others."""
        self.process.stdin.close()
        try:
            self.process.wait(20)
        finally:
            self._end()

    def _end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self._log.close()


class ExchangeBed:
    """`count` hosts with keys that believe each other; nothing runs yet."""

    def __init__(self, path: Path, topology: str, count: int = 10, interval: float = 1.0) -> None:
        self.path = path
        self.topology = topology
        self.interval = interval
        self.ttl = 3.0 * interval
        self.hosts = [f'h{n:02d}' for n in range(1, count + 1)]
        self.west, self.east = self.hosts[: count // 2], self.hosts[count // 2 :]
        self.aggregators = [self.west[0], self.east[0]]
        self.members = {h: f'tcp://{NET}.{n}:{PORT}' for n, h in enumerate(self.hosts, 1)}
        self.peers: dict[str, Peer] = {}
        self._prefix = fresh_prefix()
        self._namespaces: list[str] = []
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def _build(self) -> None:
        self._namespace('net')
        for bridge in ('west', 'east'):
            self.net('link', 'add', bridge, 'type', 'bridge')
            self.net('link', 'set', bridge, 'up')
        self.net('link', 'add', 'cable', 'type', 'veth', 'peer', 'name', 'plug')
        self.net('link', 'set', 'cable', 'up', 'master', 'west')
        self.net('link', 'set', 'plug', 'up', 'master', 'east')
        for number, host in enumerate(self.hosts, 1):
            self.plug_in(host, number, 'west' if host in self.west else 'east')
            self.keys(host).create()
        public = {host: self.keys(host).load().own.public for host in self.hosts}
        for host in self.hosts:
            for other in self.hosts:
                if other != host:
                    self.keys(host).add(other, [public[other]])

    def plug_in(self, host: str, number: int, bridge: str) -> None:
        """A namespace for a host, with an address on a bridge."""
        name = self._namespace(host)
        self.net('link', 'add', f'to-{host}', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
        self.net('link', 'set', f'to-{host}', 'up', 'master', bridge)
        run('ip', '-n', name, 'address', 'add', f'{NET}.{number}/24', 'dev', 'eth0')
        run('ip', '-n', name, 'link', 'set', 'eth0', 'up')
        run('ip', '-n', name, 'link', 'set', 'lo', 'up')

    def keys(self, host: str) -> KeyDirectory:
        return KeyDirectory(str(self.path / 'keys' / host), host)

    def start(self, host: str, number: int | None = None) -> Peer:
        """Every host has a VM of the owner `all`, and one of an owner of its own."""
        number = number or self.hosts.index(host) + 1
        about = {
            'host': host,
            'topology': self.topology,
            'members': self.members,
            'aggregators': self.aggregators,
            'bind': f'tcp://{NET}.{number}:{PORT}',
            'keys': self.keys(host).path,
            'interval': self.interval,
            'ttl': self.ttl,
            'owners': {'all': (1.0,), f'of-{host}': (2.0,)},
        }
        self.peers[host] = Peer(self.namespace(host), about, self.path / f'{host}.log')
        return self.peers[host]

    def part(self) -> None:
        """Pull the cable: west and east hear themselves only."""
        self.net('link', 'set', 'cable', 'down')

    def heal(self) -> None:
        self.net('link', 'set', 'cable', 'up')

    def everybody_sees(self, hosts: list[str]) -> bool:
        """Do these hosts see each other and nobody else?"""
        return all(
            (last := self.peers[host].last).get('hosts') == len(hosts)
            and last['owners']['all'] == len(hosts)
            and last['owners'][f'of-{host}'] == 2.0
            and last['age'] < self.ttl
            for host in hosts
        )

    def net(self, *words: str) -> str:
        return run('ip', '-n', self.namespace('net'), *words)

    def namespace(self, name: str) -> str:
        return f'{self._prefix}-{name}'

    def _namespace(self, name: str) -> str:
        full = self.namespace(name)
        run('ip', 'netns', 'add', full)
        self._namespaces.append(full)
        return full

    def close(self) -> None:
        for peer in self.peers.values():
            peer.kill()
        for name in self._namespaces:
            subprocess.run(['ip', 'netns', 'delete', name], capture_output=True, check=False)


def inside(namespace: str) -> list[str]:
    """What to put before a command that is to run there."""
    return ['ip', 'netns', 'exec', namespace]
