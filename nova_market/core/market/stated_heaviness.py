# SPDX-License-Identifier: Apache-2.0
"""What hosts state of the heaviness of owners, and what of it an engine believes (H30 of
doc/source/specs/fairness.rst).

Implements the user heaviness of IFI-2016.04, eq. (4), as the market and Nova's scheduler are shown it.
Every host knows the heaviness of its owners in the whole cloud, so the hosts of an owner state the same
number, nearly.
"""

from collections.abc import Collection, Iterable, Mapping
from statistics import median

from nova_market.core.market.inventory import CloudServer
from nova_market.core.resource import HostName, OwnerId

Stated = Mapping[HostName, Mapping[OwnerId, float]]


def believed_heaviness(
    stated: Stated, owners: Mapping[HostName, Collection[OwnerId]]
) -> dict[OwnerId, float]:
    """The median of what the hosts state on which an owner has servers.

    owners: of each host, as the cloud knows them
    """
    found: dict[OwnerId, list[float]] = {}
    for host, here in sorted(owners.items()):
        numbers = stated.get(host, {})
        for owner in here:
            if owner in numbers:
                found.setdefault(owner, []).append(numbers[owner])
    return {owner: median(numbers) for owner, numbers in sorted(found.items())}


def owners_by_host(servers: Iterable[CloudServer]) -> dict[HostName, set[OwnerId]]:
    """The owners of the servers on each host."""
    found: dict[HostName, set[OwnerId]] = {}
    for server in servers:
        found.setdefault(server.host, set()).add(OwnerId(server.project_id))
    return found
