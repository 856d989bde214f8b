# SPDX-License-Identifier: Apache-2.0
"""Whatever somebody else has written, a decoder reads it or refuses it, in bounded time and memory.

The inputs are the same in each run. `tox -e fuzz` tries more of them than the tier nightly does.
"""

import contextlib
import time

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.limits import EXAMPLES, SECONDS, SLOWEST
from tests.fuzz.mutation import nearly
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize('name', sorted(TARGETS))
def test_a_decoder_reads_one_of_its_examples(name):
    """The others are refused by the error that callers expect: what is tried is nearly right."""
    target = TARGETS[name]
    read = 0
    for seed in target.seeds:
        with contextlib.suppress(*target.errors):
            target.decode(seed)
            read += 1
    assert read


@pytest.mark.nightly
@pytest.mark.usefixtures('bounded_memory', 'no_network')
@pytest.mark.parametrize('name', sorted(TARGETS))
def test_a_decoder_raises_nothing_else_and_comes_to_an_end(name, record_property):
    target = TARGETS[name]
    ends = time.monotonic() + SECONDS
    tried = []

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(nearly(target.seeds))
    def try_one(data):
        if time.monotonic() > ends:
            return
        began = time.thread_time()
        with contextlib.suppress(*target.errors):
            target.decode(data)
        tried.append(time.thread_time() - began)
        assert tried[-1] < SLOWEST

    try_one()
    record_property('examples', len(tried))
    record_property('slowest', max(tried, default=0.0))
