# SPDX-License-Identifier: Apache-2.0
"""The values in a frame of a peer that is not trusted; nothing is built of what is refused.

Implements rule H24 of doc/source/specs/fairness.rst. Both formats hold the schema of
core.exchange.wire_schema: JSON begins with a brace, which is no msgpack map. Units: bytes.

A wrong type ends the decoding where it is found. Mappings by name stay undecoded until their entries have
been counted; msgpack has the length of each array before its content, and of JSON the commas are counted
before. A refused value is decoded once more, to be shown, only if it is short. So a byte of a hostile frame
costs no more than a byte of an honest one (tests/benchmarks/bench_hostile_frames.py).
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct, UnsetType

from nova_market.core.exchange import wire_schema as wire
from nova_market.core.exchange.allocation_messages import ALLOCATE, APPLIED
from nova_market.core.exchange.validation import MAX_OWNERS, Undecoded, check_names, given, refusal
from nova_market.errors import MalformedReport

SCHEMAS: Mapping[str, type[wire.WireMessage]] = {
    'report': wire.WireReport,
    'gone': wire.WireDeparture,
    'state': wire.WireUpdate,
    'answer': wire.WireReply,
    ALLOCATE: wire.WireAllocation,
    APPLIED: wire.WireConfirmation,
}

BRACE = b'{'
"""A JSON object begins with it; as msgpack it would be the number 123, and no message is a number."""

MAX_VALUES = 20 * MAX_OWNERS
"""Commas in a JSON frame. The longest report and the longest confirmation have half as many."""

MAX_SHOWN = 256
"""Bytes of a refused value that is decoded to be shown."""

UNREADABLE = (msgspec.DecodeError, TypeError, ValueError)
"""What msgspec raises for bytes that are no frame. In old versions its errors are no ValueErrors, and a key
that is a mapping is a TypeError."""

UNWRITABLE = (RecursionError, OverflowError, TypeError, ValueError)
"""What msgspec raises for values that it has no bytes for."""

# the first bytes of values, by the specification of msgpack
TEXT = bytes([*range(0xA0, 0xC0), 0xC4, 0xC5, 0xC6, 0xD9, 0xDA, 0xDB])
EXTENSION = bytes([0xC7, 0xC8, 0xC9, *range(0xD4, 0xD9)])
SHORT_MAP = range(0x80, 0x90)
MAP_LENGTHS: Mapping[int, int] = {0xDE: 2, 0xDF: 4}
ARRAY = b'\xdd'
"""It begins an array, whose length follows in four bytes."""


class _Format:
    """The decoders of one format."""

    def __init__(self, make: Callable[..., Any], joined: Callable[[Sequence[Raw]], bytes]) -> None:
        """joined: an array of values that are written already."""
        self.head = make(wire.Head)
        self.kinds = {kind: make(schema) for kind, schema in SCHEMAS.items()}
        self.plain = make()
        self.joined = joined
        self.of = functools.cache(make)

    def shown(self, raw: Raw) -> Any:
        """The value, to be shown in a refusal."""
        size = memoryview(raw).nbytes
        try:
            return self.plain.decode(raw) if size <= MAX_SHOWN else Undecoded(size)
        except UNREADABLE:
            return Undecoded(size)


def _joined_json(values: Sequence[Raw]) -> bytes:
    return b'[' + b','.join(values) + b']'


def _joined_msgpack(values: Sequence[Raw]) -> bytes:
    return ARRAY + len(values).to_bytes(4, 'big') + b''.join(values)


_JSON = _Format(msgspec.json.Decoder, _joined_json)
_MSGPACK = _Format(msgspec.msgpack.Decoder, _joined_msgpack)


def written_in(frame: bytes) -> wire.WireMessage:
    """What a peer has written; its mappings by name are not decoded yet.

    :raises MalformedReport: names the field, what was given and the limit.
    """
    form = _JSON if frame.startswith(BRACE) else _MSGPACK
    if form is _JSON and frame.count(b',') > MAX_VALUES:
        raise MalformedReport(f'more than {MAX_VALUES} values, which no message has')
    try:
        head = form.head.decode(frame)
        written: wire.WireMessage = form.kinds[_kind(head)].decode(frame)
    except RecursionError:
        raise MalformedReport('nested too deeply') from None
    except msgspec.ValidationError as error:
        raise refusal(error, _Fields(form, frame)) from None
    except UNREADABLE as error:
        raise MalformedReport(f'neither JSON nor msgpack: {error!s:.80}') from None
    return written


def written_as(values: Mapping[Any, Any]) -> wire.WireMessage:
    """The same for plain values, as they are in a document on disk.

    :raises MalformedReport: names the field, what was given and the limit.
    """
    frame: dict[Any, Raw] = {}
    for key, value in values.items():
        try:
            frame[key] = Raw(msgspec.msgpack.encode(value))
        except UNWRITABLE:
            raise MalformedReport(f'{key!s:.40}: {given(value)} cannot be sent') from None
    return written_in(msgspec.msgpack.encode(frame))


def extension_in(raw: Raw | UnsetType) -> msgspec.msgpack.Ext | None:
    """The msgpack extension that a value is; None when it is something else."""
    if not isinstance(raw, Raw) or memoryview(raw)[0] not in EXTENSION:
        return None
    try:
        found = _MSGPACK.plain.decode(raw)
    except UNREADABLE:
        return None  # a timestamp, which is an extension too, of a moment that there is not
    return found if isinstance(found, msgspec.msgpack.Ext) else None


def named_rows(raw: Raw | UnsetType, where: str, rows: Any) -> tuple[list[str], list[Any]]:
    """The names in a mapping by name, and its values, a list of the type `rows`; nothing for an absent one.

    A name may be 16 bytes: a UUID without its dashes, half as long.

    :raises MalformedReport: names the field, what was given and the limit.
    """
    if isinstance(raw, UnsetType):
        return [], []
    try:
        form, keys, values = _entries(raw, where)
        if not keys:
            return [], []
        # bytes of another length become a name as well, which then no owner has
        names = [key.hex() if type(key) is bytes else key for key in keys]
        check_names(names, where)
        return names, _decoded(form, rows, values, where)
    except (RecursionError, *UNREADABLE) as error:
        raise MalformedReport(f'{where}: neither JSON nor msgpack: {error!s:.80}') from None


def _decoded(form: _Format, rows: Any, values: Sequence[Raw], where: str) -> list[Any]:
    """Values that are written already, as a list of the type `rows`."""
    try:
        found: list[Any] = form.of(rows).decode(form.joined(values))
    except msgspec.ValidationError as error:
        raise refusal(error, _Items(form, values), where) from None
    return found


def _kind(head: wire.Head) -> str:
    """:raises MalformedReport: no version has such messages."""
    if head.kind == 'report' and head.gone:
        return 'gone'
    if head.kind not in SCHEMAS:
        raise MalformedReport(f'kind: {given(head.kind)} is none of {", ".join(SCHEMAS)}')
    return head.kind


def _entries(raw: Raw, where: str) -> tuple[_Format, Sequence[Any], Sequence[Raw]]:
    """The format of a mapping, its keys, which are text or bytes, and its values."""
    first = memoryview(raw)[0]
    if first == BRACE[0]:
        found: dict[str, Raw] = _JSON.of(dict[str, Raw]).decode(raw)
        _check_count(len(found), where)
        return _JSON, list(found), list(found.values())
    width = MAP_LENGTHS.get(first)
    if first not in SHORT_MAP and width is None:
        raise MalformedReport(f'{where}: {Undecoded(memoryview(raw).nbytes)} is not an object')
    head = bytes(memoryview(raw)[1 : 1 + (width or 0)])
    count = int.from_bytes(head, 'big') if width else first & 0x0F
    _check_count(count, where)
    entries = ARRAY + (2 * count).to_bytes(4, 'big') + memoryview(raw)[1 + len(head) :]
    parts: list[Raw] = _MSGPACK.of(list[Raw]).decode(entries)
    keys = parts[::2]
    if bytes([memoryview(key)[0] for key in keys]).translate(None, TEXT):
        raise MalformedReport(f'{where}: a key is not text')
    return _MSGPACK, _MSGPACK.plain.decode(_joined_msgpack(keys)), parts[1::2]


def _check_count(count: int, where: str) -> None:
    if count > MAX_OWNERS:
        raise MalformedReport(f'{where}: {count} entries, at most {MAX_OWNERS}')


# -- what a refusal shows: decoded when it is asked for


class _Fields:
    """The fields of a frame."""

    def __init__(self, form: _Format, frame: bytes) -> None:
        self._form, self._frame = form, frame

    def __getitem__(self, field: str) -> Any:
        try:
            found = self._form.of(_only(field)).decode(self._frame)
        except (RecursionError, *UNREADABLE):
            raise LookupError(field) from None  # behind what is refused there is no frame
        return self._form.shown(getattr(found, field))


class _Items:
    """The values of a mapping by name."""

    def __init__(self, form: _Format, values: Sequence[Raw]) -> None:
        self._form, self._values = form, values

    def __getitem__(self, place: int) -> Any:
        return self._form.shown(self._values[place])


@functools.cache
def _only(field: str) -> type[Struct]:
    """A schema that has this field alone."""
    return msgspec.defstruct('Only', [(field, Raw)])
