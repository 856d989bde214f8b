# SPDX-License-Identifier: Apache-2.0
"""What guests get by allocations, tempered by heaviness, and when the market is silent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.exchange.allocation_messages import AllocationMessage
from nova_market.core.exchange.received_allocations import (
    EXPIRED,
    FAINT,
    MAX_LIFE,
    NOTHING,
    OVERTAKEN,
    EffectiveAllocations,
    ReceivedAllocations,
)
from nova_market.core.fairness.host_division import (
    by_allocations,
    cpu_values,
    memory_ceilings,
    tempered,
)
from nova_market.core.market.inventory import Allocation
from tests.support.host_builders import MIB, guest

UNIT = 1024.0


def granted(strength=1.0, **cores):
    """Cores by guest, with 64 MiB each."""
    return EffectiveAllocations(
        engine='engine1',
        period=7,
        strength=strength,
        allocations={
            name: Allocation(server_id=name, cores=n, memory_mib=64.0) for name, n in cores.items()
        },
    )


def base(guests):
    return np.array([g.base_shares or g.vcpus * UNIT for g in guests], dtype=float)


def values(guests, given):
    return cpu_values(guests, given, base(guests), UNIT).tolist()


def test_everybody_has_all():
    """Then the market changes nothing: 1024 for each vCPU."""
    guests = [guest('a', 'd'), guest('b', 'e', vcpus=4)]
    assert values(guests, granted(a=1.0, b=4.0)) == [1024.0, 4096.0]
    assert values(guests, NOTHING) == [1024.0, 4096.0]


def test_cores_are_weights():
    guests = [guest(name, 'd') for name in 'abc']
    assert values(guests, granted(a=0.5, b=1 / 3, c=0.0)) == [512.0, pytest.approx(1024 / 3), 0.0]


def test_newcomer_gets_the_average_per_vcpu():
    """Starting a server anew in every period gains nothing over those that pay."""
    guests = [guest('a', 'd', vcpus=2), guest('b', 'd', vcpus=2), guest('new', 'e')]
    assert values(guests, granted(a=1.5, b=0.5)) == [1536.0, 512.0, 512.0]


def test_a_silent_market_leaves_the_base_values():
    """Half strength is half way, also to what a flavor asks for."""
    guests = [guest('a', 'd', base_shares=200), guest('b', 'e')]
    assert values(guests, granted(0.5, a=0.5, b=0.25)) == [356.0, 640.0]
    assert values(guests, granted(0.0, a=0.5, b=0.25)) == [200.0, 1024.0]


def test_combined_keeps_the_sum_and_moves_by_heaviness():
    shares = np.array([600.0, 400.0])
    x = np.log([2.0, 1.0])
    assert tempered(shares, x).tolist() == pytest.approx([750.0, 250.0])
    guests = [guest('a', 'd'), guest('b', 'e')]
    division = by_allocations(guests, granted(a=0.6, b=0.4), base(guests), UNIT, x)
    assert division.shares.tolist() == pytest.approx([768.0, 256.0])
    assert division.weights.tolist() == pytest.approx([1.5, 0.5])


def test_nothing_allocated_to_anybody():
    """Weights stay numbers; the actuator's least value is what is set."""
    guests = [guest('a', 'd'), guest('b', 'e')]
    division = by_allocations(guests, granted(a=0.0, b=0.0), base(guests), UNIT, np.zeros(2))
    assert division.shares.tolist() == [0.0, 0.0]
    assert division.weights.tolist() == [1.0, 1.0]
    assert by_allocations([], granted(), np.zeros(0), UNIT).weights.tolist() == []


def test_memory_is_protected_up_to_the_allocation():
    """Never beyond what the guest has; all of it when the market says nothing of it."""
    guests = [guest('a', 'd'), guest('small', 'd', memory_bytes=32 * MIB), guest('new', 'e')]
    assert memory_ceilings(guests, granted(a=1.0, small=1.0)).tolist() == [
        64 * MIB,
        32 * MIB,
        128 * MIB,
    ]
    assert memory_ceilings(guests, granted(0.5, a=1.0))[0] == 96 * MIB


@given(
    cores=st.lists(st.floats(0, 1e6), min_size=1, max_size=8),
    x=st.lists(st.floats(-1.5, 1.5), min_size=8, max_size=8),
    strength=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
)
def test_values_are_finite_and_follow_the_allocations(cores, x, strength):
    """More cores never mean a smaller value; the sum survives the tempering."""
    guests = [guest(str(i), 'd', vcpus=4) for i in range(len(cores))]
    given = granted(strength, **{str(i): n for i, n in enumerate(cores)})
    shares = cpu_values(guests, given, base(guests), UNIT)
    order = np.argsort(cores)
    assert np.isfinite(shares).all() and (shares >= 0).all()
    assert (np.diff(shares[order]) >= -1e-6 * UNIT).all()
    hot = tempered(shares, np.array(x[: len(cores)]))
    assert hot.sum() == pytest.approx(shares.sum())


def message(period=7, expires=100.0, **cores):
    return AllocationMessage(
        engine='engine1',
        host='a',
        period=period,
        expires=expires,
        allocations=tuple(granted(**cores).allocations.values()),
    )


def test_the_newest_period_counts():
    book = ReceivedAllocations()
    assert book.look(0.0) is NOTHING
    assert book.take(message(7, a=1.0), wall=50.0, now=0.0) == ''
    assert book.take(message(6, a=2.0), wall=50.0, now=0.0) == OVERTAKEN
    assert book.take(message(7, a=3.0), wall=50.0, now=0.0) == ''
    assert book.look(1.0).allocations['a'].cores == 3.0


def test_an_expired_message_is_refused():
    assert ReceivedAllocations().take(message(expires=100.0), wall=100.0, now=0.0) == EXPIRED


def test_each_look_after_the_end_is_half_way():
    book = ReceivedAllocations()
    book.take(message(expires=100.0, a=1.0), wall=40.0, now=1000.0)
    assert book.look(1059.9).in_force
    assert [book.look(1060.0).strength for _ in range(3)] == [0.5, 0.25, 0.125]
    looks = 0
    while book.look(1060.0) is not NOTHING:
        looks += 1
    assert looks < -np.log2(FAINT)
    assert book.take(message(3, expires=200.0), wall=150.0, now=1100.0) == ''  # counted anew


def test_the_life_of_a_message_is_bounded():
    """A clock that is wrong by years, or an engine that is, does not bind the host for years."""
    book = ReceivedAllocations()
    book.take(message(expires=1e12, a=1.0), wall=0.0, now=0.0)
    assert book.look(MAX_LIFE - 1).in_force
    assert not book.look(MAX_LIFE).in_force
