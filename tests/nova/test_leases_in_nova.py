# SPDX-License-Identifier: Apache-2.0
"""L5: leases keep their room on all paths on which Nova chooses a host."""

import time

from tests.nova.bed import IMAGE, PROJECT, MarketBed
from tests.nova.test_in_nova import cloud
from tests.support.scheduler_builders import held

HINT = {'market_lease': 'L'}


def leased(*names, to='blue', size=None, carriers=(), begin=0.0, end=1e6):
    """All of these hosts, or a part of each, from now on."""
    now = time.time()
    lease = ('L', to, max(now + begin, 0.0), now + end, dict.fromkeys(names, size))
    return held(lease, at=1e12, carriers=carriers)


class TestLeases(MarketBed):
    """Five computes of ten vCPUs; host5 is the best for every server, then host4."""

    snapshot = cloud()

    def tells(self, *names, **more):
        self.market_tells(cloud(reserved=leased(*names, **more)))

    def test_new_and_moving_servers_stay_away(self):
        """Also those of the project that has the lease, unless they carry it."""
        self.tells('host5', 'host4')
        server = self.boot(self.flavor())
        assert self.where(server) == 'host3'
        self._live_migrate(server)
        assert self.where(server) == 'host2'
        self.tells('host5', to=PROJECT)
        assert self.where(self.boot(self.flavor())) == 'host4'

    def test_the_hint_brings_a_server_to_the_hosts_of_its_lease(self):
        """It stays with the server: Nova has it again when the server moves or grows."""
        self.tells('host1', 'host2', to=PROJECT)
        server = self.boot(self.flavor(), hints=HINT)
        assert self.where(server) == 'host2'
        self.tells('host1', 'host2', 'host3', 'host4', 'host5', to=PROJECT)
        self._live_migrate(server)
        self._migrate_server(server)
        self._confirm_resize(server)
        self._resize_server(server, self.flavor(vcpus=2))
        self._confirm_resize(server)
        self._rebuild_server(server, IMAGE)
        self.boot(self.flavor(), 'ERROR')

    def test_another_projects_lease_cannot_be_carried(self):
        """Who names it gets no host, and no word of it."""
        self.tells('host5')
        self.boot(self.flavor(), 'ERROR', hints=HINT)
        self.boot(self.flavor(), 'ERROR', hints={'market_lease': 'nowhere'})

    def test_a_server_that_carries_by_its_metadata_moves_within_its_lease(self):
        """A RequestSpec has no metadata: the service of leases has read it, and publishes who carries."""
        server = self.boot(self.flavor(), metadata={'market:lease': 'L'})
        assert self.where(server) == 'host5'
        everywhere = [f'host{number}' for number in range(1, 6)]
        self.tells(*everywhere, to=PROJECT)
        self._live_migrate(server, 'error')
        assert self.where(server) == 'host5'
        self.tells(*everywhere, to=PROJECT, carriers=[(server['id'], 0)])
        self._live_migrate(server)
        assert self.where(server) == 'host4'

    def test_a_broken_host_is_left_for_room_that_nobody_has_reserved(self):
        """Evacuation takes no leased host; a server that carries the lease may go there."""
        plain = self.boot(self.flavor())
        own = self.boot(self.flavor(), hints={})
        assert self.where(plain) == self.where(own) == 'host5'
        self.tells('host4', 'host3', to=PROJECT, carriers=[(own['id'], 0)])
        self.computes['host5'].stop()
        (service,) = self.api.get_services(binary='nova-compute', host='host5')
        self.api.put_service(service['id'], {'forced_down': True})
        self._evacuate_server(plain, expected_host='host2')
        self._evacuate_server(own, expected_host='host4')

    def test_a_server_unshelved_finds_its_place_taken_by_a_lease(self):
        """It comes back elsewhere."""
        self.flags(shelved_offload_time=0)
        server = self.boot(self.flavor())
        self._shelve_server(server)
        self.tells('host5')
        server = self._unshelve_server(server)
        assert self.where(server) == 'host4'

    def test_a_rebuild_stays_where_it_is(self):
        """In the room of a lease too: the service moves it away or says so."""
        server = self.boot(self.flavor())
        self.tells('host5')
        self._rebuild_server(server, IMAGE)
        assert self.where(server) == 'host5'

    def test_of_a_part_the_rest_is_used_and_not_more(self):
        """Eight of the ten vCPUs are reserved, times Nova's ratio; each server of a request counts."""
        ratio = 4.0
        self.flags(cores=-1, instances=-1, group='quota')
        self.tells('host5', size=(10 * ratio - 2.0, 0.0, 0.0))
        self.boot(self.flavor(), min_count=3, max_count=3)
        servers = self.api.get_servers(detail=True)
        for server in servers:
            self._wait_for_state_change(server, 'ACTIVE')
        assert sorted(self.where(server) for server in servers) == ['host4', 'host5', 'host5']

    def test_a_server_that_ends_before_the_lease_begins_is_placed(self):
        """Its flavor states for how long it lives."""
        self.tells('host5', begin=7200.0)
        assert self.where(self.boot(self.flavor(duration='3600'))) == 'host5'
        assert self.where(self.boot(self.flavor(duration='7300'))) == 'host4'
        assert self.where(self.boot(self.flavor())) == 'host4'
