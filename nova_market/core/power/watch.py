# SPDX-License-Identifier: Apache-2.0
"""What is remembered of the cloud: since when hosts are empty, and the demand of the last hour.

Implements the input of rule W3 of doc/source/specs/leases.rst. Seconds since the epoch; demand in the units
of AXES, its largest value in each BUCKET.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.resource import Array
from nova_market.core.row_check import checked
from nova_market.errors import BadRow

BUCKET = 300.0
MEMORY = 3600.0

GAP = 600.0
"""Nobody has looked for so long: a host may have been in use meanwhile, so it counts as empty from now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """at: of the last look; empty: since when, by host; demand: (beginning of the bucket, amounts)"""

    at: float = float('-inf')
    empty: Mapping[str, float] = field(default_factory=dict)
    demand: Sequence[tuple[float, tuple[float, ...]]] = ()

    @property
    def largest(self) -> Array:
        """(AXES,): the largest demand that is remembered."""
        rows = [amounts for _, amounts in self.demand]
        found: Array = np.array(rows).reshape(-1, len(AXES)).max(axis=0, initial=0.0)
        return found


def looked(watch: Watch, empty: Collection[str], demand: Array, now: float) -> Watch:
    """With what is seen now. empty: hosts with nothing on them; demand: (AXES,)"""
    known = watch.empty if 0 <= now - watch.at <= GAP else {}
    bucket = now // BUCKET * BUCKET
    before = [one for one in watch.demand if bucket - MEMORY <= one[0] < bucket]
    largest = demand
    for began, amounts in watch.demand:
        if began == bucket:
            largest = np.maximum(largest, amounts)
    return Watch(
        at=now,
        empty={name: min(known.get(name, now), now) for name in sorted(empty)},
        demand=(*before, (bucket, tuple(largest.tolist()))),
    )


def document_of(watch: Watch) -> dict[str, Any]:
    """As JSON has it."""
    demand = [[began, list(amounts)] for began, amounts in watch.demand]
    return {'at': watch.at, 'empty': dict(watch.empty), 'demand': demand}


def watch_from(document: Mapping[str, Any]) -> Watch:
    """The inverse; an empty one of {}.

    :raises BadRow, KeyError, TypeError, ValueError: it is none of such a document.
    """
    if not document:
        return Watch()
    demand = tuple(
        (float(began), tuple(map(float, amounts))) for began, amounts in document['demand']
    )
    if not all(len(amounts) == len(AXES) and all(map(isfinite, amounts)) for _, amounts in demand):
        raise BadRow('demand is not of amounts that are finite')
    return checked(Watch(at=float(document['at']), empty=dict(document['empty']), demand=demand))
