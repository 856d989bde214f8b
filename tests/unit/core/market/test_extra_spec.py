# SPDX-License-Identifier: Apache-2.0
"""The keys `market:*`: one reader of their values for rounds, scheduler, controller and nova-api."""

import math

import pytest

from nova_market.core.market.extra_spec import KEYS, UNLIMITED, check, limits
from nova_market.errors import BadAmount


def test_the_smallest_limit_of_all_texts_counts():
    """Extra specs and metadata, each resource by itself."""
    found = limits(
        {'market:max_cpu': '3', 'market:max_memory_mib': '512'}, {'market:max_cpu': '1.5'}
    )
    assert (found.cpu, found.memory_mib, found.problems) == (1.5, 512.0, ())


def test_nothing_limits_a_server_without_the_keys():
    """Other keys do not matter."""
    assert limits({'hw:cpu_policy': 'shared'}, {}) is UNLIMITED


@pytest.mark.parametrize('text', ['many', '0', '-1', 'nan', 'inf', '1e9', '1e-303', ''])
def test_a_text_that_is_no_limit_is_named_and_does_not_count(text):
    """The same texts for rounds, requests of the scheduler and applications."""
    found = limits({'market:max_cpu': text, 'market:max_memory_mib': '64'})
    assert (found.cpu, found.memory_mib) == (math.inf, 64.0)
    assert found.problems == (f'market:max_cpu is {text!r}: give cores, 0.001 to 1000000',)


def test_a_key_that_is_not_the_markets_is_refused():
    """With those there are."""
    with pytest.raises(BadAmount, match=r"'market:colour' is no key .* market:bid_cpu"):
        check('market:colour', 'red')
    check('market:class', 'short')


@pytest.mark.parametrize(
    ('name', 'value', 'fine'),
    [
        ('market:bid_cpu', '0', True),
        ('market:bid_cpu', '12.5', True),
        ('market:bid_memory', '9007199254.740992', True),
        ('market:bid_memory', '9007199254.740993', False),
        ('market:bid_cpu', '-1', False),
        ('market:bid_cpu', 'nan', False),
        ('market:bid_cpu', '0.0000001', False),
        ('market:bid_cpu', '', False),
        ('market:max_cpu', '0.5', True),
        ('market:max_cpu', '0', False),
        ('market:max_cpu', 'inf', False),
        ('market:max_memory_mib', '1e13', False),
        ('market:affordable_periods', '0', True),
        ('market:affordable_periods', '1000001', False),
        ('market:affordable_periods', '1_0', False),
        ('market:affordable_periods', '٣', False),
        ('market:class', 'short', True),
        ('market:class', 'Short', False),
        ('market:duration', '1', True),
        ('market:duration', '0', False),
        ('market:colour', 'red', False),
    ],
)
def test_a_wrong_extra_spec_is_named_with_its_range(name, value, fine):
    """What is wrong names the key, the value and what it may be."""
    if fine:
        check(name, value)
        return
    with pytest.raises(BadAmount) as error:
        check(name, value)
    assert name in str(error.value)
    assert name not in KEYS or KEYS[name].range in str(error.value)
