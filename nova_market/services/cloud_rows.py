# SPDX-License-Identifier: Apache-2.0
"""Hosts and servers of the cloud, without those that are not as any can be.

Implements rule R1 of doc/source/specs/passes.rst for what is read of Nova and Placement.
"""

from collections.abc import Sequence

from nova_market.core.market.inventory import (
    CloudHost,
    CloudServer,
    check_host,
    check_server,
)
from nova_market.row_boundary import READ, RowBoundary


def sound_hosts(boundary: RowBoundary, hosts: Sequence[CloudHost]) -> list[CloudHost]:
    """Those that can be reckoned with."""
    found = []
    for one in hosts:
        with boundary.row('host', str(one.name), READ):
            check_host(one)
            found.append(one)
    return found


def sound_servers(boundary: RowBoundary, servers: Sequence[CloudServer]) -> list[CloudServer]:
    """Those that can be reckoned with; their owners see which cannot."""
    found = []
    for one in servers:
        with boundary.row('server', str(one.id), READ, str(one.project_id)):
            check_server(one)
            found.append(one)
    return found
