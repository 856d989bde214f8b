# SPDX-License-Identifier: Apache-2.0
"""Figure 3 of IFI-2016.04 on real guests: one host, one resource, two users.

User d has two CPU-bound VMs, user e has one, all on one CPU. During the first fifth only d1 runs, and has
the whole CPU. Then all three run. Without the service every VM gets a third; with it e's VM should get half,
as both users have the same quota. CPU is the only resource in the metric, as in the paper's experiment.

Differs from the paper: weights are compared among guests that compete (H20), so that of d1 does not fall
while it is alone. With `--beside 1` a process that is no guest takes half of the CPU. What guests get is then
less, and e's VM should still have half of it.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nova_market.experiments.guests.observer import Observer
from nova_market.experiments.guests.processes import away_from, busy_beside
from nova_market.experiments.guests.recording import Recording, jain, plot, write_summary
from nova_market.experiments.guests.service_process import ServiceProcess, running
from nova_market.testbed.guest import GuestSpec
from nova_market.testbed.host import UNDISTURBED, Host

ALONE = 0.2
"""Part of the experiment in which only d1 runs (the paper: 3 of 15 minutes)."""

JUDGED = 0.5
"""The mean is taken over the last half."""

TOLERANCE = 0.03
JAIN = 0.99

WHOLE = 0.8
"""Least part that d1 gets, while it is alone, of what the three get together later. A guest that is held back
would get half or two thirds; the ticks of the two idle guests, and whatever else the machine does meanwhile,
take up to an eighth under emulation."""

GUESTS = {'d1': 'd', 'd2': 'd', 'e1': 'e'}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """interval and duration in seconds; cpu: the host CPU that the guests share.

    beside: busy processes on that CPU, each of the weight of all guests together
    """

    interval: float
    duration: float
    enforce: bool
    state: Path
    output: Path
    cpu: int = 0
    beside: int = 0


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    return run(
        Setting(
            interval=arguments.interval,
            duration=arguments.duration,
            enforce=not arguments.off,
            state=arguments.state,
            output=arguments.output,
            beside=arguments.beside,
        )
    )


def run(setting: Setting) -> dict[str, Any]:
    """Run it; the summary, which is also in output/summary.json, with `passed`."""
    setting.output.mkdir(parents=True, exist_ok=True)
    options = () if setting.beside else UNDISTURBED
    host = Host('fig3', str(setting.cpu), 2048, setting.state, options=options)
    guests = [GuestSpec(name=name, project=owner) for name, owner in GUESTS.items()]
    with away_from(setting.cpu), host:
        machines = {spec.name: host.boot(spec) for spec in guests}
        service = ServiceProcess(setting.output / 'service', service_options(host, setting))
        observer = Observer({'a': host.uri})
        services = [service] if setting.enforce else []
        with running(*services), busy_beside(setting.cpu, setting.beside):
            began = time.monotonic()
            observer.look(0.0)
            machines['d1'].order('burn 1')
            observer.watch(began, setting.duration * ALONE, setting.interval)
            machines['d2'].order('burn 1')
            machines['e1'].order('burn 1')
            observer.watch(began, setting.duration, setting.interval)
            status = service.status() if setting.enforce else None
        observer.close()
    summary = judge(observer.recording, setting)
    report(setting.output, observer.recording, summary)
    return summary | ({'last_status': status} if status else {})


def service_options(host: Host, setting: Setting) -> dict[str, dict[str, object]]:
    return {
        'fairness': {'interval': setting.interval, 'resources': 'cpu', 'disk_control': 'off'},
        'host': {'name': host.name, 'libvirt_uri': host.uri, 'cpus': setting.cpu},
    }


def judge(recording: Recording, setting: Setting) -> dict[str, Any]:
    """Shares of what the guests got together, so that the service's own CPU does not count."""
    start = setting.duration * (1 - JUDGED)
    used = {name: recording.mean(f'{name}.cpu', start) for name in GUESTS}
    whole = sum(used.values())
    shares = {name: cores / whole for name, cores in used.items()}
    owners = {owner: sum(shares[n] for n in GUESTS if GUESTS[n] == owner) for owner in ('d', 'e')}
    # the last look of this part is the first of the next one
    first = recording.mean('d1.cpu', setting.interval, setting.duration * ALONE - setting.interval)
    expected = 0.5 if setting.enforce else 1 / 3
    index = jain(list(owners.values()))
    passed = abs(shares['e1'] - expected) <= TOLERANCE
    if setting.enforce:
        passed = passed and index >= JAIN and first >= WHOLE * whole
    return {
        'experiment': 'fairness-fig3',
        'service': 'on' if setting.enforce else 'off',
        'interval': setting.interval,
        'duration': setting.duration,
        'beside': setting.beside,
        'shares': shares,
        'owners': owners,
        'jain': index,
        'd1_cpu_while_alone': first,
        'cpu_used_together': whole,
        'expected_e1': expected,
        'tolerance': TOLERANCE,
        'passed': bool(passed),
    }


def report(output: Path, recording: Recording, summary: dict[str, Any]) -> None:
    """CSV, PNG and summary.json in `output`."""
    name = summary['experiment']
    recording.write_csv(output / f'{name}.csv')
    panels = [
        ('CPU used', 'cores', [f'{guest}.cpu' for guest in GUESTS]),
        ('CPU shares', 'cpu.shares', [f'{guest}.shares' for guest in GUESTS]),
    ]
    plot(
        output / f'{name}.png',
        recording,
        panels,
        f'One host, users d and e, service {summary["service"]}',
    )
    write_summary(output / 'summary.json', summary)
