# SPDX-License-Identifier: Apache-2.0
"""A deadline that is moved while the application runs: bid, allocation and time per iteration follow.

Reproduces Merkat (INRIA RR-8648), section 3.4, figures 8 and 9, without guests: one node, an application with
a deadline and the policy of section 3.2.1, and four best-effort ones that always bid 100 credits for CPU and
900 for memory; a deadline of 12000 s becomes one of 9000 s at 64 minutes. Rounds every 60 s, control every
80 s. Units: seconds, cores (the paper's CPU units are hundredths), credits per period.

Settled here, where the paper is silent: the application is 7400 s of work for four cores in 740 iterations
(with 2.66 of four cores, which the paper reports, that ends within the first deadline and not within the
second); every VM has 4 GiB; the reserve price is a tenth of a credit per CPU unit; thresholds .75 and 1
around a reference of .9; the others start one a minute.
"""

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.core.app.policies.best_effort import best_effort
from nova_market.core.app.policies.full_deadline import full_deadline
from nova_market.core.app.policies.merkat_policies import Policy
from nova_market.core.app.policies.policy_interface import (
    Band,
    Deadlines,
    MarketState,
    PolicyInput,
    PolicyOutput,
    PolicyState,
    explain,
)
from nova_market.core.app.progress import Progress, lateness, reference_seconds_each
from nova_market.core.ledger.money import MICRO
from nova_market.errors import BadWorkload
from nova_market.experiments.guests.recording import Recording, plot, write_summary
from nova_market.experiments.simulated.verdict import Finding, verdict
from nova_market.sim.market.one_host import Bidders, Divided, empty_market, one_host_round

CAPACITY = (7.0, 23.0 * 1024)
"""Of a node, section 3.2.3: 700 CPU units and 23 GB are handed out."""

VM = (4.0, 4096.0)
RESERVE = (10.0, 0.0)
"""Credits per core (MiB) and period."""

BUDGET = 60000.0
OTHERS = 4
OTHERS_BID = (100.0, 900.0)

ROUND, CONTROL, TICK = 60, 80, 20
"""Seconds; TICK divides both."""

LEAST_PART = 0.25
REFERENCE, LOW, HIGH = 0.9, 0.75, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """work: seconds with all four cores; moved: when the deadline is moved"""

    work: float = 7400.0
    iterations: int = 740
    deadline: float = 12000.0
    moved: float = 64 * 60.0
    deadline_then: float = 9000.0
    output: Path = field(default_factory=Path)


