# SPDX-License-Identifier: Apache-2.0
"""Commands of the documentation that need a real cloud: do they exist, and do their options parse?

`openstack` commands are those of the installed clients and of this package; our programs are asked for the
help of the subcommand; `tools/cloud` has its commands in its own help. A command of another program is known
when its Debian package is in bindep.txt, or when it is one of the shell.
"""

import argparse
import contextlib
import importlib
import io
import re
import subprocess
import sys
import warnings
from functools import cache
from importlib.metadata import distributions
from typing import Any

from tests.support.documentation.sessions import ROOT

OTHERS = frozenset(
    {'curl', 'virsh', 'tc', 'rabbitmqctl', 'apt-get', 'python3', 'systemctl', 'sudo'}
)
"""Programs that are not ours and that a page may name."""


def problem(words: list[str]) -> str:
    """Why these words cannot be what somebody types; '' when they can."""
    program, *rest = words
    if program == 'openstack':
        return _openstack_problem(rest)
    if program.startswith('nova-'):
        return _own_problem(program, rest)
    if program == 'tools/cloud':
        return _cloud_problem(rest)
    return '' if program in OTHERS or (ROOT / program).is_file() else f'{program} is not known'


@cache
def _openstack_commands() -> dict[tuple[str, ...], Any]:
    found = {}
    for distribution in distributions():
        for entry in distribution.entry_points:
            if entry.group.startswith('openstack.'):
                found[tuple(entry.name.split('_'))] = entry
    return found


def _openstack_problem(words: list[str]) -> str:
    known = _openstack_commands()
    while len(words) > 1 and words[0].startswith('--os-'):
        words = words[2:]
    size = next((n for n in range(len(words), 0, -1) if tuple(words[:n]) in known), 0)
    if not size:
        return f'openstack has no command {" ".join(words[:4])}'
    with warnings.catch_warnings():
        # openstackclient warns of itself when it is imported
        warnings.simplefilter('ignore', DeprecationWarning)
        from openstackclient.shell import OpenStackShell

        made = known[tuple(words[:size])].load()(OpenStackShell(), None)
        parser = made.get_parser(f'openstack {" ".join(words[:size])}')
    return _parsed(parser, words[size:])


def _parsed(parser: argparse.ArgumentParser, words: list[str]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed):
        try:
            parser.parse_args(words)
        except SystemExit:
            return printed.getvalue().strip().splitlines()[-1]
    return ''


@cache
def _help(module: str, *words: str) -> str:
    """What a program of ours prints for --help."""
    done = subprocess.run(
        [sys.executable, '-m', module, *words, '--help'],
        capture_output=True, text=True, check=False, timeout=90, cwd=ROOT,
    )  # fmt: skip
    return done.stdout if done.returncode == 0 else ''


def _own_problem(program: str, words: list[str]) -> str:
    modules = {
        entry.name: entry.module
        for distribution in distributions()
        for entry in distribution.entry_points
        if entry.group == 'console_scripts' and entry.module.startswith('nova_market.')
    }
    if program not in modules:
        return f'{program} is no program of this package'
    importlib.import_module(modules[program])
    text = _help(modules[program])
    for word in words:
        name = word.split('=')[0]
        if name.startswith('--') and not re.search(rf'{name}\b', text):
            return f'{program} has no option {name}'
        if re.search(rf'^\s+{re.escape(word)}\b|[{{,]{re.escape(word)}[,}}]', text, re.MULTILINE):
            text += _help(modules[program], word)
    return ''


def _cloud_problem(words: list[str]) -> str:
    usage = (ROOT / 'tools/cloud').read_text(encoding='utf-8').split("'END'\n")[1].split('\nEND')[0]
    if not words or not re.search(rf'^  {re.escape(words[0])}\b', usage, re.MULTILINE):
        return f'tools/cloud has no command {" ".join(words[:1])}'
    if words[0] == 'order':
        return '' if re.search(rf'\b{words[2]}\b', usage) else f'no order {words[2]}'
    inner = {'run': words[1:], 'as': words[2:], 'on': words[2:]}.get(words[0])
    return problem(inner) if inner else ''
