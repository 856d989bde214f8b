# SPDX-License-Identifier: Apache-2.0
"""Jobs of one shape: the same amounts, gang size and aggregate. Where one of them finds no room, none
does."""

import numpy as np

from nova_market.core.resource import Array, Rows, Values

# Any numbers that no sums of flavors' sizes have in common: jobs of one shape become neighbours in one sort.
# Two shapes with the same sum are told apart below.
_MIX = np.array([np.sqrt(2.0), np.sqrt(3.0), np.sqrt(5.0)])
_MIX_SERVERS, _MIX_AGGREGATE = np.sqrt(7.0), np.sqrt(11.0)


def shapes_of(amount: Array, servers: Values, aggregate: Rows) -> tuple[Rows, Rows]:
    """(shape of each job, (jobs,); the first job of each shape in the sort, (shapes,)).

    Numbers of shapes have no meaning; now and then one shape may get two of them.
    """
    jobs = len(servers)
    if jobs == 0:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    key = _MIX @ amount + servers * _MIX_SERVERS + aggregate * _MIX_AGGREGATE
    order = np.argsort(key, kind='stable')
    differs = np.ones(jobs, dtype=np.bool_)
    differs[1:] = False
    for column in (*amount, servers, aggregate):
        ordered = column[order]
        differs[1:] |= ordered[1:] != ordered[:-1]
    shape = np.empty(jobs, dtype=np.intp)
    shape[order] = np.cumsum(differs) - 1
    return shape, order[differs]
