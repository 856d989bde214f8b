# SPDX-License-Identifier: Apache-2.0
"""The driver on libvirt's in-process test driver; counters and events are proven on real guests."""

import logging
from collections.abc import Callable
from pathlib import Path

import libvirt
import pytest

from nova_market.adapters.hypervisor.libvirt_host import LibvirtHost
from nova_market.adapters.hypervisor.supply import SupplySettings
from nova_market.errors import HostUnavailable
from tests.support.hypervisor.kernel_tree import KernelTree, put
from tests.unit.adapters.conftest import guests_of, start_domain, uuid_of

MakeHost = Callable[[Path], LibvirtHost]


@pytest.fixture
def host(tmp_path: Path, make_host: MakeHost) -> LibvirtHost:
    KernelTree(tmp_path)
    put(tmp_path / 'sys/devices/system/cpu/online', '0-3\n')
    return make_host(tmp_path)


def test_supply_comes_from_the_hypervisor_and_the_kernel(host: LibvirtHost):
    found = host.supply()
    assert (found.cores, found.core_score, found.memory_bytes) == (4, 2.0, 4 << 30)
    assert found.score_method == 'nominal'


def test_guests_come_in_the_order_of_their_ids(host: LibvirtHost):
    for number in (2, 0, 1):
        start_domain(host, number, project=f'p{number}')
    guests = guests_of(host)
    assert [one.id for one in guests] == [uuid_of(number) for number in range(3)]
    assert [one.owner for one in guests] == ['p0', 'p1', 'p2']


def test_an_owner_that_cannot_be_read_is_logged_once_per_start(
    host: LibvirtHost, caplog: pytest.LogCaptureFixture
):
    domain = start_domain(host, 0, project='"quoted"')
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert [one.fallback for one in guests_of(host)] == [True]
    assert len(caplog.messages) == 1
    domain.destroy()
    start_domain(host, 0, project='"quoted"')
    with caplog.at_level(logging.WARNING):
        guests_of(host)
    assert len(caplog.messages) == 2


def test_a_guest_that_starts_anew_is_another_incarnation(host: LibvirtHost):
    domain = start_domain(host, 0, project='before')
    (first,) = guests_of(host)
    domain.destroy()
    start_domain(host, 0, project='after')
    (second,) = guests_of(host)
    assert first.id == second.id
    assert first.incarnation != second.incarnation
    assert second.owner == 'after'


def test_resident_memory_comes_from_the_process_when_the_monitor_is_busy(
    tmp_path: Path, host: LibvirtHost
):
    """The test driver has no balloon statistics, as a guest whose monitor is busy has none."""
    start_domain(host, 0)
    (guest,) = guests_of(host)
    assert host.sample().guests[0].counters.rss_bytes == 0
    KernelTree(tmp_path).add(guest)
    assert host.sample().guests[0].counters.rss_bytes == 2 << 20


def test_cpu_time_comes_from_the_kernel_and_never_goes_back(tmp_path: Path, host: LibvirtHost):
    """Not when the kernel shows it no more: a guest that ends must not count all its time once again."""
    start_domain(host, 0)
    (guest,) = guests_of(host)
    kernel = KernelTree(tmp_path)
    kernel.add(guest)
    usage = kernel.scope(guest, 'cpu') / 'cpu.stat'
    found = []
    for seconds in (3, 5):
        put(usage, f'usage_usec {seconds * 1_000_000}\n')
        found.append(host.sample().guests[0].counters.cpu_time_ns)
    usage.unlink()
    found.append(host.sample().guests[0].counters.cpu_time_ns)
    assert found[1] - found[0] == 2_000_000_000
    assert found[2] == found[1]


def test_monitors_are_asked_for_cpu_time_until_the_kernel_is_known_to_show_it(
    tmp_path: Path, host: LibvirtHost, monkeypatch: pytest.MonkeyPatch
):
    """Where it does not, a first look without CPU time would make the second one find all guests idle."""
    asked: list[int] = []
    ask = libvirt.virConnect.getAllDomainStats

    def record(connection: libvirt.virConnect, statistics: int, scope: int) -> object:
        if statistics & libvirt.VIR_DOMAIN_STATS_BLOCK:
            asked.append(statistics & libvirt.VIR_DOMAIN_STATS_CPU_TOTAL)
        return ask(connection, statistics, scope)

    monkeypatch.setattr(libvirt.virConnect, 'getAllDomainStats', record)
    host.sample()
    start_domain(host, 0)
    (guest,) = guests_of(host)
    kernel = KernelTree(tmp_path)
    kernel.add(guest)
    put(kernel.scope(guest, 'cpu') / 'cpu.stat', 'usage_usec 1\n')
    host.sample()
    assert all(asked)
    host.sample()
    assert not asked[-1]


def test_two_hundred_guests_that_appear_at_once_are_in_one_sample(host: LibvirtHost):
    for number in range(200):
        start_domain(host, number, project=f'p{number % 7}')
    assert len(guests_of(host)) == 200


@pytest.mark.parametrize(
    'states',
    [
        [(libvirt.VIR_DOMAIN_CONTROL_OCCUPIED, 0, 100), (libvirt.VIR_DOMAIN_CONTROL_OK, 0, 0)],
        [(libvirt.VIR_DOMAIN_CONTROL_ERROR, 0, 0)],
        [(libvirt.VIR_DOMAIN_CONTROL_OCCUPIED, 0, 7000)],
    ],
    ids=['soon free', 'monitor broken', 'hangs'],
)
def test_a_guest_on_which_another_call_hangs_is_not_called(
    host: LibvirtHost, monkeypatch: pytest.MonkeyPatch, states: list[tuple[int, int, int]]
):
    """libvirt would make the call wait for the other one; one that ends soon is waited for."""
    start_domain(host, 0)
    (guest,) = guests_of(host)
    left = iter(states)
    monkeypatch.setattr(libvirt.virDomain, 'controlInfo', lambda domain: next(left))
    called: list[str] = []
    wrong = host.tune(guest, lambda domain: called.append(domain.name()))
    hangs = states[-1][2] == 7000
    assert wrong == ('its emulator has not answered another call for 7 s' if hangs else '')
    assert len(called) == (0 if hangs else 1)


def test_guests_that_were_never_sampled_are_gone(host: LibvirtHost):
    start_domain(host, 0)
    (guest,) = guests_of(host)
    host.close()
    assert host.tune(guest, libvirt.virDomain.info) == 'gone'
    assert not host.runs(guest)


def test_a_socket_without_a_libvirtd_is_unavailable_and_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    host = LibvirtHost(
        f'qemu+unix:///system?socket={tmp_path}/none',
        SupplySettings(),
        'nobody',
        root=str(tmp_path),
    )
    reasons: list[str] = []
    host.subscribe(reasons.append)
    for call in (host.sample, host.supply):
        with pytest.raises(HostUnavailable, match=f'{tmp_path}/none'):
            call()
    assert len(caplog.messages) == 1
