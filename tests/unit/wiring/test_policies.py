# SPDX-License-Identifier: Apache-2.0
"""Scaling policies that are installed: one that can not be read is left out, the others serve."""

import logging

from nova_market.core.app.policies.merkat_policies import vertical
from nova_market.wiring.policies import readable, traits_by_policy


def misspelled(seen):
    """A policy of another package, with a goal that does not exist."""


misspelled.goals = ('deadlines',)


def test_a_policy_with_an_unknown_goal_is_left_out(caplog):
    """The API starts without it, and a warning names it and what is wrong."""
    with caplog.at_level(logging.WARNING):
        found = readable({'misspelled': misspelled, 'vertical': vertical})
    assert found == {'vertical': vertical}
    (line,) = caplog.messages
    assert line == (
        "scaling policy misspelled can not be used: 'deadlines' is not a valid Goal: "
        'goals are deadline, metric, throughput, queue, none'
    )


def test_all_policies_of_this_package_are_read():
    """None is left out."""
    assert {'vertical', 'value_density', 'queue_driven'} <= set(traits_by_policy())
