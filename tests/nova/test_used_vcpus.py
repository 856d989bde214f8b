# SPDX-License-Identifier: Apache-2.0
"""What Nova's API tells of used vCPUs is what its scheduler counts: newcomers are their difference."""

from nova import context

from tests.nova.bed import MarketBed


class TestUsedVcpus(MarketBed):
    """One compute with a CPU that is reserved."""

    hosts = 1

    def setUp(self):
        self.flags(reserved_host_cpus=1, reclaim_instance_interval=3600)
        super().setUp()

    def test_hypervisors_tell_what_the_scheduler_counts(self):
        """Reserved CPUs and softly deleted servers are in both."""
        server, _ = self.boot(self.flavor(2)), self.boot(self.flavor(1))
        self.api.delete_server(server['id'])
        self._wait_for_state_change(server, 'SOFT_DELETED')
        self._run_periodics()
        self.api.microversion = '2.53'
        (found,) = self.api.api_get('/os-hypervisors/detail').body['hypervisors']
        manager = self.scheduler.manager.host_manager
        (state,) = manager.get_host_states_by_uuids(
            context.get_admin_context(), [found['id']], None
        )
        assert found['vcpus_used'] == state.vcpus_used == 4
