# SPDX-License-Identifier: Apache-2.0
"""What every database does for what the service of jobs carries from pass to pass."""

from nova_market.db.job_states import DatabaseJobStates


def test_what_was_written_last_is_read(database):
    """By name, each on its own; nothing is there before the first time."""
    store = DatabaseJobStates(database)
    assert store.read('pass') == {}
    store.write('pass', {'order': ['b', 'a'], 'at': 1.5})
    store.write('notices', {'after': 7})
    store.write('pass', {'order': ['a', 'b'], 'at': 2.5})
    assert store.read('pass') == {'order': ['a', 'b'], 'at': 2.5}
    assert store.read('notices') == {'after': 7}


def test_of_two_that_read_the_same_one_exchanges_it(database):
    """Also the first time, when nothing is there; what is there stays as the first one has left it."""
    store = DatabaseJobStates(database)
    for before in ({}, {'number': 7}):
        assert store.read('notices') == before
        assert store.exchange('notices', before, {'number': 7 + len(before)})
        assert not store.exchange('notices', before, {'number': 99})
    assert store.read('notices') == {'number': 8}
