# SPDX-License-Identifier: Apache-2.0
"""Sweeps: a scenario again and again with some of its settings varied, every combination of them.

Beyond the papers. A setting is named by its path in the file, with dots (`market.period`,
`cloud.hosts.0.count`), and its values are read as YAML, so they are what they would be in the file.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from nova_market.errors import BadScenario
from nova_market.sim.cloud.market import OpenStores
from nova_market.sim.scenario.runs import Case, Key, keys, run_case
from nova_market.sim.scenario.scenario import Scenario, scenario_from
from nova_market.sim.scenario.schema import read
from nova_market.sim.scenario.workers import Pool

MOST = 10_000
"""Variants of one sweep."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Variant:
    """values: setting -> how it was written"""

    values: Mapping[str, str]
    scenario: Scenario


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Task:
    """One case of one variant; goes to another process."""

    variant: Variant
    key: Key
    open_stores: OpenStores | None = None


def variants(path: Path, vary: Sequence[str] = ()) -> list[Variant]:
    """vary: each `setting=value,value,...`. Without any, the scenario as it is.

    :raises BadScenario: a text that is no such thing, or a value that the setting can't have.
    """
    document = read(path)
    axes = dict(map(_axis, vary))
    if len(axes) < len(vary):
        raise BadScenario(f'--vary: a setting is named twice: {", ".join(vary)}')
    found: list[Variant] = []
    for values in product(*axes.values()):
        if len(found) >= MOST:
            raise BadScenario(f'--vary: more than {MOST} combinations')
        changed = deepcopy(document)
        for setting, value in zip(axes, values, strict=True):
            _put(changed, setting, value)
        chosen = dict(zip(axes, values, strict=True))
        found.append(Variant(values=chosen, scenario=scenario_from(changed, path)))
    return found


def tasks(chosen: Sequence[Variant], open_stores: OpenStores | None = None) -> list[Task]:
    """Every case of every variant, in order."""
    return [
        Task(variant=variant, key=key, open_stores=open_stores)
        for variant in chosen
        for key in keys(variant.scenario)
    ]


def results(work: Sequence[Task], pool: Pool) -> Iterator[tuple[Variant, Case]]:
    """In the order of the tasks, whoever was first."""
    for task, case in zip(work, pool.map(run_task, work), strict=True):
        yield task.variant, case


def run_task(task: Task) -> Case:
    return run_case(task.variant.scenario, task.key, task.open_stores)


def _axis(text: str) -> tuple[str, list[str]]:
    setting, equals, values = text.partition('=')
    listed = [value for value in values.split(',') if value]
    if not (setting and equals and listed):
        raise BadScenario(f'--vary {text!r:.100}: give setting=value,value,...')
    return setting, listed


def _put(document: Any, setting: str, value: str) -> None:
    """Change one entry; sections that lack are made."""
    place, *rest = setting.split('.')
    here = document
    for name in rest:
        if isinstance(here, dict):
            here = here.setdefault(place, {})
        elif isinstance(here, list) and place.isdigit() and int(place) < len(here):
            here = here[int(place)]
        else:
            raise BadScenario(f'--vary {setting}: there is no {place}')
        place = name
    try:
        parsed = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise BadScenario(f'--vary {setting}={value}: {error}') from error
    if isinstance(here, dict):
        # a list of one, where the file has a list: scales=0.1,0.5 varies the only scale
        here[place] = [parsed] if isinstance(here.get(place), list) else parsed
    elif isinstance(here, list) and place.isdigit() and int(place) < len(here):
        here[int(place)] = parsed
    else:
        raise BadScenario(f'--vary {setting}: there is no {place}')
