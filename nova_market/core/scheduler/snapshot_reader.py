# SPDX-License-Identifier: Apache-2.0
"""The published snapshot as the structs that msgspec reads: another machine wrote it, and may be wrong.

Implements the reading of rule S2 of doc/source/specs/market.rst. Units as in core.scheduler.snapshot. Names,
numbers and lengths are bounded while the document is parsed; where a gap is allowed it is null in the
document and NaN in the array. Entries that are not known here are ignored.

Measured with 10,000 hosts and 2,000 projects (3.7 MB): 13 ms of CPU from the bytes to the arrays, in which no
other thread of nova-scheduler runs. json.loads and checks in Python took 60 ms.
"""

from collections.abc import Sequence
from typing import Annotated, TypeVar

import msgspec
import numpy as np
from msgspec import Meta, Struct

from nova_market.core.resource import Array
from nova_market.errors import BadSnapshot

MAX_TEXT = 255
MAX_HOSTS = 100_000
MAX_PROJECTS = 1_000_000
MAX_LEASES = 100_000
MAX_NODES = 200_000
MAX_CARRIERS = 200_000
MAX_STEPS = 1_000_000
HUGE = 1e18
"""No price, bid or amount is larger."""

MAX_WATTS = 1e9

Name = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)]
Amount = Annotated[float, Meta(ge=0.0, le=HUGE)]
Signed = Annotated[float, Meta(ge=-HUGE, le=HUGE)]
Part = Annotated[float, Meta(ge=0.0, le=1.0)]
Row = Annotated[int, Meta(ge=0, le=2**31)]
Watts = Annotated[float, Meta(ge=0.0, le=MAX_WATTS)]

Table = Sequence[object]
"""Lists of numbers, or of lists of them; msgspec has checked the numbers."""


class HostTable(Struct, frozen=True, kw_only=True):
    """Arrays over the hosts, in the order of `name`."""

    name: Annotated[list[Name], Meta(max_length=MAX_HOSTS)]
    capacity: list[list[Amount]]
    bids: list[list[Amount]]
    demand: list[list[list[Amount]]]
    vcpus: list[Amount]
    heaviness: list[Signed | None] | None = None
    watts: list[list[Watts | None]] | None = None
    sold: list[list[bool]] | None = None


class ProjectTable(Struct, frozen=True, kw_only=True):
    """Arrays over the projects, in the order of `id`."""

    id: Annotated[list[Name], Meta(max_length=MAX_PROJECTS)]
    available: list[Signed]
    due: list[Amount]
    used: list[list[Amount]]
    share: list[Part | None] | None = None
    heaviness: list[Signed | None] | None = None


class ReservedLeases(Struct, frozen=True, kw_only=True):
    """Arrays over the leases, in the order of `id`."""

    id: Annotated[list[Name], Meta(max_length=MAX_LEASES)]
    project_id: list[Name]
    begin: list[Amount]
    end: list[Amount]


class ReservedNodes(Struct, frozen=True, kw_only=True):
    """Arrays over the nodes; lease, host: rows; amounts: [axis][node], 0 where a node is a whole host."""

    lease: Annotated[list[Row], Meta(max_length=MAX_NODES)]
    host: list[Row]
    whole: list[bool]
    amounts: list[list[Amount]]


class ReservedRoom(Struct, frozen=True, kw_only=True):
    """What hosts must keep free, step by step; host: rows; amounts: [axis][step]

    A step lasts until the next one of its host, the last one of a host for ever; before the first one nothing
    is kept.
    """

    host: Annotated[list[Row], Meta(max_length=MAX_STEPS)]
    begin: list[Amount]
    amounts: list[list[Amount]]


class ReservedTable(Struct, frozen=True, kw_only=True):
    """What leases have reserved: core.scheduler.reserved has what the columns hold.

    format: 1: there is no `room`, and all nodes are in `nodes`
    """

    version: Annotated[str, Meta(min_length=1, max_length=64)]
    at: Amount
    format: int = 1
    room: ReservedRoom | None = None
    leases: ReservedLeases
    hosts: Annotated[list[Name], Meta(max_length=MAX_HOSTS)]
    nodes: ReservedNodes
    carriers: Annotated[list[tuple[Name, Row]], Meta(max_length=MAX_CARRIERS)]


class SnapshotDocument(Struct, frozen=True, kw_only=True):
    """A snapshot; only period and age when the reader has the newest one already.

    reserved_at: instead of `reserved`, when the reader has this version of it already: until when it is true
    """

    period: Annotated[int, Meta(ge=0, le=2**53)]
    age: Amount
    format: int = 0
    levels: list[Part] = msgspec.field(default_factory=list)
    price: list[Amount] = msgspec.field(default_factory=list)
    bid_price: list[Amount] = msgspec.field(default_factory=list)
    hosts: HostTable | None = None
    projects: ProjectTable | None = None
    reserved: ReservedTable | None = None
    reserved_at: Amount | None = None


class SnapshotAnswer(Struct, frozen=True, kw_only=True):
    """What the API answers."""

    scheduler_snapshot: SnapshotDocument


ANSWER = msgspec.json.Decoder(SnapshotAnswer)
Given = TypeVar('Given')


def read_answer(raw: bytes) -> SnapshotDocument:
    """The snapshot in an answer of the API.

    :raises BadSnapshot: it is no JSON, or names what breaks which bound.
    """
    try:
        return ANSWER.decode(raw).scheduler_snapshot
    except msgspec.ValidationError as error:
        raise BadSnapshot(f'the answer of the market API: {error}') from None
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise BadSnapshot(f'the market API answers what is no JSON: {error}') from None


def document_from(given: object) -> SnapshotDocument:
    """A snapshot from the values that JSON has.

    :raises BadSnapshot: names what breaks which bound.
    """
    try:
        return msgspec.convert(given, SnapshotDocument)
    except (msgspec.ValidationError, OverflowError) as error:
        raise BadSnapshot(f'the snapshot: {error}') from None


def rows(names: Sequence[str], what: str) -> dict[str, int]:
    """Name -> row.

    :raises BadSnapshot: a name is there twice.
    """
    found = {name: row for row, name in enumerate(names)}
    if len(found) != len(names):
        raise BadSnapshot(f'{what}: something is named twice')
    return found


def array(table: Table, name: str, shape: tuple[int, ...]) -> Array:
    """A read-only array of this shape, NaN for null.

    :raises BadSnapshot: the table has another shape.
    """
    try:
        found = np.array(table, dtype=np.float64)
    except ValueError:
        raise BadSnapshot(f'{name}: its rows have different lengths') from None
    if found.size == 0 and 0 in shape:
        found = np.zeros(shape)
    if found.shape != shape:
        raise BadSnapshot(f'{name} has the shape {found.shape}, not {shape}')
    found.setflags(write=False)
    return found


def needed(given: Given | None, name: str) -> Given:
    """:raises BadSnapshot: it is not there."""
    if given is None:
        raise BadSnapshot(f'the snapshot has no {name}')
    return given
