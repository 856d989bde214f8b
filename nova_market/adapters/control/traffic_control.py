# SPDX-License-Identifier: Apache-2.0
"""The queueing tree of one device as the kernel tells it, and the requests that change it.

What is ours is known by number, so that a service that crashed finds it again:

    qdisc  4e4d:        HTB at the root; what no filter matches goes to class 4e4d:2
    class  4e4d:1       the device
    class  4e4d:2       everything that is no guest's
    class  4e4d:3       nobody's: no packet comes here, its quantum keeps the sum of weights
    class  4e4d:10..    one per guest
    filter 20045        u32: table 4e4 of 256 buckets, chosen by the last byte of the source MAC address,
                        then one entry per MAC address; a packet costs two steps however many guests

Units: rates in bytes/s, quantum in bytes, bursts in kernel ticks of 64 ns at the rate.
"""

import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pyroute2.netlink import NLM_F_CREATE, NLM_F_EXCL
from pyroute2.netlink.rtnl import (
    RTM_DELQDISC,
    RTM_DELTCLASS,
    RTM_DELTFILTER,
    RTM_GETLINK,
    RTM_GETQDISC,
    RTM_GETTCLASS,
    RTM_GETTFILTER,
    RTM_NEWQDISC,
    RTM_NEWTCLASS,
    RTM_NEWTFILTER,
    TC_H_ROOT,
)

from nova_market.adapters.control.netlink_socket import (
    Request,
    RouteSocket,
    attribute,
    attributes,
    text,
)

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

_KIND, _OPTIONS = 1, 2  # TCA_*
_HTB_PARMS, _HTB_INIT, _HTB_RATE64, _HTB_CEIL64 = 1, 2, 6, 7
_U32_CLASSID, _U32_HASH, _U32_LINK, _U32_DIVISOR, _U32_SEL, _U32_FLAGS = 1, 2, 3, 4, 5, 11
_IFLA_IFNAME, _IFLA_MTU = 3, 4
_ETHERNET = 1  # TC_LINKLAYER_ETHERNET: no rate tables are needed
_TERMINAL = 1  # TC_U32_TERMINAL
_SKIP_HARDWARE = 1  # TCA_CLS_FLAGS_SKIP_HW
_ETH_P_ALL = 3
_RATE_MAX = 0xFFFFFFFF

_TCMSG = struct.Struct('=BxxxiIII')
_LINK = struct.Struct('=BxHiII')
_PARMS = struct.Struct('=BBHhHIBBHhHIIIIII')
_GLOBAL = struct.Struct('=IIIII')
_SELECTOR = struct.Struct('=BBBxHHhh4s')
_KEY = struct.Struct('=4s4sii')
_U32 = struct.Struct('=I')
_U64 = struct.Struct('=Q')

_INFO = PREFERENCE << 16 | socket.htons(_ETH_P_ALL)


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
    found = (_link(body) for body in route.dump(RTM_GETLINK, _LINK.pack(0, 0, 0, 0, 0)))
    return dict(sorted(found))


def link(route: RouteSocket, name: str) -> Link:
    """One device.

    :raises OSError: ENODEV when it does not exist.
    """
    question = _LINK.pack(0, 0, 0, 0, 0) + attribute(_IFLA_IFNAME, name.encode() + b'\0')
    (body,) = route.ask(Request(type=RTM_GETLINK, body=question))
    return _link(body)[1]


def tree(route: RouteSocket, index: int) -> Tree:
    """What hangs on a device; three dumps where the root is ours, else one.

    :raises OSError: the device has gone.
    """
    root = None
    for body in route.dump(RTM_GETQDISC, _TCMSG.pack(0, index, 0, 0, 0)):
        _, owner, handle, parent, _ = _TCMSG.unpack_from(body)
        if owner == index and parent == TC_H_ROOT and handle:
            kind = text(attributes(body, _TCMSG.size).get(_KIND, b'?'))
            root = RootQdisc(kind=kind, handle=handle)
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
    flags = NLM_F_CREATE | NLM_F_EXCL
    init = attribute(_HTB_INIT, _GLOBAL.pack(3, 10, DEFAULT_MINOR, 0, 0))
    body = _body(index, MAJOR << 16, TC_H_ROOT, 'htb', init)
    return Request(type=RTM_NEWQDISC, body=body, flags=flags)


def delete_root(index: int) -> Request:
    """Only ours: the kernel compares the handle."""
    return Request(type=RTM_DELQDISC, body=_TCMSG.pack(0, index, MAJOR << 16, TC_H_ROOT, 0))


def put_class(index: int, minor: int, wanted: HtbClass, *, new: bool) -> Request:
    """A class of its own or, when it is there already, other values of it: its packets stay."""
    parent = TC_H_ROOT if minor == DEVICE_MINOR else classid(DEVICE_MINOR)
    rates = []
    for rate in (wanted.rate, wanted.ceil):
        rates += [0, _ETHERNET, 0, 0, 0, min(rate, _RATE_MAX)]
    packed = _PARMS.pack(*rates, wanted.burst, wanted.ceil_burst, wanted.quantum, 0, 0)
    options = attribute(_HTB_PARMS, packed)
    for kind, rate in ((_HTB_RATE64, wanted.rate), (_HTB_CEIL64, wanted.ceil)):
        if rate > _RATE_MAX:
            options += attribute(kind, _U64.pack(rate))
    flags = NLM_F_CREATE | NLM_F_EXCL if new else 0
    body = _body(index, classid(minor), parent, 'htb', options)
    return Request(type=RTM_NEWTCLASS, body=body, flags=flags)


def delete_class(index: int, minor: int) -> Request:
    body = _TCMSG.pack(0, index, classid(minor), 0, 0)
    return Request(type=RTM_DELTCLASS, body=body)


