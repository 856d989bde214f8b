# SPDX-License-Identifier: Apache-2.0
"""`fair_tree`: the order of owners as in Slurm's Fair Tree, and the reservation of the head."""

import numpy as np
import pytest

from nova_market.core.job.columns import Owners
from nova_market.core.job.fair_tree_rank import fair_tree_rank, level_fairshare
from nova_market.core.job.policies.fair_tree import fair_tree
from nova_market.core.job.policies.flexible import flexible
from nova_market.core.job.reason import ReasonCode, sentence
from tests.support.job_builders import Job, Run, snapshot


def owners(*rows: tuple[int, int, float, float, float]) -> Owners:
    """(queue, project, share of the project, share of the user, usage) of each."""
    queue, project, of_project, of_user, usage = zip(*rows, strict=True)
    return Owners(
        queue=np.array(queue, dtype=np.intp),
        project=np.array(project, dtype=np.intp),
        project_share=np.array(of_project, dtype=np.float64),
        user_share=np.array(of_user, dtype=np.float64),
        usage=np.array(usage, dtype=np.float64),
    )


def test_level_fairshare_is_share_by_use_among_siblings() -> None:
    """40 and 60 % of the shares, 50 and 50 % of the use; a third sibling has neither."""
    level = level_fairshare(
        np.array([4.0, 6.0, 0.0]), np.array([10.0, 10.0, 0.0]), np.zeros(3, dtype=np.intp)
    )
    assert level.tolist() == pytest.approx([0.8, 1.2, 0.0])


def test_nothing_used_is_before_all_who_have_used_any() -> None:
    level = level_fairshare(np.ones(2), np.array([0.0, 5.0]), np.zeros(2, dtype=np.intp))
    assert level.tolist() == [np.inf, 0.5]


def test_a_queue_that_had_too_little_goes_first_whatever_its_users_did() -> None:
    """The heaviest user of the first queue is before the lightest of the second."""
    seen = snapshot(
        [],
        shares=(0.5, 0.5),
        owners=owners((0, 0, 1, 1, 30.0), (0, 0, 1, 1, 5.0), (1, 1, 1, 1, 60.0), (1, 1, 1, 1, 0.0)),
    )
    assert fair_tree_rank(seen.owners, seen.queues).tolist() == [1, 0, 3, 2]


def test_projects_are_compared_within_their_queue() -> None:
    """The project with three times the share and twice the use is before the other."""
    seen = snapshot([], owners=owners((0, 0, 1, 1, 10.0), (0, 1, 3, 1, 20.0)))
    assert fair_tree_rank(seen.owners, seen.queues).tolist() == [1, 0]


def test_jobs_start_in_the_order_of_their_owners() -> None:
    """The owner who has used nothing goes before a more urgent job of another."""
    jobs = [Job(owner=0, priority=1), Job(owner=1, submitted=5.0)]
    of = owners((0, 0, 1, 1, 10.0), (0, 0, 1, 1, 0.0))
    assert fair_tree(snapshot(jobs, owners=of)).starts.tolist() == [1, 0]


def narrow_after_wide(limit: float) -> list[Job]:
    return [Job(cores=8, submitted=0.0), Job(cores=2, submitted=1.0, limit=limit)]


def test_a_narrow_job_does_not_delay_the_wide_one_before_it() -> None:
    """Four cores run until 1000, then the wide job needs all eight: what ends later than that waits."""
    runs = [Run(hosts=(0,), cores=4, limit=1000.0)]
    found = fair_tree(snapshot(narrow_after_wide(2000.0), runs))
    assert not len(found.starts)
    assert found.code[1] == ReasonCode.RESERVED
    text = sentence(found.code[1], found.numbers[1])
    assert text == 'reservation: it would delay a job that can start in 1000 seconds'
    assert fair_tree(snapshot(narrow_after_wide(1000.0), runs)).starts.tolist() == [1]
    # Algorithm 1 has no reservation: it lets the narrow one pass
    assert flexible(snapshot(narrow_after_wide(2000.0), runs)).starts.tolist() == [1]


def test_a_job_that_fits_beside_the_head_starts() -> None:
    """The head needs six of eight cores at 1000; two stay free beside it, and a second such job has none."""
    runs = [Run(hosts=(0,), cores=4, limit=1000.0)]
    jobs = [Job(cores=6), Job(cores=2, submitted=1.0), Job(cores=2, submitted=2.0)]
    found = fair_tree(snapshot(jobs, runs))
    assert found.starts.tolist() == [1]
    assert found.code.tolist() == [ReasonCode.ROOM, ReasonCode.NONE, ReasonCode.RESERVED]


def test_a_job_that_never_fits_blocks_nobody() -> None:
    """There is no time for it; the next one without room has the reservation."""
    runs = [Run(hosts=(0,), cores=4, limit=1000.0)]
    jobs = [Job(cores=9), Job(cores=8, submitted=1.0), Job(cores=2, submitted=2.0)]
    found = fair_tree(snapshot(jobs, runs))
    assert found.code.tolist() == [ReasonCode.NEVER, ReasonCode.ROOM, ReasonCode.RESERVED]


def test_without_owners_there_is_no_rank() -> None:
    seen = snapshot([], shares=(), owners=None)
    assert not len(fair_tree_rank(seen.owners, seen.queues))
