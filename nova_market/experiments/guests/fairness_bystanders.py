# SPDX-License-Identifier: Apache-2.0
"""Figure 4 of IFI-2016.04 with idle bystanders: two hosts, two busy users, and 1 to 10 users who do nothing.

On host a user d and user e each run a CPU-bound VM, and on host b a second one of user d is alone. Without
the service d and e have half of a each; with it e should have about three quarters of what both get, because
d also uses b. Beside them on a there are idle VMs, each of another user. They tick, which takes 2 to 3 % of
a core each under emulation, and should change nothing; nor should they have much larger weights than the busy
ones, or whoever wakes would take the host.

Each number of bystanders is a run of its own on fresh hosts, and its result is a file of its own: what is
there with the same interval and duration is not run again, so a long series may be cut into parts.

Differs from the paper: it has no idle VMs; CPU is the only resource.
"""

import argparse
import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nova_market.experiments.guests.observer import Observer
from nova_market.experiments.guests.recording import Recording, plot, rounded, write_summary
from nova_market.experiments.guests.service_process import ServiceProcess, running
from nova_market.experiments.guests.settled import settled_shares
from nova_market.testbed.broker import Broker
from nova_market.testbed.guest import GuestSpec
from nova_market.testbed.host import UNDISTURBED, Host

NAME = 'fairness-bystanders'
BUSY = {'d1': ('a', 'd'), 'e1': ('a', 'e'), 'd2': ('b', 'd')}
CPUS = {'a': '0', 'b': '1'}
DEFAULT_COUNTS = tuple(range(1, 11))

JUDGED = 0.5
"""The mean is taken over the last half."""

TOLERANCE = 0.05
"""e's part may differ by so much from where the controller settles for what all guests were seen to use
(experiments.guests.settled): 0.739 without bystanders, 0.72 to 0.77 with 1 to 10 that use 3 % of a core."""

LEAST = 0.68
"""And e has at least so much, whatever the model makes of the use: with five bystanders it once had 0.55."""

HALF = 0.5
"""What e has without the service."""

IDLE_WEIGHT = 1.5
"""Most that an idle guest may weigh, as a multiple of the mean of d1 and e1 by what they use: 1 by rule H22,
and more where CPU is so scarce that guests which tick are not wholly idle."""

POINTS = 10
"""Shares over time in the summary: so many means."""

MEMORY_MIB = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """interval and duration in seconds, the duration for each number of bystanders in `counts`."""

    interval: float
    duration: float
    enforce: bool
    counts: Sequence[int]
    state: Path
    output: Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--bystanders', type=int, nargs='+', default=list(DEFAULT_COUNTS), metavar='N',
        choices=range(21),
        help='idle VMs on host a, one run for each number (default: 1 to 10); a run whose result is in '
        'the output directory is not repeated',
    )  # fmt: skip


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    return run(
        Setting(
            interval=arguments.interval,
            duration=arguments.duration,
            enforce=not arguments.off,
            counts=arguments.bystanders,
            state=arguments.state,
            output=arguments.output,
        )
    )


def run(setting: Setting) -> dict[str, Any]:
    """Run what is not there yet; the summary, which is also in output/summary.json, with `passed`."""
    setting.output.mkdir(parents=True, exist_ok=True)
    for count in setting.counts:
        if stored(setting, count) is None:
            recording = record(setting, count)
            _report(setting, count, recording, judge(recording, setting, count))
    results = [result for n in setting.counts if (result := stored(setting, n)) is not None]
    summary = {
        'experiment': NAME,
        'service': 'on' if setting.enforce else 'off',
        'tolerance': TOLERANCE,
        'runs': results,
        'passed': all(result['passed'] for result in results),
    }
    write_summary(setting.output / 'summary.json', summary)
    return summary


def bystanders(count: int) -> dict[str, tuple[str, str]]:
    """Host and owner of each idle guest."""
    return {f'i{n}': ('a', f'o{n}') for n in range(count)}


def stored(setting: Setting, count: int) -> dict[str, Any] | None:
    """The result of an earlier run of the same kind, None when there is none."""
    path = _path(setting, count, 'json')
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding='utf-8'))
    return found if all(found.get(k) == v for k, v in _kind(setting, count).items()) else None


