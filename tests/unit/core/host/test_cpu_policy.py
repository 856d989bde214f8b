# SPDX-License-Identifier: Apache-2.0
"""Which virtual CPUs are dedicated: one answer for Nova's API, the market's rounds and libvirt."""

import pytest

from nova_market.core.host.cpu_policy import dedicated_cpus, has_dedicated_cpus


@pytest.mark.parametrize(
    ('specs', 'dedicated'),
    [
        ({}, False),
        ({'hw:cpu_policy': 'shared'}, False),
        ({'hw:cpu_policy': 'dedicated'}, True),
        ({'hw:cpu_policy': ' Dedicated '}, True),
        ({'hw:cpu_policy': 'mixed'}, True),
        ({'hw:cpu_realtime': 'yes'}, True),
        ({'hw:cpu_realtime': 'T'}, True),
        ({'hw:cpu_realtime': 'no'}, False),
    ],
)
def test_pinned_mixed_and_realtime_servers_have_dedicated_cpus(specs, dedicated):
    """Their CPU weight is left alone, whatever part of them is pinned."""
    assert has_dedicated_cpus(specs) is dedicated


@pytest.mark.parametrize(
    ('specs', 'count'),
    [
        ({}, 0),
        ({'hw:cpu_policy': 'dedicated'}, 8),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '0-2,5'}, 4),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '^0-1'}, 6),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '0-5, ^3'}, 5),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '^3,0-5'}, 7),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_realtime_mask': '^0'}, 7),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '6-20'}, 2),
        ({'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': 'some'}, 0),
        ({'hw:cpu_policy': 'shared', 'hw:cpu_dedicated_mask': '0-2'}, 0),
    ],
)
def test_dedicated_cpus_are_counted_as_placement_does(specs, count):
    """All of a pinned server, those in the mask of a mixed one."""
    assert dedicated_cpus(specs, 8) == count
