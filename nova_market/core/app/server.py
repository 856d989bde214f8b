# SPDX-License-Identifier: Apache-2.0
"""What the controller knows of the servers of applications, and what it asks the cloud for.

For the virtual clusters of Merkat (INRIA RR-8648), section 2.3.1: servers of one flavor and one image. Units:
cores, MiB, seconds since the epoch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nova_market.core.app.record import APP_KEY, SLOT_KEY


class ServerState(StrEnum):
    """What a server can be asked for now."""

    BUILDING = 'building'
    RUNNING = 'running'
    SUSPENDED = 'suspended'
    """Its memory is on the disk of its host, where it keeps its room."""

    SHELVED = 'shelved'
    """Its disk is an image; once Nova has offloaded it, it takes no room on any host."""

    BUSY = 'busy'
    """Nova is at something, or it is in a state that its owner brought it to: it is left alone."""

    STOPPED = 'stopped'
    """It was shut down, or is in error: left alone too, but nothing works there."""

    FAILED = 'failed'
    DELETING = 'deleting'
    UNKNOWN = 'unknown'
    """A part of the cloud does not answer: it is there, and nothing is known of it."""


ACTIONS: Mapping[tuple[ServerState, ServerState], str] = {
    (ServerState.RUNNING, ServerState.SUSPENDED): 'suspend',
    (ServerState.RUNNING, ServerState.SHELVED): 'shelve',
    (ServerState.SUSPENDED, ServerState.SHELVED): 'shelve',
    (ServerState.SUSPENDED, ServerState.RUNNING): 'resume',
    (ServerState.SHELVED, ServerState.RUNNING): 'unshelve',
}
"""What the cloud is asked for, by the state of a server and the one it is to have.

A shelved server that is to be suspended stays shelved: it would have to boot for that.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppAccess:
    """As whom the controller acts: the trust that the owner gave, in his project."""

    project_id: str
    trust_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AppFlavor:
    """What a server of it can use at most: its own size, or less where its extra specs limit bids (B1)."""

    id: str
    vcpus: float
    memory_mib: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AppServer:
    """A server with the mark of an application; of UNKNOWN ones the mark may be ''.

    address: the first fixed one of its first network; '' while it has none
    """

    id: str
    app_id: str
    slot: str
    state: ServerState
    created_at: float = 0.0
    fault: str = ''
    address: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class NewServer:
    """What is to be made. flavor, image, networks: ids or names; no networks: what Nova chooses."""

    app_id: str
    slot: str
    name: str
    flavor: str
    image: str
    networks: tuple[str, ...] = ()
    user_data: str = ''
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def marks(self) -> Mapping[str, str]:
        """All metadata of the server."""
        return {**self.metadata, APP_KEY: self.app_id, SLOT_KEY: self.slot}
