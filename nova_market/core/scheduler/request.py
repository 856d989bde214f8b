# SPDX-License-Identifier: Apache-2.0
"""What somebody asks Nova for, as the market sees it: how much, for how long, what it would bid.

Implements rules B1 and S3 of doc/source/specs/market.rst. Units: cores, MiB, micro-credits per period,
seconds. A text that is not a value counts as not there: flavors are checked where they are written.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from nova_market.core.market.bid import ABSENT, bid_from
from nova_market.core.market.extra_spec import (
    CLASS,
    CLASSES,
    DURATION,
    LONG,
    MAX_CPU,
    MAX_MEMORY,
    MOST_CORES,
    MOST_MIB,
    MOST_PERIODS,
    MOST_SECONDS,
    PERIODS,
    PREFIX,
    real,
    whole,
)
from nova_market.errors import BadAmount


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRequest:
    """size:     of one server, (cores, MiB); limit: the most it can use, a_max
    bid:      (cpu, memory), ABSENT where neither hint nor flavor says
    count:    servers asked for together
    periods:  for which the project must be able to pay; None: whatever the default is; 0: not asked
    market:   the flavor asks for the market: it has a key of it
    duration: seconds; None: not said. Only the flavor says: a tenant would say whatever lets him in
    new:      the servers do not exist yet; False: one that exists moves
    """

    project_id: str
    size: tuple[float, float]
    limit: tuple[float, float]
    bid: tuple[int, ...] = (ABSENT, ABSENT)
    count: int = 1
    periods: int | None = None
    market: bool = False
    work: str = LONG
    duration: int | None = None
    new: bool = True


def request_of(
    project_id: str,
    size: tuple[float, float],
    extra_specs: Mapping[str, str],
    hints: Mapping[str, str],
    *,
    count: int = 1,
    new: bool = True,
) -> ServerRequest:
    """From a flavor and the scheduler hints of a server; of a bid the hint goes first (B1)."""
    size = (float(size[0]), float(size[1]))
    if not any(key.startswith(PREFIX) for key in (*extra_specs, *hints)):
        return ServerRequest(project_id=project_id, size=size, limit=size, count=count, new=new)
    own, flavor = _bid(hints), _bid(extra_specs)
    cpu = real(extra_specs.get(MAX_CPU, ''), MOST_CORES)
    memory = real(extra_specs.get(MAX_MEMORY, ''), MOST_MIB)
    work = extra_specs.get(CLASS, LONG)
    return ServerRequest(
        project_id=project_id,
        size=size,
        limit=(min(size[0], cpu or size[0]), min(size[1], memory or size[1])),
        bid=tuple(o if o != ABSENT else f for o, f in zip(own, flavor, strict=True)),
        count=count,
        periods=whole(extra_specs.get(PERIODS, ''), 0, MOST_PERIODS),
        market=any(key.startswith(PREFIX) for key in extra_specs),
        work=work if work in CLASSES else LONG,
        duration=whole(extra_specs.get(DURATION, ''), 1, MOST_SECONDS),
        new=new,
    )


def _bid(texts: Mapping[str, str]) -> tuple[int, ...]:
    try:
        return bid_from(texts)
    except BadAmount:
        return (ABSENT, ABSENT)
