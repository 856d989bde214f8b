# SPDX-License-Identifier: Apache-2.0
"""A host with a key that does what it can to keep another one busy: rule H25, over real sockets."""

import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from nova_market.adapters.transport.wire_format import MAX_FRAME
from nova_market.core.exchange.peer_budget import BYTES, BYTES_A_SECOND, CONNECTIONS, PROCESSOR
from tests.support.exchange.oslo import eventually
from tests.support.exchange.zmq_town import town

pytestmark = [pytest.mark.functional, pytest.mark.clock]

__all__ = ['town']

FLOOD = """
import json, sys, time, zmq
about = json.loads(sys.argv[1])
context = zmq.Context()
sockets = []
for _ in range(about['connections']):
    one = context.socket(zmq.DEALER)
    one.curve_publickey, one.curve_secretkey = map(bytes.fromhex, about['own'])
    one.curve_serverkey = bytes.fromhex(about['server'])
    one.linger = 0
    one.sndhwm = 1  # the sender's memory has a bound
    one.connect(about['address'])
    sockets.append(one)
    time.sleep(0.01)
frame = bytes(about['size'])
while True:
    for one in sockets:
        try:
            for _ in range(about['parts'] - 1):
                one.send(frame, zmq.NOBLOCK | zmq.SNDMORE)
            frame and one.send(frame, zmq.NOBLOCK)
        except zmq.Again:
            pass
    time.sleep(0.001)
"""

ANSWER = """
import json, sys, zmq
about = json.loads(sys.argv[1])
one = zmq.Context().socket(zmq.ROUTER)
one.curve_server = True
one.curve_publickey, one.curve_secretkey = map(bytes.fromhex, about['own'])
one.linger = 0
one.bind('tcp://127.0.0.1:*')
print(one.getsockopt_string(zmq.LAST_ENDPOINT), flush=True)
route, _ = one.recv_multipart()
one.send(route, zmq.SNDMORE)
for _ in range(2000):
    one.send(bytes(64 * 1024), zmq.SNDMORE)
one.send(b'')
one.recv()
"""


@pytest.fixture
def running():
    """Processes that a test begins; they are ended with it."""
    begun: list[subprocess.Popen[str]] = []
    yield begun
    for process in begun:
        process.kill()
        process.communicate()


@pytest.fixture
def flood(town, running):
    """Begin a process with the key of host `bad` that floods host `a`."""

    def begin(connections, size, parts=1, address=''):
        own, server = (town.keys(host).load().own for host in ('bad', 'a'))
        about = {
            'own': [own.public.hex(), own.secret.hex()],
            'server': server.public.hex(),
            'address': address or town.addresses['a'],
            'connections': connections,
            'size': size,
            'parts': parts,
        }
        running.append(subprocess.Popen([sys.executable, '-c', FLOOD, json.dumps(about)]))

    return begin


@pytest.fixture
def answering(town, running):
    """The address of a process with the key of host `bad`, which answers a frame by parts without an end."""

    def begin():
        own = town.keys('bad').load().own
        about = {'own': [own.public.hex(), own.secret.hex()]}
        command = [sys.executable, '-c', ANSWER, json.dumps(about)]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return running[-1].stdout.readline().strip()

    return begin


@pytest.fixture
def stalling(town):
    """Begin to forward a connection to host `a`, and no more than so many bytes there and back; its address.

    to: another address
    """
    with contextlib.ExitStack() as stack:

        def forward(read, write, most):
            with contextlib.suppress(OSError):
                while most > 0 and (some := read.recv(min(most, 65536))):
                    write.sendall(some)
                    most -= len(some)

        def serve(listener, to, there, back):
            with contextlib.suppress(OSError):
                client, _ = listener.accept()
                host, _, port = to.removeprefix('tcp://').partition(':')
                server = socket.create_connection((host, int(port)))
                stack.callback(server.close)
                stack.callback(client.close)
                reader = threading.Thread(target=forward, args=(server, client, back), daemon=True)
                reader.start()
                forward(client, server, there)

        def begin(there=sys.maxsize, back=sys.maxsize, to=''):
            listener = stack.enter_context(socket.create_server(('127.0.0.1', 0)))
            args = listener, to or town.addresses['a'], there, back
            threading.Thread(target=serve, args=args, daemon=True).start()
            return f'tcp://127.0.0.1:{listener.getsockname()[1]}'

        yield begin


