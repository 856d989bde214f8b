# SPDX-License-Identifier: Apache-2.0
"""By which names submitters find queues, and who may submit to one.

For rules J1 and J9 of doc/source/specs/jobs.rst. A name leads to a queue of the submitter's own project, or
to one that the project has accepted by its id: who makes a queue with a name that others use does not get
their scripts and credentials.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nova_market.core.job.queue import OF, StoredQueue
from nova_market.core.job.queue_request import UUID
from nova_market.core.text import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitter:
    """Who asks. prioritizes: ids of queues where they may give priorities below the default."""

    user_id: str
    project_id: str
    roles: tuple[str, ...] = ()
    prioritizes: tuple[str, ...] = ()


def may_submit(queue: StoredQueue, by: Submitter) -> bool:
    """Whether a queue takes jobs of this project and, if it names roles, of who has one of them (J1)."""
    own = by.project_id == queue.project_id
    invited = own or by.project_id in queue.projects
    return invited and (not queue.roles or any(role in queue.roles for role in by.roles))


def key_of(given: str, project_id: str) -> str:
    """By what the store finds a queue that a project gives: its id, or PROJECT:NAME."""
    return given if UUID.fullmatch(given) else f'{project_id}{OF}{given}'


def invitations(queues: Iterable[StoredQueue], by: Submitter) -> list[str]:
    """Ids of those of other projects that take jobs of this submitter."""
    return [one.id for one in queues if one.project_id != by.project_id and may_submit(one, by)]


def no_queue(given: str, others: Sequence[str] = ()) -> str:
    """What a submitter reads who gave this. others: ids of queues of this name that invite them."""
    name = shown(given)
    if not others:
        return (
            f'there is no queue {name} that takes jobs of yours: ask its owner, or name another one'
        )
    return (
        f'your project knows no queue as {name}. One of that name in another project takes jobs of yours: '
        f'give its id, {" or ".join(others)}, or see "openstack market queue accept"'
    )
