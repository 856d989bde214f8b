# SPDX-License-Identifier: Apache-2.0
"""Jobs of a log as submissions to queues."""

import numpy as np
import pytest

from nova_market.errors import BadWorkload
from nova_market.sim.job.submission import at_once, from_log
from nova_market.sim.workload.swf import read_log
from tests.support.simulated_jobs import submissions

LINES = (
    '1 100 -1 50 1 -1 -1 1 60 1024 1 7 1 1 3 8 -1 -1',
    '2 130 -1 0 5 -1 -1 5 0 -1 1 9 1 1 -1 4 -1 -1',
    '3 190 -1 30 8 -1 -1 8 10 2048 1 7 1 1 3 8 -1 -1',
)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / 'a.swf'
    path.write_text('\n'.join(LINES) + '\n', encoding='utf-8')
    return read_log(path)


def test_where_jobs_come_from_is_read(log):
    """User, queue and partition of each, -1 where the log does not know."""
    assert log.origins['user'].tolist() == [7, 9, 7]
    assert log.origins['queue'].tolist() == [3, -1, 3]
    assert log.origins['partition'].tolist() == [8, 4, 8]
    assert log.take(np.array([1, 2])).origins['partition'].tolist() == [4, 8]


def test_jobs_of_a_log_are_submitted_from_0_on(log):
    """One queue; the limit is the estimate, at least the run."""
    jobs = from_log(log, host_cores=8)
    assert jobs.submit.tolist() == [0, 30, 90] and jobs.run.tolist() == [50, 0, 30]
    assert jobs.time_limit.tolist() == [60, 0, 30] and jobs.queues == ('all',)
    assert jobs.servers.tolist() == [1, 1, 1] and jobs.cores.tolist() == [1, 5, 8]
    assert not jobs.memory_mib.any() and not jobs.best_effort.any()


@pytest.mark.parametrize(
    ('host', 'servers', 'cores'), [(4, [1, 2, 2], [1, 3, 4]), (3, [1, 2, 3], [1, 3, 3])]
)
def test_a_job_that_is_wider_than_a_host_is_a_gang(log, host, servers, cores):
    """Of as few equal servers as it can be: 5 processors are 2 servers of 3, 8 are 3 of 3."""
    jobs = from_log(log, host_cores=host)
    assert jobs.servers.tolist() == servers and jobs.cores.tolist() == cores


def test_queues_are_numbers_of_a_column(log):
    """In their order."""
    jobs = from_log(log, host_cores=8, grouping='partition')
    assert jobs.queues == ('partition 4', 'partition 8') and jobs.queue.tolist() == [1, 0, 1]
    with pytest.raises(BadWorkload, match="queues by 'colour': give none, user,"):
        from_log(log, host_cores=8, grouping='colour')


def test_memory_is_that_of_all_processors_of_a_server(log):
    """1 MiB each, 0 where the log does not know."""
    assert from_log(log, host_cores=4, memory=True).memory_mib.tolist() == [1, 0, 8]


def test_all_at_once_keeps_the_order(log):
    """As experiments 3 and 4 of SVMSched submit them."""
    jobs = at_once(from_log(log, host_cores=8))
    assert jobs.submit.tolist() == [0, 0, 0] and jobs.number.tolist() == [1, 2, 3]


def test_some_jobs_keep_their_queues(log):
    """The queues stay, also those that are empty then."""
    jobs = from_log(log, host_cores=8, grouping='user').take(np.array([1]))
    assert jobs.queues == ('user 7', 'user 9') and jobs.queue.tolist() == [1]


@pytest.mark.parametrize(
    ('jobs', 'text'),
    [
        ([{'run': -1}], 'job 1: -1 s'),
        ([{'run': 2, 'limit': 1}], 'within a limit of 1 s'),
        ([{'servers': 0}], 'on 0 servers'),
        ([{'queue': 1}], 'in queue 1 of 1'),
        ([{'submit': 2}, {'submit': 1}], 'job 2 was submitted before'),
    ],
)
def test_jobs_that_cannot_be_are_named(jobs, text):
    """With the number that is wrong."""
    with pytest.raises(BadWorkload, match=text):
        submissions(*jobs)
