# SPDX-License-Identifier: Apache-2.0
"""The document of a round as it is stored: its sections, each packed and cut into parts.

For rule A4 of doc/source/specs/market.rst; what the sections are: core.market.round_sections.
"""

import json
import zlib
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, insert, select

from nova_market.db.ledger import slices
from nova_market.db.market_tables import PART_BYTES, round_documents

STRIDE = 10_000
"""Numbers of parts of one section; a document of an older version has one section."""

LAST = 1_000
"""Above the number of every section."""


def packed_section(section: Mapping[str, object]) -> bytes:
    return zlib.compress(json.dumps(section, separators=(',', ':')).encode(), 1)


def unpacked(packed: bytes) -> dict[str, object]:
    return dict(json.loads(zlib.decompress(packed)))


def store_sections(connection: Connection, period: int, packed: Sequence[bytes]) -> None:
    parts = [
        {'period': period, 'part': number * STRIDE + place, 'content': bytes(part)}
        for number, section in enumerate(packed)
        for place, part in enumerate(slices(section, PART_BYTES))
    ]
    connection.execute(insert(round_documents), parts)


def packed_sections(
    connection: Connection, period: int, first: int = 0, last: int = LAST
) -> Sequence[bytes]:
    """What is stored of the document of a round: its sections first to last, as far as they are there."""
    column = round_documents.c
    query = select(column.part, column.content).where(
        column.period == period, column.part.between(first * STRIDE, (last + 1) * STRIDE - 1)
    )
    packed: dict[int, bytes] = {}
    for part, content in connection.execute(query.order_by(column.part)):
        packed[part // STRIDE] = packed.get(part // STRIDE, b'') + content
    return list(packed.values())
