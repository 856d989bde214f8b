# SPDX-License-Identifier: Apache-2.0
"""The day of the market that the user's guide tells: the story holds, and the numbers are the figure's.

data/market-day.json is what `nova-market-experiment market-day --period 300` wrote. The day is computed anew
here, so numbers agree to rounding; rounds of five minutes differ from those of one minute in the guide by
less than a tenth of a core.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nova_market.cmd import experiment
from nova_market.core.ledger.posting import Reason
from nova_market.experiments.guests.recording import Recording
from nova_market.experiments.simulated import market_day
from nova_market.experiments.simulated.market_day import HOUR, Setting, judge, simulate

DATA = Path(__file__).parents[1] / 'data'
GUIDE = Path(__file__).resolve().parents[3] / 'doc' / 'source' / 'user' / 'economics.rst'
FIVE_MINUTES = Setting(period=300.0)


@pytest.fixture(scope='module')
def day():
    return simulate(FIVE_MINUTES)


def test_the_story_holds(day):
    """Every sentence of it."""
    judged = judge(*day, FIVE_MINUTES)
    assert judged['holds'] == dict.fromkeys(judged['holds'], True)
    assert judged['passed'] is True


def test_the_numbers_are_those_of_the_stored_run(day):
    """A round that decides differently is seen here."""
    stored = json.loads((DATA / 'market-day.json').read_text(encoding='utf-8'))
    judged = judge(*day, FIVE_MINUTES)
    for name in ('price_night', 'price_day', 'price_hurry', 'lab_out_of_credit_at'):
        assert judged[name] == pytest.approx(stored[name], rel=1e-6)
    for project, cores in stored['cores'].items():
        assert judged['cores'][project] == pytest.approx(cores, rel=1e-6)


def test_the_guide_tells_the_numbers_of_the_figure(day):
    """Prices and cores as they are printed in the user's guide."""
    text = ' '.join(GUIDE.read_text(encoding='utf-8').split())
    recording, _ = day
    judged = judge(*day, FIVE_MINUTES)
    cores = judged['cores']
    values = [f'{judged[name]:.2f}' for name in ('price_night', 'price_day', 'price_hurry')]
    values += [f'{cores["web"]["night"]:.1f}', f'{cores["lab"]["night"]:.1f}']
    values += [f'{cores["batch"]["day"]:.1f} and {cores["lab"]["day"]:.1f} cores']
    values += [f'{cores["lab"]["hurry"]:.1f} cores']
    values += [f'{recording.mean(f"{p.name}.cores"):.1f}' for p in market_day.PROJECTS]
    assert [number for number in values if number not in text] == []


def test_what_is_paid_is_the_price_of_what_is_got(day):
    """P1: the charges of each round are price times cores, to a micro-credit for each server."""
    recording, book = day
    paid = {}
    for posting in book:
        if posting.reason == Reason.CHARGE:
            key = int(posting.key.split(':')[1]), posting.debit.partition(':')[2]
            paid[key] = paid.get(key, 0) + posting.amount
    for period, row in enumerate(recording.rows):
        for project in market_day.PROJECTS:
            due = row['price'] * row[f'{project.name}.cores'] * 1e6 * FIVE_MINUTES.period / HOUR
            # memory is nearly free in this cloud: at most a micro-credit for each server
            assert paid[period, project.name] == pytest.approx(due, abs=2 * project.servers)


def test_lab_would_have_lasted_with_the_bid_that_the_guide_names(monkeypatch):
    """14 credits an hour for each server last until the deadline; 24 do not."""
    careful = [replace(p, high=14.0) if p.name == 'lab' else p for p in market_day.PROJECTS]
    monkeypatch.setattr(market_day, 'PROJECTS', tuple(careful))
    recording, _ = simulate(FIVE_MINUTES)
    assert recording.column('lab.scaled').max() == 0.0


@pytest.mark.parametrize(
    ('column', 'value', 'broken'),
    [
        ('price', 1.0, 'the price follows the bids'),
        ('lab.cores', 3.8, 'who bids more gets more'),
        ('lab.scaled', 0.0, 'who has no credits left is scaled down'),
        ('batch.cores', 0.0, 'nobody is stopped'),
        ('idle', 1.0, 'nothing lies idle'),
    ],
)
def test_another_day_is_not_this_story(day, column, value, broken):
    """The judge can say no: each claim fails when its column is flat."""
    recording, book = day
    flat = Recording([row | {column: value} for row in recording.rows])
    judged = judge(flat, book, FIVE_MINUTES)
    assert judged['holds'][broken] is False and judged['passed'] is False


def test_the_command_writes_what_the_guide_shows(tmp_path, capsys):
    """CSV, PNG and summary; exit status 0."""
    assert experiment.main(['market-day', '--period', '1800', '--output', str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        'market-day.csv',
        'market-day.png',
        'summary.json',
    }
    assert json.loads(capsys.readouterr().out)['passed'] is True
