# SPDX-License-Identifier: Apache-2.0
"""Requests to the kernel's routing netlink: dumps, single questions and batches, on a plain socket.

Why not pyroute2's IPRoute: it keeps an event loop for each thread, and its messages cost ten to a hundred
times as much (netlink_message). Tests read with pyroute2 what is written here.

A socket is used by one thread at a time; the caller locks.
"""

import errno
import os
import socket
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from pyroute2 import netlink, netns

from nova_market.adapters.control.netlink_message import aligned, attributes, text

NETLINK_CAP_ACK = 10
"""linux/netlink.h: errors do not repeat the request. pyroute2 does not name it."""

CHUNK = 100
"""Messages per sendmsg: should all fail, their errors still fit into the default receive buffer."""

RECEIVE = 1 << 16
"""Bytes; the kernel fills at most 32 KiB of a dump at a time."""

TIMEOUT = 5.0
"""Seconds. The kernel answers within the call; waiting means that an answer was lost."""

DUMP_ATTEMPTS = 3

_HEADER = struct.Struct('=IHHII')
_ERRNO = struct.Struct('=i')
_MESSAGE_TEXT = 1  # NLMSGERR_ATTR_MSG


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A message without its header; flags are added to NLM_F_REQUEST."""

    type: int
    body: bytes
    flags: int = 0


class RouteSocket:
    """Opened where it is made: in the namespace `name`, or in that of the process for None."""

    def __init__(self, name: str | None = None) -> None:
        """:raises OSError: no such namespace, or no right to enter it."""
        self._socket = _in_namespace(name) if name else _plain()
        try:
            self._socket.settimeout(TIMEOUT)
            self._socket.bind((0, 0))
            for option in (NETLINK_CAP_ACK, netlink.NETLINK_EXT_ACK):
                self._socket.setsockopt(netlink.SOL_NETLINK, option, 1)
        except OSError:
            self._socket.close()
            raise
        self._numbers = count(1)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> 'RouteSocket':
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: Request) -> list[bytes]:
        """Bodies of the answers to one question.

        :raises OSError: what the kernel answers instead.
        """
        return self._collect(request, netlink.NLM_F_ACK)[0]

    def dump(self, kind: int, body: bytes) -> list[bytes]:
        """Bodies of all objects of a kind; begun anew when the kernel reports that they changed meanwhile.

        :raises OSError: what the kernel answers instead.
        """
        for _ in range(DUMP_ATTEMPTS):
            bodies, consistent = self._collect(Request(type=kind, body=body), netlink.NLM_F_DUMP)
            if consistent:
                return bodies
        raise OSError(errno.EAGAIN, f'changed during {DUMP_ATTEMPTS} dumps in a row')

    def batch(self, requests: Sequence[Request]) -> Mapping[int, OSError]:
        """All requests in order, one system call per CHUNK; index -> error of those that failed.

        A failure does not stop the requests behind it. Only the last one of a chunk is acknowledged.
        """
        errors: dict[int, OSError] = {}
        for start in range(0, len(requests), CHUNK):
            chunk = requests[start : start + CHUNK]
            numbers = [next(self._numbers) for _ in chunk]
            self._socket.send(
                b''.join(
                    _encode(request, number, netlink.NLM_F_ACK if number == numbers[-1] else 0)
                    for request, number in zip(chunk, numbers, strict=True)
                )
            )
            for kind, flags, number, body in self._answers():
                if kind != netlink.NLMSG_ERROR or not numbers[0] <= number <= numbers[-1]:
                    continue
                wrong = _error(body, flags)
                if wrong is not None:
                    errors[start + number - numbers[0]] = wrong
                if number == numbers[-1]:
                    break
        return errors

    def _collect(self, request: Request, flags: int) -> tuple[list[bytes], bool]:
        """Bodies until the end of a dump or the acknowledgement, and whether nothing changed meanwhile."""
        number = next(self._numbers)
        self._socket.send(_encode(request, number, flags))
        bodies: list[bytes] = []
        consistent = True
        for kind, found, sequence, body in self._answers():
            if sequence != number:
                continue
            consistent = consistent and not found & netlink.NLM_F_DUMP_INTR
            if kind == netlink.NLMSG_ERROR and (wrong := _error(body, found)) is not None:
                raise wrong
            if kind in (netlink.NLMSG_ERROR, netlink.NLMSG_DONE):
                break
            bodies.append(body)
        return bodies, consistent

    def _answers(self) -> Iterator[tuple[int, int, int, bytes]]:
        """(type, flags, sequence number, body) for ever; TimeoutError ends it."""
        while True:
            received = self._socket.recv(RECEIVE)
            at = 0
            while at + _HEADER.size <= len(received):
                length, kind, flags, number, _ = _HEADER.unpack_from(received, at)
                if length < _HEADER.size:
                    raise OSError(errno.EPROTO, f'a netlink message of {length} bytes')
                yield kind, flags, number, received[at + _HEADER.size : at + length]
                at += aligned(length)


def _encode(request: Request, number: int, flags: int) -> bytes:
    length = _HEADER.size + len(request.body)
    flags |= request.flags | netlink.NLM_F_REQUEST
    padding = bytes(aligned(length) - length)
    return _HEADER.pack(length, request.type, flags, number, 0) + request.body + padding


def _error(body: bytes, flags: int) -> OSError | None:
    """None for an acknowledgement."""
    (code,) = _ERRNO.unpack_from(body)
    if code == 0:
        return None
    why = os.strerror(-code)
    if flags & netlink.NLM_F_ACK_TLVS:
        message = attributes(body, _ERRNO.size + _HEADER.size).get(_MESSAGE_TEXT)
        why = f'{why} ({text(message)})' if message else why
    return OSError(-code, why)


def _plain() -> socket.socket:
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, netlink.NETLINK_ROUTE)


def _in_namespace(name: str) -> socket.socket:
    """A thread enters and ends, so that neither this one nor a forked copy has to come back."""
    made: list[socket.socket | OSError] = []

    def enter() -> None:
        try:
            netns.setns(name, flags=0, fork=False)
            made.append(_plain())
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=enter, name=f'netns-{name}')
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]
