# SPDX-License-Identifier: Apache-2.0
"""What the kernel accounts of the host as a whole."""

from pathlib import Path

import pytest

from nova_market.adapters.hypervisor.host_use import TICKS, host_use
from tests.support.hypervisor.kernel_tree import put

STAT = """cpu  999 9 9 9 9 9 9 9 0 0
cpu0 {user} 20 30 400 50 6 7 8 {guest} 0
cpu1 1 1 1 1 1 1 1 1 0 0
cpu10 5 5 5 5 5 5 5 5 0 0
intr 1 2 3
"""
MEMINFO = """MemTotal:       8000000 kB
MemAvailable:   3000000 kB
HugePages_Total:    500
Hugetlb:        1024000 kB
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path / 'proc/stat', STAT.format(user=100, guest=0))
    put(tmp_path / 'proc/meminfo', MEMINFO)
    return tmp_path


def test_only_the_cpus_of_guests_count(root: Path):
    use = host_use(root, {0}, without_dedicated=True)
    assert use.cpus == 1
    assert use.all_seconds == pytest.approx(621 / TICKS)
    assert use.busy_seconds == pytest.approx((100 + 20 + 30 + 6 + 7) / TICKS)
    assert use.stolen_seconds == pytest.approx(8 / TICKS)
    assert use.without_dedicated
    assert host_use(root, {0, 1}, without_dedicated=False).all_seconds == pytest.approx(629 / TICKS)


def test_time_of_kvm_guests_is_in_that_of_users_already(root: Path):
    put(root / 'proc/stat', STAT.format(user=100, guest=90))
    assert host_use(root, {0}, without_dedicated=True).all_seconds == pytest.approx(621 / TICKS)


def test_the_pool_of_huge_pages_is_for_guests(root: Path):
    use = host_use(root, {0}, without_dedicated=True)
    assert use.available_bytes == (3_000_000 + 1_024_000) * 1024


@pytest.mark.parametrize('missing', ['proc/stat', 'proc/meminfo'])
def test_a_kernel_that_does_not_say_it(root: Path, missing: str):
    (root / missing).unlink()
    assert host_use(root, {0}, without_dedicated=True) is None
    assert host_use(root, {7}, without_dedicated=True) is None
