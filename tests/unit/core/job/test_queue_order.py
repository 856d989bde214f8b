# SPDX-License-Identifier: Apache-2.0
"""The order of queues is stored by id."""

import numpy as np

from nova_market.core.job.queue_order import ids_of, served, state_of


def test_the_order_survives_queues_that_come_and_go() -> None:
    """A deleted queue is passed over, a new one comes last, an id that was stored twice counts once."""
    state = state_of(['c', 'gone', 'a', 'c'], ['a', 'b', 'c'])
    assert state.order.tolist() == [2, 0, 1]
    assert ids_of(state, ['a', 'b', 'c']) == ['c', 'a', 'b']


def test_queues_that_were_served_go_to_the_end_in_the_order_of_their_last_turn() -> None:
    order = served(np.array([3, 2, 1, 0], dtype=np.intp), [2, 3, 2])
    assert order.tolist() == [1, 0, 3, 2]
