# SPDX-License-Identifier: Apache-2.0
"""What a scaling policy declares of itself: the goals it serves, what it decides, its parameters.

For the policies of Merkat (INRIA RR-8648), sections 2.3, 3.2.1 and 3.3.1. A plug-in of `nova_market.scaling`
is a function (PolicyInput) -> PolicyOutput. Its keyword-only arguments are its parameters. `serves` sets its
attributes `goals` and `decides_state`; a policy without them serves every goal, and the controller starts its
applications.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from nova_market.core.app.policies.policy_interface import PolicyOutput
from nova_market.core.app.template import Goal
from nova_market.errors import BadTemplate

Policy = Callable[..., PolicyOutput]
P = TypeVar('P', bound=Policy)

EVERY_GOAL = frozenset(Goal) - {Goal.NONE}
"""What a policy serves that does not name any: most follow a measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTraits:
    """goals: what an application may be measured by; decides_state: it starts and suspends by itself."""

    goals: frozenset[Goal] = EVERY_GOAL
    decides_state: bool = False
    parameters: frozenset[str] = frozenset()


def serves(*goals: Goal, decides_state: bool = False) -> Callable[[P], P]:
    """Declare the only goals that a policy is good for, and whether it starts and suspends by itself."""

    def declared(policy: P) -> P:
        policy.__dict__.update(goals=frozenset(goals), decides_state=decides_state)
        return policy

    return declared


def check_goal(name: str, traits: PolicyTraits, goal: Goal) -> None:
    """:raises BadTemplate: the policy of this name does not serve an application that is measured so."""
    if goal not in traits.goals and goal is Goal.NONE:
        raise BadTemplate(f'slo: {name} needs one: give {" or ".join(sorted(traits.goals))}')
    if goal not in traits.goals:
        raise BadTemplate(
            f'slo: {name} works for {" or ".join(sorted(traits.goals))}, not for {goal}'
        )


def traits_of(policy: Policy) -> PolicyTraits:
    """What a policy declares."""
    whole: Any = policy.func if isinstance(policy, partial) else policy
    arguments = inspect.signature(whole).parameters.values()
    return PolicyTraits(
        goals=frozenset(Goal(one) for one in getattr(whole, 'goals', EVERY_GOAL)),
        decides_state=bool(getattr(whole, 'decides_state', False)),
        parameters=frozenset(one.name for one in arguments if one.kind is one.KEYWORD_ONLY),
    )
