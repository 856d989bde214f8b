# SPDX-License-Identifier: Apache-2.0
"""A forecast over some hosts, and offers, as a test needs them."""

import numpy as np

from nova_market.core.calendar.booking import bookings
from nova_market.core.calendar.calendar import booked, unbooked
from nova_market.core.calendar.capacity import capacity
from nova_market.core.job.forecast import Forecast, QueueForecast
from nova_market.core.tender.stored_offer import How, StoredOffer
from tests.support.job_records import id_of

SMALL, LARGE = (1.0, 1024.0, 0.0), (2.0, 2048.0, 0.0)
NOW = 1_800_000_000.0


def forecast(*taken, cores=(4.0, 4.0), mib=8192.0, queue='night', at=NOW, **more):
    """Hosts with these cores; taken: (host, cores, from, until), seconds after `at`.

    more: of the queue's forecast
    """
    hosts = len(cores)
    whole = np.array([cores, [mib] * hosts, [100.0] * hosts])
    held = bookings(
        host=[one[0] for one in taken],
        start=[at + one[2] for one in taken],
        end=[at + one[3] for one in taken],
        amounts=np.array([[one[1] for one in taken], [0.0] * len(taken), [0.0] * len(taken)]),
    )
    return Forecast(
        at=at,
        calendar=booked(unbooked(capacity(whole)), held),
        aggregates={'': np.ones(hosts, dtype=np.bool_)},
        queues={id_of(queue): QueueForecast(**more)},
    )


def offer(name='o', project='red', **more):
    given = {
        'flavors': {'small': SMALL}, 'servers': 1, 'time_limit': 600, 'flavor': 'small',
        'how': How.NEW_WORKER, 'count': 1, 'cost': 1000, 'seconds': 660.0, 'created_at': NOW,
        'valid_until': NOW + 300.0, 'request_id': id_of(f'request {name}'), 'id': id_of(name),
        'queue_id': id_of('night'),
    }  # fmt: skip
    return StoredOffer(project_id=project, user_id='u', **given | more)
