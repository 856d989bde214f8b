# SPDX-License-Identifier: Apache-2.0
"""tools/test.d/measured.py: the verdict on a test that measures the machine, and the control beside it."""

from pathlib import Path

import pytest

from tests.support.noise import Noise
from tests.unit.test_test_report import reported

pytestmark = pytest.mark.clock

CASE = """<testcase classname="tests.x" name="test_ratio"><properties>
<property name="noise" value="{noise}"/><property name="ratio" value="{ratio}"/>
<property name="why" value="a"/>
</properties>{failure}</testcase>"""
FAILURE = '<failure message="assert 1.5 &gt; 1.6&#10;more"/>'


def verdict(directory: Path, *runs: tuple[bool, float, float]) -> tuple[int, str]:
    """(exit status, the line of the test); runs: passed, noise, ratio."""
    for number, (passed, noise, ratio) in enumerate(runs, 1):
        case = CASE.format(noise=noise, ratio=ratio, failure='' if passed else FAILURE)
        (directory / f'measured-{number}.xml').write_text(
            f'<testsuites><testsuite>{case}</testsuite></testsuites>'
        )
    status, lines = reported(directory, by='measured.py')
    return status, lines[-1]


def test_most_runs_decide(tmp_path: Path) -> None:
    """The line has the median, the worst noise and the run that failed."""
    status, line = verdict(tmp_path, (True, 0.01, 3.0), (False, 0.3, 1.5), (True, 0.02, 2.0))
    assert status == 0
    assert line.split()[0] == 'passed'
    assert line.endswith('ratio 2; others 30%; run 2: assert 1.5 > 1.6')


@pytest.mark.parametrize(
    ('noise', 'expected'),
    [(0.05, (1, 'failed')), (0.2, (0, 'inconclusive'))],
    ids=['quiet', 'busy'],
)
def test_a_failure_beside_other_work_says_nothing(
    tmp_path: Path, noise: float, expected: tuple[int, str]
) -> None:
    """Where the machine had nothing else to do it is one."""
    status, line = verdict(tmp_path, (False, 0.0, 1.5), (False, noise, 1.5), (True, 0.9, 2.0))
    assert (status, line.split()[0]) == expected


def process(proc: Path, pid: int, ticks: int, *, run: str = '', parent: int = 1) -> None:
    """A process of a tree like the kernel's, of a run of tests or of none."""
    entry = proc / str(pid)
    entry.mkdir(exist_ok=True)
    # fields 14 and 15 are its time, 22 when it started
    fields = ['S', str(parent), *['0'] * 9, str(ticks), '0', *['0'] * 6, str(pid), '0']
    (entry / 'stat').write_text(f'{pid} (a) b) {" ".join(fields)}\n')
    (entry / 'environ').write_bytes(f'A=1\0NOVA_MARKET_RUN={run}\0'.encode())
    (entry / 'cgroup').write_text('4:cpu:/\n')


def machine(proc: Path, busy: int, idle: int) -> None:
    (proc / 'stat').write_text(f'cpu {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n')


def test_noise_is_what_others_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what this run has started, nor the kernel: 100 ticks of 500 are neither's."""
    own = '7-7'
    monkeypatch.setenv('NOVA_MARKET_RUN', own)
    machine(tmp_path, 1000, 1000)
    process(tmp_path, 50, 10, run=own)
    process(tmp_path, 60, 10, run='1-1')
    process(tmp_path, 70, 10, parent=2)
    with Noise(tmp_path) as noise:
        machine(tmp_path, 1300, 1200)
        process(tmp_path, 50, 60, run=own)
        process(tmp_path, 60, 110, run='1-1')
        process(tmp_path, 70, 110, parent=2)
        # begun meanwhile
        process(tmp_path, 80, 50, run=own)
    assert noise.share == pytest.approx(0.2)