def record(setting: Setting, count: int) -> Recording:
    """One run on guests."""
    with ExitStack() as stack:
        broker = stack.enter_context(Broker(setting.state / 'broker'))
        hosts = {
            name: stack.enter_context(
                Host(f'by{name}', cpu, MEMORY_MIB, setting.state, options=UNDISTURBED)
            )
            for name, cpu in CPUS.items()
        }
        machines = {
            name: hosts[host].boot(GuestSpec(name=name, project=owner))
            for name, (host, owner) in (BUSY | bystanders(count)).items()
        }
        observer = Observer({name: host.uri for name, host in hosts.items()})
        stack.callback(observer.close)
        services = [
            ServiceProcess(setting.output / name, service_options(host, broker, setting))
            for name, host in hosts.items()
            if setting.enforce
        ]
        with running(*services):
            # only now: beside guests that burn, a service needs a minute to start
            for name in BUSY:
                machines[name].order('burn 1')
            observer.look(0.0)
            observer.watch(time.monotonic(), setting.duration, setting.interval)
    return observer.recording


def service_options(host: Host, broker: Broker, setting: Setting) -> dict[str, dict[str, object]]:
    return {
        'DEFAULT': {'transport_url': broker.url},
        'fairness': {
            'interval': setting.interval,
            'resources': 'cpu',
            'exchange': 'oslo',
            'disk_control': 'off',
        },
        'exchange': {'topology': 'broadcast'},
        'host': {'name': host.name, 'libvirt_uri': host.uri, 'cpus': host.cpus},
    }


def judge(recording: Recording, setting: Setting, count: int) -> dict[str, Any]:
    """Means of the last part against what is expected: e's share of what d and e get on a, and weights."""
    late = setting.duration * (1 - JUDGED)
    idle = list(bystanders(count))
    weight = {name: recording.mean(f'{name}.shares', late) for name in ('d1', 'e1', *idle)}
    share = share_of_e(recording, late)
    busy = (1 - share) * weight['d1'] + share * weight['e1']
    heaviest = max((weight[name] / busy for name in idle), default=0.0)
    cores = {name: recording.mean(f'{name}.cpu', late) for name in (*BUSY, *idle)}
    expected = HALF
    if setting.enforce:
        expected = settled_shares(BUSY | bystanders(count), cores, ('d1', 'e1'))['e1']
    passed = abs(share - expected) <= TOLERANCE
    if setting.enforce:
        passed = passed and share >= LEAST and heaviest <= IDLE_WEIGHT
    step = setting.duration / POINTS
    return _kind(setting, count) | {
        'share_of_e_on_a': share,
        'expected': expected,
        'share_over_time': rounded(
            share_of_e(recording, n * step, (n + 1) * step) for n in range(POINTS)
        ),
        'cores': cores,
        'idle_weight': heaviest,
        'weights': weight,
        'passed': bool(passed),
    }


def share_of_e(recording: Recording, start: float, end: float = float('inf')) -> float:
    """e's part of what d and e get of host a."""
    d, e = (recording.mean(f'{name}.cpu', start, end) for name in ('d1', 'e1'))
    return e / (d + e)


def _kind(setting: Setting, count: int) -> dict[str, Any]:
    """What makes a result the same kind of run."""
    kept = asdict(setting)
    return {name: kept[name] for name in ('interval', 'duration', 'enforce')} | {
        'bystanders': count
    }


def _path(setting: Setting, count: int, suffix: str) -> Path:
    return setting.output / f'{NAME}-{count}.{suffix}'


def _report(setting: Setting, count: int, recording: Recording, result: dict[str, Any]) -> None:
    recording.write_csv(_path(setting, count, 'csv'))
    names = ['d1', 'e1', *bystanders(count)]
    plot(
        _path(setting, count, 'png'),
        recording,
        [
            ('CPU on host a', 'cores', [f'{name}.cpu' for name in names]),
            ('CPU shares', 'cpu.shares', [f'{name}.shares' for name in names]),
        ],
        f'Two busy users and {count} idle ones on host a, d also on host b',
    )
    write_summary(_path(setting, count, 'json'), result)
