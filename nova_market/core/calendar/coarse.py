# SPDX-License-Identifier: Apache-2.0
"""A calendar in fewer steps, in which nothing is free that was not free before.

For rule L5 of doc/source/specs/leases.rst: what is published of a host is bounded, however many leases cut
its time into pieces. Units and shapes as in core.calendar.calendar.
"""

import numpy as np

from nova_market.core.calendar.calendar import Calendar


def coarsened(calendar: Calendar, most: int) -> Calendar:
    """With at most so many segments of each host, three or more; hosts that have fewer stay as they are.

    Neighbours are put together in equal numbers, with the least that is free in any of them. The first and
    the last segment of a host, which have no begin and no end, stay.
    """
    counts = np.diff(calendar.offsets)
    if not (counts > most).any():
        return calendar
    host = calendar.host
    place = np.arange(len(host)) - calendar.offsets[host]
    inner = np.maximum(counts - 2, 1)[host]
    # 0 of the first segment, then `most - 2` groups of equal size, then one of the last segment
    groups = np.minimum(inner, most - 2)
    group = 1 + (place - 1) * groups // inner
    group[place == 0] = 0
    begins = np.ones(len(host), dtype=np.bool_)
    begins[1:] = (host[1:] != host[:-1]) | (group[1:] != group[:-1])
    begins |= counts[host] <= most
    rows = np.flatnonzero(begins)
    before = np.concatenate([[0], np.cumsum(begins)])
    return Calendar(
        offsets=before[calendar.offsets],
        times=calendar.times[rows],
        free=np.minimum.reduceat(calendar.free, rows, axis=1),
        largest=calendar.largest,
    )
