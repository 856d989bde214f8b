# SPDX-License-Identifier: Apache-2.0
"""Where bids come from (B1) and what payers can pay (B2)."""

import numpy as np
import pytest

from nova_market.core.market.bid import ABSENT, BidSource, affordable, bid_from, resolved
from nova_market.errors import BadAmount


def test_first_source_that_speaks_wins_per_resource():
    tenant = np.array([[5, ABSENT, ABSENT, ABSENT]] * 2)
    server = np.array([[6, 6, ABSENT, ABSENT], [ABSENT] * 4])
    flavor = np.array([[7, 7, 7, ABSENT]] * 2)
    bids, source = resolved([tenant, server, flavor])
    assert bids.tolist() == [[5, 6, 7, 0], [5, 7, 7, 0]]
    assert source[0].tolist() == [
        BidSource.TENANT,
        BidSource.SERVER,
        BidSource.FLAVOR,
        BidSource.SUSTAINABLE,
    ]


def test_a_bid_of_zero_is_a_bid():
    zero, absent = np.zeros((2, 1), dtype=np.int64), np.full((2, 1), ABSENT)
    bids, source = resolved([zero, absent, absent])
    assert bids.tolist() == [[0], [0]]
    assert source.tolist() == [[BidSource.TENANT], [BidSource.TENANT]]


def test_extra_specs():
    assert bid_from({'market:bid_cpu': '1.5', 'hw:cpu_policy': 'dedicated'}) == (1_500_000, ABSENT)


@pytest.mark.parametrize(
    ('specs', 'text'),
    [
        ({'market:bid_cpu': '-1'}, 'market:bid_cpu is'),
        ({'market:bid_memory': 'NaN'}, 'market:bid_memory is'),
        ({'market:bid_disk': '1'}, "'market:bid_disk' is no bid"),
    ],
)
def test_bad_extra_specs_are_named(specs, text):
    with pytest.raises(BadAmount, match=text):
        bid_from(specs)


def test_enough_is_left_alone():
    bids = np.array([[10, 20], [0, 30]])
    scaled, short = affordable(bids, np.array([0, 0]), np.array([60]))
    assert scaled.tolist() == bids.tolist()
    assert len(short) == 0


def test_scaled_together_to_what_is_there():
    bids = np.array([[1000, 2000, 500], [1000, 2000, 500]])
    scaled, short = affordable(bids, np.array([0, 0, 1]), np.array([3000, 10**6]))
    assert short.tolist() == [0]
    assert scaled[:, 2].tolist() == [500, 500]
    assert 2996 <= scaled[:, :2].sum() <= 3000


def test_never_above_the_balance_where_floats_are_coarse():
    """Sums beyond 2**53 are rounded, in favour of the balance."""
    bids = np.full((2, 501), 2**53 - 1)
    for have in (2**53, 2**61 + 1, 2 * 501 * (2**53 - 1) - 1):
        scaled, short = affordable(bids, np.zeros(501, dtype=np.intp), np.array([have]))
        assert short.tolist() == [0]
        assert sum(int(b) for b in scaled.ravel()) <= have


def test_balance_below_zero_counts_as_nothing():
    assert not affordable(np.array([[5], [5]]), np.array([0]), np.array([-7]))[0].any()
