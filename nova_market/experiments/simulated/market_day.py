# SPDX-License-Identifier: Apache-2.0
"""A day of the market: three projects, bids that change, one price, and a project that runs out of credit.

Shows Merkat (INRIA RR-8648), sections 2.1 and 2.2, and rules B2, P1, A1 and M3 of
doc/source/specs/market.rst, by the very functions that the engine decides with; no guests, no clock.
Units: seconds in the recording, credits per hour for bids, credits per core and hour for prices.

`web` serves people and bids by day what it does not bid at night. `batch` bids little, always. `lab` has a
deadline at four in the afternoon and bids twelve times as much from noon on, which is more than its
credits last for. Charges come back after six hours, so in the evening it has credits again.
"""

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.core.ledger.money import MICRO
from nova_market.core.ledger.posting import (
    BANK,
    Book,
    Posting,
    Reason,
    Totals,
    account,
    posting_key,
    totals,
)
from nova_market.core.market.carried_state import (
    after_postings,
    before_first_round,
    due_returns,
)
from nova_market.core.market.currency_step import CurrencyInputs, currency_step
from nova_market.core.market.past import paid_by_projects
from nova_market.core.market.round import RoundOutcome, decide
from nova_market.core.market.settings import MarketSettings
from nova_market.core.market.snapshot import MarketSnapshot
from nova_market.experiments.guests.recording import Recording, plot, write_summary
from nova_market.experiments.simulated.verdict import Finding, verdict

HOUR = 3600.0
DAY = 24 * HOUR

HOSTS = 4
CAPACITY = (15.0, 63_488.0)
"""Of a host with 16 cores and 63 GiB, less what it keeps for itself."""

RESERVE = 0.1
"""Least price, credits per core and hour."""

TOTAL = 1200
"""Credits in circulation."""

RETURN_HOURS = 6.0

DEADLINE = (12.0, 16.0)
"""Hours in which `lab` is in a hurry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """servers of `vcpus` each; bid: credits per hour for each, plain and at its highest."""

    name: str
    servers: int
    vcpus: float
    weight: int
    plain: float
    high: float

    def bid(self, hour: float) -> float:
        """Credits per hour for the CPU of one server."""
        if self.name == 'lab':
            hurry = DEADLINE[0] <= hour < DEADLINE[1]
            return self.high if hurry else self.plain
        # people come between seven and nine and go between five and eight
        day = float(np.clip(min((hour - 7.0) / 2.0, (20.0 - hour) / 3.0), 0.0, 1.0))
        return self.plain + (self.high - self.plain) * day


PROJECTS = (
    Project(name='web', servers=12, vcpus=4.0, weight=15, plain=2.0, high=8.0),
    Project(name='batch', servers=12, vcpus=4.0, weight=4, plain=2.0, high=2.0),
    Project(name='lab', servers=4, vcpus=8.0, weight=5, plain=2.0, high=24.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """period in seconds."""

    period: float = 60.0
    output: Path = field(default_factory=Path)


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    setting = Setting(period=arguments.period, output=arguments.output)
    recording, book = simulate(setting)
    summary = judge(recording, book, setting)
    setting.output.mkdir(parents=True, exist_ok=True)
    report(setting.output, recording, summary)
    return summary


def simulate(setting: Setting) -> tuple[Recording, Book]:
    """Round after round; everything that was posted is in the book."""
    book, recording = Book(), Recording()
    weights = {project.name: project.weight for project in PROJECTS}
    delay = round(RETURN_HOURS * HOUR / setting.period)
    settings = MarketSettings(total=TOTAL * MICRO, renew_every=1, return_delay=delay)
    carried, charged = before_first_round(0), dict[int, Totals]()
    for period in range(round(DAY / setting.period)):
        due, carried = due_returns(carried, period, delay, period - 1)
        inputs = CurrencyInputs(
            period=period,
            weights=weights,
            balances=_balances(book),
            paid=paid_by_projects(charged.pop(one) for one in due),
            bank=book.balance(BANK),
            budgets=(),
            carried=carried,
        )
        postings, carried = currency_step(inputs, settings)
        book.post_all(postings)
        carried = after_postings(carried, totals(postings))
        hour = period * setting.period / HOUR
        snapshot = _snapshot(book, hour, setting.period)
        outcome = decide(snapshot)
        charges = _charges(snapshot, outcome, period)
        book.post_all(charges)
        charged[period] = totals(charges).get(Reason.CHARGE, {})
        recording.add(period * setting.period, _row(snapshot, outcome, book, setting.period))
    return recording, book


def judge(recording: Recording, book: Book, setting: Setting) -> dict[str, Any]:
    """The story that the figure tells, by its numbers; `passed` when it holds."""
    night, day = recording.mean('price', 0.0, 6 * HOUR), _mean(recording, 'price', 9.0, 12.0)
    hurry, broke = _hurry(recording)
    shares = {
        name: {
            'night': recording.mean(f'{name}.cores', 0.0, 6 * HOUR),
            'day': _mean(recording, f'{name}.cores', 9.0, 12.0),
            'hurry': recording.mean(f'{name}.cores', *hurry),
            'out_of_credit': recording.mean(f'{name}.cores', *broke),
            'evening': _mean(recording, f'{name}.cores', 21.0, 24.0),
            'least': float(recording.column(f'{name}.cores').min()),
        }
        for name in (project.name for project in PROJECTS)
    }
    lab = shares['lab']
    holds: dict[str, Finding] = {
        'the price follows the bids': day > 1.3 * night,
        'who bids more gets more': lab['hurry'] > 2.0 * lab['day'],
        'who has no credits left is scaled down': broke[1] - broke[0] > HOUR / 2
        and lab['out_of_credit'] < 0.5 * lab['hurry'],
        'nobody is stopped': min(one['least'] for one in shares.values()) > 0.5,
        'charges come back': lab['evening'] > 0.9 * lab['night'],
        'nothing lies idle': recording.column('idle').max() < 1e-6,
        'every micro-credit is somewhere': sum(book.balances().values()) == 0
        and book.issued == TOTAL * MICRO,
    }
    return {
        'experiment': 'market-day',
        'period': setting.period,
        'price_night': night,
        'price_day': day,
        'price_hurry': recording.mean('price', *hurry),
        'cores': shares,
        'lab_out_of_credit_at': broke[0] / HOUR,
        **verdict(holds),
    }


def report(output: Path, recording: Recording, summary: dict[str, Any]) -> None:
    """CSV, PNG and summary.json in `output`."""
    recording.write_csv(output / 'market-day.csv')
    names = [project.name for project in PROJECTS]
    panels = [
        ('Bids of all servers together', 'credits/h', [f'{name}.bid' for name in names]),
        ('Price of CPU', 'credits per core and hour', ['price']),
        ('CPU allocated', 'cores', [f'{name}.cores' for name in names]),
        ('Credits left', 'credits', [f'{name}.balance' for name in names]),
    ]
    title = 'A day of the market: three projects on 60 cores'
    plot(output / 'market-day.png', recording, panels, title, ('hour of the day', HOUR))
    write_summary(output / 'summary.json', summary)


def _mean(recording: Recording, column: str, first: float, last: float) -> float:
    return recording.mean(column, first * HOUR, last * HOUR)


def _hurry(recording: Recording) -> tuple[tuple[float, float], tuple[float, float]]:
    """(from, to) while `lab` pays what it bids in its hurry, and while it can't any more."""
    first, last = (hour * HOUR for hour in DEADLINE)
    scaled = [r['time'] for r in recording.rows if r['lab.scaled'] and first <= r['time'] < last]
    end = min(scaled, default=last)
    return (first, end), (end, last)


