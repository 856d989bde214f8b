# SPDX-License-Identifier: Apache-2.0
"""The time that vCPUs run or wait, as the kernel counts it."""

from pathlib import Path

from nova_market.adapters.hypervisor.vcpu_time import vcpu_ready_ns
from tests.support.hypervisor.kernel_tree import put


def thread(root: Path, tid: int, name: str, schedstat: str) -> None:
    put(root / 'proc' / '7' / 'task' / str(tid) / 'comm', f'{name}\n')
    put(root / 'proc' / '7' / 'task' / str(tid) / 'schedstat', schedstat)


def test_each_vcpu_by_its_number(tmp_path: Path):
    """Not by its thread id, and without the threads that are no vCPU; an unplugged one has 0."""
    thread(tmp_path, 7, 'qemu-system-x86', '900 900 9\n')
    thread(tmp_path, 8, 'CPU 2/KVM', '5 2 1\n')
    thread(tmp_path, 9, 'CPU 0/KVM', '7 1 1\n')
    thread(tmp_path, 10, 'vnc_worker', '900 900 9\n')
    assert vcpu_ready_ns(tmp_path, 7) == (8, 0, 7)


def test_what_the_kernel_does_not_tell_is_left_out(tmp_path: Path):
    """The process has gone, a thread has, or the kernel counts nothing."""
    assert vcpu_ready_ns(tmp_path, 7) == ()
    thread(tmp_path, 8, 'CPU 0/TCG', '')
    assert vcpu_ready_ns(tmp_path, 7) == ()
