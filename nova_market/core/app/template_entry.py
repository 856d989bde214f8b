# SPDX-License-Identifier: Apache-2.0
"""One entry of a document that people write, with where it is, so that a refusal can say so.

For the templates of Merkat (INRIA RR-8648), section 2.3. Every check returns the value or raises
BadTemplate, which names the entry, the value, the limit and what to give.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from nova_market.core.text import shown
from nova_market.core.timestamp import FORM, seconds
from nova_market.errors import BadTemplate, BadTime

LATEST = 253_370_764_800.0
"""The year 9999 begins; a time with a zone could be in a year that nothing can write."""


@dataclass(frozen=True, slots=True)
class TemplateEntry:
    """A value, and what it is called."""

    value: object
    where: str

    def wrong(self, wanted: str) -> BadTemplate:
        """The refusal of this value."""
        return BadTemplate(f'{self.where}: {shown(self.value)}: give {wanted}')

    def fields(self, needed: Sequence[str], other: Sequence[str]) -> 'dict[str, TemplateEntry]':
        """The entries of an object that has these and no others."""
        if not isinstance(self.value, Mapping):
            raise self.wrong('an object')
        known = (*needed, *other)
        for name in self.value:
            if name not in known:
                raise BadTemplate(
                    f'{self.where}: {shown(name)} is not known: give {", ".join(known)}'
                )
        for name in needed:
            if name not in self.value:
                raise BadTemplate(f'{self.where}: {name} is missing: give it')
        return {name: TemplateEntry(self.value[name], self._below(name)) for name in self.value}

    def items(self, least: int, most: int) -> 'list[TemplateEntry]':
        """The entries of a list."""
        if not isinstance(self.value, list | tuple) or not least <= len(self.value) <= most:
            raise self.wrong(f'a list of {least} to {most}')
        return [TemplateEntry(one, f'{self.where}[{n}]') for n, one in enumerate(self.value)]

    def text(self, pattern: str, wanted: str) -> str:
        """A text of this form."""
        if not isinstance(self.value, str) or not re.fullmatch(pattern, self.value, re.ASCII):
            raise self.wrong(wanted)
        return self.value

    def line(self, longest: int) -> str:
        """Printable text."""
        value = self.value
        if not isinstance(value, str) or not 0 < len(value) <= longest or not value.isprintable():
            raise self.wrong(f'a printable text of 1 to {longest} characters')
        return value

    def bulk(self, longest: int) -> str:
        """Any text that can be sent, of so many bytes."""
        if not isinstance(self.value, str):
            raise self.wrong('a text')
        try:
            size = len(self.value.encode())
        except UnicodeEncodeError:
            raise self.wrong('a text of UTF-8') from None
        if size > longest:
            raise BadTemplate(f'{self.where}: {size} bytes: give at most {longest}')
        return self.value

    def whole(self, least: int, most: int, unit: str) -> int:
        """A whole number."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.wrong(f'a whole number of {unit}, {least} to {most}')
        return value

    def number(self, least: float, most: float) -> float:
        """A finite number."""
        value = self.value
        # a comparison with NaN is false
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not least <= value <= most
        ):
            raise self.wrong(f'a number from {least:g} to {most:g}')
        return float(value)

    def above_zero(self, most: float) -> float:
        """A finite number above 0 whose inverse is finite too."""
        value = self.value
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not 1.0 / most <= value <= most
            or not math.isfinite(value)
        ):
            raise self.wrong(f'a number above 0, from {1.0 / most:g} to {most:g}')
        return float(value)

    def _below(self, name: str) -> str:
        return name if self.where == 'the template' else f'{self.where}.{name}'


def seconds_of(entry: TemplateEntry) -> float:
    """A time as seconds since the epoch; YAML makes times of what looks like one.

    :raises BadTemplate: no time, or before 1970.
    """
    if not isinstance(entry.value, str | datetime):
        raise entry.wrong(FORM)
    try:
        at = seconds(entry.value)
    except BadTime:
        raise entry.wrong(FORM) from None
    if not 0 <= at <= LATEST:
        raise entry.wrong(f'{FORM}, after 1970 and before 9999')
    return at
