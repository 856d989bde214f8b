# SPDX-License-Identifier: Apache-2.0
"""memory.low of groups above guests: raised as guests need it, and put back (rule H9), on a tree of files."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from nova_market.adapters.control.memory import MemoryLimit
from nova_market.adapters.hypervisor.libvirt_host import LibvirtHost
from nova_market.adapters.state_file import JsonFile
from nova_market.core.host.sample import Guest
from tests.support.hypervisor.kernel_tree import KernelTree, put
from tests.unit.adapters.conftest import guests_of, start_domain

MakeHost = Callable[[Path], LibvirtHost]
MIB = 1 << 20


class Bed:
    """Two guests below machine.slice; `service` is a new process of ours with the same state."""

    def __init__(self, root: Path, make_host: MakeHost, had: str) -> None:
        self.kernel = KernelTree(root)
        self.boot = root / 'proc/sys/kernel/random/boot_id'
        put(self.boot, 'first\n')
        self.host = make_host(root)
        for number in (0, 1):
            start_domain(self.host, number)
        self.guests = guests_of(self.host)
        for one in self.guests:
            self.kernel.add(one)
        self.file = self.kernel.slice('memory') / 'memory.low'
        self.file.write_text(had)
        self.record = root / 'groups.json'

    def service(self) -> MemoryLimit:
        return MemoryLimit(self.host, JsonFile(str(self.record)))

    def each(self, value: int) -> Mapping[str, int]:
        return {one.id: value for one in self.guests}

    def leave(self, one: Guest) -> None:
        """The guest's files go, as its group does."""
        for directory in (self.kernel.account(one, 'memory'), self.kernel.scope(one, 'memory')):
            (directory / 'memory.low').unlink()

    @property
    def recorded(self) -> Mapping[str, int]:
        return json.loads(self.record.read_text())['groups'] if self.record.exists() else {}


@pytest.fixture
def make_bed(tmp_path: Path, make_host: MakeHost) -> Callable[[str], Bed]:
    return lambda had='0\n': Bed(tmp_path, make_host, had)


MakeBed = Callable[..., Bed]


@pytest.mark.parametrize('had', [0, 32 * MIB])
def test_what_was_there_comes_back_when_the_service_stops(make_bed: MakeBed, had: int):
    bed = make_bed(f'{had}\n')
    memory = bed.service()
    memory.write(bed.each(64 * MIB), bed.guests)
    assert bed.file.read_text() == str(128 * MIB)
    assert bed.recorded == {str(bed.file.parent): had}
    memory.close()
    assert bed.file.read_text() == str(had)
    assert bed.recorded == {}


@pytest.mark.parametrize('had', [0, 32 * MIB])
def test_after_a_crash_the_next_run_knows_what_was_there(make_bed: MakeBed, had: int):
    """Also when a guest has left meanwhile, so that what is found is no sum of what guests have."""
    bed = make_bed(f'{had}\n')
    bed.service().write(bed.each(64 * MIB), bed.guests)
    bed.leave(bed.guests[0])
    memory = bed.service()
    memory.write({bed.guests[1].id: 0}, bed.guests)
    assert bed.file.read_text() == str(had)
    assert bed.recorded == {}


def test_after_a_crash_a_stop_without_a_guest_puts_it_back(make_bed: MakeBed):
    bed = make_bed()
    bed.service().write(bed.each(64 * MIB), bed.guests)
    bed.service().close()
    assert bed.file.read_text() == '0'


def test_the_sum_follows_guests_that_leave_though_nobody_writes(make_bed: MakeBed):
    """Down to what was there when the last one has left."""
    bed = make_bed('4096\n')
    memory = bed.service()
    memory.write(bed.each(64 * MIB), bed.guests)
    bed.leave(bed.guests[0])
    memory.read(bed.guests[1:])
    assert bed.file.read_text() == str(64 * MIB)
    bed.leave(bed.guests[1])
    memory.read([])
    assert bed.file.read_text() == '4096'
    assert bed.recorded == {}


def test_reading_alone_writes_nothing(make_bed: MakeBed):
    """A dry run after a crash leaves what it finds."""
    bed = make_bed()
    bed.service().write(bed.each(64 * MIB), bed.guests)
    before = bed.record.read_text()
    bed.service().read(bed.guests[1:])
    assert bed.file.read_text() == str(128 * MIB)
    assert bed.record.read_text() == before


@pytest.mark.parametrize('value', ['max\n', f'{1 << 30}\n'])
def test_a_larger_guarantee_of_the_operator_is_never_lowered(make_bed: MakeBed, value: str):
    bed = make_bed(value)
    memory = bed.service()
    for each in (64 * MIB, 32 * MIB, 0):
        memory.write(bed.each(each), bed.guests)
        assert bed.file.read_text() == value
    memory.close()
    assert bed.file.read_text() == value


def test_what_the_operator_sets_meanwhile_is_what_comes_back(make_bed: MakeBed):
    bed = make_bed()
    memory = bed.service()
    memory.write(bed.each(64 * MIB), bed.guests)
    bed.file.write_text(str(8 * MIB))
    memory.read(bed.guests)
    assert bed.file.read_text() == str(128 * MIB)
    memory.close()
    assert bed.file.read_text() == str(8 * MIB)


def test_a_record_of_another_boot_is_void(make_bed: MakeBed):
    """The groups were made anew with the operator's values."""
    bed = make_bed('4096\n')
    bed.service().write(bed.each(64 * MIB), bed.guests)
    put(bed.boot, 'second\n')
    bed.file.write_text('8192')
    bed.service().close()
    assert bed.file.read_text() == '8192'


@pytest.mark.parametrize('groups', ['[]', '{"/x": "1"}', '{"/x": true}', 'null'])
def test_a_damaged_record_is_ignored_and_logged(
    make_bed: MakeBed, groups: str, caplog: pytest.LogCaptureFixture
):
    bed = make_bed()
    bed.record.write_text(f'{{"format": 1, "boot": "first", "groups": {groups}}}')
    bed.service().close()
    assert 'damaged' in caplog.text


def test_without_a_record_on_disk_nothing_is_written(
    make_bed: MakeBed, caplog: pytest.LogCaptureFixture
):
    """A crash would leave what nobody knows how to put back."""
    bed = make_bed()
    memory = MemoryLimit(bed.host, JsonFile(str(bed.kernel.root / 'nowhere/groups.json')))
    assert set(memory.write(bed.each(64 * MIB), bed.guests).values()) == {''}
    assert bed.file.read_text() == '0\n'
    assert 'no record' in caplog.text


def test_a_slice_that_was_made_anew_has_its_own_original(make_bed: MakeBed):
    bed = make_bed('4096\n')
    memory = bed.service()
    memory.write(bed.each(64 * MIB), bed.guests)
    bed.file.unlink()
    memory.read([])
    assert bed.recorded == {}
    bed.file.write_text('0\n')
    memory.write(bed.each(64 * MIB), bed.guests)
    assert bed.recorded == {str(bed.file.parent): 0}
