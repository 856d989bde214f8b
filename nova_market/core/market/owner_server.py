# SPDX-License-Identifier: Apache-2.0
"""Servers that a service makes for an owner, through a trust: what it knows of them and asks the cloud for.

For the virtual clusters of Merkat (INRIA RR-8648), section 2.3.1, and for the workers of SVMSched, section
4.2.3: servers of one flavor and one image. Units: cores, MiB, seconds since the epoch.

A server carries two marks in its metadata: whose it is (an application, a queue), and which place it has
there (a slot, a worker).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


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
class OwnedServer:
    """Whose a server is, and the most that it can use; inf where that is not known."""

    project_id: str
    vcpus: float = math.inf
    memory_mib: float = math.inf

    @property
    def is_known(self) -> bool:
        """Is its size known?"""
        return math.isfinite(self.vcpus) and math.isfinite(self.memory_mib)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMarks:
    """The keys of a server's metadata that hold its owner and its place."""

    owner: str
    place: str

    def of(self, wanted: 'NewServer') -> Mapping[str, str]:
        """All metadata of a server that is to be made."""
        return {**wanted.metadata, self.owner: wanted.owner, self.place: wanted.place}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerAccess:
    """As whom a service acts: the trust that the owner gave, in his project."""

    project_id: str
    trust_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFlavor:
    """What a server of it can use at most: its own size, or less where its extra specs limit bids (B1)."""

    id: str
    vcpus: float
    memory_mib: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerServer:
    """A server with the marks of an owner; of UNKNOWN ones they may be ''.

    address: the first fixed one of its first network; '' while it has none
    """

    id: str
    owner: str
    place: str
    state: ServerState
    created_at: float = 0.0
    fault: str = ''
    address: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class NewServer:
    """What is to be made. flavor, image, networks: ids or names; no networks: what Nova chooses."""

    owner: str
    place: str
    name: str
    flavor: str
    image: str
    networks: tuple[str, ...] = ()
    user_data: str = ''
    metadata: Mapping[str, str] = field(default_factory=dict)
