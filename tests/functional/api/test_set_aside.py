# SPDX-License-Identifier: Apache-2.0
"""What is set aside: shown to its owner, and all of it to administrators (rule R3 of passes)."""

import pytest

from nova_market.api.microversion import HEADER
from nova_market.core.set_aside import SetAside
from nova_market.core.timestamp import stamp
from tests.support.market.api import ALICE, BOB, OF_ALICE, OF_BOB, OPERATOR

pytestmark = pytest.mark.functional

PATH = '/v1/set-aside'
READER, OTHER, ADMIN = f'reader@{ALICE}', f'reader@{BOB}', f'admin@{OPERATOR}'
ROWS = [
    SetAside(kind='bid', id=OF_BOB, stage='read', reason='max_cpu is 0', project_id=BOB),
    SetAside(kind='host', id='a/1', stage='read', reason='cores is nan'),
    SetAside(kind='server', id=OF_ALICE, stage='bid', reason='its limit', project_id=ALICE),
    SetAside(kind='server', id=OF_ALICE, stage='read', reason='vcpus is -1', project_id=ALICE),
]


@pytest.fixture(name='kept')
def _kept(market):
    market.stores.set_aside.keep('engine', ROWS)
    return market


def shown(answer):
    assert answer.status_code == 200, answer.text
    return [(one['kind'], one['stage']) for one in answer.json['set_aside']]


def test_each_sees_his_own_and_administrators_all(kept):
    assert shown(kept.call('GET', PATH, READER)) == [('server', 'bid'), ('server', 'read')]
    assert shown(kept.call('GET', PATH, OTHER)) == [('bid', 'read')]
    everything = kept.call('GET', f'{PATH}?all_projects=true', ADMIN)
    assert shown(everything) == [(one.kind, one.stage) for one in ROWS]
    assert everything.json['set_aside'][1] == {
        'kind': 'host', 'id': 'a/1', 'stage': 'read', 'reason': 'cores is nan', 'service': 'engine',
        'project_id': '', 'since': stamp(kept.stores.wall()),
    }  # fmt: skip
    assert kept.call('GET', f'{PATH}?all_projects=true', READER).status_code == 403
    assert kept.call('GET', f'{PATH}?project_id={ALICE}', OTHER).status_code == 403


def test_page_by_page_and_by_service(kept):
    kept.stores.set_aside.keep('jobs', [SetAside(kind='job', id='x/y', stage='read', reason='r')])
    found, path = [], f'{PATH}?all_projects=true&limit=1'
    while path:
        page = kept.call('GET', path, ADMIN).json
        found += [(one['service'], one['id']) for one in page['set_aside']]
        path = page['set_aside_links'][0]['href'] if 'set_aside_links' in page else None
    assert found == [('engine', one.id) for one in ROWS] + [('jobs', 'x/y')]
    mine = kept.call('GET', f'{PATH}?all_projects=true&service=jobs', ADMIN)
    assert shown(mine) == [('job', 'read')]


def _at(market, version):
    return market.call('GET', PATH, READER, headers={HEADER: f'market {version}'})


def test_it_is_there_from_its_version_on(market):
    assert _at(market, '1.13').status_code == 404
    assert _at(market, '1.14').json == {'set_aside': []}
