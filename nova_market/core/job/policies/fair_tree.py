# SPDX-License-Identifier: Apache-2.0
"""Who has used least of their share goes first: Slurm's Fair Tree over queues, projects and users.

Beyond SVMSched (papers/svmsched.txt): rule J3, policy `fair_tree`. Shares bind long jobs (J10), and order the
owners, by what these have used lately (core.job.fair_tree_rank, core.job.decayed_usage). Among the jobs of
one owner: priority, weight, submission. The first job without room has a reservation (core.job.backfill),
as jobs have under Slurm's backfill scheduler, so that wide jobs start too; one that its share binds has none.

As in Slurm, what starts in a pass changes the order of later passes only.
"""

import numpy as np

from nova_market.core.job.backfill import Backfill
from nova_market.core.job.fair_tree_rank import fair_tree_rank
from nova_market.core.job.in_order import by_priority
from nova_market.core.job.policy_interface import JobSnapshot, Selection
from nova_market.core.job.room import placement_of
from nova_market.core.job.share_keeping import within_shares


@within_shares
def fair_tree(seen: JobSnapshot) -> Selection:
    """Jobs in the order of their owners' fairshare, backfilled behind the first one that waits."""
    rank = fair_tree_rank(seen.owners, seen.queues)
    rows = np.flatnonzero(seen.candidates)
    run = Backfill(seen)
    run.run(by_priority(rows, seen.waiting, rank[seen.waiting.owner[rows]]))
    reasons = run.reasons()
    return Selection(
        starts=np.array(run.starts, dtype=np.intp),
        placement=placement_of(run.starts, run.spots),
        code=reasons.code,
        numbers=reasons.numbers,
        state=seen.state,
    )
