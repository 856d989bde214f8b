# SPDX-License-Identifier: Apache-2.0
"""The resources that guests share, their axis order and units.

Implements the resource vector of IFI-2016.04, section IV-B (CPU time, memory, bytes read from and
written to disk, bytes received and transmitted). Every vector over resources in this package has
shape (len(RESOURCES),) and this order.

Units: CPU in core score (cores busy x score of one core), memory in bytes resident, the others in bytes/s.

Differs from the paper: memory is in bytes (there kilobytes) and everything else is a rate per second,
so that intervals of different length compare.
"""

from typing import NewType

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
Values = npt.NDArray[np.int64]

OwnerId = NewType('OwnerId', str)
"""Keystone project id (or whatever the operator accounts by)."""

GuestId = NewType('GuestId', str)
"""libvirt domain UUID, which is the Nova server UUID."""

HostName = NewType('HostName', str)

RESOURCES = ('cpu', 'memory', 'disk_read', 'disk_write', 'net_rx', 'net_tx')

CPU, MEMORY, DISK_READ, DISK_WRITE, NET_RX, NET_TX = range(len(RESOURCES))

WITH_VIRTUAL_COUNTERPART = (CPU, MEMORY)
"""Resources that a flavor names (vCPU, RAM); flavors do not name disk or network throughput."""


def vector(**amounts: float) -> Array:
    """A resource vector from named amounts, zero elsewhere.

    :raises KeyError: for a name that is not in RESOURCES.
    """
    result = np.zeros(len(RESOURCES))
    for name, amount in amounts.items():
        if name not in RESOURCES:
            raise KeyError(f'unknown resource {name!r}; known: {", ".join(RESOURCES)}')
        result[RESOURCES.index(name)] = amount
    return result
