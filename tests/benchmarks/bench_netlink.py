# SPDX-License-Identifier: Apache-2.0
"""What network control costs in a round, against the floor and against the processes of 2016.

The 2016 service started N * (2 * N + P + 5) processes in each interval for N guests of P priorities; that
is run whole for 10 guests, and for more guests calculated from what one process takes here.
"""

import resource
import struct
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest
from pyroute2.netlink.rtnl import RTM_GETTCLASS, RTM_GETTFILTER, RTM_NEWTCLASS, RTM_NEWTFILTER
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from nova_market.adapters.control import traffic_control as tc
from nova_market.adapters.control.netlink_socket import RouteSocket
from nova_market.adapters.control.network import NetworkClasses
from nova_market.core.host.sample import Guest
from tests.support.control.network import NetworkBed
from tests.support.host_builders import guest
from tests.support.namespaces import run

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.integration('ip', 'tc'),
]

RATE = 1_000_000_000


@pytest.fixture
def bed() -> Iterator[NetworkBed]:
    bed = NetworkBed()
    yield bed
    bed.close()


def crowd(count: int) -> list[Guest]:
    return [
        guest(f'g{n:03d}', 'o', interfaces=((f'tap{n}', f'fa:16:3e:01:00:{n:02x}'),))
        for n in range(count)
    ]


def best(call: Callable[[], object], times: int = 15) -> float:
    """Least of several runs, milliseconds."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        found.append(1e3 * (time.perf_counter() - began))
    return min(found)


def processes(guests: int) -> int:
    """In an interval of the 2016 service, every guest having a priority of its own."""
    return guests * (2 * guests + guests + 5)


def round_cost(bed: NetworkBed, count: int) -> tuple[float, float, float]:
    """Milliseconds of a look, of a look and a change of all, and of the bare change of all classes."""
    classes, guests = NetworkClasses('up0', RATE, netns=bed.host), crowd(count)
    classes.write({one.id: 100 for one in guests}, guests)
    turn = 0

    def change() -> None:
        nonlocal turn
        turn += 1
        found = classes.read(guests)
        wanted = {one.id: 50 + (n * 7 + turn * 13) % 300 for n, one in enumerate(guests)}
        assert set(classes.write(wanted, guests).values()) == {''}
        assert len(found) == count

    look, changed = best(lambda: classes.read(guests)), best(change)
    with RouteSocket(bed.host) as route:
        index = tc.link(route, 'up0').index
        present = tc.tree(route, index).classes
        requests = [tc.put_class(index, n, present[n], new=False) for n in present]
        floor = best(lambda: route.batch(requests))
    classes.close()
    return look, changed, floor


def as_in_2016(bed: NetworkBed, count: int) -> tuple[int, float, float]:
    """Processes, seconds and seconds of CPU of one interval: the tree is rebuilt for each guest."""
    add, device = ['tc', '-n', bed.host], ['dev', 'up0']
    root = [*add, 'qdisc', 'add', *device, 'root', 'handle', '1:', 'htb', 'default', '99']
    fixed = [
        [*add, 'qdisc', 'show', *device],
        [*add, 'qdisc', 'delete', *device, 'root'],
        root,
        [*add, 'class', 'add', *device, 'parent', '1:', 'classid', '1:1', 'htb', 'rate', '100mbit'],
        [*add, 'class', 'add', *device, 'parent', '1:1', 'classid', '1:99', 'htb', 'rate', '1mbit'],
    ]
    each = []
    for n in range(count):
        minor, source = f'1:{n + 16:x}', f'10.0.0.{n + 1}'
        parent = [*device, 'parent', '1:1', 'classid', minor]
        each.append([*add, 'class', 'add', *parent, 'htb', 'rate', '1mbit', 'ceil', '100mbit'])
        each.append(['ip', '-n', bed.host, 'neighbour', 'show'])
        match = ['u32', 'match', 'ip', 'src', source, 'flowid', minor]
        each.append([*add, 'filter', 'add', *device, 'parent', '1:', 'protocol', 'ip', *match])
    run(*root)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    began, started = time.perf_counter(), 0
    for _ in range(count):
        for words in fixed + each:
            subprocess.run(words, check=True, capture_output=True)
            started += 1
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(*add, 'qdisc', 'delete', *device, 'root')
    cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    return started, seconds, cpu


def test_a_round_is_linear_and_close_to_its_floor(bed: NetworkBed):
    """Looking is included: desired state is compared with actual. No process is started."""
    began = time.perf_counter()
    for _ in range(20):
        bed.tc('class', 'show', 'dev', 'up0')
    spawn = 1e3 * (time.perf_counter() - began) / 20
    print(f'\none tc process: {spawn:.2f} ms')
    print(
        f'{"guests":>6} {"look ms":>8} {"look+change":>12} {"us/guest":>9} {"floor":>7} '
        f'{"processes 2016":>15} {"their ms":>9} {"ratio":>8}'
    )
    changed = {}
    for count in (10, 20, 40, 80, 160):
        look, changed[count], floor = round_cost(bed, count)
        old = processes(count)
        print(
            f'{count:6d} {look:8.2f} {changed[count]:12.2f} {1e3 * changed[count] / count:9.1f} '
            f'{floor:7.2f} {old:15d} {old * spawn:9.0f} {old * spawn / changed[count]:8.0f}'
        )
    assert changed[160] / 160 < 1.5 * changed[40] / 40


def as_pyroute2_has_it(index: int, minor: int, wanted: tc.HtbClass) -> bytes:
    """The message of put_class by pyroute2's encoder, without the helpers that would compute values."""
    message = tcmsg()
    message['index'], message['handle'] = index, tc.classid(minor)
    message['parent'] = tc.classid(tc.DEVICE_MINOR)
    values = {'rate': wanted.rate, 'ceil': wanted.ceil, 'quantum': wanted.quantum} | {
        'buffer': wanted.burst, 'cbuffer': wanted.ceil_burst,
        'rate___reserved': 1, 'ceil___reserved': 1,
    }  # fmt: skip
    options = {'attrs': [('TCA_HTB_PARMS', values)]}
    message['attrs'] = [('TCA_KIND', 'htb'), ('TCA_OPTIONS', options)]
    message.encode()
    return bytes(message.data)


