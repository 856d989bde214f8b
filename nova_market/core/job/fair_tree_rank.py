# SPDX-License-Identifier: Apache-2.0
"""The order of owners in a tree of shares: queue, project, user.

Implements Slurm's Fair Tree. Among siblings, at each level:

    level fairshare = S / U       0 <= it <= inf
    S = share of the sibling / sum of the siblings' shares
    U = usage of the sibling / sum of the siblings' usage

Above 1 a sibling has had less than its share, below 1 more, inf: nothing at all. NOT A BUG: a sibling with
a share and no usage is before all that have any; one without a share is last, whatever it has used.

The tree is walked from the root, the greatest level fairshare first. So every owner in a queue that has had
too little is before every owner in one that has had too much, whatever the users have used within them.

Differs from Slurm: siblings with equal level fairshare are ordered by their row, where Slurm merges their
children.
"""

import numpy as np

from nova_market.core.job.columns import Owners, Queues
from nova_market.core.resource import Array, Rows


def level_fairshare(share: Array, usage: Array, parent: Rows) -> Array:
    """Of each node, (nodes,); parent: a number for each group of siblings."""
    groups = int(parent.max()) + 1 if len(parent) else 0
    shares = np.bincount(parent, share, groups)[parent]
    usages = np.bincount(parent, usage, groups)[parent]
    part = np.divide(share, shares, out=np.zeros(len(share)), where=shares > 0)
    used = np.divide(usage, usages, out=np.zeros(len(usage)), where=usages > 0)
    nothing_used = np.where(part > 0, np.inf, 0.0)
    level: Array = np.divide(part, used, out=nothing_used, where=used > 0)
    return level


def fair_tree_rank(owners: Owners, queues: Queues) -> Rows:
    """Rank of each owner, (owners,): 0 is served first."""
    count = len(owners)
    if not count:
        return np.zeros(0, dtype=np.intp)
    _, first, project = np.unique(
        np.stack([owners.queue, owners.project]), axis=1, return_index=True, return_inverse=True
    )
    project = project.reshape(count)
    of_queue: Array = np.bincount(owners.queue, owners.usage, len(queues)).astype(np.float64)
    of_project: Array = np.bincount(project, owners.usage, len(first)).astype(np.float64)
    root = np.zeros(len(queues), dtype=np.intp)
    by_queue = level_fairshare(queues.share, of_queue, root)[owners.queue]
    by_project = level_fairshare(owners.project_share[first], of_project, owners.queue[first])[
        project
    ]
    by_user = level_fairshare(owners.user_share, owners.usage, project)
    walk = np.lexsort((-by_user, project, -by_project, owners.queue, -by_queue))
    rank = np.empty(count, dtype=np.intp)
    rank[walk] = np.arange(count)
    return rank
