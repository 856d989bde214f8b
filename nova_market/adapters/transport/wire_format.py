# SPDX-License-Identifier: Apache-2.0
"""Frames of the exchange: JSON to read and to debug, msgpack to save bytes and time.

Both carry the same plain values, so the schema (core.exchange.messages) knows nothing of them. Every host
reads both, by the first byte, whichever it writes: hosts with different settings understand each other.

Units: bytes.
"""

import functools
import json
import re
from collections.abc import Callable, Mapping

import msgspec
import numpy as np

from nova_market.core.exchange.codec import MAX_TEXT
from nova_market.core.exchange.packed_sums import DIGEST_BYTES, PLACE, OwnerTable
from nova_market.errors import MalformedReport, OversizedReport
from nova_market.ports import WireFormat

MAX_FRAME = MAX_TEXT
"""Longest frame; the plain one of the largest report that the schema allows fits."""

BRACE = b'{'
"""A JSON object begins with it; as msgpack it would be the number 123, and no message is a number."""


BY_OWNER = frozenset({'owners', 'quotas'})
"""Fields that are mappings by owner."""

TABLE = 2
"""Type of msgpack extension. 1 was that of tables with ids, which may be as long: neither version takes the
other's for its own, whatever is under way while hosts change versions."""

DOUBLE = np.dtype('<f8')

UUID_DIGITS = 32
UUID = re.compile('[0-9a-f]{32}')


class PlainFormat:
    """JSON text in UTF-8. Implements ports.WireFormat."""

    def encode(self, values: Mapping[str, object]) -> bytes:
        try:
            text = json.dumps(values, allow_nan=False, separators=(',', ':'), default=_mapping)
        except ValueError as error:
            raise MalformedReport(f'own message: {error}') from None
        return _bounded(text.encode())

    def decode(self, frame: bytes) -> object:
        return decode(frame)


class CompactFormat:
    """msgpack; owners that are UUIDs, as Keystone's are, take half their length.

    Implements ports.WireFormat.
    """

    def encode(self, values: Mapping[str, object]) -> bytes:
        try:
            return _bounded(_ENCODER.encode(_shortened(values)))
        except (ValueError, OverflowError) as error:
            raise MalformedReport(f'own message: {error}') from None

    def decode(self, frame: bytes) -> object:
        return decode(frame)


FORMATS: Mapping[str, Callable[[], WireFormat]] = {'plain': PlainFormat, 'compact': CompactFormat}


def decode(frame: bytes) -> object:
    """The plain values of a frame of either format; its length is looked at before it is parsed.

    :raises OversizedReport: too long to be looked at.
    :raises MalformedReport: neither format.
    """
    if len(frame) > MAX_FRAME:
        raise OversizedReport(f'{len(frame)} bytes, at most {MAX_FRAME}')
    if not frame:
        raise MalformedReport('an empty frame')
    try:
        if frame.startswith(BRACE):
            return json.loads(frame.decode())
        return _lengthened(_DECODER.decode(frame))
    except RecursionError:
        raise MalformedReport('nested too deeply') from None
    except (TypeError, ValueError, msgspec.DecodeError) as error:
        # TypeError: a mapping by mappings
        raise MalformedReport(f'neither JSON nor msgpack: {error!s:.80}') from None


def _shortened(values: Mapping[str, object]) -> dict[str, object]:
    """With names of 32 lower case hexadecimal digits as 16 bytes."""
    short = dict(values)
    for field in BY_OWNER & values.keys():
        sums = values[field]
        if isinstance(sums, dict):
            short[field] = {(_bytes_of(key) or key): value for key, value in sums.items()}
    return short


@functools.lru_cache(maxsize=16_384)
def _bytes_of(key: str) -> bytes | None:
    if len(key) != UUID_DIGITS or not UUID.fullmatch(key):
        return None
    return bytes.fromhex(key)


def _lengthened(message: dict[str, object]) -> dict[str, object]:
    for field in BY_OWNER:
        sums = message.get(field)
        if sums and isinstance(sums, dict):
            # bytes of another length become a name as well, which then nobody has
            message[field] = {
                (key.hex() if type(key) is bytes else key): value for key, value in sums.items()
            }
    return message


def _mapping(value: object) -> object:
    if isinstance(value, OwnerTable):
        return dict(value)
    raise TypeError(f'{type(value).__name__} in a message')


def _packed(value: object) -> msgspec.msgpack.Ext:
    """A table is the doubles of its numbers, its places, its list, and the width in a byte."""
    if not isinstance(value, OwnerTable):
        raise TypeError(f'{type(value).__name__} in a message')
    numbers, places = (
        value.numbers.astype(DOUBLE, copy=False),
        value.places.astype(PLACE, copy=False),
    )
    width = bytes([numbers.shape[1]])
    content = (numbers.tobytes(), places.tobytes(), value.digest, width)
    return msgspec.msgpack.Ext(TABLE, b''.join(content))


def _unpacked(code: int, view: memoryview) -> object:
    content = bytes(view)
    if code != TABLE or len(content) <= DIGEST_BYTES:
        return msgspec.msgpack.Ext(code, content)
    end, width = len(content) - 1 - DIGEST_BYTES, content[-1]
    count, rest = divmod(end, width * DOUBLE.itemsize + PLACE.itemsize)
    if rest:
        raise ValueError(f'a table of {len(content)} bytes with {width} numbers for each owner')
    numbers = np.frombuffer(content, DOUBLE, count * width)
    places = np.frombuffer(content, PLACE, count, numbers.nbytes)
    return OwnerTable(content[end:-1], places, numbers.reshape(count, width))


def _bounded(frame: bytes) -> bytes:
    if len(frame) > MAX_FRAME:
        raise MalformedReport(f'own message: {len(frame)} bytes, at most {MAX_FRAME}')
    return frame


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_packed)
_DECODER = msgspec.msgpack.Decoder(dict[str, object], ext_hook=_unpacked)