def put_leaf(index: int, minor: int, kind: str) -> Request:
    """The queue of a class; its handle is the kernel's choice."""
    body = _body(index, 0, classid(minor), kind, None)
    return Request(type=RTM_NEWQDISC, body=body, flags=NLM_F_CREATE | NLM_F_EXCL)


def new_table(index: int) -> Request:
    options = attribute(_U32_DIVISOR, _U32.pack(BUCKETS))
    return _new_filter(index, TABLE, options)


def new_link(index: int) -> Request:
    """Every packet goes on in the bucket of the last byte of its source MAC address.

    Offsets count from the network header: the addresses lie before it, the source's six bytes at -8.
    """
    selector = _SELECTOR.pack(0, 0, 1, 0, 0, 0, -4, b'\x00\xff\x00\x00')
    selector += _KEY.pack(bytes(4), bytes(4), 0, 0)
    options = attribute(_U32_LINK, _U32.pack(TABLE)) + attribute(_U32_SEL, selector)
    return _new_filter(index, 0, options + attribute(_U32_FLAGS, _U32.pack(_SKIP_HARDWARE)))


def new_mac_filter(index: int, mac: bytes, minor: int) -> Request:
    """Packets from a MAC address go to a class."""
    selector = _SELECTOR.pack(_TERMINAL, 0, 2, 0, 0, 0, 0, bytes(4))
    selector += _KEY.pack(b'\xff' * 4, mac[:4], -8, 0)
    selector += _KEY.pack(b'\xff\xff\0\0', mac[4:] + b'\0\0', -4, 0)
    options = attribute(_U32_CLASSID, _U32.pack(classid(minor)))
    options += attribute(_U32_HASH, _U32.pack(TABLE | mac[5] << 12))
    options += attribute(_U32_SEL, selector)
    return _new_filter(index, 0, options + attribute(_U32_FLAGS, _U32.pack(_SKIP_HARDWARE)))


def delete_filter(index: int, handle: int) -> Request:
    body = _body(index, handle, MAJOR << 16, 'u32', None, _INFO)
    return Request(type=RTM_DELTFILTER, body=body)


def classid(minor: int) -> int:
    return MAJOR << 16 | minor


def _new_filter(index: int, handle: int, options: bytes) -> Request:
    body = _body(index, handle, MAJOR << 16, 'u32', options, _INFO)
    return Request(type=RTM_NEWTFILTER, body=body, flags=NLM_F_CREATE | NLM_F_EXCL)


def _body(
    index: int, handle: int, parent: int, kind: str, options: bytes | None, about: int = 0
) -> bytes:
    body = _TCMSG.pack(0, index, handle, parent, about)
    body += attribute(_KIND, kind.encode() + b'\0')
    return body if options is None else body + attribute(_OPTIONS, options)


def _link(body: bytes) -> tuple[str, Link]:
    index = _LINK.unpack_from(body)[2]
    found = attributes(body, _LINK.size)
    mtu = _U32.unpack(found[_IFLA_MTU])[0] if _IFLA_MTU in found else 1500
    return text(found.get(_IFLA_IFNAME, b'')), Link(index=index, mtu=mtu)


def _classes(route: RouteSocket, index: int) -> Iterator[tuple[int, HtbClass]]:
    for body in route.dump(RTM_GETTCLASS, _TCMSG.pack(0, index, 0, 0, 0)):
        handle = _TCMSG.unpack_from(body)[2]
        found = attributes(body, _TCMSG.size)
        options = attributes(found.get(_OPTIONS, b''))
        if handle >> 16 != MAJOR or _HTB_PARMS not in options:
            continue
        values = _PARMS.unpack_from(options[_HTB_PARMS])
        yield (
            handle & 0xFFFF,
            HtbClass(
                rate=_rate(options, _HTB_RATE64, values[5]),
                ceil=_rate(options, _HTB_CEIL64, values[11]),
                burst=values[12],
                ceil_burst=values[13],
                quantum=values[14],
            ),
        )


def _filters(route: RouteSocket, index: int) -> tuple[tuple[MacFilter, ...], bool, bool]:
    """Ours alone, whether their table is there, and whether packets are sent on to it."""
    filters: list[MacFilter] = []
    has_table = has_link = False
    for body in route.dump(RTM_GETTFILTER, _TCMSG.pack(0, index, 0, MAJOR << 16, 0)):
        _, _, handle, _, about = _TCMSG.unpack_from(body)
        if about >> 16 != PREFERENCE:
            continue
        options = attributes(attributes(body, _TCMSG.size).get(_OPTIONS, b''))
        if handle == TABLE and _U32_DIVISOR in options:
            has_table = True
        elif options.get(_U32_LINK) == _U32.pack(TABLE):
            has_link = True
        elif handle & 0xFFF and handle & 0xFFF00000 == TABLE:
            found = _mac_filter(handle, options)
            if found is not None:
                filters.append(found)
    return tuple(filters), has_table, has_link


def _mac_filter(handle: int, options: Mapping[int, bytes]) -> MacFilter | None:
    selector = options.get(_U32_SEL, b'')
    if len(selector) < _SELECTOR.size + 2 * _KEY.size or _U32_CLASSID not in options:
        return None
    first = _KEY.unpack_from(selector, _SELECTOR.size)[1]
    second = _KEY.unpack_from(selector, _SELECTOR.size + _KEY.size)[1]
    minor = _U32.unpack(options[_U32_CLASSID])[0] & 0xFFFF
    return MacFilter(handle=handle, mac=first + second[:2], minor=minor)


def _rate(options: Mapping[int, bytes], wide: int, narrow: int) -> int:
    return int(_U64.unpack(options[wide])[0]) if wide in options else narrow
