# SPDX-License-Identifier: Apache-2.0
"""Lengths of time are shown as they are typed, and as seconds to programs."""

import pkgutil
from importlib import import_module

import nova_market.osc.v1 as commands

LENGTHS = {'digest', 'duration', 'idle_seconds', 'seconds', 'time_limit'}
"""Attributes that are seconds."""


def shown_as():
    """(module, attribute): how its tables show 5400 s."""
    found = {}
    for module in pkgutil.iter_modules(commands.__path__):
        loaded = import_module(f'{commands.__name__}.{module.name}')
        for table in vars(loaded).values():
            if isinstance(table, tuple):
                columns = (one for one in table if isinstance(one, tuple) and len(one) == 3)
                found |= {
                    (module.name, name): formatter and formatter(5400.0)
                    for _, name, formatter in columns
                    if name in LENGTHS
                }
    return found


def test_lengths_of_time_have_units():
    """In each table that has one."""
    found = shown_as()
    assert {name for _, name in found} == LENGTHS
    assert {key: one and one.human_readable() for key, one in found.items()} == dict.fromkeys(
        found, '1h30m'
    )
    assert {one.machine_readable() for one in found.values()} == {5400.0}
