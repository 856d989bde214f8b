# SPDX-License-Identifier: Apache-2.0
"""The resources that are booked in time, their axis order and units.

Implements the amounts of rule C1 of doc/source/specs/calendar.rst. Every vector of bookings, jobs, offers
and leases is float64 of shape (len(AXES),) and in this order; arrays over several of them have the resource
as their first axis: (len(AXES), hosts).

Units: cores as Placement counts VCPU (after its allocation ratio), memory in MiB, disk in GiB.
"""

import numpy as np

from nova_market.core.resource import Array

AXES = ('cores', 'memory_mib', 'disk_gib')

COUNTED = ('VCPU', 'MEMORY_MB', 'DISK_GB')
"""Placement's resource class of each axis."""

CORES, MEMORY_MIB, DISK_GIB = range(len(AXES))


def amounts(**named: float) -> Array:
    """(len(AXES),) from named amounts, zero elsewhere: amounts(cores=4, memory_mib=2048).

    :raises KeyError: for a name that is not in AXES.
    """
    result = np.zeros(len(AXES))
    for name, amount in named.items():
        if name not in AXES:
            raise KeyError(f'unknown axis {name!r}; known: {", ".join(AXES)}')
        result[AXES.index(name)] = amount
    return result
