# SPDX-License-Identifier: Apache-2.0
"""The document that Nova's scheduler reads: what is written is read back, what is wrong is refused."""

import json

import numpy as np
import pytest

from nova_market.core.scheduler.request import request_of
from nova_market.core.scheduler.snapshot import document_of, snapshot_from
from nova_market.errors import BadSnapshot
from tests.support.scheduler_builders import held, published, quiet, world

FULL = {
    'share': np.array([0.5, np.nan]),
    'heaviness': np.array([1.5, np.nan]),
    'host_heaviness': np.array([np.nan, 2.0]),
    'sold': np.array([[True, True], [False, True]]),
    'watts': np.array([[100.0, np.nan], [3.0, np.nan]]),
    'reserved': held(
        ('L', 'blue', 1.0, 2.0, {'host1': None, 'host0': (1.0, 2.0, 3.0)}), carriers=[('s', 0)]
    ),
}


@pytest.mark.parametrize(
    'snapshot',
    [quiet(), quiet(**FULL), quiet(0), published(*world([(0, 8000, 10, 8.0, 512.0)]))],
    ids=['bare', 'full', 'no host', 'of a round'],
)
def test_what_is_written_is_read_back(snapshot):
    """Through JSON and back every number, gap and name is the same."""
    text = json.dumps(document_of(snapshot), allow_nan=False)
    again = snapshot_from(json.loads(text))
    assert json.dumps(document_of(again)) == text
    for name in ('capacity', 'demand', 'share', 'heaviness', 'host_heaviness', 'watts', 'sold'):
        assert np.array_equal(
            *(np.array(getattr(one, name), dtype=float) for one in (again, snapshot)),
            equal_nan=True,
        )
    assert (again.reserved is None) == (snapshot.reserved is None)


def test_what_was_read_cannot_be_changed():
    """Threads share a snapshot: its arrays are read-only."""
    with pytest.raises(ValueError, match='read-only'):
        snapshot_from(document_of(quiet())).demand[0] = 1.0


def broken(path, value):
    document = json.loads(json.dumps(document_of(quiet(**FULL))))
    where = document
    for key in path[:-1]:
        where = where[key]
    where[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ('path', 'value'),
    [
        (('format',), 2),
        (('format',), True),
        (('period',), -1),
        (('period',), 1.5),
        (('age',), float('nan')),
        (('age',), -1.0),
        (('age',), 'old'),
        (('price',), [1.0]),
        (('price',), [float('nan'), 1.0]),
        (('price',), [float('inf'), 1.0]),
        (('price',), [-1.0, 1.0]),
        (('price',), None),
        (('levels',), [0.1, 0.5, 0.75, 1.0]),
        (('hosts',), []),
        (('hosts', 'name'), ['host0', 'host0']),
        (('hosts', 'name'), ['host0']),
        (('hosts', 'name'), [1, 2]),
        (('hosts', 'name'), ['host0', 'x' * 256]),
        (('hosts', 'capacity'), [[1.0, 1.0], [1.0]]),
        (('hosts', 'capacity'), [[1.0, 1.0], [1.0, 'many']]),
        (('hosts', 'demand'), {}),
        (('hosts', 'bids'), [[10**400, 1], [1, 1]]),
        (('hosts', 'watts'), [[-1.0, None], [1.0, None]]),
        (('hosts', 'sold'), [[True, True], [True]]),
        (('hosts', 'sold'), [[True, True], [True, 2]]),
        (('projects', 'share'), [2.0, None]),
        (('projects', 'available'), [None, 1.0]),
        (('reserved',), 'all'),
        (('reserved',), {}),
        (('reserved', 'version'), ''),
        (('reserved', 'hosts'), ['host0', 'host0']),
        (('reserved', 'leases', 'end'), [0.0]),
        (('reserved', 'leases', 'project_id'), []),
        (('reserved', 'leases', 'begin'), [1.0, 1.0]),
        (('reserved', 'nodes', 'lease'), [0, 1]),
        (('reserved', 'nodes', 'host'), [0, 2]),
        (('reserved', 'nodes', 'host'), [0, -1]),
        (('reserved', 'nodes', 'whole'), [True]),
        (('reserved', 'nodes', 'amounts'), [[1.0, 0.0]]),
        (('reserved', 'nodes', 'amounts'), [[0.0, 1e17], [0.0, 2.0], [0.0, 3.0]]),
        (('reserved', 'carriers'), [['s', 1]]),
        (('reserved', 'carriers'), [['s', 0], ['s', 0]]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_wrong_is_refused_whole(path, value):
    """A service that lies, or another one that answers, can't make a snapshot of it."""
    with pytest.raises(BadSnapshot):
        snapshot_from(broken(path, value))


@pytest.mark.parametrize('found', [None, [], 'no', 1, {}])
def test_what_is_no_document_is_refused(found):
    """Whatever JSON can hold."""
    with pytest.raises(BadSnapshot):
        snapshot_from(found)


def test_a_request_is_read_from_flavor_and_hints():
    """A hint's bid goes before the flavor's; a limit is at most the flavor; no value, no limit."""
    found = request_of(
        'red',
        (4, 4096),
        {
            'market:bid_cpu': '2',
            'market:bid_memory': '3',
            'market:max_cpu': '2.5',
            'market:max_memory_mib': 'lots',
            'market:class': 'best-effort',
            'market:duration': '60',
        },
        {'market:bid_cpu': '7', 'group': 'x'},
        count=3,
    )
    assert found.bid == (7_000_000, 3_000_000)
    assert found.limit == (2.5, 4096.0)
    assert (found.work, found.duration, found.count, found.market) == ('best-effort', 60, 3, True)


def test_a_flavor_without_keys_does_not_ask_for_the_market():
    """Neither does a tenant's hint make it ask: filters are for flavors that say so."""
    assert not request_of('red', (1, 1), {}, {'market:bid_cpu': '1'}).market
    assert not request_of('red', (1, 1), {'hw:mem_page_size': 'large'}, {}).market
