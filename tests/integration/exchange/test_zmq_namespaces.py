# SPDX-License-Identifier: Apache-2.0
"""Ten hosts in ten network namespaces exchange over ZeroMQ: a partition, strangers, a death, a liar."""

import subprocess
import sys
import time

import pytest

from tests.support.exchange.namespaces import NET, PORT, ExchangeBed, inside
from tests.support.exchange.oslo import eventually

pytestmark = pytest.mark.integration('ip')

PATIENCE = 60.0


@pytest.fixture(scope='module', params=['aggregate', 'broadcast'])
def bed(request, tmp_path_factory):
    """Ten running hosts that see each other; a test that changes that puts it back."""
    made = ExchangeBed(tmp_path_factory.mktemp(request.param), request.param)
    try:
        began = time.monotonic()
        for host in made.hosts:
            made.start(host)
        assert eventually(lambda: made.everybody_sees(made.hosts), PATIENCE)
        say(
            made,
            f'ten hosts know each other {time.monotonic() - began:.1f} s after the first start',
        )
        yield made
    finally:
        made.close()


def say(bed, text):
    print(f'\n{bed.topology}: {text}', file=sys.stderr)  # noqa: T201


def dropped(bed, reason, hosts=None):
    return {h: bed.peers[h].last['dropped'].get(reason, 0) for h in hosts or bed.hosts}


def test_a_partition_is_made_and_healed(bed):
    """Each side forgets the other after the time to live and goes on; afterwards all is as before."""
    began = time.monotonic()
    bed.part()
    assert eventually(
        lambda: bed.everybody_sees(bed.west) and bed.everybody_sees(bed.east), PATIENCE
    )
    say(bed, f'two halves {time.monotonic() - began:.1f} s after the cut')
    time.sleep(12.0)  # longer than TCP waits for an acknowledgement
    assert bed.everybody_sees(bed.west) and bed.everybody_sees(bed.east)
    began = time.monotonic()
    bed.heal()
    assert eventually(lambda: bed.everybody_sees(bed.hosts), PATIENCE)
    say(bed, f'whole again {time.monotonic() - began:.1f} s after it was mended')


def test_a_host_with_a_key_that_nobody_knows(bed):
    """It knows everybody and is heard by nobody; it is counted."""
    stranger = f'stranger-{bed.topology[0]}'
    bed.plug_in(stranger, 99, 'east')
    keys = bed.keys(stranger)
    keys.create()
    for host in bed.hosts:
        keys.add(host, [bed.keys(host).load().own.public])
    aimed = bed.aggregators if bed.topology == 'aggregate' else bed.hosts
    before = dropped(bed, 'unknown_peer', aimed)
    peer = bed.start(stranger, 99)
    try:
        assert eventually(
            lambda: all(n > before[h] for h, n in dropped(bed, 'unknown_peer', aimed).items())
        )
        assert eventually(lambda: peer.last)
        assert peer.last['hosts'] <= 1
        assert bed.everybody_sees(bed.hosts)
    finally:
        bed.peers.pop(stranger).kill()


KNOCK = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 5) as one:
    one.sendall(bytes(range(256)) * 8)
    one.settimeout(10)
    try:
        while one.recv(4096):
            pass
    except ConnectionResetError:
        pass
"""


def test_bytes_that_are_no_zeromq(bed):
    """A port scanner is hung up on, and counted."""
    host = bed.aggregators[0]
    before = dropped(bed, 'handshake')[host]
    subprocess.run(
        [*inside(bed.namespace('h02')), sys.executable, '-c', KNOCK, f'{NET}.1', str(PORT)],
        check=True,
        timeout=30,
    )
    assert eventually(lambda: dropped(bed, 'handshake')[host] > before)
    assert bed.everybody_sees(bed.hosts)


def test_a_peer_that_misbehaves(bed):
    """What it says again is old, what is no message is dropped; both are counted, and nobody is misled."""
    liar = bed.hosts[-1]
    counted = [
        h for h in (bed.aggregators if bed.topology == 'aggregate' else bed.hosts) if h != liar
    ]
    for order, reason in (('malformed', 'malformed'), ('replay', 'stale')):
        before = dropped(bed, reason, counted)
        bed.peers[liar].order(order)
        assert eventually(
            lambda b=before, r=reason: all(n > b[h] for h, n in dropped(bed, r, counted).items())
        )
    assert bed.everybody_sees(bed.hosts)


def test_an_aggregator_is_killed(bed):
    """Its part of the owners moves to the other one; when it is back all is as before."""
    dead = bed.aggregators[0]
    others = [host for host in bed.hosts if host != dead]
    bed.peers[dead].kill()
    began = time.monotonic()
    if bed.topology == 'aggregate':
        left = [host for host in bed.aggregators if host != dead]
        assert eventually(lambda: all(bed.peers[h].last['aggregators'] == left for h in others))
        moved = (time.monotonic() - began) / bed.interval
        say(bed, f'its owners have moved after {moved:.1f} intervals')
        # three, one until a host prints it, and one for a busy machine
        assert moved < 5.0
    assert eventually(lambda: bed.everybody_sees(others), PATIENCE)
    say(bed, f'the rest agrees {time.monotonic() - began:.1f} s after a host was killed')
    bed.start(dead)
    began = time.monotonic()
    assert eventually(lambda: bed.everybody_sees(bed.hosts), PATIENCE)
    say(bed, f'and all again {time.monotonic() - began:.1f} s after it was started')


def test_a_host_leaves(bed):
    """The others know at once, before the time to live."""
    leaver = bed.hosts[-1]
    others = bed.hosts[:-1]
    bed.peers[leaver].leave()
    began = time.monotonic()
    assert eventually(lambda: bed.everybody_sees(others), PATIENCE)
    say(bed, f'a host that left is forgotten after {time.monotonic() - began:.1f} s')
    bed.start(leaver)
    assert eventually(lambda: bed.everybody_sees(bed.hosts), PATIENCE)


def test_a_revoked_host(bed):
    """When every other host has revoked its key it is alone; no restart, and it may come back."""
    outcast = bed.hosts[3]
    others = [host for host in bed.hosts if host != outcast]
    key = bed.keys(outcast).load().own.public
    for host in others:
        bed.keys(host).remove(outcast)
    assert eventually(lambda: bed.everybody_sees(others), PATIENCE)
    assert sum(dropped(bed, 'unknown_peer', others).values()) > 0
    for host in others:
        bed.keys(host).add(outcast, [key])
    assert eventually(lambda: bed.everybody_sees(bed.hosts), PATIENCE)


def test_what_it_costs(bed):
    """CPU of a host per interval, everything included; a host of ten stays below 5 % of a core."""
    before, began = {h: bed.peers[h].last['cpu'] for h in bed.hosts}, time.monotonic()
    time.sleep(10.0)
    passed = time.monotonic() - began
    cost = sorted((bed.peers[h].last['cpu'] - before[h]) / passed for h in bed.hosts)
    say(bed, f'CPU of a host: median {100 * cost[5]:.2f} %, most {100 * cost[-1]:.2f} % of a core')
    assert cost[5] < 0.05
