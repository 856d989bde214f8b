# SPDX-License-Identifier: Apache-2.0
"""What a worker gets to run: a job's content with the variables that the market sets.

Implements rule JW3 of doc/source/specs/worker.rst. Seconds, bytes.
"""

from collections.abc import Sequence

from nova_market.core.job.attempt import last_notice
from nova_market.core.job.record import JobContent, StoredAttempt, StoredJob

MAX_WHOLE_OUTPUT = 2**30
"""Bytes of the whole output that are stored at a job's URL; until then they are on the disk of the worker."""


def worker_job(
    job: StoredJob, content: JobContent, own: StoredAttempt, queue: str, hosts: Sequence[str]
) -> dict[str, object]:
    """The document of a job. queue: its name; hosts: addresses of the gang, by rank."""
    return {
        'id': job.id,
        'attempt': own.number,
        'script': content.script,
        'checkpoint': content.checkpoint,
        'environment': {**content.environment, **_variables(job, own, queue, hosts)},
        'time_limit': job.time_limit,
        'notice': last_notice(job),
        'output_url': content.output_url,
        'output_limit': MAX_WHOLE_OUTPUT,
    }


def _variables(
    job: StoredJob, own: StoredAttempt, queue: str, hosts: Sequence[str]
) -> dict[str, str]:
    """MARKET_*, over what the job has given under these names."""
    found = {
        'MARKET_JOB_ID': job.id,
        'MARKET_JOB_NAME': job.name,
        'MARKET_QUEUE': queue,
        'MARKET_ATTEMPT': str(own.number),
        'MARKET_TIME_LIMIT': str(job.time_limit),
        'MARKET_SERVERS': str(job.servers),
        'MARKET_RANK': str(own.rank),
        'MARKET_HOSTS': ' '.join(hosts),
    }
    if job.array_id:
        found |= {
            'MARKET_ARRAY_ID': job.array_id,
            'MARKET_ARRAY_INDEX': str(job.array_index),
            'MARKET_ARRAY_SIZE': str(job.array_size),
        }
    return found
