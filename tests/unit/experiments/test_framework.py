# SPDX-License-Identifier: Apache-2.0
"""A batch framework as an application: who starts when, and what happens to servers that are to go."""

import numpy as np
import pytest

from nova_market.errors import BadWorkload
from nova_market.experiments.simulated.framework import Framework, Jobs


def framework(submit, work, width, boot=60.0):
    jobs = Jobs(
        submit=np.array(submit, dtype=float),
        work=np.array(work, dtype=float),
        width=np.array(width),
    )
    return Framework(name='f', jobs=jobs, boot=boot)


def run(made, until, speed=1.0, since=0):
    for now in range(since, until, 20):
        made.tick(now, 20, speed)


def test_servers_come_after_their_boot():
    """And are paid for from the beginning."""
    made = framework([0.0], [100.0], [2])
    made.resize(2, 0.0)
    assert (made.servers, made.ready, made.waiting) == (2, 0, 0)
    run(made, 60)
    assert (made.ready, made.busy, made.waiting) == (0, 0, 2)
    run(made, 80, since=60)
    assert (made.ready, made.busy, made.waiting) == (2, 2, 0)


def test_nobody_passes_the_first_in_the_queue():
    """A wide job waits, and the narrow one behind it too."""
    made = framework([0.0, 0.0, 0.0], [40.0, 40.0, 40.0], [2, 4, 1], boot=0.0)
    made.resize(4, 0.0)
    run(made, 20)
    assert (made.busy, made.waiting) == (2, 5)
    run(made, 80, since=20)
    assert made.end.tolist()[:2] == [40.0, 80.0] and np.isnan(made.end[2])


def test_half_the_speed_takes_twice_the_time():
    """Work is in seconds of full servers."""
    made = framework([0.0], [100.0], [1], boot=0.0)
    made.resize(1, 0.0)
    run(made, 400, speed=0.5)
    assert made.end[0] == 200.0 and made.finished


def test_a_server_that_is_to_go_finishes_its_job():
    """Nothing new starts on it; idle ones go at once."""
    made = framework([0.0, 0.0, 100.0], [200.0, 100.0, 20.0], [1, 1, 1], boot=0.0)
    made.resize(3, 0.0)
    run(made, 20)
    made.resize(1, 20.0)
    assert made.servers == 2
    run(made, 120, since=20)
    assert made.servers == 1 and made.end[1] == 100.0 and made.waiting == 1
    run(made, 260, since=120)
    assert made.end.tolist() == [200.0, 100.0, 220.0]


def test_without_time_for_its_job_the_job_begins_again():
    """It is the next one in the queue; a wide job loses what was done on all of its servers."""
    made = framework([0.0, 0.0], [100.0, 100.0], [1, 2], boot=0.0)
    made.drain_timeout = 0.0
    made.resize(3, 0.0)
    run(made, 60)
    made.resize(2, 60.0)
    assert (made.servers, made.lost, made.waits) == (2, 120.0, [1])
    run(made, 300, since=60)
    assert made.end.tolist() == [100.0, 200.0]


def test_a_server_is_taken_back_before_its_job_has_ended():
    """No other one is asked for."""
    made = framework([0.0, 0.0], [200.0, 200.0], [1, 1], boot=0.0)
    made.resize(2, 0.0)
    run(made, 20)
    made.resize(1, 20.0)
    assert (made.servers, made.stay) == (2, 1)
    made.resize(2, 40.0)
    assert (made.servers, made.stay, made.boots) == (2, 2, {})


def test_those_that_boot_go_first():
    """They have done nothing yet."""
    made = framework([0.0], [100.0], [1])
    made.resize(1, 0.0)
    run(made, 80)
    made.resize(5, 80.0)
    assert made.servers == 5
    made.resize(2, 80.0)
    assert (made.ready, len(made.boots)) == (1, 1)


def test_jobs_out_of_order_are_refused():
    """Arrivals are searched for in order."""
    with pytest.raises(BadWorkload, match='order'):
        framework([10.0, 0.0], [1.0, 1.0], [1, 1])
