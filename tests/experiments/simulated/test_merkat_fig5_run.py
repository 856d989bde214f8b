# SPDX-License-Identifier: Apache-2.0
"""Figure 5 of Merkat: what the paper claims holds on the stored run, and the guide tells its numbers.

data/merkat-fig5.json is what `nova-market-experiment merkat-fig5` wrote for the first 1000 jobs of the HPC2N
log that its checksum names; the log isn't shipped.
"""

import json
from pathlib import Path

import pytest

from nova_market.experiments.simulated.merkat_fig5 import DISCIPLINES, Setting, judge

DATA = Path(__file__).parents[1] / 'data'
GUIDE = Path(__file__).resolve().parents[3] / 'doc' / 'source' / 'user' / 'merkat.rst'


@pytest.fixture(scope='module')
def stored():
    return json.loads((DATA / 'merkat-fig5.json').read_text(encoding='utf-8'))


def rows(stored, **changed):
    """Rows whose means are those of the stored run, with some of them changed."""
    means = stored['satisfaction'] | changed
    return [
        {
            'level': level,
            'repetition': 0,
            'discipline': name,
            'satisfaction': means[name][i],
            'success': stored['success'][name][i],
        }
        for i, level in enumerate(stored['levels'])
        for name in DISCIPLINES
    ]


@pytest.fixture
def setting(tmp_path, stored):
    log = tmp_path / 'log.swf'
    log.write_text('', encoding='utf-8')
    return Setting(log=log, levels=tuple(stored['levels']))


def test_what_the_paper_claims_holds(stored, setting):
    """At ten levels and four repetitions."""
    judged = judge(rows(stored), setting)
    assert judged['holds'] == stored['holds'] == dict.fromkeys(judged['holds'], True)
    assert len(stored['levels']) == 10 and stored['repetitions'] == 4


@pytest.mark.parametrize(
    ('discipline', 'broken'),
    [
        ('fcfs', 'the market is above FCFS at every level'),
        ('easy', 'the market is above EASY at every level'),
        ('edf_keep', 'the market is above EDF that drops nothing at every level'),
        ('edf', 'the market is above EDF at medium contention'),
    ],
)
def test_the_judge_can_say_no(stored, setting, discipline, broken):
    """A market that is no better than that one."""
    judged = judge(rows(stored, market=stored['satisfaction'][discipline]), setting)
    assert judged['holds'][broken] is False and judged['passed'] is False


def test_the_guide_tells_these_numbers(stored):
    """Every line of its table."""
    text = GUIDE.read_text(encoding='utf-8')
    for i, level in enumerate(stored['levels']):
        values = [f'{stored["satisfaction"][name][i]:+.2f}' for name in DISCIPLINES]
        assert ' '.join(f'{level:g} {" ".join(values)}'.split()) in ' '.join(text.split())
