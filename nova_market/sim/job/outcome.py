# SPDX-License-Identifier: Apache-2.0
"""What became of the jobs of a run: when each ran, and every time that it held room on hosts.

Units: seconds; arrays (jobs,). A job that was preempted begins again, so it holds room several times; only
the last time counts as its run (rule J4 of doc/source/specs/jobs.rst).
"""

from dataclasses import dataclass

from nova_market.core.resource import Array, Flags, Rows, Values


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Holdings:
    """Room that was held, one row for each attempt of a job, in the order in which they were started.

    job: row of the job; begin: when it was given room, end: when it left it; lost: preempted at its end
    """

    job: Rows
    begin: Array
    end: Array
    lost: Flags


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Outcome:
    """start, end: of the script of the attempt that counts; NaN for what never began, or never ended

    preemptions: of each job; booted: workers that were started; reused: starts on one that was there
    """

    start: Array
    end: Array
    preemptions: Values
    holdings: Holdings
    booted: int = 0
    reused: int = 0
