# SPDX-License-Identifier: Apache-2.0
"""The queueing tree of one device as the kernel reports it, and the requests that change it.

What is ours is known by its numbers, so that a service that crashed finds it again:

    qdisc  4e4d:        HTB at the root; what no filter matches goes to class 4e4d:2
    class  4e4d:1       the device
    class  4e4d:2       all traffic that is no guest's
    class  4e4d:3       takes no packet; its quantum keeps the sum of weights
    class  4e4d:10..    one per guest
    filter 20045        u32: table 4e4 of 256 buckets, chosen by the last byte of the source MAC address,
                        then one entry per MAC address; a packet costs two steps however many guests

Units: rates in bytes/s, quantum in bytes, bursts in kernel ticks of 64 ns at the rate.
"""

import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pyroute2 import netlink
from pyroute2.netlink import rtnl
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.tcmsg import cls_u32, sched_htb, tcmsg

from nova_market.adapters.control.netlink_message import (
    Layout,
    attribute,
    attribute_numbers,
    attributes,
    text,
)
from nova_market.adapters.control.netlink_socket import Request, RouteSocket

MAJOR = 0x4E4D
"""'NM'. tc numbers what it makes by itself from 8001 on; people use small numbers."""

DEVICE_MINOR = 1
DEFAULT_MINOR = 2
LEDGER_MINOR = 3
FIRST_MINOR = 0x10
LAST_MINOR = 0xFFEF

PREFERENCE = 0x4E4D
TABLE = 0x4E4 << 20
BUCKETS = 256

NS_PER_TICK = 64
"""1 << PSCHED_SHIFT; a constant of the kernel since 2.6.31."""

# of linux/pkt_sched.h, pkt_cls.h and if_ether.h, which pyroute2 does not name in all its versions
TC_LINKLAYER_ETHERNET = 1  # no rate tables are needed
TC_U32_TERMINAL = 1
TCA_HTB_RATE64 = 6
TCA_HTB_CEIL64 = 7
TCA_U32_FLAGS = 11
TCA_CLS_FLAGS_SKIP_HW = 1
ETH_P_ALL = 3

MAX_RATE = 0xFFFFFFFF

LINK = Layout(ifinfmsg)
MESSAGE = Layout(tcmsg)
HTB_GLOBAL = Layout(sched_htb.options.htb_glob)
HTB_PARAMETERS = Layout(sched_htb.options.htb_parms)
SELECTOR = struct.Struct('=BBBxHHhh4s')  # cls_u32 declares mixed byte orders
KEY = struct.Struct('=4s4sii')
U32 = struct.Struct('=I')
U64 = struct.Struct('=Q')

IFLA = attribute_numbers(ifinfmsg)
TCA = attribute_numbers(tcmsg)
HTB = {
    **attribute_numbers(sched_htb.options),
    'TCA_HTB_RATE64': TCA_HTB_RATE64,
    'TCA_HTB_CEIL64': TCA_HTB_CEIL64,
}
U32_FILTER = {**attribute_numbers(cls_u32.options), 'TCA_U32_FLAGS': TCA_U32_FLAGS}

