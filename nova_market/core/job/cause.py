# SPDX-License-Identifier: Apache-2.0
"""Who could have caused the end of an attempt: money follows that, and not what a guest says.

Implements rule J8 of doc/source/specs/jobs.rst; SVMSched has none. Whoever has root in a guest can send, hold
back and repeat every message of its worker, and can shut the server down. None of that changes what Nova
keeps of the server, which is therefore all that makes an attempt free:

    CLOUD      Nova's record: the host is down; the server is gone, in error, at rest, or in a part of the
               cloud that does not answer. Or the service took the worker away
    DISPLACER  the service has preempted it for another job
    OWNER      its owner has cancelled or requeued it
    GUEST      everything else: its script has ended or ran too long, its worker was silent or began anew
"""

from collections.abc import Iterable
from enum import StrEnum

from nova_market.core.job.record import AttemptState, JobWish, StoredAttempt, StoredJob
from nova_market.core.market.owner_server import OwnerServer, ServerState


class Cause(StrEnum):
    """In the order in which one decides where the servers of a gang have ended by several."""

    GUEST = 'guest'
    OWNER = 'owner'
    DISPLACER = 'displacer'
    CLOUD = 'cloud'


def cause_of(job: StoredJob, parts: Iterable[StoredAttempt]) -> Cause:
    """Of an attempt whose parts have all ended; job: as it was before."""
    found = {_cause(job, one) for one in parts}
    return next((cause for cause in Cause if cause in found), Cause.GUEST)


def silenced_by_cloud(server: OwnerServer | None) -> bool:
    """Whether Nova's record explains that a worker is silent. None: nothing is known of its server.

    A server that was shut down is the guest's doing as far as anybody can tell; one with a fault is not.
    """
    if server is None:
        return True
    if server.state is ServerState.STOPPED:
        return bool(server.fault)
    return server.state is not ServerState.RUNNING


def _cause(job: StoredJob, one: StoredAttempt) -> Cause | None:
    """None: it says nothing of the others; it has finished, or had to end with another one."""
    if one.state is AttemptState.FINISHED:
        return None
    if one.state is AttemptState.LOST:
        return Cause.CLOUD if one.by_cloud else Cause.GUEST
    if one.state not in (AttemptState.PREEMPTED, AttemptState.CANCELLED):
        return Cause.GUEST
    if job.wish is not JobWish.RUN:
        return Cause.OWNER
    if one.state is AttemptState.CANCELLED:
        return None
    return Cause.DISPLACER if job.displaced_by else Cause.CLOUD
