# SPDX-License-Identifier: Apache-2.0
"""Compute hosts take part: nova-fairness reports them, and whose servers are heavy."""

from tempest.lib import decorators, exceptions

from nova_market.tempest_plugin.tests.base import RoundTest


class HostsTest(RoundTest):
    """The host of a server, and how heavy its owner is."""

    credentials = ('primary', 'admin')

    @classmethod
    def setup_clients(cls) -> None:
        super().setup_clients()
        cls.market_of_admin = cls.os_admin.market_v1.MarketClient()

    @decorators.idempotent_id('2e7f3c58-1d94-4a6b-b0c7-9f8e5d2a6b15')
    def test_the_host_of_a_server_answers(self) -> None:
        """An administrator sees its cores, and that its nova-fairness answers. It need not sell memory."""
        server = self.create_server()
        shown = self.os_admin.servers_client.show_server(server)['server']
        name = shown['OS-EXT-SRV-ATTR:hypervisor_hostname']
        self.until(
            lambda: [
                one
                for one in self.market_of_admin.list_hosts()
                if one['name'] in {name, shown['OS-EXT-SRV-ATTR:host']}
                and one['answering']
                and one['capacity'][0] > 0
            ],
            f'host {name} answering, with cores to sell',
        )
        self.assertRaises(exceptions.Forbidden, self.market.list_hosts)

    @decorators.idempotent_id('d94c0a7b-5e3f-4f19-a2d8-7b6c1e0f9a26')
    def test_the_owner_of_a_server_has_a_heaviness(self) -> None:
        """Hosts measure it, and the owner sees that of his own project alone."""
        self.create_server()
        project = self.os_primary.credentials.project_id
        (own,) = self.until(self.market.list_heaviness, f'a heaviness of project {project}')
        self.assertEqual(project, own['project_id'])
        self.assertIsInstance(own['heaviness'], float)
