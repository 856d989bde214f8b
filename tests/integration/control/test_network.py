# SPDX-License-Identifier: Apache-2.0
"""Network classes in a real kernel: guests, bridge and uplink are network namespaces of our own."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from nova_market.adapters.control.network import NetworkClasses
from nova_market.core.host.sample import Control
from nova_market.errors import ConfigurationError
from tests.support.control.network import HOST, NetworkBed
from tests.support.host_builders import guest

pytestmark = pytest.mark.integration('ip', 'tc', 'setpriv')

RATE = 20_000_000
MORE = 30e6
SECONDS = 2.0


@pytest.fixture
def bed() -> Iterator[NetworkBed]:
    bed = NetworkBed()
    yield bed
    bed.close()


@pytest.fixture
def classes(bed: NetworkBed) -> Iterator[NetworkClasses]:
    classes = NetworkClasses('up0', RATE, netns=bed.host)
    yield classes
    classes.close()


def shares(received: Mapping[str, float]) -> list[float]:
    total = sum(received.values())
    return [value / total for value in received.values()]


def check_division(
    bed: NetworkBed,
    sources: Sequence[str],
    expected: Sequence[float],
    tolerance: float = 0.02,
    midway: Callable[[], None] | None = None,
) -> None:
    """The whole device is used by these addresses, each in its part, when all of them want more."""
    parts = pytest.approx(list(expected), abs=tolerance)
    whole = pytest.approx(RATE / 1e6, rel=0.05)
    got = bed.received(
        sources,
        SECONDS,
        MORE,
        midway=midway,
        good=lambda found: shares(found) == parts and sum(found.values()) == whole,
    )
    assert shares(got) == parts
    assert sum(got.values()) == whole


def addresses(bed: NetworkBed, *numbers: int) -> list[str]:
    """Of guests by number."""
    return [bed.address(number) for number in numbers]


def minors(bed: NetworkBed) -> dict[str, str]:
    """MAC address as tc shows it -> class, of all filters."""
    shown = bed.tc('filter', 'show', 'dev', 'up0')
    found = re.findall(
        r'flowid (\S+).*\n\s+match (\w{8})/f{8} at -8\n\s+match (\w{4})0000/ffff0000 at -4', shown
    )
    return {high + low: minor for minor, high, low in found}


def guest_classes(bed: NetworkBed) -> set[str]:
    """Classes as tc shows them, without those that are no guest's."""
    shown = set(re.findall(r'class htb (\S+)', bed.tc('class', 'show', 'dev', 'up0')))
    return shown - {'4e4d:1', '4e4d:2', '4e4d:3'}


def values(found: Mapping[str, Control]) -> dict[str, int | None]:
    assert all(control.controllable for control in found.values()), found
    return {guest_id: control.value for guest_id, control in found.items()}


def reasons(found: Mapping[str, Control]) -> set[str]:
    assert all(control.value is None for control in found.values())
    return {control.reason for control in found.values()}


def sent_bytes(bed: NetworkBed) -> int:
    """What has passed our root qdisc since it was made."""
    shown = bed.tc('-s', 'qdisc', 'show', 'dev', 'up0')
    match = re.search(r'qdisc htb 4e4d: root.*\n Sent (\d+) bytes', shown)
    assert match, shown
    return int(match[1])


@pytest.mark.alone
def test_weights_divide_a_device_that_all_want(bed: NetworkBed, classes: NetworkClasses):
    """1:2:1 of 20 Mbit/s, all of it used."""
    classes.write({'guest-1': 100, 'guest-2': 200, 'guest-3': 100}, bed.seen())
    check_division(bed, addresses(bed, 1, 2, 3), [0.25, 0.5, 0.25])


@pytest.mark.alone
def test_equal_weights_have_classes_of_their_own(bed: NetworkBed, classes: NetworkClasses):
    """The 2016 service put guests of equal priority into one class: they had half of it each."""
    classes.write({'guest-1': 100, 'guest-2': 100, 'guest-3': 200}, bed.seen())
    assert len(set(minors(bed).values())) == 3
    check_division(bed, addresses(bed, 1, 2, 3), [0.25, 0.25, 0.5])


