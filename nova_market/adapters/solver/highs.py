# SPDX-License-Identifier: Apache-2.0
"""Solves programs with HiGHS, as scipy has it (extra `leases`).

For `exact` of rule L3 (doc/source/specs/leases.rst); the paper used Gurobi 4.0. HiGHS uses one core.
"""

from typing import Any

import numpy as np

from nova_market.core.lease.program import Program, Solution
from nova_market.core.resource import Array
from nova_market.errors import ConfigurationError


def highs(program: Program, *, seconds: float, gap: float) -> Solution | None:
    """core.lease.program.Solver.

    :raises ConfigurationError: scipy is not installed.
    """
    try:
        from scipy import optimize, sparse
    except ImportError as error:
        raise ConfigurationError(
            'the placement algorithm exact needs scipy: install the extra leases of nova-market, '
            'or choose search'
        ) from error
    shape = (len(program.low), len(program.cost))
    matrix = sparse.csr_array((program.value, (program.row, program.column)), shape=shape)
    if program.integer.any():
        found = optimize.milp(
            program.cost,
            integrality=program.integer.astype(np.int64),
            bounds=optimize.Bounds(0.0, program.most),
            constraints=optimize.LinearConstraint(matrix, program.low, program.high),
            options={'time_limit': seconds, 'mip_rel_gap': gap},
        )
        bound = found.mip_dual_bound
        if found.x is None:
            return None
        return Solution(
            x=found.x, cost=float(found.fun), duals=np.zeros(len(program.low)),
            bound=-np.inf if bound is None else float(bound),
        )  # fmt: skip
    return _linear(program, matrix, seconds, optimize)


def _linear(program: Program, matrix: Any, seconds: float, optimize: Any) -> Solution | None:
    equal = program.low == program.high
    above = ~equal & np.isfinite(program.high)
    below = ~equal & np.isfinite(program.low)
    found = optimize.linprog(
        program.cost,
        A_ub=_stacked(matrix, above, below),
        b_ub=np.concatenate([program.high[above], -program.low[below]]),
        A_eq=matrix[np.flatnonzero(equal)],
        b_eq=program.low[equal],
        bounds=np.stack([np.zeros(len(program.cost)), program.most], axis=1),
        method='highs',
        options={'time_limit': None if np.isinf(seconds) else seconds},
    )
    if found.status != 0:
        return None
    duals: Array = np.zeros(len(program.low))
    duals[equal] = found.eqlin.marginals
    count = int(above.sum())
    duals[above] += found.ineqlin.marginals[:count]
    duals[below] -= found.ineqlin.marginals[count:]
    return Solution(x=found.x, cost=float(found.fun), bound=float(found.fun), duals=duals)


def _stacked(matrix: Any, above: Any, below: Any) -> Any:
    from scipy import sparse

    return sparse.vstack(
        [matrix[np.flatnonzero(above)], -matrix[np.flatnonzero(below)]], format='csr'
    )
