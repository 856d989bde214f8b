# SPDX-License-Identifier: Apache-2.0
"""Frames of the exchange: JSON to read and to debug, msgpack to save bytes and time.

Both hold the same message (core.exchange.codec). Every host reads both, by the first byte, whichever it
writes: hosts with different settings understand each other.

Units: bytes.
"""

import functools
import json
import re
from collections.abc import Callable, Mapping

import msgspec

from nova_market.core.exchange.codec import (
    PACKED_SUMS,
    Message,
    from_schema,
    plain_number,
    to_schema,
    to_values,
)
from nova_market.core.exchange.frame import written_in
from nova_market.core.exchange.packed_sums import PackedSums, packed_bytes
from nova_market.core.resource import OwnerId
from nova_market.errors import MalformedReport, OversizedReport
from nova_market.ports import WireFormat

MAX_FRAME = 4 * 1024 * 1024
"""Longest frame; a longer one is neither sent nor parsed. 10,000 owners with six numbers each and a quota
take 2.5 million bytes of JSON."""

WIDE_MAP = b'\xde\x00'
NARROW_MAP = 0x80
NARROW_KEYS = 16
"""A map of fewer keys begins with NARROW_MAP and their number, by the specification of msgpack."""

UUID_DIGITS = 32
UUID = re.compile('[0-9a-f]{32}')


class PlainFormat:
    """JSON text in UTF-8. Implements ports.WireFormat."""

    def encode(self, message: Message) -> bytes:
        try:
            # not by msgspec, which writes NaN as null
            text = json.dumps(to_values(message), allow_nan=False, separators=(',', ':'))
        except ValueError as error:
            raise MalformedReport(f'own message: {error}') from None
        return _bounded(text.encode())

    def decode(self, frame: bytes) -> Message:
        return decode(frame)


class CompactFormat:
    """msgpack; owners that are UUIDs, as Keystone's are, take half their length.

    Implements ports.WireFormat.
    """

    def encode(self, message: Message) -> bytes:
        try:
            return _bounded(_narrowed(_ENCODER.encode(to_schema(message, _short))))
        except (ValueError, OverflowError) as error:
            raise MalformedReport(f'own message: {error}') from None

    def decode(self, frame: bytes) -> Message:
        return decode(frame)


FORMATS: Mapping[str, Callable[[], WireFormat]] = {'plain': PlainFormat, 'compact': CompactFormat}


_ENCODER = msgspec.msgpack.Encoder(enc_hook=plain_number)


def decode(frame: bytes) -> Message:
    """The message in a peer's frame of either format; its length is looked at before it is parsed.

    :raises OversizedReport: too long to be looked at.
    :raises MalformedReport: names the field, what was given and the limit.
    """
    if len(frame) > MAX_FRAME:
        raise OversizedReport(f'{len(frame)} bytes, at most {MAX_FRAME}')
    return from_schema(written_in(frame))


def _short(by_owner: Mapping[OwnerId, object]) -> object:
    """A mapping by owner with names of 32 lower case hexadecimal digits as 16 bytes; packed sums as bytes."""
    if isinstance(by_owner, PackedSums):
        return msgspec.msgpack.Ext(PACKED_SUMS, packed_bytes(by_owner))
    return {(_bytes_of(owner) or owner): value for owner, value in by_owner.items()}


@functools.lru_cache(maxsize=16_384)
def _bytes_of(owner: str) -> bytes | None:
    if len(owner) != UUID_DIGITS or not UUID.fullmatch(owner):
        return None
    return bytes.fromhex(owner)


def _narrowed(frame: bytes) -> bytes:
    """The frame with the number of its keys in one byte, where msgspec has reserved three."""
    if frame.startswith(WIDE_MAP) and frame[2] < NARROW_KEYS:
        return bytes([NARROW_MAP | frame[2]]) + frame[3:]
    return frame


def _bounded(frame: bytes) -> bytes:
    if len(frame) > MAX_FRAME:
        raise MalformedReport(f'own message: {len(frame)} bytes, at most {MAX_FRAME}')
    return frame
