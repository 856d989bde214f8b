# SPDX-License-Identifier: Apache-2.0
"""A round's document in sections: what a project may see of a round is read without all the rest.

For rule A4 of doc/source/specs/market.rst. Section 0 is what everybody may see, section 1 what the engine and
operators need, and the lines of servers and payers are divided among the others by their projects. A document
of 20,000 servers takes a second to read; the sections of one project take some milliseconds.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from nova_market.core.market.enforced import unsold_on
from nova_market.errors import BadRow

EVERYBODY = (
    'format', 'period', 'settings', 'demand', 'last_price', 'largest_error', 'held_prices',
    'default_bids',
)  # fmt: skip
BY_PROJECT = ('servers', 'payers')
"""Lists of lines, each with an `id`."""

DIVIDED = 'sections'
"""Where section 0 has how many there are for projects; a document of an older version has it nowhere."""

UNSOLD = 'unsold_everywhere'
"""Where section 0 has the resources that some host did not sell (B5): whether none did."""

LINES, MOST = 500, 64
"""Servers of a section on average, and sections of projects at most."""


def sections(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The document in parts; `whole` makes it of them again."""
    divided = [name for name in BY_PROJECT if isinstance(document.get(name), list)]
    servers = len(document['servers']) if 'servers' in divided else 0
    count = max(1, min(MOST, -(-servers // LINES)))
    first = {name: document[name] for name in EVERYBODY if name in document}
    rest = {
        name: value for name, value in document.items() if name not in first and name not in divided
    }
    own: list[dict[str, Any]] = [{name: [] for name in divided} for _ in range(count)]
    for name in divided:
        for place, line in enumerate(document[name]):
            # with its place, so that the whole has the order that it had
            own[_row(_project(line), count)][name].append([place, line])
    return [{**first, DIVIDED: count, UNSOLD: unsold_everywhere(document)}, rest, *own]


def whole(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The document that these are all sections of.

    :raises BadRow: some are missing.
    """
    if len(found) == 1 and DIVIDED not in found[0]:
        return dict(found[0])
    count = found[0].get(DIVIDED)
    if count != len(found) - 2:
        raise BadRow(f'{len(found)} sections are there: it must be {count!r:.20} and two more')
    first, rest, *own = found
    document = {**first, **rest}
    del document[DIVIDED], document[UNSOLD]
    for name in own[0]:
        placed = [line for one in own for line in one[name]]
        document[name] = [line for _, line in sorted(placed, key=lambda one: one[0])]
    return document


def seen_by(first: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """What is read for a project: section 0 and the one with its lines, which has lines of others too."""
    return {**first, **{name: [line for _, line in placed] for name, placed in own.items()}}


def section_of(project_id: str, first: Mapping[str, Any]) -> int | None:
    """The section with the lines of a project. first: section 0; None: it is the whole document"""
    return 2 + _row(project_id, first[DIVIDED]) if DIVIDED in first else None


def unsold_everywhere(document: Mapping[str, Any]) -> dict[str, bool]:
    """The resources that some host did not sell in a round: whether none did."""
    if UNSOLD in document:
        return dict(document[UNSOLD])
    hosts = document.get('hosts', ())
    return {name: len(where) == len(hosts) for name, where in unsold_on(document).items()}


def _row(project_id: str, count: int) -> int:
    return zlib.crc32(project_id.encode()) % count


def _project(line: Mapping[str, Any]) -> str:
    """Of a server, or of the account of a project; a budget has the section of its own name."""
    return str(line.get('project_id', line['id'])).removeprefix('project:')
