# SPDX-License-Identifier: Apache-2.0
"""Figure 3 as a demonstration: first without the service, then with it, and what an operator sees.

Real libvirt guests where root and the programs are there, otherwise the host in memory.
"""

import argparse
import dataclasses
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from nova_market.errors import NovaMarketError
from nova_market.experiments.guests import before_after, fairness_fig3
from nova_market.experiments.guests.fairness_fig3 import ALONE, GUESTS, Setting
from nova_market.experiments.guests.recording import Recording
from nova_market.experiments.simulated import memory_fig3
from nova_market.services.fairness.status import render

PROGRAMS = ('libvirtd', 'virtlogd', 'virsh', 'qemu-system-x86_64', 'busybox', 'cpio', 'nsenter')
OFF = 0.4
"""Part of the time that is spent without the service."""

PARTS = {'off': 'before', 'on': 'with nova-fairness'}
"""As the picture names them."""

STEADY = 60.0
"""Seconds that the part without the service needs at most: nothing changes there."""


def from_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    why = 'as asked' if arguments.memory else why_not_real()
    setting = Setting(
        interval=arguments.interval,
        duration=arguments.duration,
        enforce=not arguments.off,
        state=arguments.state,
        output=arguments.output,
    )
    print(
        'Project d runs two busy guests, project e one; they share one CPU and have equal quotas.'
    )
    if why:
        print(f'On a host in memory ({why}); the agent is the real one.\n', flush=True)
        return _show(setting, _in_memory)
    print('On real libvirt guests; the first start of libvirt takes half a minute.\n', flush=True)
    return _show(setting, _on_guests)


def why_not_real() -> str:
    """'' where real guests can run, else the reason."""
    if os.geteuid() != 0:
        return 'not root'
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f'missing: {", ".join(missing)}' if missing else ''


def _show(setting: Setting, run: Any) -> dict[str, Any]:
    off = dataclasses.replace(
        setting,
        enforce=False,
        duration=min(setting.duration * OFF, STEADY),
        output=setting.output / 'off',
    )
    summaries = {}
    for name, chosen in (
        ('off', off),
        ('on', dataclasses.replace(setting, output=setting.output / 'on')),
    ):
        if name == 'on' and not setting.enforce:
            continue
        print(f'== nova-fairness {name}, {chosen.duration:.0f} s', flush=True)
        summary, shown = run(chosen)
        summaries[name] = summary
        parts = ', '.join(
            f'{guest} {100 * share:.0f} %' for guest, share in summary['shares'].items()
        )
        print(f'   CPU of the guests: {parts}')
        owners = ', '.join(
            f'{owner} {100 * share:.0f} %' for owner, share in summary['owners'].items()
        )
        print(f"   by project: {owners}; Jain's index {summary['jain']:.3f}")
        if shown:
            print('\n   What `nova-fairness status` says:\n')
            print('\n'.join(f'   {line}' for line in shown.splitlines()))
        print(flush=True)
    if len(summaries) == len(PARTS):
        picture = setting.output / 'before-after.png'
        bars = {text: summaries[name]['shares'] for name, text in PARTS.items()}
        title = 'Two projects with equal quotas share one CPU'
        before_after.draw(picture, bars, GUESTS, title)
        print(f'   As a picture: {picture}\n', flush=True)
    passed = all(summary['passed'] for summary in summaries.values())
    return {'experiment': 'demo', 'passed': passed} | {
        name: {key: summary[key] for key in ('shares', 'owners', 'jain', 'passed')}
        for name, summary in summaries.items()
    }


def _on_guests(setting: Setting) -> tuple[dict[str, Any], str]:
    summary = fairness_fig3.run(setting)
    status = summary.pop('last_status', None)
    return summary, render(status, status['time'], alive=True) if status else ''


def _in_memory(setting: Setting) -> tuple[dict[str, Any], str]:
    setting.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        recording, shown = memory_fig3.run(
            GUESTS,
            interval=setting.interval,
            duration=max(setting.duration, 40 * setting.interval),
            alone=ALONE,
            enforce=setting.enforce,
            directory=Path(directory),
        )
    return _judged(recording, setting), shown


def _judged(recording: Recording, setting: Setting) -> dict[str, Any]:
    if not recording.rows:
        raise NovaMarketError('the demonstration recorded nothing')
    longer = dataclasses.replace(setting, duration=recording.rows[-1]['time'])
    summary = fairness_fig3.judge(recording, longer)
    fairness_fig3.report(setting.output, recording, summary)
    return summary
