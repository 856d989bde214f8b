# SPDX-License-Identifier: Apache-2.0
"""A full cloud in which nobody bids, under the default bid of before and that of now: prices, cores, a bid.

Shows rules B3 and B4 of doc/source/specs/market.rst by the functions that the engine decides with. Three
projects have a server of 4 vCPU each, which are 12 on 8 cores. Before, a server without a bid bid the price
of the period before times a_max, as Merkat (INRIA RR-8648), section 2.2.2, does for a first bid; that rule
is kept here only. Each rule runs twice: nobody bids, and one of the three bids 1 credit for its CPU.
Units: periods in the recording, credits per core and period for prices, cores.
"""

import argparse
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.core.ledger.money import MICRO
from nova_market.core.ledger.posting import account
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.settings import MarketSettings
from nova_market.core.resource import Array, HostName
from nova_market.experiments.guests.recording import Recording, plot, write_summary
from nova_market.sim.market.economy import Economy

NAME = 'idle-economy'
TOTAL = 300
"""Credits of the three projects together."""

HOST = CloudHost(name=HostName('host-1'), cores=9.0, memory_mib=33 * 1024.0)
"""The market divides 8 cores and 32 GiB of it."""

SERVERS = tuple(
    CloudServer(id=f'{project}-1', project_id=project, host=HOST.name, vcpus=4, memory_mib=4096)
    for project in ('biology', 'chemistry', 'physics')
)
BIDDER = SERVERS[0]
BID = StoredBid(
    server_id=BIDDER.id, project_id=BIDDER.project_id,
    payer=account('project', BIDDER.project_id), cpu=MICRO, memory=MICRO // 100,
)  # fmt: skip

SETTLED = 3
"""Period from which on constant inputs must give constant prices (B3)."""

NOTHING = 1e-3
"""Cores; less is no allocation: credits that are left over buy some millionths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """periods: how many rounds"""

    periods: int = 240
    output: Path = field(default_factory=Path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """before: with the default bid of before, and without a breaker; bids: one server bids"""

    before: bool
    bids: bool

    @property
    def name(self) -> str:
        return ('before' if self.before else 'after') + ('.bid' if self.bids else '.idle')


CASES = tuple(Case(before=before, bids=bids) for before in (True, False) for bids in (False, True))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--periods', type=int, default=240, metavar='N', help='rounds (default: %(default)d)'
    )


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    setting = Setting(periods=max(arguments.periods, SETTLED + 1), output=arguments.output)
    recording = simulate(setting)
    summary = judge(recording, setting)
    setting.output.mkdir(parents=True, exist_ok=True)
    report(setting.output, recording, summary)
    return summary


def simulate(setting: Setting) -> Recording:
    """All cases; a row for each period."""
    rows: list[dict[str, float]] = [{} for _ in range(setting.periods)]
    for case in CASES:
        for period, row in enumerate(_run(case, setting.periods)):
            rows[period] |= {f'{case.name}.{name}': value for name, value in row.items()}
    recording = Recording()
    for period, row in enumerate(rows):
        recording.add(float(period), row)
    return recording


def judge(recording: Recording, setting: Setting) -> dict[str, Any]:
    """What the rules promise, by numbers; `passed` when the rule of now keeps it."""
    found = {case.name: _figures(recording, case) for case in CASES}
    idle, bid = found['after.idle'], found['after.bid']
    holds = {
        'prices are constant': max(
            one['price_highest'] / one['price_lowest'] for one in (idle, bid)
        )
        < 1.0 + 1e-9,
        'nobody is at nothing': idle['at_nothing'] == bid['at_nothing'] == 0.0,
        'equal weights have equal shares': idle['cores_least'] > 0.999 * idle['cores_most'],
        'a fixed bid buys the same': bid['bid_most'] <= 1.05 * bid['bid_least'],
    }
    return {
        'experiment': NAME,
        'periods': setting.periods,
        **found,
        'holds': {name: bool(true) for name, true in holds.items()},
        'passed': bool(all(holds.values())),
    }


def report(output: Path, recording: Recording, summary: dict[str, Any]) -> None:
    """CSV, PNG and summary.json in `output`."""
    recording.write_csv(output / f'{NAME}.csv')
    panels = [
        ('Price of CPU, nobody bids', 'credits', ['before.idle.price', 'after.idle.price']),
        ('Price of CPU, one bid of 1', 'credits', ['before.bid.price', 'after.bid.price']),
        (
            'Cores of a project that does nothing',
            'cores',
            [f'{case.name}.{SERVERS[1].project_id}' for case in CASES if not case.bids],
        ),
        (
            'Cores that a bid of 1 buys',
            'cores',
            [f'{case.name}.{BIDDER.project_id}' for case in CASES if case.bids],
        ),
    ]
    title = 'Nobody bids: 12 vCPU on 8 cores, before and after'
    plot(output / f'{NAME}.png', recording, panels, title, ('period', 1.0))
    write_summary(output / 'summary.json', summary)


def _run(case: Case, periods: int) -> list[dict[str, float]]:
    """Of each period the price, and the cores of each project."""
    settings = MarketSettings(
        total=TOTAL * MICRO, new_weight=1.0, breaker=inf if case.before else 2.0
    )
    economy = Economy([HOST], SERVERS, settings)
    price, rows = np.array(settings.reserve), []
    for _ in range(periods):
        stored = {one.id: _price_bid(one, price) for one in SERVERS} if case.before else {}
        if case.bids:
            stored[BIDDER.id] = BID
        _, plan = economy.pass_period(stored)
        price = plan.outcome.price
        row = dict.fromkeys((one.project_id for one in SERVERS), 0.0)
        row |= {one.project_id: one.actual_cpu for one in plan.allocated}
        rows.append({'price': float(price[0]) / MICRO, **row})
    return rows


def _price_bid(server: CloudServer, price: Array) -> StoredBid:
    """The default bid of before: the price of the last period times a_max."""
    return StoredBid(
        server_id=server.id, project_id=server.project_id,
        payer=account('project', server.project_id),
        cpu=int(price[0] * server.vcpus), memory=int(price[1] * server.memory_mib),
    )  # fmt: skip


def _figures(recording: Recording, case: Case) -> dict[str, float]:
    """From the period on in which all have their first credits and their first bids."""
    price = recording.column(f'{case.name}.price', SETTLED - 1)
    idle = [one.project_id for one in SERVERS if not (case.bids and one is BIDDER)]
    cores = np.array([recording.column(f'{case.name}.{name}', SETTLED - 1) for name in idle])
    found = {
        'price_lowest': float(price.min()),
        'price_highest': float(price.max()),
        'at_nothing': float((cores < NOTHING).mean()),
        'cores_least': float(cores.min()),
        'cores_most': float(cores.max()),
    }
    if case.bids:
        bought = recording.column(f'{case.name}.{BIDDER.project_id}', SETTLED - 1)
        found |= {'bid_least': float(bought.min()), 'bid_most': float(bought.max())}
    return {name: round(value, 6) for name, value in found.items()}
