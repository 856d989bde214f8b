# SPDX-License-Identifier: Apache-2.0
"""Short ways to make usage history."""

from nova_market.core.usage.history import SeriesUse
from nova_market.core.usage.use import AMOUNTS, Series, ServerUse

DAY_BEGIN = 1_799_971_200
"""Midnight of UTC."""


def series(server: str = 's1', **changes) -> Series:
    values = {'server_id': server, 'project_id': 'red', 'host': 'h1', 'vcpus': 2, 'memory_mib': 512}
    return Series(**(values | changes))


def use(**changes) -> ServerUse:
    """A minute in which half a core was busy."""
    values = {'seconds': 60, 'core_ms': 30_000, 'memory_mib_seconds': 6000, 'memory_mib_max': 100}
    return ServerUse(**(values | changes))


def used(at: int, one: Series | None = None, **changes) -> SeriesUse:
    return SeriesUse(at=at, series=one or series(), amounts=use(**changes).amounts)


def as_uses(amounts) -> list[dict[str, int]]:
    """Rows of amounts by name."""
    return [dict(zip(AMOUNTS, row, strict=True)) for row in amounts.tolist()]
