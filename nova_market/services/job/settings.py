# SPDX-License-Identifier: Apache-2.0
"""The settings of the service of jobs, from groups [jobs] and [openstack], frozen at its start. Seconds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nova_market.core.job.attempt import WorkerPace
from nova_market.core.job.operator_limits import JobLimits
from nova_market.core.job.part_fate import ProgressSettings
from nova_market.core.job.policy_interface import JobSettings, Selection
from nova_market.core.job.worker_boot import WorkerBoot, worker_user_data


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerImage:
    """What every worker boots with.

    url: of the API, as a worker reaches it; user: whom jobs run as; certificates: of the API, PEM
    python_agent, shell_agent: the texts of worker.py and worker.sh
    """

    url: str = ''
    user: str = 'nobody'
    certificates: str = ''
    python_agent: str = ''
    shell_agent: str = ''

    def user_data(self, worker_id: str, credential: str) -> str:
        """The script that starts this worker.

        :raises BadAmount: it is too long for Nova.
        """
        boot = WorkerBoot(
            url=self.url,
            worker_id=worker_id,
            credential=credential,
            user=self.user,
            certificates=self.certificates,
        )
        return worker_user_data(boot, self.python_agent, self.shell_agent)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsSettings:
    """interval: between two passes; selection: of all policies; progress: of jobs that have started

    pace:     how often workers call, the same as the API's
    policies: plug-ins of nova_market.job_policy that queues may have, by name; a queue's parameters are their
              keyword arguments
    limits:   what no queue or job may exceed, the same as the API's
    settle_time: in which a server may still come whose making was asked for and not answered
    first_pause, longest_pause: of a queue for which the cloud has refused a server
    """

    name: str = 'jobs'
    interval: float = 5.0
    selection: JobSettings = field(default_factory=JobSettings)
    progress: ProgressSettings = field(default_factory=ProgressSettings)
    pace: WorkerPace = field(default_factory=WorkerPace)
    image: WorkerImage = field(default_factory=WorkerImage)
    policies: Mapping[str, Callable[..., Selection]] = field(default_factory=dict)
    limits: JobLimits = field(default_factory=JobLimits)
    settle_time: float = 120.0
    first_pause: float = 30.0
    longest_pause: float = 1800.0

    @property
    def handover(self) -> float:
        """Seconds from the end of a job until the next one runs: it is reported, decided, and asked for."""
        return self.interval + 2.0 * self.pace.poll
