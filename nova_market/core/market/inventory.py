# SPDX-License-Identifier: Apache-2.0
"""A cloud as the market sees it: hosts, servers, live migrations, and allocations for hosts.

Implements the input of Merkat (INRIA RR-8648), section 2.2.3, and rules B1, A3, A5, F2 and F6 of
doc/source/specs/market.rst as values. Units: cores, MiB, seconds; bids and prices are not here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import inf

from nova_market.core.host.cpu_policy import has_dedicated_cpus
from nova_market.core.ledger.posting import MAX_NAME
from nova_market.core.resource import HostName
from nova_market.core.row_check import AMOUNT, TIME, Bounds, checked
from nova_market.errors import BadRow

RUNNING = frozenset(
    {
        'ACTIVE', 'HARD_REBOOT', 'MIGRATING', 'PASSWORD', 'REBOOT', 'RESCUE', 'RESIZE',
        'REVERT_RESIZE', 'VERIFY_RESIZE',
    }
)  # fmt: skip
"""States in which Nova keeps a guest that can use CPU."""

HALTED = frozenset({'ERROR', 'PAUSED', 'REBUILD', 'SUSPENDED', 'UNKNOWN'})
"""States in which a guest does not run, or Nova cannot tell, and in which it may run again at any moment."""

ANTI_AFFINITY = 'anti-affinity'


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudHost:
    """A compute host.

    cores, memory_mib: real ones that Nova may hand out, not overcommitted; the market's own reserve is
                       not taken off yet
    enabled:           Nova may put servers on it
    disabled_reason:   why it may not, as whoever disabled it gave it
    answering:         its nova-compute reports (F2)
    reported_at:       when it has reported last, seconds since the epoch; inf: Nova has no time of that
    counted:           what Placement allows, with its ratios, by resource class
    node:              id of its node, as Nova and Placement have it
    vcpus_used:        as Nova counts them there, with what is reserved, deleted softly or resized; None where
                       Nova reports none
    """

    name: HostName
    cores: float
    memory_mib: float
    enabled: bool = True
    disabled_reason: str = ''
    answering: bool = True
    reported_at: float = inf
    zone: str = ''
    counted: Mapping[str, float] = field(default_factory=dict)
    vcpus_used: float | None = None
    node: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudServer:
    """A server that is on a host.

    vcpus, memory_mib:        of its flavor, without CPUs of its own (dedicated)
    extra_specs:              of its flavor; metadata: its own; hints: scheduler hints it was made with
    migratable:               False: it can't be live-migrated; `pinned` is the reason
    zone:                     the availability zone its owner asked for, '' when he did not
    group, group_policy:      server group and its policy, '' without
    counted:                  what it takes of Placement, by resource class
    """

    id: str
    project_id: str
    host: HostName
    vcpus: int
    memory_mib: int
    name: str = ''
    flavor: str = ''
    extra_specs: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)
    hints: Mapping[str, str] = field(default_factory=dict)
    status: str = 'ACTIVE'
    migratable: bool = True
    pinned: str = ''
    zone: str = ''
    group: str = ''
    group_policy: str = ''
    counted: Mapping[str, float] = field(default_factory=dict)

    @property
    def running(self) -> bool:
        """Does it take part in the market? CPUs that are its own are not divided by weight."""
        return self.status in RUNNING and not self.dedicated

    @property
    def halted(self) -> bool:
        """Does it take no part now, although its guest may run again before the next round (F6)?"""
        return self.status in HALTED and not self.dedicated

    @property
    def dedicated(self) -> bool:
        """Has its flavor CPUs of its own (pinned, realtime)?"""
        return has_dedicated_cpus(self.extra_specs)


HOST_BOUNDS: Bounds = dict.fromkeys(('cores', 'memory_mib', 'vcpus_used'), AMOUNT)
SERVER_BOUNDS: Bounds = dict.fromkeys(('vcpus', 'memory_mib'), AMOUNT)


def check_host(host: CloudHost) -> None:
    """:raises BadRow: names what of it is not as it is of any host."""
    _check_counted(host.counted)
    # of some it is not known when they have reported
    checked(replace(host, reported_at=min(host.reported_at, TIME[1])), HOST_BOUNDS)


def check_server(server: CloudServer) -> None:
    """:raises BadRow: names what of it is not as it is of any server."""
    if not 0 < len(server.project_id) <= MAX_NAME:
        raise BadRow(
            f'project_id is {server.project_id!r:.80}: it must be 1 to {MAX_NAME} characters'
        )
    _check_counted(server.counted)
    checked(server, SERVER_BOUNDS)


def _check_counted(counted: Mapping[str, float]) -> None:
    for name, amount in counted.items():
        if not 0.0 <= amount <= AMOUNT[1]:
            raise BadRow(f'counted.{name} is {amount!r:.80}: it must be from 0 to {AMOUNT[1]:g}')


class MigrationState(StrEnum):
    """How a live migration goes."""

    RUNNING = 'running'
    DONE = 'done'
    FAILED = 'failed'


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudMigration:
    """The newest live migration of a server. progress: part of the memory copied, 0 to 1.

    id: of the migration: a later one of the same server has another
    """

    id: str
    server_id: str
    source: HostName
    destination: HostName
    state: MigrationState
    progress: float = 0.0
    reason: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """What one server is to get on its host in one period."""

    server_id: str
    cores: float
    memory_mib: float
