# SPDX-License-Identifier: Apache-2.0
"""L7: known answers of requested against actual."""

import numpy as np
import pytest

from nova_market.core.usage.advice import FEWEST, advice, percentile
from nova_market.core.usage.history import UsageSums
from nova_market.core.usage.use import AMOUNTS

SPAN = 60
EMPTY = UsageSums(
    keys=np.zeros(0, dtype=np.int64),
    amounts=np.zeros((0, len(AMOUNTS)), dtype=np.int64),
    asked=np.zeros((0, 2), dtype=np.int64),
)


def sums(cores, asked=20, mib=1000, asked_mib=4096, seconds=SPAN):
    """A server that used so many cores in each minute."""
    rows = [
        dict.fromkeys(AMOUNTS, 0)
        | {'seconds': seconds, 'core_ms': round(one * seconds * 1000)}
        | {'memory_mib_seconds': mib * seconds}
        for one in cores
    ]
    return UsageSums(
        keys=np.arange(len(rows)) * SPAN,
        amounts=np.array([[row[name] for name in AMOUNTS] for row in rows], dtype=np.int64),
        asked=np.array([[asked * seconds, asked_mib * seconds]] * len(rows), dtype=np.int64),
    )


def test_much_too_large():
    """6.3 cores in 95 of 100 minutes, 19 in the others: 6.3 x 1.25 = 7.875."""
    cpu, memory = advice(sums([6.3] * 95 + [19.0] * 5), SPAN)
    assert cpu.text == 'asked for 20 cores, used 6.3 at the 95th percentile: 8 would do'
    assert (cpu.asked, cpu.p95, cpu.most, cpu.would_do) == (20.0, 6.3, 19.0, 8.0)
    assert cpu.mean == pytest.approx((6.3 * 95 + 19 * 5) / 100)
    assert cpu.accuracy == pytest.approx(cpu.mean / 20)
    assert memory.text == (
        'asked for 4096 MiB of memory, used 1000 at the 95th percentile: 1280 would do'
    )
    assert memory.accuracy == pytest.approx(1000 / 4096)


@pytest.mark.parametrize(
    ('cores', 'asked', 'expected'),
    [
        ([3.0] * 20, 4, 'used 3 at the 95th percentile: that fits'),
        ([4.0] * 20, 4, 'used 4 at the 95th percentile: all of it; 5 would leave room'),
        ([0.0] * 20, 4, 'used 0 at the 95th percentile: 1 would do'),
        ([0.0] * 20, 1, 'used 0 at the 95th percentile: that fits'),
        ([1.0] * (FEWEST - 1), 4, 'too little is known to suggest another size'),
    ],
)
def test_words(cores, asked, expected):
    assert advice(sums(cores, asked), SPAN)[0].text.endswith(expected)


def test_a_lease_asks_for_all_its_time():
    cpu, _ = advice(sums([2.0] * 20, asked=2), SPAN, (10.0, 1000.0))
    assert (cpu.asked, cpu.accuracy, cpu.would_do) == (10.0, 0.2, 3.0)


def test_nothing_measured_and_nothing_asked_for():
    assert advice(EMPTY, SPAN) == ()
    assert advice(sums([1.0], seconds=0), SPAN) == ()
    assert advice(sums([1.0] * 20, asked=0), SPAN)[0].accuracy == 0.0


def test_a_span_counts_by_the_seconds_measured_in_it():
    values, weights = np.array([1.0, 5.0]), np.array([95.0, 5.0])
    assert percentile(values, weights, 0.95) == 1.0
    assert percentile(values, np.array([94.0, 6.0]), 0.95) == 5.0