@pytest.mark.alone
def test_what_an_idle_guest_leaves_is_divided_by_weight(bed: NetworkBed, classes: NetworkClasses):
    """Nothing is lost, and the excess does not go half and half."""
    classes.write({'guest-1': 300, 'guest-2': 100, 'guest-3': 200}, bed.seen())
    check_division(bed, addresses(bed, 2, 3), [1 / 3, 2 / 3], 0.03)


@pytest.mark.alone
def test_a_guest_alone_has_the_whole_device_whatever_its_weight(
    bed: NetworkBed, classes: NetworkClasses
):
    classes.write({'guest-1': 1, 'guest-2': 10000, 'guest-3': 10000}, bed.seen())
    check_division(bed, addresses(bed, 1), [1.0])


@pytest.mark.alone
def test_the_host_keeps_its_share(bed: NetworkBed):
    """What is no guest's has default_share, here a quarter, and as much of what others leave."""
    classes = NetworkClasses('up0', RATE, netns=bed.host, default_share=0.25)
    with contextlib.closing(classes):
        classes.write(dict.fromkeys(('guest-1', 'guest-2', 'guest-3'), 100), bed.seen())
        check_division(bed, [HOST, *addresses(bed, 1, 2, 3)], [0.25] * 4)
        check_division(bed, [HOST, bed.address(1)], [0.5, 0.5], 0.03)


@pytest.mark.alone
def test_two_nics_of_a_guest_share_its_class(bed: NetworkBed, classes: NetworkClasses):
    """A second NIC brings nothing more, and is counted."""
    double = bed.add_guest(4, nics=2)
    seen = [*bed.seen(1), double]
    classes.write({'guest-1': 100, 'guest-4': 100}, seen)
    assert len(minors(bed)) == 3
    assert len(guest_classes(bed)) == 2
    sources = [bed.address(1), bed.address(4, 0), bed.address(4, 1)]
    half = pytest.approx(0.5, abs=0.02)
    got = bed.received(sources, SECONDS, MORE, good=lambda found: shares(found)[0] == half)
    assert shares(got)[0] == half


@pytest.mark.alone
def test_a_weight_changes_in_place(bed: NetworkBed, classes: NetworkClasses):
    """Root, classes and filters stay, their counters count on, and the new shares are there at once."""
    classes.write(dict.fromkeys(('guest-1', 'guest-2', 'guest-3'), 100), bed.seen())
    before = minors(bed)
    sent: list[int] = []

    def change() -> None:
        sent.append(sent_bytes(bed))
        assert classes.write({'guest-2': 600}, bed.seen()) == {'guest-2': ''}
        sent.append(sent_bytes(bed))

    check_division(bed, addresses(bed, 1, 2, 3), [1 / 8, 6 / 8, 1 / 8], 0.03, midway=change)
    assert 0 < sent[0] <= sent[1] < sent_bytes(bed)
    assert minors(bed) == before


def test_a_new_guest_is_to_be_written_and_what_is_written_is_read(
    bed: NetworkBed, classes: NetworkClasses
):
    """Also by guests that were not named in the write: their weight stays, or is the default."""
    seen = bed.seen()
    assert values(classes.read(seen)) == dict.fromkeys(('guest-1', 'guest-2', 'guest-3'))
    assert classes.write({'guest-1': 1, 'guest-2': 10000}, seen) == {'guest-1': '', 'guest-2': ''}
    assert values(classes.read(seen)) == {'guest-1': 1, 'guest-2': 10000, 'guest-3': 100}
    assert classes.write({'guest-3': 77}, seen) == {'guest-3': ''}
    assert values(classes.read(seen)) == {'guest-1': 1, 'guest-2': 10000, 'guest-3': 77}


