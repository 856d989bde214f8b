# SPDX-License-Identifier: Apache-2.0
"""What every database does for what the service of jobs carries from pass to pass."""

import pytest

from nova_market.db.job_states import DatabaseJobStates
from tests.support.poison import NO_JSON, Poison, poison


def test_what_was_written_last_is_read(database):
    """By name, each on its own; nothing is there before the first time."""
    store = DatabaseJobStates(database)
    assert store.read('pass') == {}
    store.write('pass', {'order': ['b', 'a'], 'at': 1.5})
    store.write('notices', {'after': 7})
    store.write('pass', {'order': ['a', 'b'], 'at': 2.5})
    assert store.read('pass') == {'order': ['a', 'b'], 'at': 2.5}
    assert store.read('notices') == {'after': 7}


def test_what_is_known_is_not_read_again(database):
    """Nor is it known any more when something else was written."""
    store = DatabaseJobStates(database)
    assert store.newer('pass', 0) == (0, {})
    store.write('pass', {'at': 1.5})
    version, found = store.newer('pass', 0)
    assert found == {'at': 1.5} and store.newer('pass', version) == (version, None)
    store.write('pass', {'at': 2.5})
    after, found = store.newer('pass', version)
    assert found == {'at': 2.5} and store.newer('pass', after) == (after, None)


@pytest.mark.usefixtures('defects')
def test_what_cannot_be_read_is_nothing_until_it_is_written_again(database):
    """It is set aside, and who asks for it goes on."""
    store = DatabaseJobStates(database)
    store.write('pass', {'at': 1.5})
    bad = Poison(table='job_states', column='document', value=NO_JSON, kind='document')
    poison(database, bad, 'name = :name', name='pass')
    assert store.read('pass') == {}
    assert store.newer('pass', 0) == (1, {})
    store.write('pass', {'at': 2.5})
    assert store.newer('pass', 1) == (2, {'at': 2.5})


def test_of_two_that_read_the_same_one_exchanges_it(database):
    """Also the first time, when nothing is there; what is there stays as the first one has left it."""
    store = DatabaseJobStates(database)
    for before in ({}, {'number': 7}):
        assert store.read('notices') == before
        assert store.exchange('notices', before, {'number': 7 + len(before)})
        assert not store.exchange('notices', before, {'number': 99})
    assert store.read('notices') == {'number': 8}
