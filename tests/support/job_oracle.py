# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 of SVMSched, line by line, as the oracle of the fast version.

Settled: "or" in line 11; line 12 keeps the first short job over the share, not the last.
`sufficientResourcesToRun` looks at every host. Only the rounding is shared.
"""

import numpy as np

from nova_market.core.job.policy_interface import JobSnapshot
from nova_market.core.job.share_use import ROUNDING


class Oracle:
    """Repeats Algorithm 1 until it finds nothing; `started`: (job, {host: servers}) in order."""

    def __init__(self, seen: JobSnapshot, *, rigid: bool) -> None:
        self.seen, self.rigid = seen, rigid
        self.free = seen.hosts.free.T.tolist()
        self.order = seen.state.order.tolist()
        self.use = [[0.0, 0.0] for _ in self.order]
        self.members = seen.hosts.aggregates.tolist()
        self.total = [
            [
                sum(c for c, m in zip(seen.hosts.capacity[axis].tolist(), row, strict=True) if m)
                for axis in range(2)
            ]
            for row in self.members
        ]
        running = seen.running
        for job in range(len(running)):
            if not running.best_effort[job]:
                self._add(int(running.queue[job]), running.amount[:, job], running.servers[job])
        self.waits = [row for row in range(len(seen.waiting)) if seen.candidates[row]]
        self.started: list[tuple[int, dict[int, int]]] = []
        while self._algorithm_1():
            pass

    def queue(self, queue: int) -> list[int]:
        """Waiting jobs of the queue by rank."""
        w = self.seen.waiting
        rows = [row for row in self.waits if w.queue[row] == queue]
        return sorted(rows, key=lambda r: (w.priority[r], -w.weight[r], w.submitted[r], r))

    def _algorithm_1(self) -> bool:
        found = total_compliance = False
        selected_queue = selected_job = -1
        for q in self.order:
            if total_compliance:
                break
            granted = float(self.seen.queues.share[q]) + ROUNDING
            for job in self.queue(q):
                if total_compliance:
                    break
                if self._spot(job) is None:
                    continue
                next_usage = self._next_usage(q, job)
                complies = next_usage <= granted
                short = self.seen.waiting.time_limit[job] <= self.seen.queues.short_below[q]
                if complies or (not self.rigid and not found and short):
                    selected_queue, selected_job, found = q, job, True
                    total_compliance = complies
        if found:
            spot = self._spot(selected_job)
            assert spot is not None
            amount = self.seen.waiting.amount[:, selected_job]
            for host, servers in spot.items():
                for axis in range(3):
                    self.free[host][axis] -= amount[axis] * servers
            self._add(selected_queue, amount, self.seen.waiting.servers[selected_job])
            self.order.remove(selected_queue)
            self.order.append(selected_queue)
            self.waits.remove(selected_job)
            self.started.append((selected_job, spot))
        return found

    def _spot(self, job: int) -> dict[int, int] | None:
        """The first hosts, in order, that hold all servers of the job."""
        w = self.seen.waiting
        members = self.members[int(self.seen.queues.aggregate[w.queue[job]])]
        left = int(w.servers[job])
        spot: dict[int, int] = {}
        for host, free in enumerate(self.free):
            room = list(free)
            while left and members[host] and all(room[a] >= w.amount[a, job] for a in range(3)):
                room = [room[a] - w.amount[a, job] for a in range(3)]
                spot[host] = spot.get(host, 0) + 1
                left -= 1
        return None if left else spot

    def _part(self, queue: int, amount: np.ndarray, servers: int, axis: int) -> float:
        total = self.total[int(self.seen.queues.aggregate[queue])][axis]
        whole = amount[axis] * servers
        return whole / total if total else (np.inf if whole else 0.0)

    def _add(self, queue: int, amount: np.ndarray, servers: int) -> None:
        for axis in range(2):
            self.use[queue][axis] += self._part(queue, amount, servers, axis)

    def _next_usage(self, queue: int, job: int) -> float:
        w = self.seen.waiting
        return max(
            self.use[queue][axis] + self._part(queue, w.amount[:, job], w.servers[job], axis)
            for axis in range(2)
        )
