# SPDX-License-Identifier: Apache-2.0
"""What happened to jobs and why."""

from nova_market.core.job.record import MAX_EVENTS, JobEvent
from nova_market.db.event_log import EventLog
from nova_market.db.job_tables import job_events

JOB_EVENTS = EventLog(job_events, JobEvent, 'job_id', MAX_EVENTS)
