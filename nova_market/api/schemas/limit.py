# SPDX-License-Identifier: Apache-2.0
"""Schema of what the operator allows to a project."""

from nova_market.api.schemas.shape import FLAG, NUMBER, PROJECT_ID, TEXT, wrapped
from nova_market.core.json_schema import Schema, described, nullable, record

COUNT: Schema = {'type': 'integer', 'minimum': 0}
SECONDS: Schema = {'type': 'integer', 'minimum': 0}


LIMITS = wrapped(
    'limits',
    record(
        {
            'project_id': PROJECT_ID,
            'queues': described(record({'used': COUNT, 'max': COUNT}), 'of the project'),
            'jobs': described(
                record(
                    {
                        'policies': described(
                            {'type': 'array', 'items': TEXT}, 'that its queues may have'
                        ),
                        'max_waiting': described(COUNT, 'jobs that wait'),
                        'max_short_below': described(SECONDS, 'of its queues'),
                        'max_notice': described(SECONDS, 'of a job'),
                        'max_least_run_time': described(SECONDS, 'of a best-effort job'),
                        'max_retries': described(COUNT, 'of a job'),
                    }
                ),
                'of its queues and jobs; a queue may have lower ones',
            ),
            'leases': described(
                record(
                    {
                        'free': described(FLAG, 'leases that cost nothing may be booked'),
                        'priced': described(FLAG, 'leases have a price'),
                        'leases': described(
                            record({'used': COUNT, 'max': COUNT}),
                            'that it has booked and that are not over',
                        ),
                        'core_hours': described(
                            record({'used': NUMBER, 'max': nullable(NUMBER)}),
                            'that these have ahead of them; max null: no limit',
                        ),
                        'part': described(
                            record({'used': nullable(NUMBER), 'max': NUMBER}),
                            'of the hosts that can be leased, at once; used null: not known now',
                        ),
                        'cloud_core_hours': described(
                            nullable(NUMBER), 'that all projects may have ahead; null: no limit'
                        ),
                        'cloud_part': described(
                            NUMBER, 'of the hosts that all projects may have at once'
                        ),
                        'longest': described(NUMBER, 'seconds of a lease'),
                        'horizon': described(NUMBER, 'seconds from now to the end of a lease'),
                        'refund': described(
                            NUMBER, 'part of what is not used that comes back of a deleted lease'
                        ),
                        'full_refund_within': described(
                            NUMBER, 'seconds after its booking in which all of it does'
                        ),
                    }
                ),
                'of its leases',
            ),
        }
    ),
)
