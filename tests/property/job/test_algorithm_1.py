# SPDX-License-Identifier: Apache-2.0
"""The fast version of Algorithm 1 chooses what the algorithm, read line by line, chooses."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from nova_market.core.job.policies.flexible import flexible
from nova_market.core.job.policies.rigid import rigid
from nova_market.core.job.policy_interface import JobSnapshot, Selection
from nova_market.core.job.selection import may_start
from tests.property.job.strategies import snapshots
from tests.support.job_oracle import Oracle


def chosen(selection: Selection) -> list[tuple[int, dict[int, int]]]:
    """(job, {host: servers}) in the order of the choice."""
    spots: dict[int, dict[int, int]] = {int(job): {} for job in selection.starts}
    placement = selection.placement
    for job, host, servers in zip(
        placement.job.tolist(), placement.host.tolist(), placement.servers.tolist(), strict=True
    ):
        spots[job][host] = servers
    return list(spots.items())


@pytest.mark.parametrize('is_rigid', [False, True])
@given(seen=snapshots(first_fit=True))
@settings(max_examples=100)
def test_the_same_jobs_on_the_same_hosts_in_the_same_order(
    is_rigid: bool, seen: JobSnapshot
) -> None:
    """Jobs, hosts and the order of queues afterwards."""
    production = may_start(seen) & ~seen.waiting.best_effort
    seen = replace(seen, candidates=production)
    oracle = Oracle(seen, rigid=is_rigid)
    found = (rigid if is_rigid else flexible)(seen)
    assert chosen(found) == oracle.started
    assert found.state.order.tolist() == oracle.order
