# SPDX-License-Identifier: Apache-2.0
"""Which hosts a new server may go to: what it costs there, shares."""

import dataclasses

import numpy as np
import pytest

from nova_market.core.scheduler.filters import UNKNOWN, affordable_hosts, within_share
from tests.support.scheduler_builders import ask, published, quiet, world

BOTH = np.array([0, 1])
COST = 2 * 1000 + 1024
"""Micro-credits a period for `ask()` at the prices of `quiet()`."""


def passes(snapshot, request, rows=BOTH, periods=10):
    return affordable_hosts(snapshot, request, rows, periods)[0].tolist()


@pytest.mark.parametrize(('short', 'fine'), [(0, True), (1, False)])
def test_the_last_micro_credit_decides(short, fine):
    """A project passes with exactly what so many periods cost, and not with one micro-credit less."""
    snapshot = quiet(available=np.array([10.0 * COST - short, 0.0]))
    assert passes(snapshot, ask()) == [fine, fine]


def test_what_runs_already_is_paid_first():
    """What a project's servers cost every period is not there for new ones."""
    snapshot = quiet(available=np.array([10.0 * COST, 0.0]), due=np.array([1.0, 0.0]))
    assert passes(snapshot, ask()) == [False, False]


def test_all_servers_of_a_request_count():
    """Three at once cost three times as much."""
    snapshot = quiet(available=np.array([20.0 * COST, 0.0]))
    assert passes(snapshot, ask(count=2)) == [True, True]
    assert passes(snapshot, ask(count=3)) == [False, False]


def test_the_flavor_says_for_how_long():
    """market:affordable_periods goes before the default; 0 is not asked."""
    snapshot = quiet(available=np.array([10.0 * COST, 0.0]))
    assert passes(snapshot, ask(periods=11)) == [False, False]
    assert passes(snapshot, ask(periods=0), periods=10**6) == [True, True]


def test_a_low_bid_is_all_it_costs():
    """Nobody is charged more than the bid, so a project that bids little can afford it."""
    snapshot = quiet(available=np.array([10.0 * 30, 0.0]))
    assert passes(snapshot, ask(bid=(20, 10))) == [True, True]
    assert passes(snapshot, ask(bid=(20, 11))) == [False, False]


def test_a_high_bid_costs_no_more_than_the_price():
    """The clearing price is what is charged, so a bid above it does not refuse anybody."""
    snapshot = quiet(available=np.array([10.0 * COST, 0.0]))
    assert passes(snapshot, ask(bid=(10**9, 10**9))) == [True, True]


def test_a_crowded_host_is_dearer():
    """Where bids buy half of what they buy elsewhere, twice as much is needed."""
    servers = [(0, 8000, 0, 8.0, 1.0), (0, 8000, 0, 8.0, 1.0)]
    snapshot = published(*world(servers))
    one = 10.0 * (2 * float(snapshot.price[0]) + 1024)
    snapshot = dataclasses.replace(snapshot, available=np.array([one]))
    assert passes(snapshot, ask()) == [False, True]


@pytest.mark.parametrize(
    'request_',
    [ask(market=False), ask(new=False), ask(project_id='nobody')],
    ids=['no flavor of the market', 'a server that moves', 'a project the market has not seen'],
)
def test_who_is_not_asked_passes(request_):
    """Only new servers of market flavors and of known projects are checked."""
    snapshot = quiet(available=np.zeros(2))
    assert passes(snapshot, request_) == [True, True]


def test_an_unknown_host_passes():
    """What the snapshot does not tell, refuses nothing."""
    snapshot = quiet(available=np.zeros(2))
    assert passes(snapshot, ask(), np.array([0, UNKNOWN])) == [False, True]


def test_what_a_host_has_nothing_of_is_not_sold_there():
    """Hosts of dedicated CPUs have no shared ones: memory is paid there, and more is not asked."""
    none = quiet(capacity=np.array([[0.0, 8.0], [8192.0, 8192.0]]))
    memory = 10.0 * 1024
    assert passes(none, ask()) == [True, True]
    poor = dataclasses.replace(none, available=np.array([memory, 0.0]))
    assert passes(poor, ask()) == [True, False]
    poorer = dataclasses.replace(none, available=np.array([memory - 1, 0.0]))
    assert passes(poorer, ask()) == [False, False]


def test_the_reason_names_the_project_and_the_amounts():
    """The log says who lacks what."""
    _, why = affordable_hosts(quiet(available=np.zeros(2)), ask(), BOTH, 10)
    assert 'red has 0 credits' in why
    assert '0.03024' in why


@pytest.mark.parametrize(
    ('size', 'fine'),
    [((4, 1024), True), ((5, 1024), False), ((1, 4096), True), ((1, 4097), False)],
)
def test_usage_is_the_larger_of_cpu_and_memory(size, fine):
    """SVMSched 5.3: max(mem_usage, cpu_usage) stays within the granted ratio, here a quarter."""
    snapshot = quiet(share=np.array([0.25, np.nan]))
    assert within_share(snapshot, ask(*size), BOTH)[0].tolist() == [fine, fine]


@pytest.mark.parametrize('work', ['short', 'best-effort'])
def test_short_and_best_effort_work_is_not_held_to_the_share(work):
    """SVMSched 5.4: the constraint is on long jobs."""
    snapshot = quiet(share=np.array([0.0, np.nan]))
    assert within_share(snapshot, ask(work=work), BOTH)[0].all()
    assert not within_share(snapshot, ask(), BOTH)[0].any()


def test_usage_is_of_what_is_sold():
    """B5: where no host controls memory, the share is one of the CPU."""
    sold = np.array([[True, True], [False, False]])
    capacity = np.array([[8.0, 8.0], [0.0, 0.0]])
    snapshot = quiet(share=np.array([0.25, np.nan]), sold=sold, capacity=capacity)
    assert within_share(snapshot, ask(4.0, 10**6), BOTH)[0].all()
    assert not within_share(snapshot, ask(4.1, 1.0), BOTH)[0].any()


def test_without_a_share_nothing_is_refused():
    """Neither a project without one, nor a cloud that publishes none."""
    assert within_share(quiet(share=np.array([0.0, np.nan])), ask(project_id='blue'), BOTH)[0].all()
    assert within_share(quiet(), ask(10**6), BOTH)[0].all()
