# SPDX-License-Identifier: Apache-2.0
"""Figure 4 of IFI-2016.04 on real guests: two hosts, three users, CPU and disk, exchange over a broker.

On host a user d and user e each run a VM that loads CPU and disk. User e also runs a CPU-bound VM on
host b, where user f's only VM loads the disk. Without the service d and e have equal parts of a; with it
d should have more (about 0.68 of the CPU), because e also uses b, and no VM on b should be hurt.

Differs from the paper: whether disk weights act is measured and reported, not assumed. With `--bfq` the
guests' disks lie on a slow device under BFQ, one a host, and d should have more of a's disk too. Otherwise
weights act only where the directory of the test bed is under BFQ, and only CPU is compared.

On b the paper saw f's disk gain 40 % and e's VM not hurt. Nobody shares f's disk, so it is not the disk
weight that does it: f's VM waits for its CPU a little for each request, and less so with a higher CPU weight.
On the slow device f gained 31 % with three readers and e's VM lost nothing; with eight readers, which keep
the device full by themselves, f gained nothing. Where f's disk loop is bound by CPU, as it is under
emulation on a fast disk, f's gain would be e's loss; so f's disk is limited here (in its flavor, or by the
device, DISK_BYTES_PER_S), and what f gets is reported.
"""

import argparse
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nova_market.experiments.guests.observer import Observer
from nova_market.experiments.guests.recording import Recording, plot, write_summary
from nova_market.experiments.guests.service_process import ServiceProcess, running
from nova_market.testbed.broker import Broker
from nova_market.testbed.guest import Disk, Guest, GuestSpec
from nova_market.testbed.host import UNDISTURBED, Host
from nova_market.testbed.slow_disk import SlowDisk

GUESTS = {'d1': ('a', 'd'), 'e1': ('a', 'e'), 'e2': ('b', 'e'), 'f1': ('b', 'f')}
ORDERS = {
    'd1': ('burn 1', 'disk read 65536'),
    'e1': ('burn 1', 'disk read 65536'),
    'e2': ('burn 1',),
    'f1': ('disk read 65536',),
}
BASELINE = 0.3
"""Part of the duration in which the service only looks (a dry run), to compare with: what it, the broker
and the observer cost is the same then."""

SETTLE = 12.0
"""Seconds until the loads run at their rate: each reader is a process that a busy guest starts."""

EXPECTED = 0.68
TOLERANCE = 0.06
"""The fluid model of the controller gives d 0.68 of the CPU of a, when a's disk is as full as its CPU."""

HURT = 0.05

DISK_BYTES_PER_S = 4 << 20
"""f's disk; at this rate its loop needs about a tenth of a CPU under emulation."""

MEMORY_MIB = 2048

READERS = {'d1': 8, 'e1': 8, 'f1': 3}
"""Processes that read a disk with `--bfq`. Weights divide a's disk among queues that are not empty, and a
guest that waits for its CPU refills its queue late: with three readers d and e had equal parts, with eight
d had .59. With eight f fills b's disk without the service too, and can gain nothing."""

DISK_SHARE = 0.55
"""Least part of a's disk that d gets with `--bfq`; weights of 2.5:1 gave .59."""

DISK_MIB = 300

ACTS = 'weights act'


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """interval and duration in seconds; the duration includes the baseline.

    bfq: the guests' disks lie on a slow device under BFQ
    """

    interval: float
    duration: float
    enforce: bool
    state: Path
    output: Path
    bfq: bool = False


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    return run(
        Setting(
            interval=arguments.interval,
            duration=arguments.duration,
            enforce=not arguments.off,
            state=arguments.state,
            output=arguments.output,
            bfq=arguments.bfq,
        )
    )


def run(setting: Setting) -> dict[str, Any]:
    """Run it; the summary, which is also in output/summary.json, with `passed`."""
    setting.output.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        broker = stack.enter_context(Broker(setting.state / 'broker'))
        disks = {
            name: stack.enter_context(
                SlowDisk(setting.state / f'disk-{name}', DISK_MIB, DISK_BYTES_PER_S)
            )
            for name in (('a', 'b') if setting.bfq else ())
        }
        hosts = {
            name: stack.enter_context(
                Host(f'fig4{name}', cpu, MEMORY_MIB, setting.state, options=UNDISTURBED)
            )
            for name, cpu in (('a', '0'), ('b', '1'))
        }
        machines = {
            name: _boot(hosts[host], name, owner, disks.get(host))
            for name, (host, owner) in GUESTS.items()
        }

        def services(disk_mbps: float, *, dry_run: bool) -> list[ServiceProcess]:
            return [
                ServiceProcess(
                    setting.output / name,
                    service_options(host, broker, setting, disk_mbps, dry_run=dry_run),
                )
                for name, host in hosts.items()
            ]

        observer = Observer({name: host.uri for name, host in hosts.items()})
        stack.callback(observer.close)
        # what services need to start is left out of the time: on a slow machine it can be most of it
        split = setting.duration * BASELINE
        with running(*services(0.0, dry_run=True)):
            # only now: beside guests that burn, a service needs half a minute to start
            _load(machines, setting)
            observer.look(0.0)
            observer.watch(time.monotonic(), split, setting.interval)
        supply = disk_supply(observer.recording, setting)
        with running(*services(supply, dry_run=not setting.enforce)) as both:
            observer.watch(time.monotonic() - split, setting.duration, setting.interval)
            status = both[0].status()
    summary = judge(observer.recording, setting, status)
    _report(setting.output, observer.recording, summary)
    return summary


