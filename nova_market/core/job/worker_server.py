# SPDX-License-Identifier: Apache-2.0
"""What Nova shows of the server that a worker is, as far as its job is concerned.

For rule J5 of doc/source/specs/jobs.rst. A worker that has a server and is not among those that Nova shows
has lost it: somebody has deleted it.
"""

from dataclasses import dataclass
from enum import StrEnum


class ServerCondition(StrEnum):
    BUILDING = 'building'
    RUNNING = 'running'
    SUSPENDED = 'suspended'
    """Its memory is on the disk of its host, where it keeps its room."""

    SHELVED = 'shelved'
    """Its disk is an image, and it takes no room on any host."""

    BUSY = 'busy'
    """Nova is at something: what it will be is not known yet."""

    NO_ROOM = 'no_room'
    """It could not be built, because Nova has found no host for it."""

    FAILED = 'failed'
    """It could not be built for another reason, or is in error."""

    STOPPED = 'stopped'
    """It was shut down: nothing works there."""

    UNKNOWN = 'unknown'
    """A part of the cloud does not answer: it is there, and nothing is known of it."""


NEVER_STARTS = (ServerCondition.NO_ROOM, ServerCondition.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerServer:
    """fault: why it is in error, as Nova states it; '' where it is not."""

    condition: ServerCondition
    fault: str = ''
