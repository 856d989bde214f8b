# SPDX-License-Identifier: Apache-2.0
"""Small calendars and tables of bookings, by cores."""

import math
from collections.abc import Mapping

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.calendar.booking import Bookings, bookings
from nova_market.core.calendar.calendar import Calendar, unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.calendar.conflict import ALONE, BookingTable

PLENTY = 1e6


def cloud(*cores: float) -> Calendar:
    """Hosts with so many cores, and memory and disk for everybody."""
    return unbooked(
        capacity(np.array([[n, PLENTY, PLENTY] for n in cores]).reshape(-1, len(AXES)).T)
    )


def on(host: int, start: float, end: float, cores: float) -> Bookings:
    """One booking of cores alone."""
    return bookings(host=[host], start=[start], end=[end], amounts=[[cores], [0.0], [0.0]])


def booking_table(*rows: Mapping[str, object]) -> BookingTable:
    """Rows of host, start, end, cores; and of the other fields what is not usual.

    Booked in this order, one second apart; not started, not flexible, on any host, one server, alone.
    """

    def column(name: str, usual: object) -> list[object]:
        return [row.get(name, usual) for row in rows]

    cores = np.array(column('cores', 1.0), dtype=np.float64)
    return BookingTable(
        ids=tuple(str(row.get('id', number)) for number, row in enumerate(rows)),
        bookings=bookings(
            host=column('host', 0), start=column('start', 0.0), end=column('end', 10.0),
            amounts=np.stack([cores, np.zeros_like(cores), np.zeros_like(cores)]),
        ),
        made=np.array([row.get('made', number) for number, row in enumerate(rows)], dtype=float),
        started=np.array(column('started', False), dtype=np.bool_),
        flexible=np.array(column('flexible', False), dtype=np.bool_),
        earliest=np.array(column('earliest', -math.inf), dtype=float),
        finish=np.array(column('finish', math.inf), dtype=float),
        pinned=np.array(column('pinned', False), dtype=np.bool_),
        single=np.array(column('single', True), dtype=np.bool_),
        gang=np.array(column('gang', ALONE), dtype=np.intp),
    )  # fmt: skip
