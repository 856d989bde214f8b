# SPDX-License-Identifier: Apache-2.0
"""Sustainable bids (B3): what payers can spend for ever, and how their servers without a bid share it."""

from typing import ClassVar

import numpy as np
import pytest

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import account
from nova_market.core.market.sustainable_bid import Means, default_bids, means_of

RED, BLUE, WEB = account('project', 'red'), account('project', 'blue'), account('budget', 'web')
CAPACITY = np.array([8.0, 8192.0])


def whole(*values):
    return np.array(values, dtype=np.int64)


def means(wealth, balance=None, committed=None, cycle=10):
    return Means(
        wealth=whole(*wealth),
        balance=whole(*(balance or wealth)),
        cycle=cycle,
        committed=whole(*(committed or [0] * len(wealth))),
    )


def bids(found, payer, caps, unset=None, capacity=CAPACITY):
    caps = np.array(caps, dtype=float)
    chosen = np.ones(caps.shape, dtype=bool) if unset is None else np.array(unset, dtype=bool)
    return default_bids(found, np.array(payer, dtype=np.intp), caps, chosen, capacity)


def test_a_cycle_of_wealth_is_split_by_what_servers_can_use():
    """1000 over 10 periods: 100 a period; 12 of 8 cores and 4 of 8 GiB are wanted: three quarters for CPU."""
    found = bids(means([1000]), [0, 0], [[4, 8], [1024, 3072]])
    assert found.load.tolist() == [1.5, 0.5]
    assert found.bids.tolist() == [[25, 50], [6, 19]]
    assert found.bids.sum() == found.amount[0] == 100


def test_what_is_left_of_a_division_goes_to_the_largest_remainders():
    """Equal ones by row, to the last micro-credit."""
    found = bids(means([1000]), [0, 0, 0], [[2, 2, 2], [0, 0, 0]])
    assert found.bids.tolist() == [[34, 33, 33], [0, 0, 0]]


def test_bids_that_are_set_come_first():
    """30 of 100 are bid for one server's CPU, to which nothing is added; the others share 70."""
    unset = [[False, True], [True, True]]
    found = bids(means([1000], committed=[30]), [0, 0], [[4, 4], [1024, 1024]], unset)
    assert found.bids[0, 0] == 0
    assert found.bids.sum() == 70


@pytest.mark.parametrize('committed', [99, 100, 5000])
def test_bids_that_are_set_leave_the_others_a_hundredth(committed):
    """Half of what the servers can use has no bid: it would get 500 of 1000, and gets 5 at least."""
    unset = [[False, True], [False, True]]
    found = bids(means([10_000], committed=[committed * 10]), [0, 0], [[4, 4], [0, 0]], unset)
    assert found.bids[0].tolist() == [0, max(1000 - 10 * committed, 5)]


def test_no_more_is_bid_than_is_there():
    """Most of the wealth is on its way back: 8 are left, of which 3 are bid for others."""
    found = bids(means([1000], balance=[8], committed=[3]), [0], [[4], [1024]])
    assert found.bids.sum() == 5


def test_projects_with_equal_wealth_bid_the_same_for_each_resource():
    """To a micro-credit, whether one has many servers or few."""
    found = bids(means([60_000, 60_000]), [0, 1, 1], [[4, 2, 2], [1024, 4096, 1024]])
    cpu, memory = found.bids
    assert cpu[0] == pytest.approx(cpu[1] + cpu[2], abs=1)
    assert memory[0] == pytest.approx(memory[1] + memory[2], abs=1)


def test_nothing_is_bid_for_what_is_not_sold():
    """All of it goes to the other resource."""
    found = bids(means([1000]), [0], [[4], [1024]], capacity=np.array([8.0, 0.0]))
    assert found.bids.tolist() == [[100], [0]]
    assert bids(means([1000]), [0], [[4], [1]], capacity=np.zeros(2)).bids.sum() == 0


def test_large_amounts_are_split_to_a_micro_credit_or_two():
    """2**53 is the largest that an account may hold; what is split never exceeds it."""
    found = bids(means([2**53], cycle=1), [0] * 3, [[1, 2, 4], [512, 256, 128]])
    assert 0 <= 2**53 - int(found.bids.sum()) <= 32


class TestMeans:
    """What payers can spend."""

    ACCOUNTS: ClassVar = {
        RED: Account(id=RED, project_id='red', balance=100, weight=3.0),
        BLUE: Account(id=BLUE, project_id='blue', balance=200, weight=1.0),
        WEB: Account(id=WEB, project_id='red', balance=40, renew_amount=60, renew_every=6),
    }

    def means(self, payers, spent, coming=None, pool=0):
        return means_of(payers, whole(*spent), self.ACCOUNTS, coming or {}, pool, 5)

    def test_charges_return_to_the_project(self):
        found = self.means([WEB, BLUE], [0, 0], {'blue': 50, 'red': 70})
        assert found.wealth.tolist() == [40, 250]
        assert found.sustainable.tolist() == [8, 50]

    def test_the_bank_is_divided_by_weight(self):
        assert self.means([RED, BLUE], [0, 0], pool=8).wealth.tolist() == [106, 202]

    def test_a_renewing_budget_draws_on_its_project(self):
        """As fast as it spends, at most its target in an interval; what it spends in one lies in it."""
        found = self.means([WEB, RED], [7, 1])
        assert found.committed.tolist() == [7, 1 + 7]
        assert found.wealth.tolist() == [40, 100 + 40 - 7 * 6]
        assert self.means([WEB, RED], [99, 1]).committed.tolist() == [99, 1 + 10]
