# SPDX-License-Identifier: Apache-2.0
"""Two elastic batch frameworks with equal budgets share a cloud: half each when both want more.

Reproduces Merkat (INRIA RR-8648), section 3.3, figures 6 and 7, without guests: 32 nodes of 700 CPU units are
224 servers of a core; Condor gets 8 sweeps of 1000 single jobs, one an hour, Torque 61 jobs of 1 to 8
processors; the policy is section 3.3.1's. Rounds every 60 s, control every 80 s. Units: seconds, servers.

Settled here, where the paper is silent: Torque's jobs come in two lots (its phases 2 and 4), each within ten
minutes; widths are uniform; run times are normal with the paper's mean and deviation, drawn again below a
minute; a framework keeps at least 8 servers, so that its widest job can start; memory is plenty; a server
boots in a minute, and one that is given back ends its job first; controllers plan by past prices too, as
`nova-market-controller` does (with the last price alone both take the cloud for cheap whenever a server is
idle); nodes hold seven such servers, so an undivided cloud loses nothing.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.core.app.draining import bid_of_each
from nova_market.core.app.policies.policy_interface import (
    Backlog,
    Band,
    MarketState,
    PolicyInput,
    PolicyState,
    StepReason,
)
from nova_market.core.app.policies.price_smoothing import KEEP
from nova_market.core.app.policies.queue_driven import queue_driven
from nova_market.core.app.template import MAX_DRAIN
from nova_market.core.ledger.money import MICRO
from nova_market.core.resource import Array, Flags, Values
from nova_market.errors import BadWorkload
from nova_market.experiments.guests.recording import Recording, plot, write_summary
from nova_market.experiments.simulated.framework import Framework, Jobs
from nova_market.experiments.simulated.verdict import Finding, not_judged, verdict
from nova_market.sim.market.one_host import Bidders, empty_market, one_host_round
from nova_market.sim.market.past_prices import PastPrices

SERVERS = 224
SWEEPS, SWEEP, EVERY = 8, 1000, 3600.0
SWEEP_RUN = (478.0, 363.0)
TORQUE, TORQUE_WIDTH, TORQUE_RUN = 61, 8, (2479.0, 1243.5)
LOTS = (75 * 60.0, 315 * 60.0)
LOT = 600.0
SHORTEST = 60.0

LEAST = 8
BUDGET = 1000.0
RESERVE = 0.1
BOOT = 60.0

ROUND, CONTROL, TICK = 60, 80, 20
SETTLING = 1200.0
"""Seconds: a quarter more servers in each control period come from 8 to half the cloud in 16 minutes."""

MOST = 0.9
"""What Condor has more than, of all servers, while it is alone; it can where Torque's LEAST leave so much."""

LONGEST = 48 * 3600

