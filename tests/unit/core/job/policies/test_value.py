# SPDX-License-Identifier: Apache-2.0
"""`value`: worth per core-second against the market's price."""

import numpy as np

from nova_market.core.calendar.axes import amounts
from nova_market.core.job.policies.value import value
from nova_market.core.job.reason import ReasonCode, sentence
from tests.support.job_builders import Job, snapshot

PRICE = amounts(cores=1.0, memory_mib=0.001)
"""A core with 1000 MiB costs 2 micro-credits a second."""


def test_the_most_valuable_core_seconds_start_first() -> None:
    """The dearer job in all is the cheaper one per core-second."""
    jobs = [Job(cores=8, limit=1000, value=16_000), Job(cores=1, limit=1000, value=3000)]
    assert value(snapshot(jobs, hosts=(8,))).starts.tolist() == [1]


def test_a_job_below_the_price_waits() -> None:
    """Two micro-credits per core-second are asked for; one offers them exactly, one a little less."""
    jobs = [
        Job(memory=1000, limit=1000, value=2000),
        Job(cores=2, memory=2000, limit=1000, value=3500),
    ]
    found = value(snapshot(jobs, price=PRICE))
    assert found.starts.tolist() == [0]
    text = sentence(found.code[1], found.numbers[1])
    assert text == 'price: worth 1.75 micro-credits per core-second, the price is 2'


def test_a_gang_is_worth_its_value_for_all_its_servers() -> None:
    found = value(snapshot([Job(servers=4, limit=1000, value=3999)], price=amounts(cores=1.0)))
    assert found.code[0] == ReasonCode.PRICE


def test_without_a_limit_a_job_has_no_value_per_second() -> None:
    """It starts where nothing has a price."""
    jobs = [Job(limit=np.inf, value=1e9)]
    assert not len(value(snapshot(jobs, price=PRICE)).starts)
    assert value(snapshot(jobs)).starts.tolist() == [0]


def test_room_is_a_reason_too() -> None:
    found = value(snapshot([Job(cores=8), Job(cores=4)], hosts=(8,)))
    assert found.code.tolist() == [ReasonCode.NONE, ReasonCode.ROOM]
