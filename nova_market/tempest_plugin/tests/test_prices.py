# SPDX-License-Identifier: Apache-2.0
"""What a tenant sees of prices."""

from tempest.lib import decorators

from nova_market.tempest_plugin.tests.base import MarketTest, RoundTest


class PricesTest(MarketTest):
    """Without a round there are none, and the API says so with an empty list."""

    @decorators.idempotent_id('5f0a1f4e-9c0b-4d55-8d3a-5d0d0a6f3b51')
    def test_list_prices(self) -> None:
        """A tenant may list prices; each is of a resource, and none is negative."""
        prices = self.market.list_prices()
        self.assertEqual(set(), {one['resource'] for one in prices} - {'cpu', 'memory'})
        self.assertEqual([], [one for one in prices if one['price'] < 0])


class NewPricesTest(RoundTest):
    """The engine makes them."""

    @decorators.idempotent_id('0b8c6e0d-4c3e-4f0c-9b1a-2f5f6f1f7c92')
    def test_a_round_has_prices(self) -> None:
        """The prices of a later round than now appear by themselves."""
        before = max((one['period'] for one in self.market.list_prices()), default=0)
        newer = self.until(
            lambda: [one for one in self.market.list_prices() if one['period'] > before],
            'a round after the present one',
        )
        self.assertIn('cpu', {one['resource'] for one in newer})
