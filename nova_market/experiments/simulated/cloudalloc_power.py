# SPDX-License-Identifier: Apache-2.0
"""What a day of servers draws with all hosts on, on fewer hosts, and with the others powered down.

For CloudAlloc (SIGMOD 2012), whose evaluation has no such day, with the decisions of core.power and
core.rebalancing (rules W1 to W3 of doc/source/specs/leases.rst). Units: kWh, GiB, parts of 1. What a saving
costs stands beside it: the largest allocation error, how much of what was wanted was not delivered, moves,
copied memory, and hosts that were switched. `filled_to` is the load of hosts and cloud up to which hosts are
emptied and powered down.

Servers have two vCPUs and 2 GiB; hosts 16 cores, 128 GiB, 160 W, and 120 W more when all cores are busy.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nova_market.core.power.consolidation import ConsolidationSettings
from nova_market.core.power.plan import PowerSettings
from nova_market.core.resource import Array
from nova_market.errors import BadPower
from nova_market.experiments.guests.recording import write_summary, write_table
from nova_market.experiments.simulated.verdict import verdict
from nova_market.sim.power.day import Day, Goals, Machines, least_joules, simulated
from nova_market.sim.power.loads import made_up_loads, read_loads

NAME = 'cloudalloc-power'
SERVERS = 1000
HOSTS = 40
VCPUS, SERVER_MIB = 2.0, 2048.0
MOST_SERVERS = 20_000

JOULES = 3.6e6
"""Of a kWh."""

FILLED_TO = (0.5, 0.6, 0.7, 0.8, 0.9)
NOTHING = 0.01
"""A part of the energy that is no saving."""

UNDELIVERED = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """trace: a day of PlanetLab, None = made up from `seed`; hosts: so many"""

    trace: Path | None = None
    hosts: int = HOSTS
    seed: int = 0
    output: Path = field(default_factory=Path)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `nova-market-experiment cloudalloc-power`."""
    parser.add_argument(
        '--trace', type=Path, metavar='FILE',
        help='CPU utilisation of servers, a line each: name, percent every 5 minutes; .csv or .csv.gz '
        f'(default: {SERVERS} servers, made up)',
    )  # fmt: skip
    parser.add_argument('--hosts', type=int, default=HOSTS, help='(default: %(default)d)')
    parser.add_argument('--seed', type=int, default=0, help='of made-up servers (default: 0)')


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """The summary; a table, a figure and the summary are in the output directory."""
    setting = Setting(
        trace=arguments.trace, hosts=arguments.hosts, seed=arguments.seed, output=arguments.output
    )
    setting.output.mkdir(parents=True, exist_ok=True)
    rows = measured(setting)
    summary = judge(rows, setting)
    write_table(setting.output / f'{NAME}.csv', rows)
    plot_price_of_saving(setting.output / f'{NAME}.png', rows)
    write_summary(setting.output / 'summary.json', summary)
    return summary


def measured(setting: Setting) -> list[dict[str, Any]]:
    """A row for each way to run the hosts, and one for what no placement can draw less than.

    :raises BadPower, BadWorkload: hosts without room for the servers; a trace that is none.
    """
    loads = (
        made_up_loads(SERVERS, setting.seed) if setting.trace is None else read_loads(setting.trace)
    )
    if len(loads) > MOST_SERVERS:
        raise BadPower(f'{len(loads)} servers: give a trace of at most {MOST_SERVERS}')
    machines = Machines(
        count=setting.hosts, cores=16.0, memory_mib=128 * 1024.0, base_w=160.0, peak_w=120.0
    )
    a_host = int(machines.memory_mib // SERVER_MIB)
    if setting.hosts < 2 or setting.hosts * a_host < len(loads):
        needed = max(-(-len(loads) // a_host), 2)
        raise BadPower(
            f'{setting.hosts} hosts have no room for {len(loads)} servers: give {needed} or more'
        )
    rows = [
        _row(loads, name, filled, simulated(loads, VCPUS, SERVER_MIB, machines, goals))
        for name, filled, goals in _ways()
    ]
    least = Day(joules=least_joules(loads, VCPUS, SERVER_MIB, machines))
    return [*rows, {**_row(loads, 'bound', None, least), 'hosts_on': None, 'largest_error': None}]


def _ways() -> list[tuple[str, float | None, Goals]]:
    ways: list[tuple[str, float | None, Goals]] = [('all on', None, Goals(balance=True))]
    for down in (False, True):
        for filled in FILLED_TO if down else (0.7,):
            goals = Goals(
                balance=True,
                consolidate=True,
                power=down,
                fill=ConsolidationSettings(fullest=filled),
                down=PowerSettings(fullest=filled),
            )
            ways.append(('powered down' if down else 'consolidated', filled, goals))
    return ways


def _row(loads: Array, way: str, filled: float | None, day: Day) -> dict[str, Any]:
    return {
        'way': way,
        'filled_to': filled,
        'kwh': round(day.joules / JOULES, 2),
        'hosts_on': round(day.on / loads.shape[1], 2),
        'largest_error': round(max(day.errors, default=0.0), 4),
        'short': round(day.short / loads.size, 6),
        'undelivered': round(day.missing / day.wanted, 6) if day.wanted else 0.0,
        'migrations': day.migrations,
        'copied_gib': round(day.copied_mib / 1024, 1),
        'switched': day.changes,
    }


def judge(rows: Sequence[Mapping[str, Any]], setting: Setting) -> dict[str, Any]:
    """The claims: what saves energy, and that it has a price."""
    on, consolidated, *down, bound = rows
    kwh = [row['kwh'] for row in down]
    short = [row['short'] for row in down]
    claims = {
        'consolidation alone saves nothing': bool(consolidated['kwh'] >= on['kwh'] * (1 - NOTHING)),
        'powering down draws less than all on, at each filling': bool(max(kwh) < on['kwh']),
        'the fuller the hosts, the less is drawn': bool((np.diff(kwh) < 0).all()),
        'the fuller the hosts, the more servers are short': bool((np.diff(short) >= 0).all()),
        'less than a hundredth of what is wanted is not delivered': bool(
            max(row['undelivered'] for row in rows) < UNDELIVERED
        ),
        'nothing draws less than the bound': bool(min(kwh) >= bound['kwh']),
    }
    return {
        'experiment': NAME,
        'trace': None if setting.trace is None else setting.trace.name,
        'hosts': setting.hosts,
        'table': list(rows),
        **verdict(claims),
    }


def plot_price_of_saving(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """kWh against the part of server-samples that are short, and against moves. Needs matplotlib."""
    import matplotlib as mpl

    mpl.use('Agg')
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True)
    down = [row for row in rows if row['way'] == 'powered down']
    on, bound = rows[0], rows[-1]
    for axis, column, factor, label in (
        (axes[0], 'short', 100.0, 'servers that are short, % of the day'),
        (axes[1], 'migrations', 1.0, 'migrations'),
    ):
        axis.plot([factor * row[column] for row in down], [row['kwh'] for row in down], 'o-')
        for row in down:
            axis.annotate(f'{row["filled_to"]:g}', (factor * row[column], row['kwh']), fontsize=8)
        axis.axhline(on['kwh'], color='0.4', ls='--', label='all on')
        axis.axhline(bound['kwh'], color='0.7', ls=':', label='bound')
        axis.set_xlabel(label)
    axes[0].set_ylabel('kWh a day')
    axes[0].set_ylim(bottom=0)
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
