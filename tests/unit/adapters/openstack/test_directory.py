# SPDX-License-Identifier: Apache-2.0
"""How often Nova is asked for flavors, and which of them everybody may know."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from keystoneauth1 import exceptions as keystone_errors

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.openstack.directory import (
    FAILURE_SECONDS,
    FLAVOR_SECONDS,
    UNKNOWN_SECONDS,
    ComputeDirectory,
)
from nova_market.errors import CloudUnavailable

TIMEOUT = 10.0
"""Seconds until Nova is known not to answer."""


class Compute:
    """Nova's list of flavors for an administrator: all, or the public ones and those of his own project."""

    def __init__(self, clock):
        self._clock = clock
        self.flavor_list = []
        self.asked = 0
        self.away = False
        self.add('small', 'public')

    def add(self, name, access):
        self.flavor_list.append((name, access))

    def flavors(self, details, is_public):
        assert details
        self.asked += 1
        if self.away:
            self._clock.advance(TIMEOUT)
            raise keystone_errors.ConnectFailure('nobody answers')
        for name, access in self.flavor_list:
            if is_public is None or access in ('public', 'service'):
                yield SimpleNamespace(
                    name=name,
                    id=f'id-{name}',
                    vcpus=2,
                    ram=1024,
                    disk=4,
                    ephemeral=0,
                    swap=0,
                    is_public=access == 'public',
                )


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def nova(clock):
    return Compute(clock)


@pytest.fixture
def directory(clock, nova):
    return ComputeDirectory(lambda: SimpleNamespace(compute=nova), clock.monotonic)


def test_flavors_are_read_once_in_five_minutes(directory, nova, clock):
    """By name and by id; a change is seen after that."""
    for name in ('small', 'id-small', 'small'):
        assert directory.flavor(name) == (2.0, 1024.0)
    assert nova.asked == 1
    clock.advance(FLAVOR_SECONDS)
    directory.flavor('small')
    assert nova.asked == 2


def test_a_nova_that_is_away_costs_one_timeout(directory, nova, clock):
    """Not one for each of eight threads: the failure is remembered for a while, then Nova is asked again."""
    nova.away = True
    begun = clock.monotonic()

    def ask(_):
        with pytest.raises(CloudUnavailable, match='nobody answers'):
            directory.flavor('small')

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ask, range(8)))
    assert (nova.asked, clock.monotonic() - begun) == (1, TIMEOUT)
    nova.away = False
    ask(0)
    clock.advance(FAILURE_SECONDS)
    assert directory.flavor('small') == (2.0, 1024.0)
    assert nova.asked == 2


def test_what_is_known_is_returned_without_nova(directory, nova, clock):
    """Until it is too old; only for a name that is not known Nova is needed."""
    directory.flavor('small')
    nova.away = True
    clock.advance(UNKNOWN_SECONDS)
    with pytest.raises(CloudUnavailable):
        directory.flavor('new')
    assert directory.flavor('small') == (2.0, 1024.0)


def test_names_that_nobody_knows_do_not_list_all_flavors_each(directory, nova, clock):
    """Somebody tries names: one list in ten seconds. A flavor that was just made is found after that."""
    for number in range(100):
        assert directory.flavor(f'guess-{number}') is None
    assert nova.asked == 1
    nova.add('new', 'public')
    assert directory.flavor('new') is None
    clock.advance(UNKNOWN_SECONDS)
    assert directory.flavor('new') == (2.0, 1024.0)
    assert nova.asked == 2


@pytest.mark.parametrize('access', ['somebody', 'service'])
def test_private_flavors_are_not_returned(directory, nova, access):
    """Of another project, or of the service's own: what they hold is not for everybody."""
    nova.add('secret', access)
    assert directory.flavor('secret') is None
    assert directory.flavor('id-secret') is None
    assert directory.flavor('small') == (2.0, 1024.0)
