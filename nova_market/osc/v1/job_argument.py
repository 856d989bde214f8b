# SPDX-License-Identifier: Apache-2.0
"""How memory, arrays, variables and numbers are typed for jobs. Units: MiB."""

import argparse
import math
import os
import re
from collections.abc import Sequence

from nova_market.core.text import shown

_MEMORY = re.compile(r'(\d{1,12}(?:\.\d{1,6})?)(?:([KMGT])(?:iB)?)?', re.IGNORECASE | re.ASCII)
_MEBIBYTES = {'K': 1 / 1024, 'M': 1, 'G': 1024, 'T': 1024**2}
_RANGE = re.compile(r'(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?', re.ASCII)
_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')


def memory_argument(text: str) -> int:
    """MiB, rounded up: 512M, 4G, 1.5G, 1T; a bare number is MiB, as in a flavor."""
    found = _MEMORY.fullmatch(text)
    mib = math.ceil(float(found[1]) * _MEBIBYTES[(found[2] or 'M').upper()]) if found else 0
    if mib < 1:
        raise argparse.ArgumentTypeError(
            f'{shown(text)}: give memory with its unit, such as 512M or 4G, 1M or more'
        )
    return mib


class ArrayArgument:
    """The type of --array: 0-99, 3,5,9, 0-9,20-29:2. An index that is given twice counts once.

    largest: number of tasks of one array. highest: largest index.
    """

    def __init__(self, largest: int, highest: int) -> None:
        self._largest, self._highest = largest, highest

    def __call__(self, text: str) -> tuple[int, ...]:
        found: set[int] = set()
        for part in text.split(','):
            one = self._range(part, text)
            # before it is added: a range can be longer than memory
            count = len(one) if len(one) > self._largest else len(found | set(one))
            if count > self._largest:
                raise argparse.ArgumentTypeError(
                    f'{shown(text)} has {count} tasks, more than {self._largest}: '
                    'create several arrays'
                )
            found |= set(one)
        return tuple(sorted(found))

    def _range(self, part: str, text: str) -> range:
        found = _RANGE.fullmatch(part)
        if found is None:
            raise argparse.ArgumentTypeError(
                f'{shown(text)}: give indices such as 0-99, 3,5,9 or 0-9,20-29:2'
            )
        first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        if last < first or step < 1:
            raise argparse.ArgumentTypeError(
                f'{part} has no index: give <first>-<last>:<step>, first not above last, step from 1'
            )
        if last > self._highest:
            raise argparse.ArgumentTypeError(
                f'index {last} in {shown(text)} is above {self._highest}: give smaller indices'
            )
        return range(first, last + 1, step)


def variable_argument(text: str) -> tuple[str, str]:
    """NAME=VALUE; NAME alone takes the value that the variable has where the command runs."""
    name, given, value = text.partition('=')
    if not _NAME.fullmatch(name):
        raise argparse.ArgumentTypeError(
            f'{shown(text)}: give <name>=<value>; a name has letters, digits and _, no digit first'
        )
    if given:
        return name, value
    if name not in os.environ:
        raise argparse.ArgumentTypeError(f'{name} is not set here: set it, or give {name}=<value>')
    return name, os.environ[name]


class NumberArgument:
    """The type of a finite number, `least` or more, `most` at most. what: the noun for its error."""

    def __init__(self, least: float, what: str, most: float = math.inf) -> None:
        self._least, self._what, self._most = least, what, most

    def __call__(self, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and self._least <= number <= self._most):
            allowed = (
                f', {self._least:g} or more'
                if math.isinf(self._most)
                else f' from {self._least:g} to {self._most:.12g}'
            )
            raise argparse.ArgumentTypeError(f'{shown(text)}: give {self._what}{allowed}')
        return number


def pairs(given: Sequence[tuple[str, str]] | None) -> dict[str, str]:
    """What was given with several NAME=VALUE; the last one of a name counts."""
    return dict(given or ())


def whole_argument(text: str) -> int:
    """A whole number from 0 up."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f'{text!r:.40}: give a whole number, 0 or more')
    return int(text)
