# SPDX-License-Identifier: Apache-2.0
"""What is sent to one recipient now: each event alone, several as one message, or nothing yet.

Implements rules N3 and N4 of doc/source/specs/notices.rst. Units: seconds since the epoch, seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nova_market.core.notice.preference import Channel
from nova_market.core.row_check import COUNT, TIME, Bounds

HOUR = 3600.0
FIRST_PAUSE = 30.0
"""Before the second try of a message; doubled before each further one, up to LONGEST_PAUSE."""

LONGEST_PAUSE = 900.0
"""A server that works again gets what waits within a quarter of an hour."""

MOST_AT_ONCE = 1000
"""Events of one message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """Where messages go that are counted together."""

    project_id: str
    user_id: str
    channel: Channel


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """An event that waits for being sent to one recipient.

    number: grows in the order in which they came; target: the address or URL
    message: id of the message that it was put in; '' before; tries: of this message
    due_at: it is looked at again; tried_at: the first try, 0 before
    """

    number: int
    recipient: Recipient
    target: str
    key: str
    event: str
    project_id: str
    at: float
    payload: Mapping[str, object]
    due_at: float
    message: str = ''
    tries: int = 0
    tried_at: float = 0.0


QUEUED_BOUNDS: Bounds = {
    **dict.fromkeys(('at', 'due_at', 'tried_at'), TIME),
    'tries': COUNT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryPlan:
    """batches: what one message each is made of; wait_until: nothing more is due before, 0: look again"""

    batches: tuple[tuple[Queued, ...], ...] = ()
    wait_until: float = 0.0


def delivery_plan(
    waiting: Sequence[Queued], recent: Sequence[float], digest: float, at_most: int, now: float
) -> DeliveryPlan:
    """What to send of all that waits for one recipient.

    waiting: by number; recent: when messages were sent to it in the last hour, oldest first
    digest, at_most: as in core.notice.preference
    """
    if not waiting:
        return DeliveryPlan()
    begun = next((one for one in waiting if one.message), None)
    if begun is not None:
        # what comes later waits: its host does not answer, and the order is kept
        if begun.due_at > now:
            return DeliveryPlan(wait_until=begun.due_at)
        return DeliveryPlan(batches=(tuple(o for o in waiting if o.message == begun.message),))
    if waiting[0].due_at > now:
        return DeliveryPlan(wait_until=waiting[0].due_at)
    free = at_most - len(recent)
    if free <= 0:
        return DeliveryPlan(wait_until=recent[-at_most] + HOUR)
    if digest:
        return DeliveryPlan(batches=(tuple(waiting),))
    # the last message of the hour has all that is left
    alone = len(waiting) if len(waiting) <= free else free - 1
    batches = [(one,) for one in waiting[:alone]]
    rest = tuple(waiting[alone:])
    return DeliveryPlan(batches=(*batches, rest) if rest else tuple(batches))


def pause(tries: int) -> float:
    """Seconds until a message is tried again that was tried so often, 1 or more."""
    return float(min(FIRST_PAUSE * 2 ** min(tries - 1, 20), LONGEST_PAUSE))
