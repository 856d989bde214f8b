# SPDX-License-Identifier: Apache-2.0
"""Bags of tasks as a test needs them: everything that it does not name has a plain value."""

from dataclasses import replace

from nova_market.core.job.queue_access import Submitter
from nova_market.core.tender.bag_request import BagFacts, new_bag, new_tasks
from tests.support.job_records import id_of, queue

NOW = 1_800_000_000.0
FACTS = BagFacts(utilities=('cost_time', 'fastest', 'cheapest'), most_tasks=10_000, now=NOW)
SCRIPT = '#!/bin/sh\nsleep 30\n'


def entries(count=1, **more):
    return [{'name': f't{n}', 'script': SCRIPT, 'time_limit': 600, **more} for n in range(count)]


def asked(name='bag', project='red', tasks=None, queues=('night',), now=NOW, roles=(), **body):
    """(a bag, its tasks), as the API makes them."""
    named = [queue(one, flavors=('small', 'large')) for one in queues]
    facts = replace(FACTS, now=now, queues=named)
    by = Submitter(user_id='u', project_id=project, roles=roles)
    bag = new_bag({'name': name, **body}, id_of(f'bag {name}'), by, facts)
    return bag, new_tasks(entries() if tasks is None else tasks, bag, 0, facts)


def create(store, most=100, **more):
    """Store one; as it is stored."""
    return store.create(*asked(**more), most)[0]
