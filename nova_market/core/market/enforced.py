# SPDX-License-Identifier: Apache-2.0
"""What hosts enforce, and therefore what is sold on them.

Implements rules B5 and F2 of doc/source/specs/market.rst, beyond Merkat (INRIA RR-8648): a host that does not
control a resource gives every server what its flavor says, whatever anybody pays. There the resource is not
sold: nobody bids for it, nobody pays for it, and no allocation error comes of it.

A host states what it enforces each time it confirms allocations. The engine keeps the last statement of each
host, and stores it with each round, so that the next leader has it too. Times in seconds since the epoch.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.inventory import CloudHost
from nova_market.core.resource import Flags, HostName

ASSUMED = frozenset({MARKET_RESOURCES[0]})
"""Of a host that has stated nothing: CPU, which every nova-fairness with a market policy controls, and not
memory, which it does not control by default. Hosts of the version before confirm without a statement."""

KEY = 'enforced'
"""Where it stands in a host's line of a round's document."""

STATED = 'stated'
"""Where stands in a host's line of a round's document whether it has ever confirmed anything."""

Enforced = Mapping[HostName, Collection[str]]
"""Host -> the resources that it enforces, as in MARKET_RESOURCES; others are not looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """What a host has confirmed of one server.

    since:    when the server's allocation was in force there for the first time
    enforced: the resources that the host stated to enforce when it confirmed that
    """

    host: HostName
    since: float
    enforced: frozenset[str] = ASSUMED


def sold_on(hosts: Sequence[CloudHost], reported: Enforced, stored: Enforced) -> Flags:
    """(resources, hosts): what is sold where.

    reported: by hosts to this engine; stored: with the round before, for hosts that have not reported since
    """
    lines = [reported.get(host.name, stored.get(host.name, ASSUMED)) for host in hosts]
    flags = [[name in line for line in lines] for name in MARKET_RESOURCES]
    return np.array(flags, dtype=np.bool_).reshape(len(MARKET_RESOURCES), len(hosts))


def enforced_on(sold: Flags, host: int) -> list[str]:
    """What the host in this row enforces, as a round's document has it."""
    return [name for r, name in enumerate(MARKET_RESOURCES) if sold[r, host]]


def stored_enforced(document: Mapping[str, object]) -> dict[HostName, frozenset[str]]:
    """What hosts enforced when a round was stored; without those of a version that stored nothing of it."""
    return {
        HostName(str(line['name'])): frozenset(map(str, line[KEY]))
        for line in _lines(document)
        if KEY in line
    }


def stated_hosts(document: Mapping[str, object]) -> frozenset[HostName]:
    """The hosts that had confirmed something, of this or an earlier round, when a round was stored."""
    return frozenset(HostName(str(line['name'])) for line in _lines(document) if line.get(STATED))


def unsold_on(document: Mapping[str, object]) -> dict[str, list[str]]:
    """Resource -> the hosts on which a stored round did not sell it, of resources where there is one."""
    found: dict[str, list[str]] = {}
    for line in _lines(document):
        for name in MARKET_RESOURCES:
            if name not in line.get(KEY, MARKET_RESOURCES):
                found.setdefault(name, []).append(str(line['name']))
    return found


def unenforced(confirmed: Mapping[str, Confirmed]) -> dict[str, list[str]]:
    """Resource -> the servers whose hosts have confirmed their allocations and do not enforce it."""
    found: dict[str, list[str]] = {}
    for server, one in confirmed.items():
        for name in MARKET_RESOURCES:
            if name not in one.enforced:
                found.setdefault(name, []).append(server)
    return found


def _lines(document: Mapping[str, object]) -> list[dict[str, list[str]]]:
    lines = document.get('hosts')
    return lines if isinstance(lines, list) else []
