# SPDX-License-Identifier: Apache-2.0
"""What the API and the service of jobs have alike of group [jobs]."""

from oslo_config import cfg

from nova_market.core.job.attempt import WorkerPace
from nova_market.core.job.operator_limits import JobLimits


def job_limits(conf: cfg.ConfigOpts) -> JobLimits:
    """What no queue or job may exceed: the API refuses it, and the service does not apply it."""
    options = conf.jobs
    return JobLimits(
        max_short_below=options.max_short_below,
        max_notice=options.max_notice,
        max_least_run_time=options.max_least_run_time,
        max_retries=options.max_retries,
    )


def worker_pace(conf: cfg.ConfigOpts) -> WorkerPace:
    """How often workers call: the API tells them, and the service waits for them."""
    options = conf.jobs
    return WorkerPace(poll=options.poll, heartbeat=options.heartbeat, missed=options.missed)
