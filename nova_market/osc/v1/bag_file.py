# SPDX-License-Identifier: Apache-2.0
"""Files with bags of tasks, in YAML or JSON: as they are written, and as they are sent.

Beyond the API a task may have `command` for /bin/sh, or `file` with the path of a script, in place of
`script`; `flavor` in place of `flavors`; times as 90s, 15m, 2h; and the budget is in credits.
"""

import math
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from osc_lib import exceptions

from nova_market.core.job.script import MAX_SCRIPT, check_script
from nova_market.core.ledger.money import micro_credits
from nova_market.errors import BadAmount, BadScript
from nova_market.osc.v1.document_file import check_names, document_of
from nova_market.osc.v1.time_argument import duration_argument

LARGEST = 64 * 2**20
"""Bytes of a file."""

TIMES = ('time_limit', 'within', 'poll', 'notice')
RUNS = ('script', 'command', 'file')
SETTINGS = (
    'name', 'queue', 'queues', 'budget', 'utility', 'weight', 'order', 'retry', 'alternatives', 'poll',
    'defaults', 'tasks', 'more',
)  # fmt: skip
TASK = (
    'name', 'command', 'file', 'script', 'environment', 'time_limit', 'flavor', 'flavors', 'deadline',
    'within', 'importance', 'retries', 'notice', 'checkpoint', 'preempt_action', 'output_url',
)  # fmt: skip
"""Names of entries of a file and of a task."""


def bag_of(path: str) -> dict[str, Any]:
    """The request of a file: settings, `defaults` and `tasks`.

    :raises CommandError: names the file and the entry.
    """
    document = document_of(path, LARGEST, 'bag: give entries such as "queue: render"')
    tasks = document.get('tasks')
    if not isinstance(tasks, list) or not tasks:
        raise exceptions.CommandError(f'{path}: tasks: give a list with at least one task')
    try:
        check_names('', document, SETTINGS)
        found = _entry(
            path, '', {k: v for k, v in document.items() if k not in ('tasks', 'defaults')}
        )
        if 'queue' in found:
            found['queues'] = [found.pop('queue')]
        if found.get('budget') is not None:
            found['budget'] = micro_credits(str(found['budget']), 'budget')
        if 'defaults' in document:
            found['defaults'] = _task(path, 'defaults', document['defaults'])
        found['tasks'] = [_task(path, f'tasks[{n}]', one) for n, one in enumerate(tasks)]
    except (BadAmount, ValueError) as error:
        raise exceptions.CommandError(f'{path}: {error}') from None
    return found


def _task(path: str, where: str, given: Any) -> dict[str, Any]:
    """A task as it is sent."""
    if not isinstance(given, Mapping):
        raise ValueError(f'{where}: give entries such as "name: x"')
    check_names(f'{where}.', given, TASK)
    found = _entry(path, f'{where}.', given)
    runs = [name for name in RUNS if name in found]
    if len(runs) > 1:
        raise ValueError(f'{where}: {" and ".join(runs)} are both given: give one of them')
    if 'command' in found:
        found['script'] = f'#!/bin/sh\n{found.pop("command")}\n'
    elif 'file' in found:
        found['script'] = _script(path, where, str(found.pop('file')))
    if 'flavor' in found:
        found['flavors'] = [found.pop('flavor')]
    if isinstance(found.get('environment'), Mapping):
        found['environment'] = {str(k): _text(v) for k, v in found['environment'].items()}
    return found


def _entry(path: str, where: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Entries with times in seconds and without what JSON does not have."""
    return {str(name): _value(f'{where}{name}', str(name), value) for name, value in given.items()}


def _value(where: str, name: str, value: Any) -> Any:
    if name in TIMES and isinstance(value, str):
        try:
            return duration_argument(value)
        except Exception as error:
            raise ValueError(f'{where}: {error}') from None
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f'{where}: {value}: give a number that is finite')
    if isinstance(value, datetime | date):
        # YAML takes what looks like a time for one
        return value.isoformat() if isinstance(value, datetime) else str(value)
    if value is None and name not in ('budget', 'environment'):
        raise ValueError(f'{where}: nothing is given: give a value, or leave the entry out')
    return value


def _script(path: str, where: str, name: str) -> str:
    file = Path(path).parent / name
    try:
        with file.open('rb') as opened:
            content = opened.read(MAX_SCRIPT + 1)
        if len(content) > MAX_SCRIPT:
            raise ValueError(f'{where}.file: {name} has more than {MAX_SCRIPT} bytes')
        text = content.decode()
        check_script(text)
    except OSError as error:
        raise ValueError(f'{where}.file: {name}: {error.strerror}') from None
    except UnicodeDecodeError:
        raise ValueError(f'{where}.file: {name} is no text in UTF-8') from None
    except BadScript as error:
        raise ValueError(f'{where}.file: {name}: {error}') from None
    return text


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