class Memory(threading.Thread):
    """The most resident bytes that this process has while it is watched."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most = self.first = self._now()
        self._ends = threading.Event()

    @staticmethod
    def _now():
        return int(Path('/proc/self/statm').read_text().split()[1]) * 4096

    def run(self):
        while not self._ends.wait(0.01):
            self.most = max(self.most, self._now())

    def stop(self):
        self._ends.set()
        self.join()
        return self.most - self.first


@pytest.mark.parametrize(('connections', 'reason'), [(10, 'over_budget'), (40, 'cut_off')])
def test_a_flood_of_long_frames_is_cut_off_and_others_are_heard(
    town, flood, caplog, connections, reason
):
    """40 connections of a host that send frames of 4 MiB took 1.7 GiB."""
    town.introduce('a', 'b', 'bad')
    a, _ = town.start('a'), town.start('b')
    assert town.says('b', 'a', b'before')
    memory = Memory()
    memory.start()
    begun = time.monotonic()
    flood(connections, MAX_FRAME)
    assert eventually(lambda: a.dropped.get('cut_off', 0) > 0, 30.0)
    assert a.dropped[reason] > 0
    assert town.says('b', 'a', b'after')
    assert memory.stop() < 300 * 2**20
    assert [r.message for r in caplog.records if 'host bad is cut off for 600 s' in r.message]
    taken = sum(len(frame) for sender, frame in town.received['a'] if sender == 'bad')
    assert taken <= BYTES + BYTES_A_SECOND * (time.monotonic() - begun)


def test_a_message_without_an_end_is_cut_off_too(town, flood, stalling, caplog):
    """libzmq keeps the parts of a message until the last one comes: nothing of it is ever delivered."""
    town.introduce('a', 'b', 'bad')
    a, _ = town.start('a'), town.start('b')
    assert town.says('b', 'a', b'before')
    memory = Memory()
    memory.start()
    flood(1, 64 * 1024, parts=2000, address=stalling(100 * 2**20))
    assert eventually(lambda: 'host bad is cut off for 600 s' in caplog.text, 30.0)
    assert a.dropped['over_budget'] > 0
    assert town.says('b', 'a', b'after')
    assert memory.stop() < 400 * 2**20
    assert not [sender for sender, _ in town.received['a'] if sender == 'bad']


def test_messages_without_an_end_on_several_connections_count_together(
    town, flood, stalling, caplog
):
    town.introduce('a', 'b', 'bad')
    town.start('a'), town.start('b')
    assert town.says('b', 'a', b'before')
    for _ in range(5):
        flood(1, 64 * 1024, parts=500, address=stalling(25 * 2**20))
    assert eventually(lambda: 'host bad is cut off for 600 s' in caplog.text, 30.0)
    assert town.says('b', 'a', b'after')


def test_a_message_without_an_end_over_our_own_connection_is_cut_off_too(
    town, answering, stalling, caplog
):
    """What a host sends that we have connected to, such as an aggregator."""
    town.introduce('a', 'b', 'bad')
    a, _ = town.start('a'), town.start('b')
    memory = Memory()
    memory.start()
    town.addresses['bad'] = stalling(back=100 * 2**20, to=answering())
    a.send('bad', b'hello')
    assert eventually(lambda: 'host bad is cut off for 600 s' in caplog.text, 30.0)
    assert town.says('b', 'a', b'after')
    assert memory.stop() < 400 * 2**20


def test_who_proves_nothing_cuts_off_nobody(town, caplog):
    """Though its address is that of a host, as that of a guest behind its NAT may be."""
    town.introduce('a', 'b')
    town.start('a'), town.start('b')
    assert town.says('b', 'a', b'before')
    greeting = b'\xff' + bytes(8) + b'\x7f\x03\x01' + b'CURVE'.ljust(20, b'\0') + bytes(32)
    command = b'\x06' + MAX_FRAME.to_bytes(8, 'big')
    host, _, port = town.addresses['a'].removeprefix('tcp://').partition(':')
    with contextlib.ExitStack() as stack:
        for _ in range(12):
            one = stack.enter_context(socket.create_connection((host, int(port))))
            one.sendall(greeting + command + bytes(MAX_FRAME - 1))
        assert not eventually(lambda: 'is cut off' in caplog.text, 3.0)
    assert town.says('b', 'a', b'after')


def test_a_message_of_a_million_parts_is_cut_off_too(town, flood):
    """Each part costs something, though it has a byte only."""
    town.introduce('a', 'b', 'bad')
    a, _ = town.start('a'), town.start('b')
    assert town.says('b', 'a', b'before')
    flood(1, 1, parts=100_000)
    assert eventually(lambda: a.dropped.get('cut_off', 0) > 0, 30.0)
    assert town.says('b', 'a', b'after')


def test_short_frames_that_take_long_are_dropped(town):
    """An update of one owner may change what is known of ten thousand."""
    town.introduce('a', 'b', 'bad')

    def handle(frame):
        begun = time.thread_time()
        while frame == b'costly' and time.thread_time() - begun < 0.2:
            pass

    a, _, bad = town.start('a', handle=handle), town.start('b'), town.start('bad')

    def dropped():
        bad.send('a', b'costly')
        return a.dropped.get('over_budget', 0) > 0

    assert eventually(dropped, 30.0)
    costly = [frame for _, frame in town.received['a'] if frame == b'costly']
    assert len(costly) <= (BYTES + 30 * BYTES_A_SECOND) / PROCESSOR / 0.2
    assert town.says('b', 'a', b'after')


def test_replies_over_our_own_connection_count_too(town):
    """A host that asks for much by short frames."""
    town.introduce('a', 'b')
    a = town.start('a', handle=lambda frame: a.send('b', bytes(MAX_FRAME)))
    b = town.start('b')
    assert town.says('a', 'b'), 'now there is one'

    def dropped():
        b.send('a', b'more')
        return a.dropped.get('over_budget', 0) > 0

    assert eventually(dropped, 30.0)


def test_others_do_not_pay_for_one_that_is_cut_off(town):
    """Their connections are ended each time, and they connect again."""
    town.introduce('a', 'b', 'bad')
    a, b = town.start('a'), town.start('b')
    for number in range(CONNECTIONS + 4):
        assert town.says('b', 'a', b'%d' % number)
        # private: to be cut off again and again takes hours
        a._budgets.end('bad', time.monotonic())
        b.send('a', b'wakes it')
    assert 'cut_off' not in a.dropped


def test_connections_that_send_nothing_are_cut_off_too(town, flood):
    """More than a host has; the other hosts connect again and are heard."""
    town.introduce('a', 'b', 'bad')
    a, _ = town.start('a'), town.start('b')
    assert town.says('b', 'a', b'before')
    flood(CONNECTIONS + 1, 0)
    assert eventually(lambda: a.dropped.get('cut_off', 0) > 0, 30.0)
    assert town.says('b', 'a', b'after')


def test_a_host_that_comes_and_goes_is_not_cut_off(town):
    """Connections that have carried a frame and have ended do not count."""
    town.introduce('a', 'b')
    a = town.start('a')
    for number in range(CONNECTIONS + 4):
        b = town.start('b')
        assert town.says('b', 'a', b'%d' % number)
        b.stop()
    assert 'cut_off' not in a.dropped
