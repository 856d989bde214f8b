# SPDX-License-Identifier: Apache-2.0
"""Rule L10: what counts of a lease, and which booking exceeds what."""

import pytest

from nova_market.core.lease.limit import LeaseLimits, LeaseQuota, Span, ahead_of, cores_of, problem

HOUR = 3600.0
TOTAL = (100.0, 1000.0, 500.0)
"""Cores, MiB and GiB of all hosts."""


def span(start=0.0, end=HOUR, cores=0.0, memory=0.0, disk=0.0, **more):
    return Span(start=start, end=end, amounts=(cores, memory, disk), **more)


def quota(now=0.0, total=TOTAL, **limits):
    return LeaseQuota(limits=LeaseLimits(**limits), total=total, now=now)


@pytest.mark.parametrize(
    ('taken', 'cores'),
    [
        (span(cores=10), 10.0),
        (span(cores=10, memory=500), 50.0),
        (span(memory=1), 0.1),
        (span(cores=1, disk=500), 100.0),
        (span(), 0.0),
    ],
)
def test_a_lease_counts_as_its_greatest_part_of_the_cloud(taken, cores):
    """All of the memory is all of the cloud; where the hosts are not known, cores count."""
    assert cores_of(taken, quota()) == pytest.approx(cores)
    assert cores_of(taken, quota(total=(0.0, 0.0, 0.0))) == taken.amounts[0]


def test_what_has_passed_is_not_ahead():
    """Of a lease that lasts, only the rest; of one that is past its end, nothing."""
    spans = [span(0, 4 * HOUR, cores=2), span(8 * HOUR, 9 * HOUR, cores=5), span(0, HOUR, cores=9)]
    found = ahead_of(spans, quota(now=3 * HOUR))
    assert (found.leases, found.core_seconds, found.cores) == (3, 7 * HOUR, 5.0)
    assert ahead_of([], quota()).core_seconds == 0.0


def test_one_lease_after_another_is_not_at_once():
    """A begin at an end takes nothing more."""
    spans = [span(0, HOUR, cores=6), span(HOUR, 2 * HOUR, cores=7), span(0, HOUR, cores=1)]
    assert ahead_of(spans, quota()).cores == 7.0
    assert problem(span(HOUR, 2 * HOUR, cores=3), spans, [], quota(part=0.1)) == ''
    assert problem(span(HOUR - 1, 2 * HOUR, cores=4), spans, [], quota(part=0.1)) != ''


@pytest.mark.parametrize(
    ('limits', 'words'),
    [
        ({'core_seconds': 9 * HOUR}, 'takes 5 core-hours, the project has 5 ahead and may have 9'),
        ({'part': 0.09}, 'takes 5 cores, the project has up to 5 meanwhile, of at most 9'),
        ({'cloud_part': 0.29}, 'all leases have up to 25 meanwhile, of at most 29'),
        (
            {'cloud_core_seconds': 29 * HOUR},
            'all leases have 25 ahead and may have 29 ([leases]max_cloud_',
        ),
        ({'core_seconds': 10 * HOUR, 'part': 0.1}, ''),
        ({'cloud_core_seconds': 30 * HOUR, 'cloud_part': 0.3}, ''),
        ({}, ''),
    ],
)
def test_each_limit_is_named_with_what_there_is(limits, words):
    """What is exactly a limit is allowed."""
    own, others = [span(cores=5)], [span(cores=20)]
    found = problem(span(cores=5), own, others, quota(**limits))
    assert words in found and bool(found) == bool(words)


def test_leases_that_are_on_no_host_of_ours_take_no_part_of_them():
    """Blazar's; they count as core-hours."""
    far = span(cores=90, placed=False)
    assert problem(far, [], [], quota(part=0.1, cloud_part=0.1)) == ''
    assert problem(span(cores=5), [far], [], quota(part=0.1)) == ''
    assert problem(far, [], [], quota(core_seconds=HOUR)) != ''


def test_a_lease_that_takes_no_more_than_before_may_stay_above_a_limit():
    """The operator has lowered it meanwhile."""
    strict = quota(core_seconds=HOUR)
    assert problem(span(cores=4), [], [], strict, before=span(cores=5)) == ''
    assert problem(span(cores=6), [], [], strict, before=span(cores=5)) != ''


@pytest.mark.parametrize(
    ('limits', 'bounded'),
    [
        ({}, False),
        ({'core_seconds': 1.0}, True),
        ({'part': 0.5}, True),
        ({'cloud_part': 0.5}, False),
        ({'cloud_core_seconds': 1.0}, False),
    ],
)
def test_what_bounds_a_project(limits, bounded):
    """Its part of what all may have together does not: one project may take all of that."""
    assert LeaseLimits(**limits).bounds_projects is bounded
