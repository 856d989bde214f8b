# SPDX-License-Identifier: Apache-2.0
"""The demonstration without root: what a newcomer sees first, and its picture."""

import re

from nova_market.cmd.experiment import main


def test_the_demonstration_in_memory(tmp_path, capsys):
    """Project e has a third without the service and half with it, and a picture of that is there."""
    assert main(['demo', '--memory', '--duration', '30', '--output', str(tmp_path)]) == 0
    said = capsys.readouterr().out
    off, on = re.findall(r'by project: d (\d+) %, e (\d+) %', said)
    assert off == ('67', '33') and on == ('50', '50')
    assert (tmp_path / 'before-after.png').read_bytes().startswith(b'\x89PNG')


def test_the_half_that_was_asked_for_has_no_picture(tmp_path, capsys):
    """With --off there is nothing to compare."""
    given = ['demo', '--memory', '--duration', '30', '--off', '--output', str(tmp_path)]
    assert main(given) == 0
    assert 'nova-fairness on' not in capsys.readouterr().out
    assert [one.name for one in tmp_path.iterdir()] == ['off']
