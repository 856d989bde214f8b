# SPDX-License-Identifier: Apache-2.0
"""Which jobs are there in each round."""

import numpy as np

from nova_market.sim.workload.presence import Presence


def test_jobs_come_stay_and_go():
    """Rounds from the first arrival on; times without any job are passed over."""
    presence = Presence(np.array([5.0, 61.0, 700.0]), 60.0)
    seen = []
    for now in presence.rounds():
        seen.append((now, presence.idle, presence.rows.tolist()))
        # each stays for two rounds
        first = {
            row: next(t for t, _, rows in seen if row in rows) for row in presence.rows.tolist()
        }
        presence.keep(np.array([first[row] == now for row in presence.rows.tolist()], dtype=bool))
    assert seen == [
        (60.0, True, [0]),
        (120.0, False, [0, 1]),
        (180.0, False, [1]),
        (720.0, True, [2]),
        (780.0, False, [2]),
    ]
