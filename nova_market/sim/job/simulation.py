# SPDX-License-Identifier: Apache-2.0
"""A workload of jobs under a policy that is named: the whole run in one call.

Rule J7 of doc/source/specs/jobs.rst. Units: seconds, cores, MiB.
"""

from dataclasses import dataclass

import numpy as np

from nova_market.core.job.policy_interface import JobPolicy
from nova_market.core.resource import Array
from nova_market.plugins import load_plugin
from nova_market.sim.job.first_come import first_come
from nova_market.sim.job.hosts import PLENTY, equal_hosts
from nova_market.sim.job.job_run import JobRun, WorkerSetting
from nova_market.sim.job.outcome import Outcome
from nova_market.sim.job.policy_selector import PolicySelector, QueueSetting
from nova_market.sim.job.submission import Submissions

NAMESPACE = 'nova_market.job_policy'
FIRST_COME = 'fcfs'
"""Is no plug-in: nobody should choose it for a cloud."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """So many equal hosts; memory_mib of each."""

    hosts: int
    cores: int
    memory_mib: float = PLENTY

    @property
    def total(self) -> int:
        """Cores of all hosts together."""
        return self.hosts * self.cores


def simulate(
    jobs: Submissions,
    cluster: Cluster,
    policy: str,
    queues: QueueSetting,
    workers: WorkerSetting | None = None,
) -> Outcome:
    """:raises ConfigurationError: there is no such policy; BadWorkload: a job never fits"""
    return JobRun(
        jobs=jobs,
        hosts=equal_hosts(cluster.hosts, cluster.cores, cluster.memory_mib),
        selector=PolicySelector(policy=policy_named(policy), setting=queues),
        setting=workers or WorkerSetting(),
    ).run()


def policy_named(name: str) -> JobPolicy:
    """:raises ConfigurationError: names the policies that are installed"""
    if name == FIRST_COME:
        return first_come
    found: JobPolicy = load_plugin(NAMESPACE, name, 'policy')
    return found


def equal_shares(jobs: Submissions) -> Array:
    """(queues,) the same part of the cloud for each queue: SVMSched, section 6.3."""
    return np.full(len(jobs.queues), 1.0 / len(jobs.queues))


def shares_by_jobs(jobs: Submissions) -> Array:
    """(queues,) in proportion to the number of their jobs: SVMSched, section 6.5."""
    counts = np.bincount(jobs.queue, minlength=len(jobs.queues))
    shares: Array = counts / counts.sum()
    return shares
