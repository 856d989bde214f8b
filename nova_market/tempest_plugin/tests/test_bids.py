# SPDX-License-Identifier: Apache-2.0
"""A tenant bids for a server, and the engine takes it into account."""

from tempest.lib import decorators, exceptions

from nova_market.tempest_plugin.tests.base import RoundTest, ServerTest

BID = {'cpu': 3_000, 'memory': 1_000}
"""Micro-credits per period: little, so that any balance pays for it."""


class BidsTest(ServerTest):
    """Setting, reading and withdrawing a bid."""

    credentials = ('primary', 'alt')

    @classmethod
    def setup_clients(cls) -> None:
        super().setup_clients()
        cls.market_of_another = cls.os_alt.market_v1.MarketClient()

    @decorators.idempotent_id('c1d6f9d2-7e0a-4b8e-8f16-3a1d4c9b7e03')
    def test_set_and_delete_bid(self) -> None:
        """What is set is shown, to nobody else; what is deleted is not found."""
        server = self.create_server()
        self.set_bid(server, **BID)
        shown = self.market.show_bid(server)
        self.assertEqual(BID, {name: shown[name] for name in BID})
        self.assertRaises(exceptions.NotFound, self.market_of_another.show_bid, server)
        self.assertRaises(exceptions.NotFound, self.market_of_another.set_bid, server, **BID)
        self.market.delete_bid(server)
        self.assertRaises(exceptions.NotFound, self.market.show_bid, server)


class AllocationsTest(RoundTest):
    """What comes of a bid."""

    @decorators.idempotent_id('8a2b9d14-6a5d-4c21-9a0f-6e7d0c5b1f44')
    def test_a_server_with_a_bid_is_allocated_something(self) -> None:
        """A round gives it cores, which need not be the first: its project gets credits in one."""
        server = self.create_server()
        self.set_bid(server, **BID)
        given = self.until(
            lambda: [
                one for one in self.market.list_server_allocations(server) if one['actual_cpu'] > 0
            ],
            f'cores for {server}, whose project needs credits',
        )
        self.assertEqual({server}, {one['server_id'] for one in given})
