# SPDX-License-Identifier: Apache-2.0
"""Columns of leases, their events and their moves."""

from collections.abc import Mapping, Sequence
from typing import Any

from cliff.columns import FormattableColumn

from nova_market.osc.v1.columns import Column, Credits, Fields
from nova_market.osc.v1.job_columns import Duration, Given


class Hosts(FormattableColumn[Any]):
    """The hosts of nodes."""

    def human_readable(self) -> str:
        return ', '.join(one['host'] for one in self._value or ())


class Nodes(FormattableColumn[Any]):
    """Nodes, one line each."""

    def human_readable(self) -> str:
        return '\n'.join(
            f'{one["host"]}: {one["cores"]:g} cores, {one["memory_mib"]:g} MiB, {one["disk_gib"]:g} GiB'
            for one in self._value or ()
        )


class Place(FormattableColumn[Any]):
    """Where and when."""

    def human_readable(self) -> str:
        return f'{", ".join(self._value["hosts"])} at {self._value["start"]}'


LEASES: tuple[Column, ...] = (
    ('ID', 'id', None),
    ('Name', 'name', Given),
    ('State', 'state', None),
    ('Start', 'start', None),
    ('End', 'end', None),
    ('Hosts', 'nodes', Hosts),
    ('Cost', 'cost', Credits),
)
LEASE: tuple[Column, ...] = (
    *LEASES[:5],
    ('Nodes', 'nodes', Nodes),
    ('Whole', 'whole', None),
    ('Duration', 'duration', Duration),
    ('Earliest', 'earliest', None),
    ('Finish', 'finish', None),
    ('Flexible', 'flexible', None),
    ('Utilisation', 'utilisation', None),
    ('Purpose', 'purpose', Given),
    ('Cost', 'cost', Credits),
    ('Charged', 'charged', Credits),
    ('Refunded', 'refunded', Credits),
    ('Project', 'project_id', None),
    ('Payer', 'payer_id', None),
    ('Algorithm', 'algorithm', Given),
    ('Objective', 'objective', Given),
    ('Ended', 'ended_at', Given),
)
EVENTS: tuple[Column, ...] = (
    ('At', 'at', None),
    ('Action', 'action', None),
    ('Reason', 'reason', None),
    ('Numbers', 'numbers', Fields),
)
MOVES: tuple[str, ...] = ('Lease', 'Name', 'Old', 'New')


def move_rows(moves: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    """A row for each lease that moves."""
    return [(one['lease_id'], one['name'], Place(one['old']), Place(one['new'])) for one in moves]
