# SPDX-License-Identifier: Apache-2.0
"""What the tests share: the client of a tenant, a server, and waiting for a round."""

from collections.abc import Callable, Sequence
from typing import Any

from tempest import config, test
from tempest.common import compute, waiters
from tempest.lib.common.utils import test_utils

CONF = config.CONF
INTERVAL = 2
"""Seconds between two looks."""


class MarketTest(test.BaseTestCase):
    """A test of the API, by a tenant."""

    credentials: Sequence[str] = ('primary',)

    @classmethod
    def skip_checks(cls) -> None:
        super().skip_checks()
        if not CONF.service_available.nova_market:
            raise cls.skipException('[service_available]nova_market is false')

    @classmethod
    def setup_clients(cls) -> None:
        super().setup_clients()
        cls.market = cls.os_primary.market_v1.MarketClient()

    def until(self, look: Callable[[], Any], expected: str) -> Any:
        """The first that is found, looking until a round must have made it.

        :raises AssertionError: it was not found in [market]round_timeout
        """
        found: list[Any] = []

        def seen() -> bool:
            found[:] = [look()]
            return bool(found[0])

        seconds = CONF.market.round_timeout
        if not test_utils.call_until_true(seen, seconds, INTERVAL):
            self.fail(f'{expected}: not within {seconds} s; see the log of nova-market-engine')
        return found[0]


class ServerTest(MarketTest):
    """A test with a server of the tenant's."""

    @classmethod
    def skip_checks(cls) -> None:
        super().skip_checks()
        if not CONF.service_available.nova:
            raise cls.skipException('[service_available]nova is false')

    @classmethod
    def setup_credentials(cls) -> None:
        cls.set_network_resources(network=True, subnet=True)
        super().setup_credentials()

    def create_server(self) -> str:
        """The id of an active server, which is deleted after the test."""
        servers = self.os_primary.servers_client
        made, _ = compute.create_test_server(
            self.os_primary, tenant_network=self.get_tenant_network(), wait_until='ACTIVE'
        )
        self.addCleanup(waiters.wait_for_server_termination, servers, made['id'])
        self.addCleanup(test_utils.call_and_ignore_notfound_exc, servers.delete_server, made['id'])
        return str(made['id'])

    def set_bid(self, server_id: str, **bid: int) -> None:
        """A bid of the tenant's, which is withdrawn after the test; see `MarketClient.set_bid`."""
        self.market.set_bid(server_id, **bid)
        self.addCleanup(test_utils.call_and_ignore_notfound_exc, self.market.delete_bid, server_id)


class RoundTest(ServerTest):
    """A test of what the engine decides."""

    @classmethod
    def skip_checks(cls) -> None:
        super().skip_checks()
        if not CONF.market_feature_enabled.rounds:
            raise cls.skipException('[market-feature-enabled]rounds is false')
