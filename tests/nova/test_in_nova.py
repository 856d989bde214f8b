# SPDX-License-Identifier: Apache-2.0
"""Servers are made, moved and rebuilt in Nova with the plug-ins enabled."""

import dataclasses

import numpy as np

from tests.nova.bed import IMAGE, PROJECT, MarketBed
from tests.nova.test_plugins import broken_snapshot
from tests.support.scheduler_builders import quiet


def cloud(hosts=5, **more):
    """host1 to hostN, N the one with fewest bids; a project with a hundred credits."""
    bids = np.zeros((2, hosts))
    bids[0] = 8000.0 * np.arange(hosts, 0, -1)
    known = {'bids': bids, 'projects': {PROJECT: 0, 'blue': 1}}
    names = {f'host{number + 1}': number for number in range(hosts)}
    return dataclasses.replace(quiet(hosts), hosts=names, **known | more)


class TestMarket(MarketBed):
    """Five computes, the market is there."""

    snapshot = cloud()

    def test_a_server_goes_where_the_bids_are_fewest(self):
        """And moves there when that host is gone."""
        server = self.boot(self.flavor())
        assert self.where(server) == 'host5'
        self._live_migrate(server)
        assert self.where(server) == 'host4'

    def test_many_at_once(self):
        """One request for three servers: all of them are placed."""
        self.boot(self.flavor(), min_count=3, max_count=3)
        servers = self.api.get_servers(detail=True)
        assert len(servers) == 3
        for server in servers:
            self._wait_for_state_change(server, 'ACTIVE')
        assert {self.where(server) for server in servers} == {'host5'}

    def test_who_cannot_pay_gets_none_and_keeps_what_he_has(self):
        """A poor project: no new market server; its old ones are rebuilt, resized and migrated."""
        market, plain = self.flavor(affordable_periods='10'), self.flavor()
        larger = self.flavor(vcpus=2, affordable_periods='10')
        server = self.boot(market)
        self.market_tells(cloud(available=np.zeros(2)))
        refused = self.boot(market, 'ERROR')
        assert 'No valid host' in refused['fault']['message']
        self.boot(plain)
        self._rebuild_server(server, IMAGE)
        self._live_migrate(server)
        self._migrate_server(server)
        self._confirm_resize(server)
        self._resize_server(server, larger)
        self._confirm_resize(server)

    def test_a_hint_bids(self):
        """A project that bids little can afford it; the flavor alone would be too dear."""
        market = self.flavor(affordable_periods='10')
        self.market_tells(cloud(available=np.array([100.0, 0.0])))
        self.boot(market, 'ERROR')
        low = {'market:bid_cpu': '0.000005', 'market:bid_memory': '0.000005'}
        self.boot(market, hints=low)

    def test_a_server_shelved_comes_back_to_a_poor_project(self):
        """Unshelving is no new server."""
        self.flags(shelved_offload_time=0)
        server = self.boot(self.flavor(affordable_periods='10'))
        self._shelve_server(server)
        self.market_tells(cloud(available=np.zeros(2)))
        self._unshelve_server(server)

    def test_a_broken_host_is_left_by_a_poor_project(self):
        """Evacuation is no new server."""
        server = self.boot(self.flavor(affordable_periods='10'))
        self.market_tells(cloud(available=np.zeros(2)))
        self.computes['host5'].stop()
        (service,) = self.api.get_services(binary='nova-compute', host='host5')
        self.api.put_service(service['id'], {'forced_down': True})
        self._evacuate_server(server, expected_host='host4')

    def test_a_share_that_is_used_up(self):
        """SVMSched's guarantee; work that is best-effort is not held to it."""
        self.market_tells(cloud(share=np.array([0.01, np.nan])))
        self.boot(self.flavor(), 'ERROR')
        self.boot(self.flavor(**{'class': 'best-effort'}))

    def test_anti_affinity_goes_first(self):
        """A server group's rule holds: the second best host is taken."""
        group = self.api.post_server_groups({'name': 'apart', 'policy': 'anti-affinity'})
        flavor = self.flavor()
        hosts = [self.where(self.boot(flavor, hints={'group': group['id']})) for _ in range(3)]
        assert hosts == ['host5', 'host4', 'host3']

    def test_the_host_with_the_smallest_error_is_first(self):
        """Equal bids; on one host servers want more than there is."""
        demand = np.zeros((4, 2, 5))
        demand[:, 0] = np.array([4.0, 8.0, 12.0, 16.0])[:, None]
        demand[:, 0, 1] = 0.0
        self.market_tells(cloud(bids=np.zeros((2, 5)), demand=demand))
        assert self.where(self.boot(self.flavor())) == 'host2'

    def test_heavy_beside_heavy(self):
        """A heavy project is kept away from light ones."""
        heaviness = {'heaviness': np.array([5.0, 0.0]), 'bids': np.zeros((2, 5))}
        self.market_tells(cloud(**heaviness, host_heaviness=np.array([0.0, 0.0, 5.0, 0.0, 0.0])))
        assert self.where(self.boot(self.flavor())) == 'host3'


class TestNoMarket(MarketBed):
    """The plug-ins are enabled, the market is not there."""

    def test_servers_are_placed_all_the_same(self):
        """Also those of market flavors."""
        server = self.boot(self.flavor(affordable_periods='1000'))
        self._live_migrate(server)

    def test_a_fault_of_ours_fails_no_build(self):
        """Rows that point nowhere, numbers that are none."""
        self.market_tells(broken_snapshot())
        server = self.boot(self.flavor(affordable_periods='1000'))
        self._live_migrate(server)


class TestManyHosts(MarketBed):
    """Fifty computes."""

    hosts = 50
    snapshot = cloud(50)

    def test_the_best_of_fifty(self):
        """Five at once: as the best fills up, the next best has its turn, without a new round."""
        self.flags(cores=-1, group='quota')
        self.boot(self.flavor(vcpus=6), min_count=5, max_count=5)
        servers = self.api.get_servers(detail=True)
        for server in servers:
            self._wait_for_state_change(server, 'ACTIVE')
        # a second one of six cores would have to share eight with the first
        assert {self.where(server) for server in servers} == {f'host{n}' for n in range(46, 51)}


class TestExtraSpecs(MarketBed):
    """nova-api checks flavors."""

    hosts = 1

    def refused(self, key, value):
        flavor = self._create_flavor()
        answer = self.api.api_post(
            f'/flavors/{flavor}/os-extra_specs',
            {'extra_specs': {key: value}},
            check_response_status=[200, 400],
        )
        return '' if answer.status == 200 else answer.body['badRequest']['message']

    def test_a_wrong_value_names_key_and_range(self):
        """What the administrator reads says what to write."""
        message = self.refused('market:bid_cpu', '-3')
        assert 'market:bid_cpu' in message
        assert '0 to 9007199254.740992' in message
        assert 'long, short, best-effort' in self.refused('market:class', 'gold')
        assert 'market:bid_gpu' in self.refused('market:bid_gpu', '1')

    def test_right_values_are_taken(self):
        """One of each key."""
        for key, value in {
            'market:bid_cpu': '0.5',
            'market:bid_memory': '0',
            'market:max_cpu': '1.5',
            'market:max_memory_mib': '512',
            'market:affordable_periods': '60',
            'market:class': 'short',
            'market:duration': '3600',
        }.items():
            assert self.refused(key, value) == ''