def tree_by_pyroute2(route: RouteSocket, index: int) -> list[object]:
    """Options of classes and filters as pyroute2's decoder reads them, off the same socket."""
    found: list[object] = []
    for kind, answer, options in (
        (RTM_GETTCLASS, RTM_NEWTCLASS, 'TCA_HTB_PARMS'),
        (RTM_GETTFILTER, RTM_NEWTFILTER, 'TCA_U32_SEL'),
    ):
        for body in route.dump(kind, tc.MESSAGE.pack(index=index, parent=tc.MAJOR << 16)):
            message = tcmsg(struct.pack('=IHHII', 16 + len(body), answer, 0, 0, 0) + body)
            message.decode()
            found.append(message.get_nested('TCA_OPTIONS', options))
    return found


def test_what_the_messages_of_pyroute2_would_cost(bed: NetworkBed):
    """The reason for messages of our own: ten times the cost or more, to write and to read."""
    classes, guests = NetworkClasses('up0', RATE, netns=bed.host), crowd(160)
    classes.write({one.id: 100 for one in guests}, guests)
    with RouteSocket(bed.host) as route:
        index = tc.link(route, 'up0').index
        present = tc.tree(route, index).classes
        minors = [minor for minor in present if minor >= tc.FIRST_MINOR]
        ours = tc.put_class(index, minors[0], present[minors[0]], new=False).body
        assert len(as_pyroute2_has_it(index, minors[0], present[minors[0]])) == 16 + len(ours)
        write = best(lambda: [tc.put_class(index, n, present[n], new=False) for n in minors])
        write_theirs = best(lambda: [as_pyroute2_has_it(index, n, present[n]) for n in minors], 5)
        read = best(lambda: tc.tree(route, index))

        read_theirs = best(lambda: tree_by_pyroute2(route, index), 5)
    classes.close()
    print(
        f'\n160 classes: encoded {write:.2f} ms, by pyroute2 {write_theirs:.2f} ms, '
        f'{write_theirs / write:.0f} times; tree read {read:.2f} ms, by pyroute2 {read_theirs:.2f} ms, '
        f'{read_theirs / read:.0f} times'
    )
    assert write_theirs > 10 * write and read_theirs > 4 * read


def test_against_an_interval_of_2016_run_whole(bed: NetworkBed):
    """10 guests, 350 processes, each counted."""
    started, seconds, cpu = as_in_2016(bed, 10)
    assert started == processes(10) == 350
    _, changed, _ = round_cost(bed, 10)
    print(
        f'\n10 guests: {started} processes, {1e3 * seconds:.0f} ms, {1e3 * cpu:.0f} ms of CPU; '
        f'netlink {changed:.2f} ms: {1e3 * seconds / changed:.0f} times less'
    )
    assert 1e3 * seconds > 50 * changed


def test_bulk_tcp_divides_what_an_idle_guest_leaves(bed: NetworkBed):
    """1:2 at 1 Gbit/s in offloaded packets of up to 64 KiB, while the heaviest guest is silent."""
    classes = NetworkClasses('up0', RATE, netns=bed.host)
    classes.write({'guest-1': 50, 'guest-2': 100, 'guest-3': 3200}, bed.seen())
    got = bed.streamed((1, 2), 3.0)
    total = sum(got.values())
    print(f'\n{total:.0f} Mbit/s, of it {got[1] / total:.3f} and {got[2] / total:.3f}')
    assert total > 0.8 * RATE / 1e6, 'this machine does not fill 1 Gbit/s'
    assert got[1] / total == pytest.approx(1 / 3, abs=0.05)
    classes.close()
