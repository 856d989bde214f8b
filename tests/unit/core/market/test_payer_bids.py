# SPDX-License-Identifier: Apache-2.0
"""What the bids of a payer add up to is exact, whatever the sum (B2)."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.market.currency_step import payer_bids

bid = st.integers(0, MAX_AMOUNT) | st.integers(MAX_AMOUNT - 3, MAX_AMOUNT)
servers = st.lists(st.tuples(st.integers(0, 3), bid, bid, st.booleans()), max_size=60)


def inputs(found):
    """found: (payer, CPU bid, memory bid, whether memory is sold there) of each server."""
    columns = list(zip(*found, strict=True)) or [()] * 4
    payer, cpu, memory, sold = (np.array(one, dtype=np.int64) for one in columns)
    buyable = np.array([np.ones(len(payer)), sold], dtype=np.bool_)
    return SimpleNamespace(
        snapshot=SimpleNamespace(payer=payer, buyable=buyable),
        bids=SimpleNamespace(bids=np.array([cpu, memory])),
        payers=tuple('abcd'),
    )


@given(servers)
def test_sums_of_bids_are_exact(found):
    """Python's integers know no limit; what is not sold does not count."""
    expected = [0] * 4
    for payer, cpu, memory, sold in found:
        expected[payer] += cpu + (memory if sold else 0)
    assert payer_bids(inputs(found)) == expected


def test_a_sum_beyond_two_to_the_63():
    """2,000 servers that bid all there is."""
    found = [(1, MAX_AMOUNT, MAX_AMOUNT - 1, True)] * 2000
    assert payer_bids(inputs(found)) == [0, 2000 * (2 * MAX_AMOUNT - 1), 0, 0]
    assert 2000 * (2 * MAX_AMOUNT - 1) > 2**63