def _snapshot(book: Book, hour: float, period: float) -> MarketSnapshot:
    """Servers go round the hosts one after the other; RAM is there for all and costs nothing."""
    rows = [(number, p) for number, p in enumerate(PROJECTS) for _ in range(p.servers)]
    per_period = MICRO * period / HOUR
    bids = [[int(p.bid(hour) * per_period) for _, p in rows], [1] * len(rows)]
    caps = [[p.vcpus for _, p in rows], [2048.0] * len(rows)]
    return MarketSnapshot(
        capacity=np.tile(np.array(CAPACITY)[:, None], HOSTS),
        answering=np.ones(HOSTS, dtype=np.bool_),
        host=np.arange(len(rows), dtype=np.intp) % HOSTS,
        payer=np.array([number for number, _ in rows], dtype=np.intp),
        bids=np.array(bids, dtype=np.int64),
        caps=np.array(caps),
        last=np.zeros((2, len(rows))),
        available=np.array([_balances(book)[p.name] for p in PROJECTS], dtype=np.int64),
        reserve=np.array([RESERVE * per_period, 0.0]),
    )


def _charges(snapshot: MarketSnapshot, outcome: RoundOutcome, period: int) -> list[Posting]:
    return [
        Posting(
            key=posting_key(Reason.CHARGE, period, str(server)),
            reason=Reason.CHARGE,
            debit=account('project', PROJECTS[int(snapshot.payer[server])].name),
            credit=BANK,
            amount=int(due),
        )
        for server, due in enumerate(outcome.due())
        if due > 0
    ]


def _balances(book: Book) -> dict[str, int]:
    return {p.name: book.balance(account('project', p.name)) for p in PROJECTS}


def _row(
    snapshot: MarketSnapshot, outcome: RoundOutcome, book: Book, period: float
) -> dict[str, float]:
    """The price, and of each project its bids, its cores, whether it was scaled down, its balance."""
    per_hour = HOUR / period / MICRO
    wanted = np.minimum(snapshot.capacity[0].sum(), snapshot.caps[0].sum())
    row = {
        'price': float(outcome.price[0]) * per_hour,
        'idle': float(wanted - outcome.actual[0].sum()),
        'error': outcome.largest_error,
    }
    balances = _balances(book)
    for number, project in enumerate(PROJECTS):
        mine = snapshot.payer == number
        row |= {
            f'{project.name}.bid': float(outcome.bids[0, mine].sum()) * per_hour,
            f'{project.name}.cores': float(outcome.actual[0, mine].sum()),
            f'{project.name}.scaled': float(number in outcome.short),
            f'{project.name}.balance': balances[project.name] / MICRO,
        }
    return row
