# SPDX-License-Identifier: Apache-2.0
"""Bounds of what peers may send, and the checks that a schema cannot express.

The peers of the message exchange of IFI-2016.04, section IV-D.2, trusted each other; here every value is
checked before it is used. A check raises MalformedReport, which names the field, what was given and the
limit, and is short and printable whatever was sent.
"""

import re
from collections.abc import Collection
from typing import Any

import msgspec
from msgspec import UNSET

from nova_market.core.resource import RESOURCES
from nova_market.core.text import shown
from nova_market.errors import MalformedReport

MAX_OWNERS = 10_000
MAX_WIDTH = len(RESOURCES)
MAX_NAME = 255
MAX_AMOUNT = 1e24
"""Bound of every number a host reports of itself; far above any real cloud, far below overflow of a sum."""
MAX_SUM = 1e4 * MAX_AMOUNT
"""Bound of a sum over hosts."""
MAX_COPIES = 3
"""Aggregators of one owner: as many as are needed to tell which one is wrong."""
MAX_QUOTA = 2**53
"""Bound of cores and MiB, so that every JSON library reads them exactly."""

AT = re.compile(r' - at `(?:key` in `)?\$(?P<path>[^`]*)`$')
"""How msgspec ends an error: ` - at `$.owners[3][0]``."""

ABSENT = re.compile(r'missing required field `(\w+)`')

STEP = re.compile(r'\.(\w+)|\[(\d+)\]')


class Undecoded:
    """Stands for a value that is too long to be looked at."""

    def __init__(self, size: int) -> None:
        """size: in bytes."""
        self._size = size

    def __str__(self) -> str:
        return f'a value of {self._size} bytes'


def name(value: object, where: str) -> str:
    """The value if it is a printable name: names reach logs, metrics and the status document.

    :raises MalformedReport: it is none.
    """
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or not value.isprintable():
        raise MalformedReport(
            f'{where}: {shown(value)} is not a printable name of 1 to {MAX_NAME} characters'
        )
    return value


def check_names(values: Collection[Any], where: str) -> None:
    """Check that all of them are names. They are checked together, as a message has about thirty.

    :raises MalformedReport: one is none.
    """
    try:
        text = ''.join(values)
    except TypeError:
        text = '\n'
    if not text.isprintable() or '' in values or max(map(len, values), default=1) > MAX_NAME:
        for value in values:
            name(value, where)


def refusal(error: msgspec.ValidationError, values: Any, where: str = '') -> MalformedReport:
    """An error of the schema: the field, what these values have there, and the limit.

    where: the field, when the values are its entries
    """
    text = str(error)
    absent, found = ABSENT.search(text), AT.search(text)
    if absent is not None:
        return MalformedReport(f'{absent[1]}: a message must have it')
    if found is None:
        return MalformedReport(f'a message: {text:.100}')
    steps = [key or int(number) for key, number in STEP.findall(found['path'])]
    for step in steps:
        if isinstance(values, Undecoded):
            break
        try:
            values = values[step]
        except (LookupError, TypeError):
            values = UNSET
    field = where or (steps[0] if steps else 'a key')
    limit = text[0].lower() + text[1 : found.start()]
    return MalformedReport(f'{field}: {given(values)} was given, {limit:.100}')


def given(value: object) -> str:
    """A refused value for an error: short and printable."""
    if value is UNSET:
        return 'nothing'
    if isinstance(value, (list, tuple)):
        return f'a list of {len(value)}'
    return str(value) if isinstance(value, Undecoded) else shown(value)
