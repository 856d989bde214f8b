# SPDX-License-Identifier: Apache-2.0
"""The order in which queues are served, between passes and across restarts.

Implements SVMSched, section 5.2.1: round robin; the queue of a job that was chosen moves to the end of the
order.

Not given there, and settled here: a new queue comes last, as if it had just been served.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from nova_market.core.job.policy_interface import PolicyState
from nova_market.core.resource import Rows


def state_of(stored: Sequence[str], queue_ids: Sequence[str]) -> PolicyState:
    """The state of a pass from ids that were stored.

    queue_ids: of all queues, in the order of their rows; ids that no longer exist are passed over
    """
    row: Mapping[str, int] = {queue_id: number for number, queue_id in enumerate(queue_ids)}
    known = list(dict.fromkeys(row[queue_id] for queue_id in stored if queue_id in row))
    old = frozenset(known)
    new = [number for number in range(len(queue_ids)) if number not in old]
    return PolicyState(order=np.array([*known, *new], dtype=np.intp))


def ids_of(state: PolicyState, queue_ids: Sequence[str]) -> list[str]:
    """What to store: ids, the next to be served first."""
    return [queue_ids[row] for row in state.order.tolist()]


def served(order: Rows, queues: Sequence[int]) -> Rows:
    """The order after jobs of these queues were chosen, one after the other."""
    last = {queue: place for place, queue in enumerate(queues)}
    rows = order.tolist()
    unserved = [row for row in rows if row not in last]
    return np.array([*unserved, *sorted(last, key=last.__getitem__)], dtype=np.intp)
