# SPDX-License-Identifier: Apache-2.0
"""What an offer on a new worker promises of its start (rules O1 and T2)."""

import json

import numpy as np
import pytest

from nova_market.core.job.queue import StoredWorker
from nova_market.core.job.record import StoredAttempt
from nova_market.core.job.start_time import (
    KEPT,
    START_SECONDS,
    Start,
    StartTimes,
    document_of,
    measured_starts,
    start_bound,
    start_times_from,
)


def worker(name, made=0.0, flavor='small'):
    return StoredWorker(
        id=name, queue_id='q', flavor=flavor, cores=1.0, memory_mib=1.0, created_at=made
    )


def attempt(of, decided, began, number=1):
    return StoredAttempt(
        job_id='j', number=number, worker_id=of, created_at=decided, started_at=began
    )


@pytest.mark.parametrize(
    ('seconds', 'promised'),
    [
        ((), START_SECONDS),
        ((7.0,), 7.0),
        ((9.0, 1.0, 5.0), 9.0),
        (range(1, 9), 8.0),  # too few for one in ten: the longest
        (range(1, 20), 18.0),  # 20 x 0.9
        (range(1, 51), 46.0),  # 51 x 0.9, rounded up
    ],
)
def test_the_bound_is_of_nine_in_ten(seconds, promised):
    """By hand: the k-th of n, k = ceil((n + 1) * .9)."""
    assert start_bound(float(one) for one in seconds) == promised


def test_a_start_is_of_a_worker_that_was_made_for_the_attempt():
    """Not of one that was there, nor of one whose job has not begun, nor of one that is gone."""
    workers = {
        one.id: one for one in (worker('new', 10.0), worker('old'), worker('big', 10.0, 'large'))
    }
    attempts = [
        attempt('new', 10.0, 45.0), attempt('new', 60.0, 61.0, number=2), attempt('old', 10.0, 12.0),
        attempt('big', 10.0, 0.0), attempt('gone', 10.0, 20.0),
    ]  # fmt: skip
    assert measured_starts(attempts, workers) == {'small': [Start(45.0, 'new', 35.0)]}


def test_each_worker_counts_once_and_the_last_ones_are_kept():
    """In whichever pass they are seen; so a job that runs for hours is one start."""
    made = [Start(float(n), f'w{n}', float(n)) for n in range(KEPT + 20)]
    times = StartTimes()
    for n in range(0, len(made), 5):
        seen = made[max(n - 10, 0) : n + 5]
        times = times.extended({'small': seen}).extended({'small': seen})
    assert times.of['small'] == tuple(made[-KEPT:])
    assert times.extended({'small': made[:3]}) == times
    assert start_times_from(json.loads(json.dumps(document_of(times)))) == times


def test_a_flavor_without_a_start_has_the_bound_of_all():
    """And one with starts its own."""
    times = StartTimes().extended(
        {'small': [Start(1.0, 'a', 20.0)], 'large': [Start(2.0, 'b', 90.0)]}
    )
    assert times.bounds() == {'small': 20.0, 'large': 90.0} and times.usual() == 90.0


@pytest.mark.parametrize('name', ['lognormal', 'two images', 'slower all day'])
def test_a_promise_is_broken_by_one_in_ten(name):
    """5,000 starts, one after the other, of a cloud whose start times vary; a median is broken by half."""
    rng = np.random.default_rng(7)
    count = 5000
    series = {
        'lognormal': rng.lognormal(np.log(40.0), 0.5, count),
        'two images': np.where(rng.random(count) < 0.3, 90.0, 30.0) + rng.normal(0.0, 3.0, count),
        'slower all day': rng.lognormal(np.log(40.0), 0.3, count) * np.linspace(1.0, 4.0, count),
    }[name]
    broken, by_median, times = 0, 0, StartTimes()
    for n, seconds in enumerate(series.tolist()):
        if n >= KEPT:
            broken += seconds > times.usual()
            by_median += seconds > float(np.median([one.seconds for one in times.of['x']]))
        times = times.extended({'x': [Start(float(n), f'w{n}', seconds)]})
    assert broken / (count - KEPT) <= 0.12 and by_median / (count - KEPT) > 0.45
