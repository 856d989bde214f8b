# SPDX-License-Identifier: Apache-2.0
"""What operations on virtual machines cost: boot, suspend, resume, live migration, too little memory.

Implements the overheads that Merkat (INRIA RR-8648), section 3.1.1, says its simulator has ("memory
over-commit, VM boot/resume and VM migration") and gives no numbers for. All of them are parameters; the
defaults are chosen for the paper's test bed (section 3.1.2: gigabit Ethernet, images on NFS, copy-on-write):

suspend, resume  linear in the RAM that is written or read (Sotomayor, Montero, Llorente, Foster, HPCC 2009);
                 110 MiB/s is a gigabit link
boot             assumed; public clouds took from some forty seconds to minutes (Mao, Humphrey, CLOUD 2012)
migration        linear in the RAM (Dargie, ICCCN 2014); 10 % slower while it is copied (Beloglazov, Buyya,
                 CCPE 24(13), 2012); stopped for 60 to 210 ms (Clark et al., NSDI 2005)
memory           a guest needs `working_set` of its RAM; with less it is slower by that part, to the power
                 `swapping`: 1 is a cache that got smaller, uncooperative swapping costs up to ten times
                 as much (Amit, Tsafrir, Schuster, ASPLOS 2014)

Units: seconds, MiB, MiB per second. A rate of 0 stands for "takes no time".
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.resource import Array

GIGABIT = 110.0
"""MiB/s that a gigabit link carries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """slowdown: part of the speed that is lost during a migration; downtime: seconds at its end"""

    boot: float = 45.0
    suspend_rate: float = GIGABIT
    resume_rate: float = GIGABIT
    migration_rate: float = GIGABIT
    migration_slowdown: float = 0.1
    migration_downtime: float = 0.2
    working_set: float = 1.0
    swapping: float = 1.0

    def suspend(self, mebibytes: Array) -> Array:
        """Seconds until the host is free of servers with so much RAM."""
        return _seconds(mebibytes, self.suspend_rate)

    def resume(self, mebibytes: Array) -> Array:
        """Seconds until they go on."""
        return _seconds(mebibytes, self.resume_rate)

    def migration(self, mebibytes: Array) -> Array:
        """Seconds a live migration takes."""
        return _seconds(mebibytes, self.migration_rate)

    def lost(self, seconds: Array) -> Array:
        """Seconds of work that migrations of this length cost."""
        return self.migration_slowdown * seconds + self.migration_downtime

    def memory_speed(self, part: Array) -> Array:
        """Part of the speed that is left with so much of the RAM, both 0 to 1."""
        enough: Array = np.minimum(part / self.working_set, 1.0) ** self.swapping
        return enough


def _seconds(mebibytes: Array, rate: float) -> Array:
    return mebibytes / rate if rate > 0 else np.zeros_like(mebibytes)
