# SPDX-License-Identifier: Apache-2.0
"""Of which flavors a new worker can start now, and on which host.

Implements INRIA RR-7837, section 3.3.1 (the host that runs most servers, so that others can sleep) and
section 3.3.2, step 2; rules O4 and T2 of doc/source/specs/tender.rst. Amounts in the units and the order
of core.calendar.axes.
"""

import numpy as np

from nova_market.core.resource import Array, Rows
from nova_market.core.tender.place import Openings


def openings(free: Array, largest: Array, servers: Rows, needs: Array) -> Openings:
    """For each flavor that some host has room for, the host with most servers, of equal ones the first.

    free, largest: (AXES, hosts) what is free, and the most that one server may have
    servers:       (hosts,) that run there
    needs:         (AXES, flavors) of one worker
    """
    room = np.minimum(free, largest)
    flavors, hosts = [], []
    for flavor, need in enumerate(needs.T):
        fits = (room >= need[:, None]).all(axis=0)
        if fits.any():
            flavors.append(flavor)
            hosts.append(int(np.argmax(np.where(fits, servers, -1))))
    return Openings(flavor=np.array(flavors, dtype=np.intp), host=np.array(hosts, dtype=np.intp))
