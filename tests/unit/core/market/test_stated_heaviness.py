# SPDX-License-Identifier: Apache-2.0
"""What an engine believes of the heaviness that hosts state: rule H30."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.market.inventory import CloudServer
from nova_market.core.market.stated_heaviness import believed_heaviness, owners_by_host

OWNERS = {'a': {'dora'}, 'b': {'dora', 'emil'}, 'c': {'dora'}}


def test_a_host_is_believed_of_the_owners_of_its_servers_only():
    stated = {'a': {'dora': 1.0, 'emil': 99.0, 'invented': 99.0}, 'evil': {'dora': 99.0}}
    assert believed_heaviness(stated, OWNERS) == {'dora': 1.0}


def test_one_of_three_hosts_that_lies_is_outvoted():
    stated = {'a': {'dora': 1.0}, 'b': {'dora': -1e24, 'emil': 3.0}, 'c': {'dora': 1.1}}
    assert believed_heaviness(stated, OWNERS) == {'dora': 1.0, 'emil': 3.0}


@given(st.lists(st.floats(-5.0, 5.0), min_size=2, max_size=9), st.floats(-1e24, 1e24))
def test_one_liar_moves_nothing_beyond_what_others_state(honest, lie):
    hosts = [f'h{number}' for number in range(len(honest))]
    stated = {host: {'dora': value} for host, value in zip(hosts, honest, strict=True)}
    stated['liar'] = {'dora': lie}
    found = believed_heaviness(stated, dict.fromkeys([*hosts, 'liar'], ('dora',)))
    assert min(honest) <= found['dora'] <= max(honest)


def test_the_owners_of_a_host_are_those_of_its_servers():
    places = [('s1', 'red', 'a'), ('s2', 'red', 'b'), ('s3', 'blue', 'a'), ('s4', 'red', 'a')]
    servers = [
        CloudServer(id=name, project_id=project, host=host, vcpus=1, memory_mib=512)
        for name, project, host in places
    ]
    assert owners_by_host(servers) == {'a': {'red', 'blue'}, 'b': {'red'}}
    assert owners_by_host([]) == {}


@pytest.mark.parametrize('stated', [{}, {'a': {}}])
def test_where_nobody_has_stated_anything(stated):
    assert believed_heaviness(stated, OWNERS) == {}
