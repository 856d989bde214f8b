# SPDX-License-Identifier: Apache-2.0
"""Weights and HTB classes, both ways; what goes over the wire, as pyroute2 reads it. No root needed."""

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from nova_market.adapters.control import traffic_control as tc
from nova_market.adapters.control.htb_layout import (
    MAX_TOP,
    class_table,
    classes_of,
    mac_addresses,
    weights_in,
    with_new,
)
from nova_market.adapters.control.netlink_message import Layout, attribute, attributes
from nova_market.adapters.control.netlink_socket import Request, RouteSocket
from nova_market.adapters.control.network import NetworkClasses
from nova_market.errors import ConfigurationError
from tests.support.host_builders import guest

GIGABIT = 125_000_000
WEIGHTS = st.lists(st.integers(1, 10000), min_size=1, max_size=60)


def tree_of(table: dict[int, tc.HtbClass]) -> tc.Tree:
    return tc.Tree(root=tc.RootQdisc(kind='htb', handle=tc.MAJOR << 16), classes=table)


def numbered(weights: list[int]) -> dict[int, int]:
    return {tc.FIRST_MINOR + n: weight for n, weight in enumerate(weights)}


def test_rates_are_proportional_and_fill_the_device():
    table = class_table({16: 100, 17: 200, 18: 100}, GIGABIT, 0.1, 1500)
    rates = [table[minor].rate for minor in (tc.DEFAULT_MINOR, 16, 17, 18)]
    assert rates == [12_500_000, 28_125_000, 56_250_000, 28_125_000]
    assert sum(rates) == table[tc.DEVICE_MINOR].rate == GIGABIT
    assert {table[minor].ceil for minor in (tc.DEFAULT_MINOR, 16, 17, 18)} == {GIGABIT}


