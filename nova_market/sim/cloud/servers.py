# SPDX-License-Identifier: Apache-2.0
"""On which hosts the servers of each job are.

Beyond the paper. Servers are numbered through the whole workload, job by job; each has one vCPU and the RAM
of its job. Suspended servers leave their hosts once their RAM is written. Units: seconds, MiB.
"""

import numpy as np

from nova_market.core.resource import Array, Rows, Values
from nova_market.sim.cloud.hosts import SimulatedHosts

NOWHERE = -1


class JobServers:
    """host: (servers,) row of the host, NOWHERE for a server that is on none."""

    def __init__(self, hosts: SimulatedHosts, processors: Values, memory_mib: Array) -> None:
        """processors, memory_mib: (jobs,) servers of each job, and the RAM of one of them."""
        self._hosts, self._processors, self._memory_mib = hosts, processors, memory_mib
        self._first = np.concatenate([[0], np.cumsum(processors)])
        self._leaving: list[tuple[float, int]] = []
        self.host: Rows = np.full(self._first[-1], NOWHERE, dtype=np.intp)

    def of(self, jobs: Rows) -> Rows:
        """Ids of the servers of these jobs, job by job."""
        counts = self._processors[jobs]
        starts = np.repeat(self._first[jobs] - np.cumsum(counts) + counts, counts)
        found: Rows = starts + np.arange(counts.sum())
        return found

    def job_of(self, server: int) -> int:
        return int(np.searchsorted(self._first, server, side='right')) - 1

    def placed(self, job: int) -> bool:
        """Are they on hosts? Also while the RAM of suspended ones is being written."""
        hosts = self.host[self._of(job)]
        return len(hosts) > 0 and bool(hosts[0] != NOWHERE)

    def put(self, job: int, hosts: Rows) -> None:
        """One server on each of these hosts, where their size is taken already."""
        self.host[self._of(job)] = hosts

    def vacate(self, job: int) -> None:
        """The servers leave their hosts, if they are on any."""
        if self.placed(job):
            servers = self._of(job)
            self._hosts.release(self.host[servers], np.array([1.0, self._memory_mib[job]]))
            self.host[servers] = NOWHERE

    def vacate_at(self, time: float, job: int) -> None:
        """Until then the RAM of a suspended job is written."""
        self._leaving.append((time, job))

    def free(self, now: float) -> None:
        """Vacate the hosts of what has been written by now."""
        for until, job in self._leaving:
            if until <= now:
                self.vacate(job)
        self._leaving = [one for one in self._leaving if one[0] > now]

    def _of(self, job: int) -> slice:
        return slice(int(self._first[job]), int(self._first[job + 1]))
