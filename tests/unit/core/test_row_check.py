# SPDX-License-Identifier: Apache-2.0
"""R1: each field of what was read holds what its class says it holds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NewType

import pytest

from nova_market.core.row_check import COUNT, TIME, check_fields, checked
from nova_market.errors import BadRow

Name = NewType('Name', str)


class State(StrEnum):
    ON = 'on'


@dataclass(frozen=True)
class Thing:
    name: Name = Name('a')
    cores: float = 1.5
    servers: int = 2
    flag: bool = False
    end: float | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    pair: tuple[float, float] = (0.0, 1.0)
    state: State = State.ON
    at: float = 0.0


BOUNDS = {'servers': COUNT, 'at': TIME, 'end': TIME}


def test_what_holds_what_it_should_is_itself():
    thing = Thing(cores=3, end=5.0, numbers={'a': 1}, places=('x',))
    assert checked(thing, BOUNDS) is thing


@pytest.mark.parametrize(
    ('name', 'held'),
    [
        ('name', 7), ('name', None), ('cores', 'many'), ('cores', math.nan), ('cores', math.inf),
        ('cores', True), ('servers', 1.0), ('servers', True), ('servers', -1), ('servers', 2**31),
        ('flag', 1), ('end', 'soon'), ('end', -1.0), ('numbers', {'a': 'x'}), ('numbers', [1]),
        ('places', (1,)), ('places', 'xy'), ('pair', (0.0, None)), ('at', 1e300),
    ],
)  # fmt: skip
def test_what_it_cannot_hold_is_named(name, held):
    with pytest.raises(BadRow, match=f'^{name} is .*: it must be '):
        checked(replace(Thing(), **{name: held}), BOUNDS)


def test_some_fields_of_what_is_no_value_yet():
    check_fields(Thing, {'servers': 1, 'cores': 2.0}, BOUNDS)
    with pytest.raises(BadRow, match=r'^servers is 4294967296: it must be from 0 to'):
        check_fields(Thing, {'servers': 2**32}, BOUNDS)
    with pytest.raises(BadRow, match=r"^cores is 'x': it must be a finite number$"):
        check_fields(Thing, {'cores': 'x'}, BOUNDS)