_INFO = PREFERENCE << 16 | socket.htons(ETH_P_ALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    index: int
    mtu: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RootQdisc:
    kind: str
    handle: int

    def __str__(self) -> str:
        return f'{self.kind} {self.handle >> 16:x}:'


@dataclass(frozen=True, slots=True, kw_only=True)
class HtbClass:
    rate: int
    ceil: int
    quantum: int
    burst: int
    ceil_burst: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MacFilter:
    handle: int
    mac: bytes
    minor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """root: None is the kernel's own choice. classes: minor -> class. The rest only where root is ours."""

    root: RootQdisc | None
    classes: Mapping[int, HtbClass] = field(default_factory=dict)
    filters: tuple[MacFilter, ...] = ()
    has_table: bool = False
    has_link: bool = False

    @property
    def ours(self) -> bool:
        return self.root == RootQdisc(kind='htb', handle=MAJOR << 16)


def links(route: RouteSocket) -> Mapping[str, Link]:
    """Devices of the namespace by name."""
    found = (_link(body) for body in route.dump(rtnl.RTM_GETLINK, LINK.pack()))
    return dict(sorted(found))


def link(route: RouteSocket, name: str) -> Link:
    """One device.

    :raises OSError: ENODEV when it does not exist.
    """
    question = LINK.pack() + attribute(IFLA['IFLA_IFNAME'], name.encode() + b'\0')
    (body,) = route.ask(Request(type=rtnl.RTM_GETLINK, body=question))
    return _link(body)[1]


def tree(route: RouteSocket, index: int) -> Tree:
    """What hangs on a device; three dumps where the root is ours, else one.

    :raises OSError: the device has gone.
    """
    root = None
    for body in route.dump(rtnl.RTM_GETQDISC, MESSAGE.pack(index=index)):
        found = MESSAGE.unpack(body)
        if found['index'] == index and found['parent'] == rtnl.TC_H_ROOT and found['handle']:
            kind = text(attributes(body, MESSAGE.size).get(TCA['TCA_KIND'], b'?'))
            root = RootQdisc(kind=kind, handle=found['handle'])
    if not Tree(root=root).ours:
        return Tree(root=root)
    filters, has_table, has_link = _filters(route, index)
    return Tree(
        root=root,
        classes=dict(_classes(route, index)),
        filters=filters,
        has_table=has_table,
        has_link=has_link,
    )


def new_root(index: int) -> Request:
    """Only the kernel's own choice gives way to it, never a root qdisc of somebody else."""
    flags = netlink.NLM_F_CREATE | netlink.NLM_F_EXCL
    values = HTB_GLOBAL.pack(version=3, rate2quantum=10, defcls=DEFAULT_MINOR)
    init = attribute(HTB['TCA_HTB_INIT'], values)
    body = _body(index, MAJOR << 16, rtnl.TC_H_ROOT, 'htb', init)
    return Request(type=rtnl.RTM_NEWQDISC, body=body, flags=flags)


def delete_root(index: int) -> Request:
    """Only ours: the kernel compares the handle."""
    return Request(
        type=rtnl.RTM_DELQDISC,
        body=MESSAGE.pack(index=index, handle=MAJOR << 16, parent=rtnl.TC_H_ROOT),
    )


def put_class(index: int, minor: int, wanted: HtbClass, *, new: bool) -> Request:
    """A class of its own or, when it is there already, other values of it: its packets stay."""
    parent = rtnl.TC_H_ROOT if minor == DEVICE_MINOR else classid(DEVICE_MINOR)
    values = HTB_PARAMETERS.pack(
        rate___reserved=TC_LINKLAYER_ETHERNET,
        rate=min(wanted.rate, MAX_RATE),
        ceil___reserved=TC_LINKLAYER_ETHERNET,
        ceil=min(wanted.ceil, MAX_RATE),
        buffer=wanted.burst,
        cbuffer=wanted.ceil_burst,
        quantum=wanted.quantum,
    )
    options = attribute(HTB['TCA_HTB_PARMS'], values)
    for kind, rate in (('TCA_HTB_RATE64', wanted.rate), ('TCA_HTB_CEIL64', wanted.ceil)):
        if rate > MAX_RATE:
            options += attribute(HTB[kind], U64.pack(rate))
    flags = netlink.NLM_F_CREATE | netlink.NLM_F_EXCL if new else 0
    body = _body(index, classid(minor), parent, 'htb', options)
    return Request(type=rtnl.RTM_NEWTCLASS, body=body, flags=flags)


def delete_class(index: int, minor: int) -> Request:
    body = MESSAGE.pack(index=index, handle=classid(minor))
    return Request(type=rtnl.RTM_DELTCLASS, body=body)


def put_leaf(index: int, minor: int, kind: str) -> Request:
    """The queue of a class; its handle is the kernel's choice."""
    body = _body(index, 0, classid(minor), kind, None)
    return Request(
        type=rtnl.RTM_NEWQDISC, body=body, flags=netlink.NLM_F_CREATE | netlink.NLM_F_EXCL
    )


def new_table(index: int) -> Request:
    options = attribute(U32_FILTER['TCA_U32_DIVISOR'], U32.pack(BUCKETS))
    return _new_filter(index, TABLE, options)


def new_link(index: int) -> Request:
    """Every packet goes on in the bucket of the last byte of its source MAC address.

    Offsets count from the network header: the addresses lie before it, the source's six bytes at -8.
    """
    selector = SELECTOR.pack(0, 0, 1, 0, 0, 0, -4, b'\x00\xff\x00\x00')
    selector += KEY.pack(bytes(4), bytes(4), 0, 0)
    return _new_filter(index, 0, _u32_options(selector, TCA_U32_LINK=TABLE))


def new_mac_filter(index: int, mac: bytes, minor: int) -> Request:
    """Packets from a MAC address go to a class."""
    selector = SELECTOR.pack(TC_U32_TERMINAL, 0, 2, 0, 0, 0, 0, bytes(4))
    selector += KEY.pack(b'\xff' * 4, mac[:4], -8, 0)
    selector += KEY.pack(b'\xff\xff\0\0', mac[4:] + b'\0\0', -4, 0)
    options = _u32_options(
        selector, TCA_U32_CLASSID=classid(minor), TCA_U32_HASH=TABLE | mac[5] << 12
    )
    return _new_filter(index, 0, options)


def delete_filter(index: int, handle: int) -> Request:
    body = _body(index, handle, MAJOR << 16, 'u32', None, _INFO)
    return Request(type=rtnl.RTM_DELTFILTER, body=body)


def classid(minor: int) -> int:
    return MAJOR << 16 | minor


def _u32_options(selector: bytes, **numbers: int) -> bytes:
    options = [attribute(U32_FILTER[name], U32.pack(value)) for name, value in numbers.items()]
    flags = attribute(U32_FILTER['TCA_U32_FLAGS'], U32.pack(TCA_CLS_FLAGS_SKIP_HW))
    return b''.join([*options, attribute(U32_FILTER['TCA_U32_SEL'], selector), flags])


def _new_filter(index: int, handle: int, options: bytes) -> Request:
    body = _body(index, handle, MAJOR << 16, 'u32', options, _INFO)
    return Request(
        type=rtnl.RTM_NEWTFILTER, body=body, flags=netlink.NLM_F_CREATE | netlink.NLM_F_EXCL
    )


def _body(
    index: int, handle: int, parent: int, kind: str, options: bytes | None, about: int = 0
) -> bytes:
    body = MESSAGE.pack(index=index, handle=handle, parent=parent, info=about)
    body += attribute(TCA['TCA_KIND'], kind.encode() + b'\0')
    return body if options is None else body + attribute(TCA['TCA_OPTIONS'], options)


def _link(body: bytes) -> tuple[str, Link]:
    found = attributes(body, LINK.size)
    mtu = found.get(IFLA['IFLA_MTU'])
    return text(found.get(IFLA['IFLA_IFNAME'], b'')), Link(
        index=LINK.unpack(body)['index'], mtu=1500 if mtu is None else U32.unpack(mtu)[0]
    )


def _classes(route: RouteSocket, index: int) -> Iterator[tuple[int, HtbClass]]:
    for body in route.dump(rtnl.RTM_GETTCLASS, MESSAGE.pack(index=index)):
        handle = MESSAGE.unpack(body)['handle']
        options = _options(body)
        if handle >> 16 != MAJOR or HTB['TCA_HTB_PARMS'] not in options:
            continue
        values = HTB_PARAMETERS.unpack(options[HTB['TCA_HTB_PARMS']])
        found = HtbClass(
            rate=_rate(options, 'TCA_HTB_RATE64', values['rate']),
            ceil=_rate(options, 'TCA_HTB_CEIL64', values['ceil']),
            burst=values['buffer'],
            ceil_burst=values['cbuffer'],
            quantum=values['quantum'],
        )
        yield handle & 0xFFFF, found


def _filters(route: RouteSocket, index: int) -> tuple[tuple[MacFilter, ...], bool, bool]:
    """Ours alone, whether their table is there, and whether packets are sent on to it."""
    filters: list[MacFilter] = []
    has_table = has_link = False
    for body in route.dump(rtnl.RTM_GETTFILTER, MESSAGE.pack(index=index, parent=MAJOR << 16)):
        message = MESSAGE.unpack(body)
        if message['info'] >> 16 != PREFERENCE:
            continue
        handle, options = message['handle'], _options(body)
        if handle == TABLE and U32_FILTER['TCA_U32_DIVISOR'] in options:
            has_table = True
        elif options.get(U32_FILTER['TCA_U32_LINK']) == U32.pack(TABLE):
            has_link = True
        elif handle & 0xFFF and handle & 0xFFF00000 == TABLE:
            found = _mac_filter(handle, options)
            if found is not None:
                filters.append(found)
    return tuple(filters), has_table, has_link


def _mac_filter(handle: int, options: Mapping[int, bytes]) -> MacFilter | None:
    selector = options.get(U32_FILTER['TCA_U32_SEL'], b'')
    class_id = options.get(U32_FILTER['TCA_U32_CLASSID'])
    if len(selector) < SELECTOR.size + 2 * KEY.size or class_id is None:
        return None
    first = KEY.unpack_from(selector, SELECTOR.size)[1]
    second = KEY.unpack_from(selector, SELECTOR.size + KEY.size)[1]
    minor = U32.unpack(class_id)[0] & 0xFFFF
    return MacFilter(handle=handle, mac=first + second[:2], minor=minor)


def _options(body: bytes) -> dict[int, bytes]:
    """The attributes of a qdisc, class or filter of its kind."""
    return attributes(attributes(body, MESSAGE.size).get(TCA['TCA_OPTIONS'], b''))


def _rate(options: Mapping[int, bytes], wide: str, narrow: int) -> int:
    """bytes/s; `wide` has those that 32 bits do not hold."""
    found = options.get(HTB[wide])
    return narrow if found is None else int(U64.unpack(found)[0])