@dataclass(slots=True, kw_only=True)
class Run:
    """The application with the deadline; its iterations are what its monitor reports."""

    setting: Setting
    policy: Policy
    state: int = int(PolicyState.WAITING)
    done: float = 0.0
    reported: tuple[float, float] = (0.0, 0.0)
    bid: Any = field(default_factory=lambda: np.zeros((2, 1)))
    change: Any = field(default_factory=lambda: np.zeros((2, 1)))
    allocation: Any = field(default_factory=lambda: np.zeros((2, 1)))
    paid: float = 0.0
    ended: float = np.nan
    actions: list[tuple[float, str]] = field(default_factory=list)

    def deadline(self, now: float) -> float:
        setting = self.setting
        return setting.deadline if now < setting.moved else setting.deadline_then

    def progress(self, now: float) -> Progress:
        """Measured since the last control; what has not run yet is taken to run at full speed."""
        at, done = self.reported
        each = (now - at) / (self.done - done) if self.done > done else np.nan
        full = self.setting.work / self.setting.iterations
        return Progress(
            total=float(self.setting.iterations),
            done=self.done,
            seconds_each=each if np.isfinite(each) else full,
        )

    def control(self, now: float, market: MarketState) -> dict[str, float]:
        """One step of the controller; what figure 9 shows."""
        progress, left = self.progress(now), self.deadline(now) - now
        seen = self._seen(progress, left, market)
        steps: PolicyOutput = self.policy(seen)
        reason = explain(steps, 0)
        if reason and (not self.actions or self.actions[-1][1] != reason):
            self.actions.append((now, reason))
        self.state, self.bid, self.change = int(steps.state[0]), steps.bid, steps.change
        self.reported = (now, self.done)
        reference = reference_seconds_each(progress, left)
        return {
            'iteration.seconds': progress.seconds_each,
            'reference.seconds': reference * REFERENCE,
            'low.seconds': reference * LOW,
            'high.seconds': reference * HIGH,
        }

    def _seen(self, progress: Progress, left: float, market: MarketState) -> PolicyInput:
        full = self.setting.work / self.setting.iterations
        todo = np.array([(progress.total - progress.done) * full])
        most = np.array(VM)[:, None]
        one, runs = np.ones(1, dtype=np.int64), self.state == PolicyState.RUNNING
        late = lateness(np.array([progress.remaining]), np.array([left]))
        return PolicyInput(
            market=market,
            state=np.array([self.state]),
            count=one,
            least_count=one,
            most_count=one,
            bid=self.bid,
            allocation=self.allocation,
            least=most * np.array([[LEAST_PART], [1.0]]),
            most=most,
            change=self.change,
            budget=np.array([BUDGET * MICRO]),
            band=Band(
                performance=late if runs else np.full(1, np.inf),
                reference=np.full(1, REFERENCE),
                low=np.full(1, LOW),
                high=np.full(1, HIGH),
            ),
            deadlines=Deadlines(remaining=todo, left=np.array([left])),
        )

    def work(self, now: float) -> None:
        """Iterations of one tick; the end at its own time."""
        full = self.setting.iterations / self.setting.work
        rate = full * float(self.allocation[0, 0]) / VM[0]
        left = self.setting.iterations - self.done
        if rate * TICK >= left > 0:
            self.ended = now + left / rate
        self.done = min(self.done + rate * TICK, float(self.setting.iterations))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `nova-market-experiment merkat-fig8`."""
    plain = Setting()
    for name, value, text in (
        ('deadline', plain.deadline, 'the deadline at first'),
        ('moved', plain.moved, 'when it is moved'),
        ('deadline-then', plain.deadline_then, 'the deadline from then on'),
        ('work', plain.work, 'seconds that the application needs with all its cores'),
    ):
        parser.add_argument(
            f'--{name}', type=float, default=value, metavar='S', help=f'{text} (default: {value:g})'
        )


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    setting = Setting(
        work=arguments.work,
        deadline=arguments.deadline,
        moved=arguments.moved,
        deadline_then=arguments.deadline_then,
        output=arguments.output,
    )
    recording, run = simulate(setting)
    summary = judge(recording, run)
    setting.output.mkdir(parents=True, exist_ok=True)
    report(setting.output, recording, summary)
    return summary


def simulate(setting: Setting, policy: Policy = full_deadline) -> tuple[Recording, Run]:
    """To the end of the application, or to its last deadline when it is given up."""
    last = max(setting.deadline, setting.deadline_then)
    if not (0 < setting.work < last <= 1e6 and 0 <= setting.moved <= last):
        raise BadWorkload(
            f'work {setting.work:g} s, deadlines {setting.deadline:g} and {setting.deadline_then:g} s, '
            f'moved at {setting.moved:g} s: give work above 0 and below the later deadline, that at most '
            '1e6 s, and move it between 0 s and then'
        )
    recording, run = Recording(), Run(setting=setting, policy=policy)
    market = empty_market(np.array(CAPACITY), np.array(RESERVE) * MICRO)
    controlled: dict[str, float] = {}
    for now in range(0, int(last), TICK):
        if now % CONTROL == 0:
            controlled = run.control(now, market)
        if now % ROUND == 0:
            divided = one_host_round(market, _bidders(run, market, now))
            market = divided.market
            _take(run, divided)
            recording.add(now, _row(run, divided, now) | controlled)
        run.work(now)
        if np.isfinite(run.ended) or run.state == PolicyState.DROPPED:
            break
    return recording, run


def _bidders(run: Run, market: MarketState, now: int) -> Bidders:
    """The application, then those of the best-effort ones that are there by now."""
    there = min(now // ROUND, OTHERS)
    runs = int(run.state == PolicyState.RUNNING)
    others = _best_effort(there, market).bid
    return Bidders(
        count=np.array([runs] + [1] * there),
        bid=np.concatenate([run.bid, others], axis=1),
        most=np.tile(np.array(VM)[:, None], 1 + there),
        budget=np.array([BUDGET * MICRO] + [sum(OTHERS_BID) * MICRO] * there),
    )


def _best_effort(there: int, market: MarketState) -> PolicyOutput:
    """One step of the applications that always bid the same, without a least allocation."""
    nothing, one = np.zeros((2, there)), np.ones(there)
    servers = np.ones(there, dtype=np.int64)
    most = np.tile(np.array(VM)[:, None], there)
    seen = PolicyInput(
        market=market,
        state=np.full(there, int(PolicyState.RUNNING)),
        count=servers,
        least_count=servers,
        most_count=servers,
        bid=nothing,
        allocation=most,
        least=nothing,
        most=most,
        change=nothing,
        budget=np.full(there, sum(OTHERS_BID) * MICRO),
        band=Band(performance=one, reference=one, low=one, high=one),
    )
    cpu, memory = (bid * MICRO for bid in OTHERS_BID)
    return best_effort(seen, cpu=cpu, memory=memory)


def _take(run: Run, divided: Divided) -> None:
    run.allocation = divided.allocation[:, :1].copy()
    run.paid += float(divided.paid[0]) / MICRO


def _row(run: Run, divided: Divided, now: float) -> dict[str, float]:
    others = divided.allocation[0, 1:]
    return {
        'deadline.bid': float(run.bid[0, 0]) / MICRO,
        'deadline.cores': float(run.allocation[0, 0]),
        'others.cores': float(others.mean()) if len(others) else 0.0,
        'price': float(divided.market.price[0]) / MICRO,
        'deadline.at': run.deadline(now),
    }


def judge(recording: Recording, run: Run) -> dict[str, Any]:
    """What the paper says of figures 8 and 9; `passed` when it holds."""
    moved = run.setting.moved
    before, after = (moved - 1200.0, moved), (moved + 5 * CONTROL, moved + 2400.0)
    spans = {'before': before, 'after': after}
    cores = {name: recording.mean('deadline.cores', *span) for name, span in spans.items()}
    bids = {name: recording.mean('deadline.bid', *span) for name, span in spans.items()}
    settled = recording.column('deadline.bid', 1200.0, moved)
    late = recording.column('iteration.seconds', *after) / recording.column(
        'reference.seconds', *after
    )
    holds: dict[str, Finding] = {
        'its allocation suffices before the deadline is moved': 2.5 <= cores['before'] <= 2.8,
        'its bid rests while that is so': len(settled) > 0 and float(np.ptp(settled)) == 0.0,
        'it gets close to the most it can use within a few control periods': cores['after'] > 3.8,
        'its bid rises for that': bids['after'] > 1.5 * bids['before'],
        'its iterations take about as long as they may': len(late) > 0
        and float(np.abs(late - 1.0).max()) < 0.15,
        'it meets the new deadline': bool(run.ended <= run.setting.deadline_then),
    }
    return {
        'experiment': 'merkat-fig8',
        'deadline': run.setting.deadline,
        'deadline_then': run.setting.deadline_then,
        'moved': moved,
        'work': run.setting.work,
        'cores': {name: round(value, 3) for name, value in cores.items()},
        'bid': {name: round(value, 2) for name, value in bids.items()},
        'finished': round(float(run.ended), 1) if np.isfinite(run.ended) else None,
        'paid': round(run.paid),
        'actions': [f'{at:.0f} s: {why}' for at, why in run.actions],
        **verdict(holds),
    }


def report(output: Path, recording: Recording, summary: dict[str, Any]) -> None:
    """CSV, PNG and summary.json in `output`."""
    recording.write_csv(output / 'merkat-fig8.csv')
    panels = [
        ('Bid for CPU', 'credits per period', ['deadline.bid']),
        ('CPU allocated', 'cores', ['deadline.cores', 'others.cores']),
        (
            'Time of an iteration',
            'seconds',
            [f'{name}.seconds' for name in ('iteration', 'reference', 'low', 'high')],
        ),
    ]
    title = f'A deadline moved from {summary["deadline"]:g} to {summary["deadline_then"]:g} s'
    plot(output / 'merkat-fig8.png', recording, panels, title, ('minutes', 60.0))
    write_summary(output / 'summary.json', summary)
