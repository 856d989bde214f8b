# SPDX-License-Identifier: Apache-2.0
"""Money in a simulation: nothing is lost or made, budgets are filled, charges come back after their delay."""

import numpy as np
import pytest

from nova_market.core.ledger.money import MICRO
from nova_market.core.ledger.posting import BANK, MINT, account
from nova_market.errors import BalanceTooLow
from nova_market.sim.cloud.accounts import MoneySetting, SimulatedAccounts, budget_of

JOBS = np.array([0, 1])


def accounts(targets=(10, 20), project=(0, 0), **setting):
    made = SimulatedAccounts(
        MoneySetting(**{'total': 100 * MICRO, **setting}),
        np.array(targets) * MICRO,
        np.array(project),
    )
    made.charge(1, {})
    return made


def held(made, name):
    return made.balances().get(name, 0) / MICRO


def test_the_first_round_gives_projects_their_part():
    """A hundred credits in equal parts."""
    made = accounts(projects=2)
    assert [amount / MICRO for amount in made.projects()] == [50.0, 50.0]
    assert held(made, MINT) == -100.0


def test_a_budget_is_filled_every_period_and_given_back():
    """Ten credits at the start; what was spent comes from the project; the rest returns."""
    made = accounts(return_delay=10)
    made.open(JOBS, 2)
    assert [amount / MICRO for amount in made.available(JOBS)] == [10.0, 20.0]
    made.charge(2, {0: 4 * MICRO, 1: 20 * MICRO})
    assert [amount / MICRO for amount in made.available(JOBS)] == [10.0, 20.0]
    assert made.projects() == [46 * MICRO] and held(made, BANK) == 24.0
    made.close(JOBS, 3)
    assert made.projects() == [76 * MICRO] and budget_of(0) not in made.balances()


def test_charges_return_after_the_delay():
    """Two periods later the project has them again."""
    made = accounts(return_delay=2)
    made.open(JOBS, 2)
    made.charge(2, {1: 20 * MICRO})
    made.charge(3, {})
    assert held(made, BANK) == 20.0
    made.charge(4, {})
    assert held(made, BANK) == 0.0 and made.projects() == [70 * MICRO]


def test_a_project_that_has_nothing_fills_no_budget():
    """Fifteen credits for budgets of thirty: divided by what lacks, then nothing."""
    made = accounts(total=15 * MICRO, return_delay=50)
    made.open(JOBS, 2)
    assert [amount / MICRO for amount in made.available(JOBS)] == [10.0, 5.0]
    made.charge(2, {0: 10 * MICRO})
    assert [amount / MICRO for amount in made.available(JOBS)] == [0.0, 5.0]


def test_nobody_pays_more_than_he_has():
    """The book refuses; the round has charged more than the bids it was given."""
    made = accounts()
    made.open(JOBS, 2)
    with pytest.raises(BalanceTooLow):
        made.charge(2, {0: 11 * MICRO})


def test_grants_are_there_before_the_first_round():
    """For currencies that only pass round what there is."""
    made = SimulatedAccounts(
        MoneySetting(total=0, grant=3 * MICRO, projects=2), np.zeros(0), np.zeros(0)
    )
    assert made.projects() == [3 * MICRO, 3 * MICRO]


def test_the_sum_over_all_accounts_is_zero():
    """After any rounds, with taxes and renewals."""
    made = accounts(project=(0, 1), projects=2, tax_rate=100_000, renew_every=2, return_delay=3)
    made.open(JOBS, 2)
    rng = np.random.default_rng(1)
    for period in range(2, 30):
        due = {job: int(rng.integers(0, have + 1)) for job, have in enumerate(made.available(JOBS))}
        made.charge(period, due)
        assert sum(made.balances().values()) == 0
        others = [b for name, b in made.balances().items() if name != MINT]
        assert min(others) > 0
    made.close(JOBS, 30)
    assert account('project', 'project-000000') in made.balances()