NAMES = ('condor', 'torque')


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """part: of the servers and of the jobs; 1 is the paper's
    price_memory: part of a price that still counts a round later (core.app.policies.price_smoothing)
    drain_timeout: seconds that a server has for its job when it is given up
    """

    seed: int = 1
    part: float = 1.0
    price_memory: float = KEEP
    drain_timeout: float = MAX_DRAIN
    output: Path = field(default_factory=Path)

    @property
    def servers(self) -> int:
        return round(SERVERS * self.part)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `nova-market-experiment merkat-fig6`."""
    parser.add_argument('--seed', type=int, default=1, help='default: %(default)d')
    parser.add_argument(
        '--part', type=float, default=1.0, metavar='P',
        help='of the servers and of the jobs, for a quick look (default: 1); of a small part not every '
        'claim is judged',
    )  # fmt: skip
    parser.add_argument(
        '--drain-timeout', type=float, default=float(MAX_DRAIN), metavar='SECONDS',
        help='for the job of a server that is given up; 0: it begins again (default: %(default)g)',
    )  # fmt: skip
    parser.add_argument(
        '--price-memory', type=float, default=KEEP, metavar='K',
        help='[controller]price_memory, 0 to 0.99; 0 = the last price only, as in the paper '
        '(default: %(default)g)',
    )  # fmt: skip


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    setting = Setting(
        seed=arguments.seed,
        part=arguments.part,
        price_memory=arguments.price_memory,
        drain_timeout=arguments.drain_timeout,
        output=arguments.output,
    )
    recording, frameworks = simulate(setting)
    summary = judge(recording, frameworks, setting)
    setting.output.mkdir(parents=True, exist_ok=True)
    report(setting.output, recording, summary)
    return summary


def workload(setting: Setting) -> tuple[Jobs, Jobs]:
    """Of Condor and Torque."""
    rng = np.random.default_rng(setting.seed)
    sweep = round(SWEEP * setting.part)
    submit = np.repeat(np.arange(SWEEPS) * EVERY, sweep)
    condor = Jobs(
        submit=submit,
        work=_run_times(rng, SWEEP_RUN, len(submit)),
        width=np.ones(len(submit), dtype=np.int64),
    )
    jobs = round(TORQUE * setting.part)
    lot = np.repeat(LOTS, [jobs - jobs // 2, jobs // 2])
    torque = Jobs(
        submit=np.sort(lot + rng.uniform(0.0, LOT, jobs)),
        work=_run_times(rng, TORQUE_RUN, jobs),
        width=rng.integers(1, TORQUE_WIDTH, jobs, endpoint=True),
    )
    return condor, torque


def _run_times(rng: np.random.Generator, law: tuple[float, float], count: int) -> Array:
    """Normal, drawn again below SHORTEST."""
    found = rng.normal(*law, count)
    while (low := found < SHORTEST).any():
        found[low] = rng.normal(*law, int(low.sum()))
    return found


def simulate(setting: Setting) -> tuple[Recording, tuple[Framework, ...]]:
    """To the end of the last job."""
    keep = setting.price_memory
    if not (0.1 <= setting.part <= 10 and 0.0 <= keep <= 0.99):
        raise BadWorkload(
            f'part {setting.part:g}, price memory {keep:g}: give 0.1 to 10, and 0 to 0.99'
        )
    frameworks = tuple(
        Framework(name=name, jobs=jobs, boot=BOOT, drain_timeout=setting.drain_timeout)
        for name, jobs in zip(NAMES, workload(setting), strict=True)
    )
    # memory has no price here; the rows are there as everywhere
    capacity = np.array([float(setting.servers), 1.0])
    market = empty_market(capacity, np.array([RESERVE, 0.0]) * MICRO)
    past = PastPrices(keep)
    bid, allocation = np.zeros((2, 2)), np.zeros((2, 2))
    lost: Flags = np.zeros(2, dtype=np.bool_)
    recording = Recording()
    for now in range(0, LONGEST, TICK):
        if now % CONTROL == 0:
            known = past.planned(market)
            bid, lost = _control(frameworks, known, (bid, allocation, lost), now)
        if now % ROUND == 0:
            bidders = bidders_of(frameworks, bid)
            divided = one_host_round(market, bidders)
            market, allocation = divided.market, divided.allocation
            past.add(market.price)
            recording.add(now, _row(frameworks, allocation, market))
        for framework, speed in zip(frameworks, allocation[0], strict=True):
            framework.tick(now, TICK, min(float(speed), 1.0))
        if all(framework.finished for framework in frameworks):
            break
    return recording, frameworks


def _control(
    frameworks: tuple[Framework, ...],
    market: MarketState,
    last: tuple[Array, Array, Flags],
    now: float,
) -> tuple[Array, Flags]:
    """One step of both controllers: bids of a server, and whose servers the price took."""
    seen = _seen(frameworks, market, last)
    steps = queue_driven(seen)
    for framework, count in zip(frameworks, steps.count.tolist(), strict=True):
        framework.resize(count, now)
    return steps.bid, (steps.why & int(StepReason.TOO_DEAR)) > 0


def _counts(frameworks: tuple[Framework, ...]) -> Values:
    return np.array([framework.servers for framework in frameworks])


def _seen(
    frameworks: tuple[Framework, ...], market: MarketState, last: tuple[Array, Array, Flags]
) -> PolicyInput:
    bid, allocation, lost = last
    most = np.array([[1.0, 1.0], [0.0, 0.0]])
    nothing, one = np.zeros(2), np.ones(2)
    return PolicyInput(
        market=market,
        state=np.full(2, int(PolicyState.RUNNING)),
        count=np.array([framework.stay for framework in frameworks]),
        draining=np.array([framework.servers - framework.stay for framework in frameworks]),
        least_count=np.full(2, LEAST),
        most_count=np.full(2, int(market.capacity[0])),
        bid=bid,
        allocation=allocation,
        least=most,
        most=most,
        change=np.zeros((2, 2)),
        budget=np.full(2, BUDGET * MICRO),
        band=Band(performance=one, reference=one, low=nothing, high=one),
        backlog=Backlog(
            waiting=np.array([framework.waiting for framework in frameworks]),
            busy=np.array([framework.busy for framework in frameworks]),
            lost=lost,
        ),
    )


def bidders_of(frameworks: tuple[Framework, ...], bid: Array) -> Bidders:
    """bid: as decided, of each server that stays."""
    each = [
        bid_of_each((cpu, memory), framework.stay, framework.servers - framework.stay)
        for framework, cpu, memory in zip(frameworks, *bid.tolist(), strict=True)
    ]
    return Bidders(
        count=_counts(frameworks),
        bid=np.array(each, dtype=np.float64).T,
        most=np.array([[1.0, 1.0], [0.0, 0.0]]),
        budget=np.full(2, BUDGET * MICRO),
    )


def _row(
    frameworks: tuple[Framework, ...], allocation: Array, market: MarketState
) -> dict[str, float]:
    row = {'price': float(market.price[0]) / MICRO}
    for framework, cores in zip(frameworks, allocation[0], strict=True):
        used = float(cores) * framework.servers
        row |= {
            f'{framework.name}.servers': float(framework.servers),
            f'{framework.name}.waiting': float(framework.waiting),
            f'{framework.name}.running': float(len(framework.runs)),
            f'{framework.name}.part': used / market.capacity[0],
        }
    return row


def phases(recording: Recording) -> list[tuple[bool, float, float]]:
    """(both want more than they have, from, to): stretches of at least SETTLING."""
    found: list[tuple[bool, float, float]] = []
    for row in recording.rows:
        both = bool(row['torque.waiting'] and row['condor.waiting'])
        if found and found[-1][0] == both:
            found[-1] = (both, found[-1][1], row['time'])
        else:
            found.append((both, row['time'], row['time']))
    return [phase for phase in found if phase[2] - phase[1] >= SETTLING]


def judge(
    recording: Recording, frameworks: tuple[Framework, ...], setting: Setting
) -> dict[str, Any]:
    """What the paper says of figures 6 and 7, as far as a cloud of this size can show it."""
    seen = phases(recording)
    shared = [(start + SETTLING, end) for both, start, end in seen if both]
    parts = {name: [recording.mean(f'{name}.part', *span) for span in shared] for name in NAMES}
    alone = _alone(recording)
    tops = [float(recording.column('condor.part', *span).max()) for span in alone]
    worked = sum(float((f.jobs.work * f.jobs.width).sum()) for f in frameworks)
    last = max(float(np.nanmax(f.end)) for f in frameworks)
    waits = {f.name: float(np.mean(f.end - f.jobs.submit - f.jobs.work)) for f in frameworks}
    return {
        'experiment': 'merkat-fig6',
        'servers': setting.servers,
        'seed': setting.seed,
        'shared_minutes': [[round(t / 60) for t in span] for span in shared],
        'part_while_shared': {
            name: [round(part, 4) for part in both] for name, both in parts.items()
        },
        'condor_most_while_alone': [round(top, 4) for top in tops],
        'mean_wait': {name: round(wait) for name, wait in waits.items()},
        'minutes': round(last / 60, 1),
        'work_per_capacity': round(worked / (last * setting.servers), 4),
        'work_lost': round(sum(f.lost for f in frameworks) / worked, 4),
        **verdict(
            {
                'each has 45 to 55 % while both want more than they have': _halves(parts, setting),
                'Condor takes up to all that is free before, between and after': _free(
                    tops, setting
                ),
                'all jobs are done': all(f.finished for f in frameworks),
            }
        ),
    }


def _halves(parts: Mapping[str, Sequence[float]], setting: Setting) -> Finding:
    """A small part has too few jobs for two queues that are never empty."""
    found = [part for both in parts.values() for part in both]
    if setting.part < 1 and not found:
        return not_judged(
            f'too small: with {setting.servers} of {SERVERS} servers both never want more for '
            f'{SETTLING / 60:.0f} minutes'
        )
    return bool(found) and all(0.45 <= part <= 0.55 for part in found)


def _free(tops: Sequence[float], setting: Setting) -> Finding:
    """Torque's LEAST servers are as many in a small cloud as in the paper's."""
    if (1.0 - MOST) * setting.servers < LEAST:
        return not_judged(f'too small: Torque keeps {LEAST} of {setting.servers} servers')
    return len(tops) == 3 and min(tops) > MOST


def _alone(recording: Recording) -> list[tuple[float, float]]:
    """Stretches without any job of Torque, at least SETTLING long."""
    found: list[list[float]] = []
    last = -np.inf
    for row in recording.rows:
        if row['torque.running'] or row['torque.waiting']:
            continue
        if row['time'] - last > ROUND:
            found.append([row['time'], row['time']])
        found[-1][1] = last = row['time']
    return [(start, end + 1.0) for start, end in found if end - start >= SETTLING]


def report(output: Path, recording: Recording, summary: dict[str, Any]) -> None:
    """CSV, PNG and summary.json in `output`."""
    recording.write_csv(output / 'merkat-fig6.csv')
    panels = [
        ('Part of the CPU', 'of the cloud', [f'{name}.part' for name in NAMES]),
        ('Servers', '', [f'{name}.servers' for name in NAMES]),
        ('Servers that queues wait for', '', [f'{name}.waiting' for name in NAMES]),
        ('Price', 'credits per core and period', ['price']),
    ]
    title = f'Two frameworks with equal budgets on {summary["servers"]} cores'
    plot(output / 'merkat-fig6.png', recording, panels, title, ('minutes', 60.0))
    write_summary(output / 'summary.json', summary)
