# SPDX-License-Identifier: Apache-2.0
"""A better policy than the paper's, and the price of decentralisation: the stored run, and a small one anew.

data/merkat-beyond.json is what `nova-market-experiment merkat-beyond` wrote for the log that its checksum
names, which
is not shipped.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from nova_market.cmd import experiment
from nova_market.experiments.simulated.merkat_beyond import DISCIPLINES, judge
from nova_market.experiments.simulated.merkat_fig5 import Setting

DATA = Path(__file__).parents[1] / 'data'
GUIDE = Path(__file__).resolve().parents[3] / 'doc' / 'source' / 'user' / 'merkat.rst'


@pytest.fixture(scope='module')
def stored():
    return json.loads((DATA / 'merkat-beyond.json').read_text(encoding='utf-8'))


@pytest.fixture
def log(tmp_path):
    """60 jobs of some minutes, one every half minute, by a fixed generator: SWF with 18 columns."""
    rng, lines = np.random.default_rng(7), []
    for number in range(1, 61):
        run, wide = int(rng.integers(120, 3600)), int(rng.integers(1, 17))
        fields = [number, 30 * number, -1, run, wide, -1, -1, wide, run, -1, 1, *[-1] * 7]
        lines.append(' '.join(map(str, fields)))
    path = tmp_path / 'small.swf'
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    return path


def test_the_market_is_not_below_edf_at_any_level(stored):
    """And above it by far where contention is highest."""
    assert stored['holds'] == dict.fromkeys(stored['holds'], True)
    assert stored['levels'][0] == 0.1 and stored['gain_over_edf'][0] > 0.2


def test_the_judge_can_say_no(stored, log):
    """A market that is as EDF minus a little."""
    rows = [
        {'level': level, 'repetition': 0, 'discipline': name, 'success': 0.0, 'suspensions': 0.0}
        | {'satisfaction': stored['satisfaction']['edf' if name == 'value_density' else name][i]}
        for i, level in enumerate(stored['levels'])
        for name in DISCIPLINES
    ]
    for row in rows:
        if row['discipline'] == 'value_density':
            row['satisfaction'] -= 0.02
    judged = judge(rows, Setting(log=log, levels=tuple(stored['levels'])))
    assert judged['holds']['the market is not below EDF at any level'] is False


def test_a_small_run(log, tmp_path, capsys):
    """The command, whole: order of the disciplines, and nobody above the bound."""
    pytest.importorskip('matplotlib')
    few = ['--log', str(log), '--levels', '.5', '--repetitions', '1']
    assert experiment.main(['merkat-beyond', *few, '--output', str(tmp_path / 'out')]) in (1, 3)
    summary = json.loads(capsys.readouterr().out)
    assert summary['holds']['nobody is above the bound'] is True
    contended = summary['holds']['and above it where contention is highest']
    assert contended == 'not judged: no level of 0.1'
    assert {'merkat-beyond.csv', 'merkat-beyond.png'} <= {
        p.name for p in (tmp_path / 'out').iterdir()
    }


def test_the_guide_tells_these_numbers(stored):
    """Every line of its table."""
    text = ' '.join(GUIDE.read_text(encoding='utf-8').split())
    for i, level in enumerate(stored['levels']):
        values = [f'{stored["satisfaction"][name][i]:+.2f}' for name in DISCIPLINES]
        price = f'{stored["price_of_decentralisation"][i]:.1%}'.replace('%', ' %')
        assert ' '.join(f'{level:g} {" ".join(values)} {price}'.split()) in text
