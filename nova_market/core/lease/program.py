# SPDX-License-Identifier: Apache-2.0
"""A linear or mixed-integer program as a value, and what solves one.

`exact` (rule L3 of doc/source/specs/leases.rst) builds programs and gets a solver as an argument, so that
core needs none; adapters.solver has that of HiGHS.

    minimise  cost x   such that  low <= A x <= high   and  0 <= x <= most,  x integer where it must be
"""

from dataclasses import dataclass
from typing import Protocol

from nova_market.core.resource import Array, Flags, Rows


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Program:
    """cost, most, integer: (columns,); row, column, value: (entries,) of A; low, high: (rows,)"""

    cost: Array
    most: Array
    integer: Flags
    row: Rows
    column: Rows
    value: Array
    low: Array
    high: Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Solution:
    """x: (columns,); cost: of x; bound: no solution costs less; duals: (rows,) if nothing is integer"""

    x: Array
    cost: float
    bound: float
    duals: Array


class Solver(Protocol):
    """None: no solution was found, in that time or at all. seconds: inf = as long as it takes."""

    def __call__(self, program: Program, *, seconds: float, gap: float) -> Solution | None: ...
