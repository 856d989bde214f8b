# SPDX-License-Identifier: Apache-2.0
"""The trait of closed hosts on the real Placement, beside nova-compute, which writes there too."""

from types import SimpleNamespace

from nova_market.adapters.openstack.placement_traits import PlacementTraits
from nova_market.core.rebalancing.cordon import CLOSED_TRAIT
from tests.nova.bed import MarketBed
from tests.support import traits_contract


class Answer:
    """An answer of Nova's test clients, as requests has them."""

    def __init__(self, status, body):
        self.status_code = status
        self._body = body
        self.ok = status < 400
        self.headers = {'content-type': 'application/json'}
        self.url, self.reason, self.text = '', '', str(body)

    def json(self):
        return self._body


class TestTraits(MarketBed):
    """Three computes."""

    hosts = 3

    def setUp(self):
        super().setUp()
        self.before_put = lambda: None
        cloud = SimpleNamespace(
            compute=SimpleNamespace(get=self._nova),
            placement=SimpleNamespace(get=self._get, put=self._put, delete=self._delete),
        )
        self.traits = PlacementTraits(lambda: cloud)

    def _nova(self, path, microversion):
        found = self.api.api_get(path)
        return Answer(found.status, found.body)

    def _get(self, path, microversion):
        found = self.placement.get(path, version=microversion)
        return Answer(found.status, found.body)

    def _put(self, path, microversion, json=None):
        self.before_put()
        found = self.placement.put(path, json or {}, version=microversion)
        return Answer(found.status, found.body)

    def _delete(self, path, microversion):
        found = self.placement.delete(path, version=microversion)
        return Answer(found.status, {})

    def of(self, host):
        """All traits of a host."""
        (uuid,) = [
            one['uuid']
            for one in self.placement.get('/resource_providers', version='1.18').body[
                'resource_providers'
            ]
            if one['name'] == host
        ]
        return set(self._get(f'/resource_providers/{uuid}/traits', '1.18').json()['traits'])

    def test_placement_keeps_the_contract(self):
        """The same steps as in memory."""
        traits_contract.keep(self.traits, 'host1', 'host2')

    def test_other_traits_stay_and_ours_outlives_nova_compute(self):
        """Only ours is added and taken away; nova-compute's periodic update leaves it."""
        before = self.of('host1')
        assert before
        self.traits.mark('host1')
        self._run_periodics()
        assert self.of('host1') == before | {CLOSED_TRAIT}
        self.traits.unmark('host1')
        assert self.of('host1') == before

    def test_a_change_at_the_same_time_is_not_lost(self):
        """Somebody adds another trait between our reading and writing: both are there."""
        self.placement.put('/traits/CUSTOM_OTHER', {}, version='1.18')
        turns = []

        def meddle():
            if len(turns) < 2:
                turns.append(1)
                if len(turns) == 2:
                    self._add_trait('host1', 'CUSTOM_OTHER')

        self.before_put = meddle
        self.traits.mark('host1')
        assert {'CUSTOM_OTHER', CLOSED_TRAIT} <= self.of('host1')

    def _add_trait(self, host, name):
        providers = self.placement.get('/resource_providers', version='1.18').body
        (uuid,) = [p['uuid'] for p in providers['resource_providers'] if p['name'] == host]
        path = f'/resource_providers/{uuid}/traits'
        found = self.placement.get(path, version='1.18').body
        body = {
            'traits': [*found['traits'], name],
            'resource_provider_generation': found['resource_provider_generation'],
        }
        assert self.placement.put(path, body, version='1.18').status == 200

    def test_closed_hosts_get_no_market_servers(self):
        """A flavor that forbids the trait goes elsewhere, one that does not goes anywhere."""
        flavor = self._create_flavor(
            vcpu=1, memory_mb=512, disk=1, ephemeral=0,
            extra_spec={f'trait:{CLOSED_TRAIT}': 'forbidden'},
        )  # fmt: skip
        # what Placement does not know may not even be forbidden
        self.boot(flavor, 'ERROR')
        self.traits.announce()
        self.boot(flavor)
        for name in ('host1', 'host3'):
            self.traits.mark(name)
        assert self.where(self.boot(flavor)) == 'host2'
        self.traits.mark('host2')
        self.boot(flavor, 'ERROR')
        self.boot(self.flavor())

    def test_nor_do_servers_of_market_flavors_that_exist_already(self):
        """Nova sends a flavor's traits with evacuations too: it is the operator's to open a host before."""
        flavor = self._create_flavor(
            vcpu=1, memory_mb=512, disk=1, ephemeral=0,
            extra_spec={f'trait:{CLOSED_TRAIT}': 'forbidden'},
        )  # fmt: skip
        self.traits.announce()
        for name in ('host2', 'host3'):
            self.traits.mark(name)
        server = self.boot(flavor)
        assert self.where(server) == 'host1'
        self.computes['host1'].stop()
        service = self.api.get_services(binary='nova-compute', host='host1')[0]
        self.api.put_service_force_down(service['id'], True)
        self._evacuate_server(server, expected_state='ERROR', expected_migration_status='error')
        assert self.where(server) == 'host1'
        self.traits.unmark('host2')
        self._evacuate_server(server, expected_state='ACTIVE')
        assert self.where(server) == 'host2'
