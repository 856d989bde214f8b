# SPDX-License-Identifier: Apache-2.0
"""One server or host of the cloud that is not as any can be costs that one (rule R1 of passes)."""

import math
from contextlib import closing
from dataclasses import replace

import pytest

from tests.functional.passes.job_world import JobWorld
from tests.functional.passes.lease_world import LeaseWorld
from tests.functional.passes.market_world import MarketWorld
from tests.support.market_bed import host, server
from tests.support.poison import Poison, set_aside

pytestmark = [pytest.mark.functional, pytest.mark.usefixtures('defects')]

SOUND = Poison(table='', column='', value=None, kind='')
BAD = [
    ('host', {'cores': math.nan}),
    ('host', {'memory_mib': -1.0}),
    ('host', {'cores': 1e300}),
    ('server', {'vcpus': -1}),
    ('server', {'memory_mib': -1}),
    ('server', {'metadata': None}),
]


@pytest.mark.parametrize('world', [MarketWorld, JobWorld, LeaseWorld])
@pytest.mark.parametrize(('kind', 'changed'), BAD, ids=str)
def test_others_are_handled_as_if_it_was_not_there(world, kind, changed, database):
    with closing(world(database)) as made:
        if world is JobWorld:
            made.submit_others()
        if kind == 'host':
            made.cloud.put_host(replace(host('odd'), **changed))
        else:
            made.cloud.put_server(replace(server('odd', 'blue'), **changed))
        made.go_far()
        made.check_others(SOUND)
        (aside,) = set_aside(database, made.service)
        assert (aside.kind, aside.id, aside.stage) == (kind, 'odd', 'read')
        assert aside.project_id == ('blue' if kind == 'server' else '')
        if kind == 'host':
            made.cloud.take_host('odd')
        else:
            made.cloud.put_server(server('odd', 'blue'))
        made.go()
        assert kind == 'host' or set_aside(database, made.service) == []
