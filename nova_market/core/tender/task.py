# SPDX-License-Identifier: Apache-2.0
"""A task of a tender: what it computes and what it occupies.

Implements the request of INRIA RR-7837, section 3.2, and rule T2 of doc/source/specs/tender.rst. Units:
work in any one unit, in which the speeds of flavors are given too, per second (core-seconds at a
reference speed, or MI as in the paper); memory in MiB, disk in GiB.
"""

from dataclasses import dataclass

from nova_market.core.calendar.grain import MOST_AMOUNT
from nova_market.errors import BadTask

MOST_WORK = 1e15
"""Thousands of years on the fastest core, in either unit."""

_LIMITS = {'memory_mib': ('MiB of memory', MOST_AMOUNT), 'disk_gib': ('GiB of disk', MOST_AMOUNT)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """work: above 0; memory_mib, disk_gib: 0 or more, occupied while it runs

    :raises BadTask: names what was given and what is allowed
    """

    work: float
    memory_mib: float = 0.0
    disk_gib: float = 0.0

    def __post_init__(self) -> None:
        # written so that NaN is refused too
        if not 0.0 < self.work <= MOST_WORK:
            raise BadTask(f'a task of size {self.work:g}: give more than 0, at most {MOST_WORK:g}')
        for name, (unit, most) in _LIMITS.items():
            if not 0.0 <= (value := getattr(self, name)) <= most:
                raise BadTask(f'a task with {value:g} {unit}: give 0 to {most:g}')
