# SPDX-License-Identifier: Apache-2.0
"""Counters never go back, whatever the statistics do."""

from hypothesis import given
from hypothesis import strategies as st

from nova_market.adapters.hypervisor.counters import GuestOdometers, devices, rss_bytes


def statistics(cpu: int | None = 0, **device_readings: int) -> dict:
    """vda=5 means: 5 bytes read from vda; tap1=7: 7 bytes received."""
    found: dict = {} if cpu is None else {'cpu.time': cpu}
    blocks = {name: value for name, value in device_readings.items() if name.startswith('vd')}
    nets = {name: value for name, value in device_readings.items() if name.startswith('tap')}
    for group, suffix, readings in (('block', 'rd.bytes', blocks), ('net', 'rx.bytes', nets)):
        found[f'{group}.count'] = len(readings)
        for index, (name, value) in enumerate(readings.items()):
            found[f'{group}.{index}.name'] = name
            found[f'{group}.{index}.{suffix}'] = value
    return found


def busy_monitor(cpu: int) -> dict:
    """NOWAIT and a job: the disk is named, but has no readings, and there is no balloon."""
    return {'cpu.time': cpu, 'block.count': 1, 'block.0.name': 'vda', 'net.count': 0}


def disk_reads(*looks: dict) -> list[int]:
    odometers = GuestOdometers()
    return [odometers.read(look, 0).disk_read_bytes for look in looks]


def test_devices_are_summed():
    counters = GuestOdometers().read(statistics(7, vda=5, vdb=6, tap1=3, tap2=4), 99)
    assert counters.cpu_time_ns == 7
    assert counters.rss_bytes == 99
    assert counters.disk_read_bytes == 11
    assert counters.net_rx_bytes == 7
    assert counters.disk_write_bytes == 0


def test_the_past_of_an_unplugged_disk_stays_in_the_sum():
    assert disk_reads(statistics(vda=5, vdb=6), statistics(vda=7), statistics(vda=7, vdb=2)) == [
        11,
        13,
        15,
    ]


def test_a_counter_that_starts_over_adds_from_zero():
    """A restarted libvirtd may give a domain id again; QEMU's counters then start over."""
    assert disk_reads(statistics(vda=100), statistics(vda=30)) == [100, 130]


def test_counters_stand_still_while_the_monitor_is_busy():
    assert disk_reads(statistics(vda=5), busy_monitor(2), statistics(vda=9)) == [5, 5, 9]


def test_a_past_of_unknown_length_is_not_one_intervals_load():
    assert disk_reads(busy_monitor(1), statistics(vda=10**12), statistics(vda=10**12 + 5)) == [
        0,
        0,
        5,
    ]


def test_statistics_without_anything_are_zero():
    assert GuestOdometers().read({}, 0).cpu_time_ns == 0


@given(
    st.lists(
        st.dictionaries(st.sampled_from(['vda', 'vdb', 'tap1']), st.integers(0, 2**63), max_size=3),
        max_size=8,
    )
)
def test_no_sequence_of_readings_makes_a_counter_go_back(looks: list[dict]):
    odometers = GuestOdometers()
    totals = [odometers.read(statistics(None, **look), 0) for look in looks]
    for name in ('disk_read_bytes', 'net_rx_bytes'):
        values = [getattr(counters, name) for counters in totals]
        assert values == sorted(values)


def test_plugging_a_device_is_seen():
    assert devices(statistics(vda=1)) != devices(statistics(vda=1, vdb=0))
    assert devices(statistics(vda=1)) == devices(statistics(vda=2))


def test_resident_memory_is_in_bytes_or_unknown():
    assert rss_bytes({'balloon.rss': 3}) == 3072
    assert rss_bytes({}) is None


def test_what_the_kernel_knows_of_the_cpu_is_the_newest():
    """The statistics may have an older reading: it never counts again, also when the kernel has none."""
    odometers = GuestOdometers()
    found = [
        odometers.read(statistics(cpu=1), 0, cpu_time_ns=3),
        odometers.read(statistics(cpu=1), 0, cpu_time_ns=5),
        odometers.read(statistics(cpu=1), 0),
        odometers.read(statistics(cpu=1), 0, cpu_time_ns=9),
    ]
    assert [one.cpu_time_ns for one in found] == [3, 5, 5, 9]
    assert GuestOdometers().read(statistics(cpu=1), 0).cpu_time_ns == 1