@given(WEIGHTS, st.sampled_from([GIGABIT // 1000, GIGABIT // 50, GIGABIT, 400 * GIGABIT]))
def test_guests_are_never_promised_more_than_there_is(weights: list[int], rate: int):
    """Up to a byte/s of rounding each; nobody has nothing."""
    table = class_table(numbered(weights), rate, 0.1, 1500)
    own = [one.rate for minor, one in table.items() if minor >= tc.FIRST_MINOR]
    assert sum(own) + table[tc.DEFAULT_MINOR].rate <= rate + len(own)
    assert min(own) >= 1


@given(WEIGHTS)
def test_weights_can_be_read_back_from_the_classes(weights: list[int]):
    table = class_table(numbered(weights), GIGABIT // 50, 0.1, 1500)
    assert weights_in(tree_of(table)) == numbered(weights)


def test_weights_are_not_guessed_without_the_fixed_classes():
    table = class_table({16: 300}, GIGABIT, 0.1, 1500)
    for minor in (tc.DEVICE_MINOR, tc.DEFAULT_MINOR, tc.LEDGER_MINOR):
        assert weights_in(tree_of({n: one for n, one in table.items() if n != minor})) == {}


def test_quanta_are_proportional_within_the_span_and_take_an_offloaded_packet():
    """A quantum below the packet size would divide the excess by packets, not by weight."""
    table = class_table({16: 25, 17: 100, 18: 400}, GIGABIT, 0.1, 1500)
    quanta = [table[minor].quantum for minor in (16, 17, 18)]
    assert quanta[1] == pytest.approx(4 * quanta[0], rel=1e-4)
    assert quanta[2] == pytest.approx(16 * quanta[0], rel=1e-4)
    assert quanta[0] >= 65536


@given(WEIGHTS, st.sampled_from([1500, 9000]))
def test_quanta_take_a_frame_and_hold_nobody_up(weights: list[int], mtu: int):
    for minor, one in class_table(numbered(weights), 400 * GIGABIT, 0.1, mtu).items():
        if minor >= tc.FIRST_MINOR:
            assert mtu + 14 <= one.quantum <= MAX_TOP


def test_slow_links_and_no_guests_have_a_table():
    table = class_table({}, GIGABIT // 1000, 0.1, 1500)
    assert set(table) == {tc.DEVICE_MINOR, tc.DEFAULT_MINOR, tc.LEDGER_MINOR}
    # smallest weight of the slowest device: its burst must fit the kernel's 32 bits
    slow = class_table({16: 1, 17: 10000}, GIGABIT // 1000, 0.1, 65535)
    assert all(0 < one.burst < 1 << 32 and one.rate >= 1 for one in slow.values())


def test_guests_are_known_by_all_their_mac_addresses():
    seen = [
        guest('b', 'o', interfaces=(('tap1', 'FA:16:3E:00:00:01'), ('tap2', 'fa:16:3e:00:00:02'))),
        guest('a', 'o', interfaces=(('tap3', 'fa:16:3e:00:00:03'),)),
    ]
    known, reasons = mac_addresses(seen)
    assert list(known) == ['a', 'b']
    assert [mac.hex() for mac in known['b']] == ['fa163e000001', 'fa163e000002']
    assert reasons == {}


@pytest.mark.parametrize(
    ('interfaces', 'why'),
    [
        ((), 'no network interface'),
        ((('tap1', "52:54'; rm"),), 'is not a MAC address'),
        ((('tap1', ''),), 'is not a MAC address'),
        ((('tap1', 'fa:16:3e:00:00:01:02'),), 'is not a MAC address'),
        ((('tap1', 'fa:16:3e:00:00:0١'),), 'is not a MAC address'),
        ((('tap1', 'fa:16:3e:00:00:01'),), 'guest a has the same MAC address fa:16:3e:00:00:01'),
    ],
)
def test_a_guest_that_cannot_be_distinguished_has_a_reason(interfaces, why):
    first = guest('a', 'o', interfaces=(('tap0', 'fa:16:3e:00:00:01'),))
    known, reasons = mac_addresses([guest('b', 'o', interfaces=interfaces), first])
    assert list(known) == ['a']
    assert reasons['b'].startswith('not controllable: ')
    assert why in reasons['b']


def test_a_class_belongs_to_one_guest():
    """Where filters of two guests lead to one class, the first by id keeps it."""
    one, two, three = (bytes([0, 0, 0, 0, 0, n]) for n in (1, 2, 3))
    filters = [
        tc.MacFilter(handle=n, mac=mac, minor=minor)
        for n, (mac, minor) in enumerate([(one, 16), (two, 16), (three, 99)])
    ]
    known = classes_of({'a': [one], 'b': [two], 'c': [three]}, filters, [1, 2, 3, 16])
    assert known == {'a': 16}
    assert with_new(known, ['a', 'b', 'c'], [1, 2, 3, 16, 18]) == {'a': 16, 'b': 17, 'c': 19}


def test_the_last_class_is_taken_and_then_none_is_left():
    used = range(tc.FIRST_MINOR, tc.LAST_MINOR)
    assert with_new({}, ['a', 'b'], used) == {'a': tc.LAST_MINOR}


@pytest.mark.parametrize('rate', [GIGABIT, 2 * (1 << 32)])
def test_a_class_reads_as_pyroute2_reads_it(rate: int):
    """Above 34 Gbit/s in 64 bits."""
    wanted = tc.HtbClass(rate=rate // 2, ceil=rate, quantum=70000, burst=1000, ceil_burst=2000)
    message = decoded(tc.put_class(7, 16, wanted, new=True))
    assert (message['index'], message['handle'], message['parent']) == (7, 0x4E4D0010, 0x4E4D0001)
    assert message.get_attr('TCA_KIND') == 'htb'
    options = message.get_attr('TCA_OPTIONS')
    values = options.get_attr('TCA_HTB_PARMS')
    read = tuple(values[name] for name in ('rate', 'ceil', 'quantum', 'buffer', 'cbuffer'))
    assert read == (min(rate // 2, 0xFFFFFFFF), min(rate, 0xFFFFFFFF), 70000, 1000, 2000)
    wide = options.get_attr('TCA_HTB_RATE64'), options.get_attr('TCA_HTB_CEIL64')
    expected = tuple(n if n > 0xFFFFFFFF else None for n in (rate // 2, rate))
    assert wide == expected


def test_a_filter_matches_the_source_mac_address():
    """struct tc_u32_sel by its bytes: pyroute2 reads its keys from a wrong place."""
    request = tc.new_mac_filter(7, bytes.fromhex('fa163e00aa55'), 16)
    message = decoded(request)
    assert message['parent'] == 0x4E4D0000
    assert message['info'] >> 16 == tc.PREFERENCE
    options = message.get_attr('TCA_OPTIONS')
    assert options.get_attr('TCA_U32_CLASSID') == 0x4E4D0010
    assert options.get_attr('TCA_U32_HASH') == tc.TABLE | 0x55 << 12
    selector = attributes(attributes(request.body, 20)[2])[5]
    head, first, second = selector[:16], selector[16:32], selector[32:]
    assert head == bytes([1, 0, 2]) + bytes(13)
    assert first.hex() == 'fffffffffa163e00f8ffffff00000000'
    assert second.hex() == 'ffff0000aa550000fcffffff00000000'


def test_a_root_qdisc_takes_the_place_of_the_kernels_own_only():
    """NLM_F_CREATE | NLM_F_EXCL, never NLM_F_REPLACE."""
    request = tc.new_root(7)
    assert request.flags == 0x600
    message = decoded(request)
    assert (message['handle'], message['parent']) == (0x4E4D0000, 0xFFFFFFFF)
    init = message.get_attr('TCA_OPTIONS').get_attr('TCA_HTB_INIT')
    assert (init['version'], init['defcls']) == (3, tc.DEFAULT_MINOR)


def test_a_structure_is_packed_by_name():
    """Fields that are not given are 0; a wrong name is not ignored."""
    layout = Layout(tcmsg)
    packed = layout.pack(index=7, parent=1)
    assert packed == struct.pack('=BBHiIII', 0, 0, 0, 7, 0, 1, 0) and layout.size == 20
    found = layout.unpack(packed + b'more')
    assert (found['index'], found['handle'], found['parent']) == (7, 0, 1)
    with pytest.raises(struct.error):
        layout.pack(indexx=7)


def test_attributes_survive_a_kernel_that_says_more_or_less():
    """Unknown ones are kept aside, a broken length ends the list instead of looping."""
    payload = attribute(3, b'abc') + attribute(0x8004, b'nested')
    assert attributes(payload) == {3: b'abc', 4: b'nested'}
    assert attributes(payload + b'\x00\x00\x01\x00') == {3: b'abc', 4: b'nested'}
    assert attributes(b'') == {}


def test_the_loopback_device_is_asked_without_rights():
    """Reading needs none: a dry run may be made by any user."""
    with RouteSocket() as route:
        known = tc.links(route)
        assert tc.link(route, 'lo') == known['lo']
        assert not tc.tree(route, known['lo'].index).ours
        with pytest.raises(OSError, match='No such device') as caught:
            tc.link(route, 'nm-nowhere')
    assert caught.value.errno == errno.ENODEV


def test_errors_of_a_batch_are_those_of_their_requests():
    """1050 requests that all fail: each is answered, over several system calls."""
    wrong = Request(type=9999, body=bytes(20))
    with RouteSocket() as route:
        errors = route.batch([wrong] * 1050)
        assert sorted(errors) == list(range(1050))
        assert tc.link(route, 'lo').index == 1


@pytest.mark.parametrize(
    ('arguments', 'expected'),
    [
        ({'device': 'nm-nowhere'}, r'network_device = nm-nowhere: no such device; there are .*lo'),
        ({'device': 'x' * 40}, r'no such device'),
        ({'rate_bps': 0}, r'network_rate_mbps = 0 asks lo for its speed'),
        ({'rate_bps': -5}, r'-5 bit/s .* at least 1000000'),
        ({'rate_bps': 999_999}, r'999999 bit/s .* at least 1000000'),
        ({'default_share': 0.0}, r'default_share = 0.0: .* 0.001..0.9'),
        ({'default_share': float('nan')}, r'default_share = nan'),
    ],
)
def test_what_cannot_work_stops_the_start(arguments, expected):
    with pytest.raises(ConfigurationError, match=expected):
        NetworkClasses(**({'device': 'lo', 'rate_bps': 10_000_000} | arguments))


def decoded(request: Request) -> tcmsg:
    message = tcmsg(bytes(16) + request.body)
    message.data = (16 + len(request.body)).to_bytes(4, 'little') + bytes(12) + request.body
    message.decode()
    return message
