# SPDX-License-Identifier: Apache-2.0
"""Figure 1 on real guests, as short as it can be: that it measures, not what."""

import csv
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nova_market.experiments.guests import fairness_fig1

pytestmark = [
    pytest.mark.alone,
    pytest.mark.measured,
    pytest.mark.integration(
        'libvirtd', 'virtlogd', 'virsh', 'qemu-system-x86_64', 'busybox', 'cpio', 'nsenter'
    ),
]

VMS = (1, 2)
INTERVALS = (0.5, 1.0)


def test_figure1_on_real_guests(tmp_path: Path, record_property: Callable[[str, object], None]):
    """Each combination costs something, network control was on in half of them, and is off afterwards."""
    summary = fairness_fig1.run(
        fairness_fig1.Setting(
            vms=VMS,
            intervals=INTERVALS,
            duration=1.0,
            state=tmp_path / 'bed',
            output=tmp_path / 'result',
        )
    )
    with (tmp_path / 'result' / 'fairness-fig1.csv').open(newline='') as stream:
        table = [{n: float(v) for n, v in row.items()} for row in csv.DictReader(stream)]
    assert table == summary['rows']
    seen = [(row['vms'], row['loaded'], row['network'], row['interval']) for row in table]
    assert seen == list(itertools.product(VMS, (0, 1), (0, 1), INTERVALS))
    for row in table:
        assert row['total'] == pytest.approx(row['service'] + row['libvirtd'])
        # a round takes milliseconds; in ticks of the kernel many would cost nothing
        assert 0 < row['service'] < 0.5
    log = (tmp_path / 'result' / 'service' / 'fairness.log').read_text()
    assert log.count('is divided among guests') == len(table) / 2
    assert log.count('is not divided any more') == len(table) / 2
    assert 'ERROR' not in log and 'Traceback' not in log
    assert (tmp_path / 'result' / 'fairness-fig1.png').stat().st_size > 0
    judged = json.loads((tmp_path / 'result' / 'summary.json').read_text())
    for name in ('seconds_per_round', 'seconds_per_vm_and_round'):
        record_property(name, judged[name])
    assert judged['seconds_per_round'] + judged['seconds_per_vm_and_round'] > 0
