# SPDX-License-Identifier: Apache-2.0
"""240 periods in which nobody bids: what the default bid of before did, and what B3 and B4 do instead."""

import json
from pathlib import Path

import pytest

from nova_market.cmd import experiment
from nova_market.experiments.simulated.idle_economy import CASES, Setting, judge, simulate

GUIDE = Path(__file__).resolve().parents[3] / 'doc' / 'source' / 'user' / 'economics.rst'


@pytest.fixture(scope='module')
def judged():
    setting = Setting()
    return judge(simulate(setting), setting)


def test_nothing_moves_now(judged):
    """Constant prices, equal shares, nobody at nothing, and a bid that buys the same for 240 periods."""
    assert judged['holds'] == dict.fromkeys(judged['holds'], True)
    assert judged['passed'] is True
    assert judged['after.idle']['cores_least'] == pytest.approx(8 / 3)


def test_it_boomed_and_bust_before(judged):
    """The reason for the rule: half of the time nothing, prices by a factor of ten thousand, a bid by ten."""
    idle, bid = judged['before.idle'], judged['before.bid']
    assert idle['at_nothing'] > 0.5 and bid['at_nothing'] > 0.5
    assert idle['price_highest'] > 10_000 * idle['price_lowest']
    assert bid['bid_most'] > 9 * bid['bid_least']


def test_the_guide_has_the_numbers(judged):
    """As they are printed in the user's guide."""
    text = ' '.join(GUIDE.read_text(encoding='utf-8').split())
    for name, figure, digits in (
        ('before.idle', 'price_highest', 1),
        ('before.bid', 'bid_least', 1),
        ('before.bid', 'bid_most', 0),
        ('after.idle', 'price_highest', 2),
        ('after.bid', 'bid_least', 1),
    ):
        assert f'{judged[name][figure]:.{digits}f}' in text, (name, figure)
    assert f'{100 * judged["before.idle"]["at_nothing"]:.0f} %' in text


def test_the_command_writes_the_series(tmp_path, capsys):
    """A column for the price of each case, and an exit status that says whether it passed."""
    out = str(tmp_path)
    assert experiment.main(['idle-economy', '--periods', '70', '--output', out]) == 0
    assert json.loads(capsys.readouterr().out)['passed'] is True
    header = (tmp_path / 'idle-economy.csv').read_text(encoding='utf-8').splitlines()[0]
    assert {f'{case.name}.price' for case in CASES} <= set(header.split(','))
