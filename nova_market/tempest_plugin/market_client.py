# SPDX-License-Identifier: Apache-2.0
"""A client of the market's API for Tempest: requests as they are, and the bodies of responses.

Tempest does not test a service with the service's own client, because both could be wrong alike. Only routes
of the lowest version are used, so no version is asked for.

Units: bids in micro-credits per period (1 credit is 1,000,000), CPU in cores, memory in MiB.
"""

import json
from typing import Any

from tempest.lib.common import rest_client


class MarketClient(rest_client.RestClient):
    """Errors are Tempest's, by status: `NotFound`, `Forbidden` and so on."""

    def list_prices(self) -> Any:
        """Of the newest round, one for each resource; empty before the first."""
        return self._read('v1/prices')['prices']

    def set_bid(self, server_id: str, **bid: int) -> Any:
        """bid: `cpu` and `memory`"""
        response, body = self.put(f'v1/bids/{server_id}', json.dumps(bid))
        self.expected_success(200, response.status)
        return json.loads(body)['bid']

    def show_bid(self, server_id: str) -> Any:
        return self._read(f'v1/bids/{server_id}')['bid']

    def delete_bid(self, server_id: str) -> None:
        response, _ = self.delete(f'v1/bids/{server_id}')
        self.expected_success(204, response.status)

    def list_server_allocations(self, server_id: str) -> Any:
        """What a server was allocated, newest round first."""
        return self._read(f'v1/servers/{server_id}/allocations')['allocations']

    def list_hosts(self) -> Any:
        """As the newest round saw them; for administrators."""
        return self._read('v1/hosts')['hosts']

    def list_heaviness(self) -> Any:
        """Of the caller's project; empty while no host has reported one of its servers."""
        return self._read('v1/heaviness')['heaviness']

    def _read(self, path: str) -> Any:
        response, body = self.get(path)
        self.expected_success(200, response.status)
        return json.loads(body)
