# SPDX-License-Identifier: Apache-2.0
"""What users have set and booked, and limits of this version do not allow: for the check after an upgrade.

Rules J11 of doc/source/specs/jobs.rst and L10 of doc/source/specs/leases.rst: the limits have defaults, and
what was stored before there were any has no effect beyond them.
"""

import time
from collections.abc import Iterator

from oslo_config import cfg

from nova_market.core.job.operator_limits import queue_in_force
from nova_market.db.database import Database
from nova_market.db.leases import DatabaseLeases
from nova_market.db.queues import DatabaseQueues
from nova_market.services.job.inputs import all_queues
from nova_market.wiring.job_settings import job_limits
from nova_market.wiring.lease_settings import lease_settings


def beyond_limits(conf: cfg.ConfigOpts, database: Database) -> Iterator[str]:
    """A sentence for each option that takes effect on something; none: there is nothing like that.

    :raises ConfigurationError: an option of leases has no sound value.
    """
    queues, most = all_queues(DatabaseQueues(database, time.time)), job_limits(conf)
    if names := [one.key for one in queues if one.policy not in conf.jobs.policies]:
        yield (
            f'production jobs of {_few(names)} will wait: the policy of the queue is not in [jobs]policies = '
            f'{",".join(conf.jobs.policies)}'
        )
    if names := [
        one.key for one in queues if queue_in_force(one, most).short_below < one.short_below
    ]:
        yield (
            f'short jobs of {_few(names)} will be shorter: the queue has a larger short_below than '
            f'[jobs]max_short_below = {most.max_short_below}'
        )
    settings = lease_settings(conf)
    booked = DatabaseLeases(database, time.time).calendar()[1]
    if booked and not (any(settings.prices.by_axis) or settings.limits.bounds_projects):
        yield (
            f'{len(booked)} leases are booked, and no new ones will be: set [leases]price_core_hour, '
            'max_core_hours or max_part'
        )


def _few(names: list[str]) -> str:
    more = f' and {len(names) - 3} more' if len(names) > 3 else ''
    return ', '.join(names[:3]) + more
