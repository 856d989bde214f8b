# SPDX-License-Identifier: Apache-2.0
"""What a day draws, and what its saving costs: by hand where that can be done, and the command."""

import gzip
import json

import numpy as np
import pytest

from nova_market.cmd import experiment
from nova_market.errors import BadPower, BadWorkload
from nova_market.experiments.simulated.cloudalloc_power import Setting, judge, measured
from nova_market.sim.power.day import Goals, Machines, least_joules, simulated
from nova_market.sim.power.loads import INTERVAL, made_up_loads, read_loads

MACHINES = Machines(count=4, cores=4.0, memory_mib=8.0, base_w=100.0, peak_w=40.0)


def written(path, lines):
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    return path


def test_a_day_with_all_on_is_counted_by_hand():
    """Four servers of two vCPUs at a half: a core each, 110 W a host."""
    loads = np.full((4, 10), 0.5)
    day = simulated(loads, 2.0, 2.0, MACHINES, Goals())
    assert day.joules == pytest.approx(4 * 110.0 * 10 * INTERVAL)
    assert day.on == 40 and day.short == 0 and day.missing == 0.0
    assert least_joules(loads, 2.0, 2.0, MACHINES) == pytest.approx(140.0 * 10 * INTERVAL)


def test_who_is_short_is_counted_by_hand():
    """Three servers of four cores each on one host of four: each gets a third."""
    one = Machines(count=1, cores=4.0, memory_mib=8.0, base_w=100.0, peak_w=40.0)
    day = simulated(np.ones((3, 2)), 4.0, 1.0, one, Goals())
    assert day.errors == pytest.approx([2 / 3, 2 / 3])
    assert day.short == 6 and day.missing == pytest.approx(2 * 8.0 * INTERVAL)


def test_hosts_go_down_and_come_back():
    """Idle servers leave two hosts on; a burst wakes the others, late by the time of a boot."""
    loads = np.concatenate([np.full((8, 40), 0.01), np.full((8, 20), 0.9)], axis=1)
    goals = Goals(balance=True, consolidate=True, power=True, every=2, window=2)
    day = simulated(loads, 2.0, 1.0, MACHINES, goals)
    quiet = simulated(loads[:, :40], 2.0, 1.0, MACHINES, goals)
    assert 2 <= quiet.changes <= 3 and quiet.on < 40 * 4
    assert day.changes > quiet.changes and max(day.errors) > 0.3 and day.errors[-1] < 0.01


@pytest.fixture(scope='module')
def rows():
    return measured(Setting(seed=1))


def test_each_saving_has_its_price(rows):
    """All claims hold for made-up servers too."""
    summary = judge(rows, Setting())
    assert summary['passed'] is True, summary['holds']


@pytest.mark.parametrize(
    ('row', 'column', 'value', 'claim'),
    [
        (1, 'kwh', 1.0, 'consolidation alone saves nothing'),
        (2, 'kwh', 1e6, 'powering down draws less than all on, at each filling'),
        (4, 'kwh', 1.0, 'the fuller the hosts, the less is drawn'),
        (5, 'short', 0.0, 'the fuller the hosts, the more servers are short'),
        (2, 'undelivered', 0.01, 'less than a hundredth of what is wanted is not delivered'),
        (-1, 'kwh', 1e6, 'nothing draws less than the bound'),
    ],
)
def test_what_does_not_hold_is_seen(rows, row, column, value, claim):
    changed = [dict(one) for one in rows]
    changed[row][column] = value
    summary = judge(changed, Setting())
    assert summary['holds'][claim] is False and summary['passed'] is False


def test_a_trace_is_read(tmp_path):
    """Plain or compressed, in percent."""
    plain = written(tmp_path / 'day.csv', ['a,0,50', 'b,100,25'])
    packed = tmp_path / 'day.csv.gz'
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_loads(plain).tolist() == read_loads(packed).tolist() == [[0.0, 0.5], [1.0, 0.25]]


@pytest.mark.parametrize(
    ('lines', 'said'),
    [
        (['a,1,2', 'b,1'], 'server 2 has 1 samples and the first 2'),
        (['a,1', 'b,101'], "line 2: '101' is no utilisation"),
        (['a,nan'], "'nan' is no utilisation"),
        (['a,x'], 'give 0 to 100 percent'),
        ([''], 'has no samples'),
    ],
    ids=str,
)
def test_a_log_that_is_none_is_refused(tmp_path, lines, said):
    with pytest.raises(BadWorkload, match=said):
        read_loads(written(tmp_path / 'day.csv', lines))


def test_hosts_without_room_are_refused(tmp_path, capsys):
    with pytest.raises(BadPower, match='give 16 or more'):
        measured(Setting(hosts=15))
    absent = ['cloudalloc-power', '--trace', str(tmp_path / 'none.csv'), '--output', str(tmp_path)]
    assert experiment.main(absent) == 2
    assert 'none.csv cannot be read' in capsys.readouterr().err


def test_the_command_writes_table_and_figure(tmp_path, capsys):
    """With a short trace."""
    pytest.importorskip('matplotlib')
    loads = made_up_loads(200, 3)[:, :40] * 100
    lines = [f's{n},' + ','.join(f'{one:.0f}' for one in row) for n, row in enumerate(loads)]
    trace = written(tmp_path / 'day.csv', lines)
    output = tmp_path / 'out'
    code = experiment.main(
        ['cloudalloc-power', '--trace', str(trace), '--hosts', '12', '--output', str(output)]
    )
    summary = json.loads(capsys.readouterr().out)
    assert code == (0 if summary['passed'] else 1)
    assert [row['way'] for row in summary['table']][:2] == ['all on', 'consolidated']
    assert (output / 'cloudalloc-power.png').stat().st_size > 5000
    assert len((output / 'cloudalloc-power.csv').read_text(encoding='utf-8').splitlines()) == 9
