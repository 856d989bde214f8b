# SPDX-License-Identifier: Apache-2.0
"""What a round of steering asks of a large cloud; what it does there is in tests/nova/test_traits.py."""

from collections import Counter
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest

from nova_market.adapters.openstack.placement_traits import PAGE, PlacementTraits
from nova_market.core.rebalancing.cordon import CLOSED_TRAIT

HOSTS = 2 * PAGE + 500


class Answer:
    """As requests has them."""

    def __init__(self, body, status=200):
        self._body, self.status_code, self.ok = body, status, status < 400
        self.headers, self.url, self.reason, self.text = {}, '', '', ''

    def json(self):
        return self._body


class Cloud:
    """Nova's hypervisors and Placement's traits; asked: how often what was asked for."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.traits = {node: [] for node, _ in nodes}
        self.known = False
        self.asked = Counter()
        self.compute = SimpleNamespace(get=self._hypervisors)
        self.placement = SimpleNamespace(get=self._get, put=self._put)

    def _hypervisors(self, path, microversion):
        self.asked['page of hypervisors'] += 1
        query = parse_qs(urlsplit(path).query)
        ids = [node for node, _ in self.nodes]
        first = ids.index(query['marker'][0]) + 1 if 'marker' in query else 0
        page = [{'id': n, 'service': {'host': h}} for n, h in self.nodes[first : first + PAGE]]
        more = {'hypervisors_links': [1]} if first + PAGE < len(ids) else {}
        return Answer({'hypervisors': page} | more)

    def _get(self, path, microversion):
        if 'required' in path:
            if not self.known:
                return Answer({}, 400)
            found = [{'uuid': n} for n, traits in self.traits.items() if CLOSED_TRAIT in traits]
            return Answer({'resource_providers': found})
        node = path.split('/')[2]
        return Answer({'traits': self.traits[node], 'resource_provider_generation': 1})

    def _put(self, path, microversion, json=None):
        if path.startswith('/traits'):
            self.asked['announcement'] += 1
            self.known = True
        else:
            self.traits[path.split('/')[2]] = json['traits']
        return Answer({})


@pytest.fixture
def cloud():
    return Cloud([(f'node{n}', f'host{n}') for n in range(HOSTS)])


def test_hypervisors_are_listed_once_a_round(cloud):
    """However many hosts change in it, and the trait is made known once."""
    traits = PlacementTraits(lambda: cloud)
    names = {f'host{n}' for n in range(10)}
    assert traits.marked() == frozenset()
    for name in sorted(names):
        traits.mark(name)
    assert cloud.asked == {'page of hypervisors': 3, 'announcement': 1}
    assert traits.marked() == names
    for name in sorted(names):
        traits.unmark(name)
    assert cloud.asked == {'page of hypervisors': 6, 'announcement': 1}
    assert traits.marked() == frozenset()


def test_a_host_that_is_new_is_found_in_the_next_round(cloud):
    """What was listed counts for one round."""
    traits = PlacementTraits(lambda: cloud)
    traits.mark('host1')
    cloud.nodes.append(('node', 'new'))
    cloud.traits['node'] = []
    traits.marked()
    traits.mark('new')
    assert traits.marked() == {'host1', 'new'}


def test_a_trait_that_somebody_has_deleted_is_made_known_again(cloud):
    """Before a host is marked with it: Placement would refuse that."""
    traits = PlacementTraits(lambda: cloud)
    traits.announce()
    cloud.known = False
    traits.marked()
    traits.mark('host1')
    assert traits.marked() == {'host1'}


def test_all_nodes_of_a_host_are_changed():
    """Also those of a record that was left behind: whoever asks for the mark finds the host, and opens it."""
    cloud = Cloud([('old', 'a'), ('new', 'a'), ('other', 'b')])
    traits = PlacementTraits(lambda: cloud)
    traits.mark('a')
    assert cloud.traits == {'old': [CLOSED_TRAIT], 'new': [CLOSED_TRAIT], 'other': []}
    cloud.traits['new'] = []
    assert traits.marked() == {'a'}
    traits.unmark('a')
    assert traits.marked() == frozenset()
