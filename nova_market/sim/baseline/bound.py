# SPDX-License-Identifier: Apache-2.0
"""What no scheduler could surpass: an upper bound of the satisfaction with a workload, by a linear program.

For the price of decentralisation of Merkat (INRIA RR-8648), section 3.2.2, where the paper compares
with EDF only. Units: seconds, processors, credits.

    maximise   sum_j b_j x_j                                     0 <= x_j <= 1: part of job j that is served
    such that  sum_k y_jk = n_j run_j x_j                        its work is done within its window ...
               0 <= y_jk <= n_j * (time of its window in k)      ... never faster than its processors ...
               sum_j y_jk <= C * (length of k)                   ... nor than the machine, in any slot k

Every schedule, with preemption and any division of the machine, is a solution with x of 0 and 1, and one that
knew the future too; so the optimum is at least what any scheduler gets. Longer slots only loosen it.
"""

import numpy as np

from nova_market.core.resource import Array
from nova_market.errors import BadWorkload
from nova_market.sim.workload.job import Terms, Workload

SLOTS = 200


def satisfaction_bound(
    workload: Workload, processors: int, terms: Terms, slots: int = SLOTS
) -> float:
    """As Schedule.satisfaction: (budgets in time - the others) / all budgets, -1 to 1; 0 without jobs.

    :raises BadWorkload: the solver gave up.
    """
    total = float(terms.budget.sum())
    if not total > 0:
        return 0.0
    won = _optimum(workload, processors, terms, _edges(workload, terms, slots))
    return (2.0 * won - total) / total


def _edges(workload: Workload, terms: Terms, slots: int) -> Array:
    """Borders of the slots: quantiles of arrivals and deadlines, so that busy times are divided finely."""
    times = np.concatenate([workload.submit, terms.deadline])
    edges: Array = np.unique(np.quantile(times, np.linspace(0.0, 1.0, slots + 1)))
    return edges


def _optimum(workload: Workload, processors: int, terms: Terms, edges: Array) -> float:
    # an extra: only experiments solve programs
    from scipy import optimize, sparse

    count, length = len(workload), np.diff(edges)
    overlap = np.minimum(terms.deadline[:, None], edges[None, 1:]) - np.maximum(
        workload.submit[:, None], edges[None, :-1]
    )
    job, slot = np.nonzero(overlap > 0)
    most = overlap[job, slot] * workload.processors[job]
    pairs = len(job)
    # variables: x of each job, then y of each pair (job, slot)
    column = count + np.arange(pairs)
    work = workload.processors * workload.run
    done = sparse.coo_array(
        (
            np.concatenate([-work, np.ones(pairs)]),
            (np.concatenate([np.arange(count), job]), np.concatenate([np.arange(count), column])),
        ),
        shape=(count, count + pairs),
    )
    used = sparse.coo_array((np.ones(pairs), (slot, column)), shape=(len(length), count + pairs))
    found = optimize.linprog(
        np.concatenate([-terms.budget, np.zeros(pairs)]),
        A_ub=used.tocsr(),
        b_ub=processors * length,
        A_eq=done.tocsr(),
        b_eq=np.zeros(count),
        bounds=np.stack([np.zeros(count + pairs), np.concatenate([np.ones(count), most])], axis=1),
        method='highs',
    )
    if found.status != 0:
        raise BadWorkload(f'the bound was not found: {found.message}')
    return float(-found.fun)
