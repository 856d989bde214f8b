# SPDX-License-Identifier: Apache-2.0
"""Properties of flavors that state whether and how servers are preempted."""

import pytest

from nova_market.core.job.lifecycle import Lifecycle, lifecycle_of
from nova_market.core.job.record import PreemptAction

KEY, POLICY = 'lifecycle:preemptable', 'lifecycle:preempt_policy'


def test_a_flavor_that_states_nothing_leaves_it_to_the_job() -> None:
    found = lifecycle_of({'hw:cpu_policy': 'dedicated'})
    assert found == Lifecycle()
    assert found.may_be_preempted(best_effort=True)
    assert not found.may_be_preempted(best_effort=False)


@pytest.mark.parametrize(('text', 'may'), [('true', True), (' True', True), ('false', False)])
def test_a_flavor_may_protect_best_effort_jobs(text: str, may: bool) -> None:
    found = lifecycle_of({KEY: text})
    assert found.may_be_preempted(best_effort=True) is may
    assert not found.may_be_preempted(best_effort=False)
    assert not found.problems


@pytest.mark.parametrize(
    ('text', 'action'), [('shelve', PreemptAction.SHELVE), ('delete', PreemptAction.REQUEUE)]
)
def test_how_it_is_preempted(text: str, action: PreemptAction) -> None:
    """A deleted worker's job is queued again."""
    assert lifecycle_of({POLICY: text}).action is action


def test_what_cannot_be_read_is_named_and_protects() -> None:
    found = lifecycle_of({KEY: 'yes', POLICY: 'pause'})
    assert not found.may_be_preempted(best_effort=True)
    assert found.action is None
    assert found.problems == (
        f"{KEY} = 'yes': must be true or false; taken as false",
        f"{POLICY} = 'pause': must be shelve or delete; not used",
    )
