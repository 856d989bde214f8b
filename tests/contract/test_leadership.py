# SPDX-License-Identifier: Apache-2.0
"""Rule F1: one engine leads, the others stand by; in files, and in a real redis that goes away."""

import logging
import time

import pytest

from nova_market.adapters import leadership
from nova_market.adapters.clock import SystemClock
from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.leadership import SoleLeader, ToozLeadership
from nova_market.errors import ConfigurationError
from tests.support.exchange.oslo import eventually

BEAT = 0.1


@pytest.fixture(
    params=['file', pytest.param('redis', marks=pytest.mark.integration('redis-server'))]
)
def url(request, tmp_path):
    if request.param == 'redis':
        return request.getfixturevalue('redis').url
    return f'file://{tmp_path}'


@pytest.fixture
def join():
    """Makes started candidates, stops them all."""
    made = []

    def make(url, name, clock=None):
        one = ToozLeadership(name, url, clock or SystemClock(), BEAT)
        one.start()
        made.append(one)
        return one

    yield make
    for one in made:
        one.stop()


def test_the_only_one_leads():
    assert SoleLeader().leading()
    assert not SoleLeader(leads=False).leading()


def test_one_of_two_leads_and_the_other_takes_over(url, join):
    first = join(url, 'a')
    assert eventually(first.leading)
    second = join(url, 'b')
    assert not eventually(second.leading, 5 * BEAT)
    first.stop()
    assert not first.leading()
    assert eventually(second.leading)


def test_who_cannot_beat_does_not_lead(tmp_path, join):
    """A leader whose process stood still for long must not act on what it thought before."""
    clock = ManualClock()
    first = join(f'file://{tmp_path}', 'a', clock)
    assert eventually(first.leading)
    # private: a thread that stands still as its process does cannot be had from outside
    first._stopping.set()
    first._thread.join(5)  # private: as above
    first._held = True  # private: as above
    clock.advance(10 * BEAT)
    assert not first.leading()


@pytest.mark.clock
def test_a_backend_that_is_not_there(join, caplog):
    """Nobody leads, nothing is raised, and it is logged once."""
    one = join('file:///proc/nowhere', 'a')
    assert eventually(lambda: 'does not answer' in caplog.text)
    assert not one.leading()
    time.sleep(3 * BEAT)
    ours = [r for r in caplog.records if r.name == leadership.__name__]
    assert len([r for r in ours if r.levelno == logging.WARNING]) == 1


def test_a_url_that_no_driver_takes():
    with pytest.raises(ConfigurationError, match='coordination_url') as caught:
        ToozLeadership('a', 'nosuch://:geheim@x', SystemClock())
    assert 'geheim' not in str(caught.value)