def test_bad_values_and_guests_that_left_are_answered_by_name(
    bed: NetworkBed, classes: NetworkClasses
):
    seen = bed.seen(2)
    classes.write({'guest-1': 300}, seen)
    wrong = classes.write({'guest-1': 0, 'guest-2': 10001, 'guest-9': 100}, seen)
    assert wrong == {
        'guest-1': '0 is not in 1..10000',
        'guest-2': '10001 is not in 1..10000',
        'guest-9': 'gone',
    }
    assert values(classes.read(seen)) == {'guest-1': 300, 'guest-2': 100}


def test_a_dry_run_leaves_no_trace(bed: NetworkBed, classes: NetworkClasses):
    """Reading writes nothing."""
    before = bed.tc('qdisc', 'show', 'dev', 'up0')
    classes.read(bed.seen())
    assert bed.tc('qdisc', 'show', 'dev', 'up0') == before


def test_a_killed_service_finds_its_classes_again(bed: NetworkBed):
    """The map is in the kernel: after kill -9 the same guests have the same classes and weights."""
    program = (
        'import os, signal\n'
        'from nova_market.adapters.control.network import NetworkClasses\n'
        'from tests.support.control.network import NetworkBed\n'
        f'classes = NetworkClasses("up0", {RATE}, netns={bed.host!r})\n'
        'seen = NetworkBed.seen(None)\n'
        'classes.write({"guest-1": 37, "guest-2": 411, "guest-3": 2999}, seen)\n'
        'os.kill(os.getpid(), signal.SIGKILL)\n'
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    before = minors(bed)
    classes = NetworkClasses('up0', RATE, netns=bed.host)
    seen = list(reversed(bed.seen()))
    assert values(classes.read(seen)) == {'guest-1': 37, 'guest-2': 411, 'guest-3': 2999}
    classes.write({'guest-1': 38}, seen)
    assert minors(bed) == before
    assert len(before) == 3
    classes.close()


def test_another_rate_after_a_restart_keeps_weights_and_is_written(bed: NetworkBed):
    """Values under the old rate are not complete, so that the next round writes them anew."""
    earlier = NetworkClasses('up0', RATE, netns=bed.host)
    earlier.write({'guest-1': 300}, bed.seen())
    classes = NetworkClasses('up0', 2 * RATE, netns=bed.host)
    assert set(values(classes.read(bed.seen())).values()) == {None}
    classes.write({'guest-2': 50}, bed.seen())
    assert values(classes.read(bed.seen())) == {'guest-1': 300, 'guest-2': 50, 'guest-3': 100}
    assert 'rate 40Mbit' in bed.tc('class', 'show', 'dev', 'up0')
    classes.close()
    earlier.close()


def test_classes_of_guests_that_left_are_taken_away(bed: NetworkBed, classes: NetworkClasses):
    """With their filters; the others keep theirs, and a newcomer takes a free number."""
    classes.write(dict.fromkeys(('guest-1', 'guest-2', 'guest-3'), 100), bed.seen())
    before = minors(bed)
    classes.write({'guest-1': 200}, [bed.seen()[0], bed.seen()[2]])
    assert minors(bed) == {mac: minor for mac, minor in before.items() if not mac.endswith('02')}
    assert guest_classes(bed) == set(minors(bed).values())
    classes.write({'guest-2': 100}, bed.seen())
    assert {mac: minor for mac, minor in minors(bed).items() if not mac.endswith('02')} == {
        mac: minor for mac, minor in before.items() if not mac.endswith('02')
    }
    assert len(set(minors(bed).values())) == 3


def test_when_a_guest_left_the_others_are_to_be_written(bed: NetworkBed, classes: NetworkClasses):
    """Reading itself writes nothing, so a dry run does not either; afterwards there is nothing to do."""
    wanted = {'guest-1': 100, 'guest-2': 200}
    classes.write({**wanted, 'guest-3': 100}, bed.seen())
    rest, before = bed.seen(2), bed.tc('class', 'show', 'dev', 'up0')
    assert values(classes.read(rest)) == dict.fromkeys(wanted)
    assert bed.tc('class', 'show', 'dev', 'up0') == before
    assert set(classes.write(wanted, rest).values()) == {''}
    assert values(classes.read(rest)) == wanted
    assert len(guest_classes(bed)) == 2


def test_what_cannot_be_taken_away_is_not_asked_for_each_round(
    bed: NetworkBed, classes: NetworkClasses
):
    """Somebody else's filter holds the class of a guest that left: HTB keeps it."""
    wanted = {'guest-1': 100, 'guest-2': 200}
    classes.write({**wanted, 'guest-3': 100}, bed.seen())
    held = next(minor for mac, minor in minors(bed).items() if mac.endswith('03'))
    match = ('u32', 'match', 'u32', '0', '0')
    bed.tc('filter', 'add', 'dev', 'up0', 'parent', '4e4d:', 'pref', '9', *match, 'flowid', held)
    rest = bed.seen(2)
    assert set(classes.write(wanted, rest).values()) == {''}
    assert held in guest_classes(bed)
    assert values(classes.read(rest)) == wanted


def test_a_nic_plugged_in_later_joins_the_class(bed: NetworkBed, classes: NetworkClasses):
    """The guest has no complete class until then; a NIC that moves to another guest moves on."""
    first, second = ('tap1', 'fa:16:3e:00:00:01'), ('tap2', 'fa:16:3e:00:00:02')
    classes.write({'a': 300}, [guest('a', 'o', interfaces=(first,))])
    both = [guest('a', 'o', interfaces=(first, second))]
    assert values(classes.read(both)) == {'a': None}
    classes.write({'a': 300}, both)
    assert values(classes.read(both)) == {'a': 300}
    assert len(set(minors(bed).values())) == 1
    moved = [guest('a', 'o', interfaces=(first,)), guest('b', 'o', interfaces=(second,))]
    assert values(classes.read(moved)) == {'a': 300, 'b': None}
    classes.write({'b': 50}, moved)
    assert values(classes.read(moved)) == {'a': 300, 'b': 50}
    assert len(set(minors(bed).values())) == 2


def test_two_hundred_guests_at_once(bed: NetworkBed, classes: NetworkClasses):
    """All have their class after one write; then 150 leave, and 50 keep theirs."""
    crowd = [
        guest(f'g{n:03d}', 'o', interfaces=((f'tap{n}', f'fa:16:3e:01:{n % 7:02x}:{n:02x}'),))
        for n in range(200)
    ]
    wanted = {one.id: 10 + n for n, one in enumerate(crowd)}
    assert set(classes.write(wanted, crowd).values()) == {''}
    assert values(classes.read(crowd)) == wanted
    before = minors(bed)
    assert len(set(before.values())) == 200
    rest = crowd[::4]
    classes.write({rest[0].id: 500}, rest)
    assert len(guest_classes(bed)) == 50
    assert minors(bed).items() <= before.items()
    assert values(classes.read(rest)) == {one.id: wanted[one.id] for one in rest} | {'g000': 500}


@pytest.mark.parametrize('when', ['before', 'meanwhile'])
def test_a_foreign_root_qdisc_is_respected(bed: NetworkBed, classes: NetworkClasses, when: str):
    """Neither written to nor taken away, also when it took the place of ours."""
    foreign = ('root', 'handle', '1:', 'tbf', 'rate', '50mbit', 'burst', '20k', 'latency', '50ms')
    if when == 'meanwhile':
        classes.write({'guest-1': 300}, bed.seen())
    bed.tc('qdisc', 'replace', 'dev', 'up0', *foreign)
    before = bed.tc('qdisc', 'show', 'dev', 'up0')
    (reason,) = reasons(classes.read(bed.seen()))
    assert reason.startswith('foreign root qdisc tbf 1: on up0; ')
    assert classes.write({'guest-1': 300, 'guest-9': 1}, bed.seen()) == {
        'guest-1': reason,
        'guest-9': 'gone',
    }
    classes.close()
    assert bed.tc('qdisc', 'show', 'dev', 'up0') == before
    bed.tc('qdisc', 'delete', 'dev', 'up0', 'root')
    assert set(values(classes.read(bed.seen())).values()) == {None}


def test_a_clean_stop_leaves_the_kernels_default(bed: NetworkBed):
    """Once more, it changes nothing."""
    before = bed.tc('qdisc', 'show', 'dev', 'up0')
    classes = NetworkClasses('up0', RATE, netns=bed.host)
    classes.write({'guest-1': 300}, bed.seen())
    assert 'htb 4e4d: root' in bed.tc('qdisc', 'show', 'dev', 'up0')
    classes.close()
    assert bed.tc('qdisc', 'show', 'dev', 'up0') == before
    classes.close()


def test_a_device_may_vanish_and_come_back(bed: NetworkBed, classes: NetworkClasses):
    """A reason meanwhile, then everything is built anew on another device of this name."""
    classes.write({'guest-1': 300}, bed.seen())
    bed.remove_uplink()
    assert reasons(classes.read(bed.seen())) == {'device up0 is gone'}
    assert classes.write({'guest-1': 300}, bed.seen()) == {'guest-1': 'device up0 is gone'}
    bed.add_uplink()
    assert set(values(classes.read(bed.seen())).values()) == {None}
    assert classes.write({'guest-1': 300}, bed.seen()) == {'guest-1': ''}
    assert values(classes.read(bed.seen()))['guest-1'] == 300
    bed.remove_uplink()
    classes.close()


@pytest.mark.parametrize(
    'damage',
    [
        ('filter', 'delete', 'dev', 'up0', 'parent', '4e4d:'),
        ('qdisc', 'delete', 'dev', 'up0', 'root'),
    ],
    ids=['filters', 'root'],
)
def test_what_others_took_away_is_put_back(
    bed: NetworkBed, classes: NetworkClasses, damage: tuple[str, ...]
):
    seen = bed.seen()
    wanted = {'guest-1': 300, 'guest-2': 50, 'guest-3': 70}
    classes.write(wanted, seen)
    bed.tc(*damage)
    assert set(values(classes.read(seen)).values()) == {None}
    assert set(classes.write(wanted, seen).values()) == {''}
    assert values(classes.read(seen)) == wanted
    assert len(minors(bed)) == 3
    assert len(guest_classes(bed)) == 3


def test_without_the_capability_the_reason_says_so(bed: NetworkBed):
    """No exception: the round goes on with the other controls."""
    program = (
        'from nova_market.adapters.control.network import NetworkClasses\n'
        'from tests.support.control.network import NetworkBed\n'
        f'classes = NetworkClasses("up0", {RATE}, netns={bed.host!r})\n'
        'print(classes.write({"guest-1": 300}, NetworkBed.seen(None)))\n'
        'classes.close()\n'
    )
    without = ['setpriv', '--bounding-set=-net_admin', '--inh-caps=-net_admin']
    done = subprocess.run(
        [*without, sys.executable, '-c', program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert 'the service needs CAP_NET_ADMIN' in done.stdout


def test_threads_take_turns_and_sockets_are_closed(bed: NetworkBed):
    """Rounds and a stop from another thread do not mix their answers."""
    descriptors = set(os.listdir('/proc/self/fd'))
    classes = NetworkClasses('up0', RATE, netns=bed.host)
    wrong: list[object] = []

    def work(number: int) -> None:
        for weight in range(1, 40):
            wrong.extend(
                filter(None, classes.write({f'guest-{number}': weight}, bed.seen()).values())
            )
            if values(classes.read(bed.seen()))[f'guest-{number}'] != weight:
                wrong.append((number, weight))

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert time.monotonic() - began < 30
    classes.close()
    assert set(os.listdir('/proc/self/fd')) == descriptors


def test_a_device_or_namespace_that_does_not_exist_stops_the_start(bed: NetworkBed):
    with pytest.raises(
        ConfigurationError, match=r'network_device = eth7: no such device.*br0.*up0'
    ):
        NetworkClasses('eth7', RATE, netns=bed.host)
    with pytest.raises(ConfigurationError, match='network namespace nowhere'):
        NetworkClasses('up0', RATE, netns='nowhere')
    with pytest.raises(ConfigurationError, match='network_rate_mbps'):
        NetworkClasses('up0', 0, netns=bed.host)
