# SPDX-License-Identifier: Apache-2.0
"""Cores, their score and memory of a host; what is configured wrongly is refused by name."""

from pathlib import Path

import pytest
from oslo_config import cfg

from nova_market.adapters.hypervisor.calibration import (
    REFERENCE_RATE,
    HostBusy,
    cached,
    calibrate,
    mix_rate,
)
from nova_market.adapters.hypervisor.supply import (
    SupplySettings,
    core_score,
    cores,
    cpu_set,
    host_supply,
)
from nova_market.conf import fairness as fairness_options
from nova_market.conf import host as host_options
from nova_market.core.host.sample import HostSupply
from nova_market.errors import ConfigurationError
from nova_market.wiring.agent import supply_settings
from tests.support.hypervisor.kernel_tree import put

GIB = 1 << 30


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Four cores of two threads: CPU n and n + 4 share a core."""
    cpu = tmp_path / 'sys/devices/system/cpu'
    put(cpu / 'online', '0-7\n')
    put(cpu / 'smt/active', '1\n')
    put(cpu / 'vulnerabilities/spectre_v2', 'Mitigation: Retpolines\n')
    for number in range(8):
        siblings = f'{number % 4},{number % 4 + 4}\n'
        put(cpu / f'cpu{number}/topology/thread_siblings_list', siblings)
    put(tmp_path / 'proc/cpuinfo', 'model name\t: AMD EPYC 7763 64-Core\nmicrocode\t: 0xa1\n')
    put(tmp_path / 'proc/pressure/cpu', 'some avg10=1.50 avg60=0 avg300=0 total=1\n')
    return tmp_path


@pytest.mark.parametrize(
    ('cpus', 'expected'),
    [('', 4 * 1.3), ('0-3', 4), ('0,4', 1.3), ('1-2,5', 2.3), ('0-7,^0', 3 * 1.3 + 1)],
)
def test_the_second_thread_of_a_core_counts_less(machine: Path, cpus: str, expected: float):
    assert cores(SupplySettings(cpus=cpus), machine) == pytest.approx(expected)


@pytest.mark.parametrize(
    'cpus', ['8', '0-8', 'a', '3-1', '0,,1', '^0', '0,^0', '0-99999', '^1-2,0']
)
def test_cpus_that_are_not_there_are_refused_by_name(machine: Path, cpus: str):
    with pytest.raises(ConfigurationError, match='cpus') as caught:
        cores(SupplySettings(cpus=cpus), machine)
    assert cpus in str(caught.value)


def test_cpu_lists():
    assert cpu_set('0-2, 8') == {0, 1, 2, 8}


def test_the_operators_table_comes_first_and_the_longest_name_wins(machine: Path):
    settings = SupplySettings(core_scores={'EPYC': 1.0, 'EPYC 7763': 1.9, 'Xeon': 3.0})
    assert core_score(settings, 2450, machine) == (1.9, 'table')


def test_without_table_and_calibration_the_clock_is_the_score(machine: Path):
    settings = SupplySettings(core_scores={'Xeon': 3.0}, calibration_cache=str(machine / 'none'))
    assert core_score(settings, 2450, machine) == (2.45, 'nominal')
    assert core_score(settings, 0, machine) == (1.0, 'nominal')


@pytest.mark.parametrize('score', ['0', '-1', 'nan', 'inf', 'fast', ''])
def test_a_score_that_is_not_positive_is_refused(score: str):
    """Where options become settings, once."""
    conf = cfg.ConfigOpts()
    for group in (host_options, fairness_options):
        group.register_opts(conf)
    conf.set_override('core_scores', {'Xeon': score}, group='host')
    with pytest.raises(ConfigurationError, match=r"\[host\]core_scores: .*'Xeon'"):
        supply_settings(conf)


def test_memory_is_what_the_reserve_leaves(machine: Path):
    settings = SupplySettings(reserved_memory_bytes=GIB, net_rx_bps=7.0)
    found = host_supply(settings, memory_bytes=4 * GIB, mhz=2000, root=machine)
    assert isinstance(found, HostSupply)
    assert (found.memory_bytes, found.net_rx_bps, found.disk_read_bps) == (3 * GIB, 7.0, 0.0)
    with pytest.raises(ConfigurationError, match='1024 leaves no memory'):
        host_supply(settings, memory_bytes=GIB, mhz=2000, root=machine)


def test_a_calibration_is_the_median_and_is_used_from_then_on(machine: Path):
    rates = iter([3 * REFERENCE_RATE, REFERENCE_RATE, 2 * REFERENCE_RATE])
    cache = machine / 'state/calibration.json'
    assert calibrate(str(cache), str(machine), lambda: next(rates)) == 2.0
    settings = SupplySettings(calibration_cache=str(cache))
    assert core_score(settings, 2450, machine) == (2.0, 'calibrated')


@pytest.mark.parametrize(
    ('path', 'text'),
    [
        ('proc/cpuinfo', 'model name\t: AMD EPYC 9654\nmicrocode\t: 0xa1\n'),
        ('proc/cpuinfo', 'model name\t: AMD EPYC 7763 64-Core\nmicrocode\t: 0xa2\n'),
        ('sys/devices/system/cpu/smt/active', '0\n'),
        ('sys/devices/system/cpu/vulnerabilities/spectre_v2', 'Vulnerable\n'),
        ('state/calibration.json', 'garbage'),
        ('state/calibration.json', '{"version": 1, "score": "NaN"}'),
        ('state/calibration.json', '[]'),
    ],
)
def test_a_calibration_of_another_machine_is_not_used(machine: Path, path: str, text: str):
    cache = machine / 'state/calibration.json'
    calibrate(str(cache), str(machine), lambda: REFERENCE_RATE)
    assert cached(cache, machine) == 1.0
    put(machine / path, text)
    assert cached(cache, machine) is None


def test_a_busy_host_is_not_calibrated(machine: Path):
    put(machine / 'proc/pressure/cpu', 'some avg10=10.10 avg60=0 avg300=0 total=1\n')
    with pytest.raises(HostBusy, match=r'10\.1 %'):
        calibrate(str(machine / 'cache'), str(machine), lambda: 100.0)


def test_a_cache_that_cannot_be_written_is_reported(machine: Path):
    put(machine / 'file', '')
    with pytest.raises(ConfigurationError, match='cannot be kept'):
        calibrate(str(machine / 'file/cache'), str(machine), lambda: 100.0)


def test_the_real_mix_has_a_rate():
    assert mix_rate(0.01) > 0
