# SPDX-License-Identifier: Apache-2.0
"""What policies declare of themselves."""

from functools import partial

import pytest

from nova_market.core.app.policies.best_effort import best_effort
from nova_market.core.app.policies.full_deadline import full_deadline
from nova_market.core.app.policies.merkat_policies import vertical
from nova_market.core.app.policies.queue_driven import queue_driven
from nova_market.core.app.policies.stop import stop
from nova_market.core.app.policies.traits import EVERY_GOAL, PolicyTraits, serves, traits_of
from nova_market.core.app.policies.value_density import value_density
from nova_market.core.app.template import Goal


@pytest.mark.parametrize(
    ('policy', 'goals', 'decides_state', 'parameters'),
    [
        (vertical, EVERY_GOAL, False, set()),
        (full_deadline, {Goal.DEADLINE}, True, {'resume'}),
        (partial(full_deadline, resume=2.0), {Goal.DEADLINE}, True, {'resume'}),
        (value_density, {Goal.DEADLINE}, True, set()),
        (queue_driven, {Goal.QUEUE}, False, {'growth'}),
        (stop, EVERY_GOAL - {Goal.QUEUE}, True, {'resume', 'cpu_price'}),
        (best_effort, set(Goal), True, {'cpu', 'memory', 'resume'}),
    ],
)
def test_our_policies_declare_what_they_serve(policy, goals, decides_state, parameters):
    """One that needs deadlines or a queue serves nothing else."""
    assert traits_of(policy) == PolicyTraits(
        goals=frozenset(goals), decides_state=decides_state, parameters=frozenset(parameters)
    )


def test_a_policy_of_somebody_else_declares_itself():
    """By the decorator, or by attributes that name goals as templates do."""

    @serves(Goal.METRIC, Goal.THROUGHPUT)
    def decorated(seen):
        return vertical(seen)

    def plain(seen, *, speed=1.0):
        return vertical(seen)

    plain.goals = ['queue']
    assert traits_of(decorated).goals == {Goal.METRIC, Goal.THROUGHPUT}
    assert traits_of(plain) == PolicyTraits(
        goals=frozenset({Goal.QUEUE}), parameters=frozenset({'speed'})
    )
