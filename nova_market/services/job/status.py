# SPDX-License-Identifier: Apache-2.0
"""What `nova-market-jobs status` shows, from the database. Seconds."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from nova_market.core.job.queue import DesiredWorkerState
from nova_market.services.job.inputs import JobStores, all_queues
from nova_market.services.job.jobs import STATE

LATE = 3.0
"""Intervals without a pass after which jobs are shown as not looked after."""

LEAST = 60.0
"""Seconds that a pass may be late at any interval: it waits for a cloud that answers slowly."""

HEADER = (
    f'{"NAME":<20}  {"STATE":<8}  {"POLICY":<12}  {"SHARE":>5}  {"WAITING":>7}  {"HELD":>6}  '
    f'{"ACTIVE":>6}  {"WORKERS":>7}'
)


def status_document(stores: JobStores, wall: Callable[[], float]) -> dict[str, Any]:
    """As JSON has it. `alive`: a pass was made lately; `late`: seconds since, None: there was none."""
    stored = stores.states.read(STATE)
    queues = all_queues(stores.queues)
    counts = stores.queues.counts([one.id for one in queues])
    workers = Counter(
        one.queue_id
        for one in stores.attempts.workers()
        if one.intention is not DesiredWorkerState.GONE
    )
    late = max(wall() - float(stored['at']), 0.0) if stored else None
    patience = max(LATE * float(stored.get('interval', 0.0)), LEAST)
    return {
        'alive': late is not None and late <= patience,
        'late': late,
        'passes': int(stored.get('turn', 0)),
        'queues': [
            {
                'id': one.id,
                'name': one.name,
                'project_id': one.project_id,
                'state': str(one.state),
                'policy': one.policy,
                'share': one.share,
                'waiting': counts[one.id].waiting,
                'held': counts[one.id].held,
                'active': counts[one.id].active,
                'workers': workers[one.id],
            }
            for one in queues
        ],
    }


def render(document: Mapping[str, Any]) -> str:
    """For a person."""
    late = document['late']
    last = 'no pass was made yet' if late is None else f'the last pass was {late:.0f} s ago'
    lines = [
        f'queues: {len(document["queues"])}, '
        + ('looked after' if document['alive'] else 'NOT LOOKED AFTER')
        + f', {last}',
        '',
        HEADER,
    ]
    lines += [
        f'{one["name"]:<20}  {one["state"]:<8}  {one["policy"]:<12}  {one["share"]:>5.2f}  '
        f'{one["waiting"]:>7}  {one["held"]:>6}  {one["active"]:>6}  {one["workers"]:>7}'
        for one in document['queues']
    ]
    return '\n'.join(lines)