def disk_supply(recording: Recording, setting: Setting) -> float:
    """MiB/s that host a's disk gave to two guests that wanted all of it, in the baseline."""
    split = setting.duration * BASELINE
    rates = (recording.mean(f'{guest}.disk', setting.interval, split) for guest in ('d1', 'e1'))
    return sum(rates) / (1 << 20)


def service_options(
    host: Host, broker: Broker, setting: Setting, disk_mbps: float, *, dry_run: bool
) -> dict[str, dict[str, object]]:
    """disk_mbps: MiB/s, read supply of each host's disk; 0 leaves the disk out."""
    return {
        'DEFAULT': {'transport_url': broker.url},
        'fairness': {
            'interval': setting.interval,
            'resources': 'cpu,disk_read' if disk_mbps else 'cpu',
            'exchange': 'oslo',
            'disk_control': 'auto',
            'dry_run': dry_run,
        },
        # the paper's way: everybody tells everybody
        'exchange': {'topology': 'broadcast'},
        'host': {
            'name': host.name,
            'libvirt_uri': host.uri,
            'cpus': host.cpus,
            'disk_read_mbps': disk_mbps,
        },
    }


def judge(recording: Recording, setting: Setting, status: dict[str, Any]) -> dict[str, Any]:
    """Means of the second half of the time with the service, against the baseline."""
    split = setting.duration * BASELINE
    late = split + (setting.duration - split) / 2
    before = {
        f'{g}.{q}': recording.mean(f'{g}.{q}', setting.interval, split)
        for g in GUESTS
        for q in ('cpu', 'disk')
    }
    after = {name: recording.mean(name, late) for name in before}
    share, disk_share = (
        {
            when: found[f'd1.{quantity}'] / (found[f'd1.{quantity}'] + found[f'e1.{quantity}'])
            for when, found in (('before', before), ('after', after))
        }
        for quantity in ('cpu', 'disk')
    )
    change = {
        name: after[name] / before[name] - 1 for name in ('e2.cpu', 'f1.disk') if before[name] > 0
    }
    passed = abs(share['before'] - 0.5) <= TOLERANCE
    if setting.enforce:
        passed = (
            passed and abs(share['after'] - EXPECTED) <= TOLERANCE and min(change.values()) >= -HURT
        )
        acts = _disk_control(status) == ACTS
        passed = passed and not (setting.bfq and acts and disk_share['after'] < DISK_SHARE)
    return {
        'experiment': 'fairness-fig4',
        'service': 'on' if setting.enforce else 'off',
        'interval': setting.interval,
        'duration': setting.duration,
        'share_of_d_on_a': share,
        'disk_share_of_d_on_a': disk_share,
        'expected': EXPECTED if setting.enforce else 0.5,
        'tolerance': TOLERANCE,
        'change_on_b': change,
        'before': before,
        'after': after,
        'disk_weights': _disk_control(status),
        'hosts_in_totals': status['cloud']['hosts'],
        'passed': bool(passed),
    }


def _boot(host: Host, name: str, owner: str, slow: SlowDisk | None) -> Guest:
    limit = DISK_BYTES_PER_S if owner == 'f' and slow is None else 0
    path = None if slow is None else slow.directory / f'{name}.raw'
    return host.boot(
        GuestSpec(name=name, project=owner, disks=(Disk(bytes_per_s=limit, path=path),))
    )


def _load(machines: Mapping[str, Guest], setting: Setting) -> None:
    """Have the guests load CPU and disk, and wait until they do."""
    for name, orders in ORDERS.items():
        for order in orders:
            readers = READERS[name] if setting.bfq and order.startswith('disk') else 1
            for _ in range(readers):
                machines[name].order(order)
    time.sleep(SETTLE)


def _disk_control(status: dict[str, Any]) -> str:
    """Whether disk weights act, as the service found it."""
    reasons = {g['controls']['disk']['reason'] for g in status['guests'] if 'disk' in g['controls']}
    return ', '.join(sorted(reasons - {''})) or ACTS


def _report(output: Path, recording: Recording, summary: dict[str, Any]) -> None:
    name = summary['experiment']
    recording.write_csv(output / f'{name}.csv')
    panels = [
        ('CPU on host a', 'cores', ['d1.cpu', 'e1.cpu']),
        ('CPU on host b', 'cores', ['e2.cpu', 'f1.cpu']),
        ('disk', 'bytes/s', ['d1.disk', 'e1.disk', 'f1.disk']),
        ('CPU shares', 'cpu.shares', [f'{guest}.shares' for guest in GUESTS]),
    ]
    plot(
        output / f'{name}.png',
        recording,
        panels,
        f'Two hosts, users d, e, f, service {summary["service"]}',
    )
    write_summary(output / 'summary.json', summary)
