# SPDX-License-Identifier: Apache-2.0
"""Commands of the documentation that need a real cloud: do they exist, and do their options parse?

`openstack` commands are those of the installed clients and of this package; our programs are asked for the
help of the subcommand; `tools/cloud` has its commands in its own help, and other scripts of the tree name
their options. Of another program it is known that there is one; the files of the tree that it is given exist.
"""

import argparse
import configparser
import contextlib
import importlib
import io
import re
import subprocess
import sys
import warnings
from functools import cache
from importlib.metadata import distributions
from itertools import pairwise
from typing import Any

from tests.support.documentation.sessions import ROOT

OTHERS = frozenset(
    {'apt-get', 'curl', 'pip', 'pre-commit', 'pytest', 'python3', 'rabbitmqctl', 'reno', 'sudo'}
    | {'systemctl', 'tc', 'virsh'}
)
"""Programs that are not ours and that a page may name."""


def problem(words: list[str]) -> str:
    """Why these words cannot be what somebody types; '' when they can."""
    program, *rest = words
    program = re.sub(r'^\./|^(/|\w).*/bin/', '', program)
    if program == 'openstack':
        return _openstack_problem(rest)
    if program.startswith('nova-'):
        return _own_problem(program, rest)
    if program == 'tools/cloud':
        return _cloud_problem(rest)
    if program == 'tox':
        return _tox_problem(rest)
    if program == 'playground/shell':
        return problem(rest[1:]) if rest[1:] else ''
    if program == 'runuser':
        return problem(rest[rest.index('--') + 1 :])
    if (ROOT / program).is_file():
        return _script_problem(program, rest)
    return _other_problem(program, rest)


def _other_problem(program: str, words: list[str]) -> str:
    if program not in OTHERS:
        return f'{program} is not known'
    files = [word for word in words if re.match(r'tests/|.*\.txt$', word)]
    missing = [name for name in files if not (ROOT / name).exists()]
    return f'there is no {missing}' if missing else ''


def _tox_problem(words: list[str]) -> str:
    tox = configparser.ConfigParser()
    tox.read(ROOT / 'tox.ini', encoding='utf-8')
    given = words[1].split(',') if words[:1] == ['-e'] else []
    known = {section.partition(':')[2] for section in tox.sections()} | {'py3'}
    unknown = sorted(set(given) - known)
    return f'tox has no environment {unknown}' if unknown else ''


def _script_problem(script: str, words: list[str]) -> str:
    text = (ROOT / script).read_text(encoding='utf-8')
    unknown = [w for w in words if w.startswith('--') and not re.search(rf'(?<![\w-]){w}\b', text)]
    return f'{script} has no option {unknown}' if unknown else ''


@cache
def _openstack_commands() -> dict[tuple[str, ...], Any]:
    found = {}
    for distribution in distributions():
        for entry in distribution.entry_points:
            # an extension is a module, without an attribute
            if entry.group.startswith('openstack.') and entry.attr:
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
    with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
        try:
            parser.parse_args(words)
        except SystemExit as end:
            # 0 after --help
            return printed.getvalue().strip().splitlines()[-1] if end.code else ''
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
    text, chosen = _help(modules[program]), []
    for before, word in pairwise(['', *words]):
        name = word.split('=')[0]
        if name.startswith('--') and not re.search(rf'{name}\b', text):
            return f'{program} has no option {name}'
        if word.startswith('-'):
            continue
        if re.search(rf'^\s+{re.escape(word)}\b|[{{,]{re.escape(word)}[,}}]', text, re.MULTILINE):
            chosen.append(word)
            text += _help(modules[program], *chosen)
        elif not before.startswith('-') and _takes_commands(text):
            return f'{program} {" ".join([*chosen, word])}: there is no such command'
    return ''


def _takes_commands(text: str) -> bool:
    """Does the last usage end with a list of commands, or a word for one of them?"""
    usage = text.split('usage: ')[-1].split('\n\n')[0]
    return re.search(r'(\{[\w,-]+\}|[A-Z]+) \.\.\.$', usage) is not None


def _cloud_problem(words: list[str]) -> str:
    usage = (ROOT / 'tools/cloud').read_text(encoding='utf-8').split("'END'\n")[1].split('\nEND')[0]
    if not words or not re.search(rf'^  {re.escape(words[0])}\b', usage, re.MULTILINE):
        return f'tools/cloud has no command {" ".join(words[:1])}'
    if words[0] == 'order':
        return '' if re.search(rf'\b{words[2]}\b', usage) else f'no order {words[2]}'
    inner = {'run': words[1:], 'as': words[2:], 'on': words[2:]}.get(words[0])
    if not inner:
        return ''
    # tools/cloud.d/market.sh has the command of each host under a name of its own
    return problem([re.sub(r'^nova-fairness-h[12]$', 'nova-fairness', inner[0]), *inner[1:]])
