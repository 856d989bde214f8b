# SPDX-License-Identifier: Apache-2.0
"""Structures and attributes of netlink messages, packed and unpacked by struct.

Why not the messages of pyroute2 0.9: for 160 guests they cost about a hundred times as much to encode the
classes (75 ms), and ten to twenty times as much to read classes and filters (bench_netlink); its reader
takes the keys of a u32 filter from a wrong place. What it declares is used: the fields of structures and the
numbers of attributes.
"""

import struct
from collections.abc import Mapping
from typing import Any

_ATTRIBUTE = struct.Struct('=HH')
_TYPE_MASK = 0x3FFF  # without the flags for nested attributes and byte order


class Layout:
    """A structure of the kernel by the names of its fields, as a class of pyroute2 declares them."""

    def __init__(self, declared: Any) -> None:
        kinds = ''.join(kind for _, kind in declared.fields)
        self._struct = struct.Struct(f'={kinds}')
        self._empty = {name: 0 for name, kind in declared.fields if kind != 'x'}

    @property
    def size(self) -> int:
        """Bytes."""
        return self._struct.size

    def pack(self, **values: int) -> bytes:
        """Fields that are not given are 0; a name that is no field's is a struct.error."""
        return self._struct.pack(*(self._empty | values).values())

    def unpack(self, message: bytes) -> Mapping[str, int]:
        """The structure at the beginning of a message."""
        return dict(zip(self._empty, self._struct.unpack_from(message), strict=True))


def attribute_numbers(declared: Any) -> Mapping[str, int]:
    """Name of an attribute -> its number, as a class of pyroute2 declares them."""
    return {name: number for number, (name, _) in enumerate(declared.nla_map)}


def attribute(kind: int, payload: bytes) -> bytes:
    """A netlink attribute, padded to four bytes."""
    length = _ATTRIBUTE.size + len(payload)
    return _ATTRIBUTE.pack(length, kind) + payload + bytes(aligned(length) - length)


def attributes(payload: bytes, start: int = 0) -> dict[int, bytes]:
    """Number of an attribute -> payload; the last one counts where one is repeated."""
    found: dict[int, bytes] = {}
    at = start
    while at + _ATTRIBUTE.size <= len(payload):
        length, kind = _ATTRIBUTE.unpack_from(payload, at)
        if length < _ATTRIBUTE.size:
            break
        found[kind & _TYPE_MASK] = payload[at + _ATTRIBUTE.size : at + length]
        at += aligned(length)
    return found


def text(payload: bytes) -> str:
    """A string of the kernel, without the zero at its end."""
    return payload.split(b'\0', 1)[0].decode('utf-8', 'replace')


def aligned(length: int) -> int:
    """The next multiple of four, where what follows begins."""
    return (length + 3) & ~3
