# SPDX-License-Identifier: Apache-2.0
"""C2: until when a server without a known end is assumed to stay."""

import math

import numpy as np
import pytest

from nova_market.core.calendar.lifetime import (
    Lifetimes,
    LifetimeSettings,
    Residents,
    assumed_ends,
    lifetime_quantile,
)

HALF = LifetimeSettings(quantile=0.5, least_observations=1)
NONE = math.nan


def quantile(
    age: float, lifetimes: list[float], running: list[float] = (), *, q: float = 0.5, least: int = 1
) -> float:
    seconds = np.array([*lifetimes, *running])
    ended = np.arange(len(seconds)) < len(lifetimes)
    settings = LifetimeSettings(quantile=q, least_observations=least)
    return float(lifetime_quantile(np.array([age]), seconds, ended, settings)[0])


@pytest.mark.parametrize(
    ('q', 'expected'), [(0.25, 10.0), (0.26, 20.0), (0.5, 20.0), (0.75, 30.0), (0.95, 40.0)]
)
def test_without_running_servers_it_is_the_quantile_of_the_ended_ones(
    q: float, expected: float
) -> None:
    """The least lifetime by which at least that part had ended."""
    assert quantile(0.0, [40, 10, 30, 20], q=q) == expected


def test_a_quantile_that_is_met_exactly_is_met() -> None:
    """Two of five; as a product of 4/5 and 3/4, what is left is a little more than 3/5 in float64."""
    assert quantile(0.0, [1, 2, 3, 4, 5], q=0.4) == 2.0


def test_the_age_that_is_reached_rules_out_shorter_lifetimes() -> None:
    """At 20 only 30 and 40 are left; at 40 nothing is known."""
    assert quantile(19.0, [10, 20, 30, 40]) == 30.0
    assert quantile(20.0, [10, 20, 30, 40]) == 30.0
    assert quantile(30.0, [10, 20, 30, 40]) == 40.0
    assert quantile(40.0, [10, 20, 30, 40]) == math.inf


def test_servers_that_still_run_count_as_at_least_so_long() -> None:
    """Ten ended after a minute, ninety run for a day: nine in ten do not end after a minute."""
    assert quantile(0.0, [60.0] * 10, [86_400.0] * 90) == math.inf
    assert quantile(0.0, [60.0] * 10, [86_400.0] * 90, q=0.1) == 60.0


def test_the_product_limit_by_hand() -> None:
    """Ended 1, 3, 4; running 2: S(1) = 3/4, S(3) = 3/4 x 1/2 = 3/8, S(4) = 0."""
    assert quantile(0.0, [1, 3, 4], [2], q=0.25) == 1.0
    assert quantile(0.0, [1, 3, 4], [2], q=0.6) == 3.0
    assert quantile(0.0, [1, 3, 4], [2], q=0.7) == 4.0


def test_one_that_ended_counts_before_one_that_runs_as_long() -> None:
    """S(5) is one half: of the other one it is not known."""
    assert quantile(0.0, [5.0], [5.0], q=0.5) == 5.0
    assert quantile(0.0, [5.0], [5.0], q=0.75) == math.inf


def test_too_few_observations_mean_that_it_stays() -> None:
    """Those longer than its age count, and only ended ones."""
    assert quantile(0.0, [10, 20, 30], least=3) == 20.0
    assert quantile(10.0, [10, 20, 30], least=3) == math.inf
    assert quantile(0.0, [10, 20], [30], least=3) == math.inf
    assert quantile(0.0, []) == math.inf


PAST = Lifetimes(
    group=np.array([0, 0, 0, 1]),
    seconds=np.array([100.0, 200.0, 300.0, 7.0]),
    ended=np.array([True, True, True, True]),
)


def ends(settings: LifetimeSettings | None, *rows: tuple[int, float, float]) -> list[float]:
    """Of servers (group, began, duration), at 1000."""
    group, began, duration = (np.array(column) for column in zip(*rows, strict=True))
    residents = Residents(group=group, began=began.astype(float), duration=duration.astype(float))
    return assumed_ends(residents, PAST, 1000.0, settings).tolist()


def test_a_server_is_assumed_to_stay_where_the_operator_does_not_ask_for_a_quantile() -> None:
    assert ends(None, (0, 950.0, NONE)) == [math.inf]


def test_each_server_is_compared_with_its_own_group() -> None:
    """Flavor and project: a group without observations stays."""
    assert ends(HALF, (0, 950.0, NONE), (1, 995.0, NONE), (2, 950.0, NONE)) == [
        1150.0,
        1002.0,
        math.inf,
    ]


def test_a_stated_duration_is_believed_to_that_point() -> None:
    """Also without a quantile; behind that point it is a server as any other."""
    assert ends(None, (0, 950.0, 60.0), (0, 950.0, 50.0)) == [1010.0, math.inf]
    assert ends(HALF, (0, 850.0, 160.0), (0, 850.0, 150.0)) == [1010.0, 1050.0]
