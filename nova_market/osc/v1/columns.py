# SPDX-License-Identifier: Apache-2.0
"""Values with two forms: tables and plain text have credits, as they are typed; JSON and YAML micro-credits.

Units: amounts in whole micro-credits, prices in micro-credits per unit and period.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cliff.columns import FormattableColumn

from nova_market.core.ledger.money import AMOUNT_PARAMETERS, MICRO, credit_text, micro_credits
from nova_market.errors import BadAmount


class InCredits(FormattableColumn[Any]):
    """An amount or a price."""

    def as_typed(self) -> 'AsTyped':
        """For formats of plain text, of which a script types an amount again."""
        return AsTyped(self._value, self.human_readable())


class AsTyped(FormattableColumn[Any]):
    """As a table has it; it is sorted by its value."""

    def __init__(self, value: Any, text: str) -> None:
        super().__init__(value)
        self._text = text

    def human_readable(self) -> str:
        return self._text

    def machine_readable(self) -> str:
        return self._text


class Credits(InCredits):
    """1500000 is read as 1.5; what is not set as nothing."""

    def human_readable(self) -> str:
        return '' if self._value is None else credit_text(int(self._value))


class PerPeriod(Credits):
    """An amount of each period; tables have this beside it."""

    def human_readable(self) -> str:
        return f'{super().human_readable()} per period' if self._value is not None else ''

    def as_typed(self) -> AsTyped:
        return AsTyped(self._value, super().human_readable())


class Price(InCredits):
    """Credits per unit and period; a MiB costs millionths, so nine digits after the point."""

    def human_readable(self) -> str:
        if self._value is None:
            return ''
        return f'{self._value / MICRO:.9f}'.rstrip('0').rstrip('.')


class Amount(FormattableColumn[Any]):
    """Cores or MiB, with as many digits as one can see; never with an exponent where it is large."""

    def human_readable(self) -> str:
        if self._value is None:
            return ''
        return f'{self._value:.6g}' if abs(self._value) < 999_999.5 else f'{self._value:.0f}'


class Percent(FormattableColumn[Any]):
    """0.25 is read as 25.0 %."""

    def human_readable(self) -> str:
        return '' if self._value is None else f'{100 * self._value:.1f} %'


TIMESTAMP = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z', re.ASCII)


def whole_seconds(text: str) -> str:
    """A time without parts of a second; any other text as it is."""
    return f'{text[:19]}Z' if TIMESTAMP.fullmatch(text) else text


class Time(FormattableColumn[Any]):
    """A time of the API, which a table has without parts of a second."""

    def human_readable(self) -> str:
        return whole_seconds(self._value)


class Lines(FormattableColumn[Any]):
    """A list, one line each; the fields of a line as field=value."""

    def human_readable(self) -> str:
        return '\n'.join(_line(entry) for entry in self._value or ())


class Names(FormattableColumn[Any]):
    """A list of names on one line."""

    def human_readable(self) -> str:
        return ', '.join(self._value or ())


class Fields(FormattableColumn[Any]):
    """A mapping, as field=value."""

    def human_readable(self) -> str:
        return _line(self._value or {})


class Parameters(InCredits):
    """Of a policy, as name=value; amounts in credits."""

    def human_readable(self) -> str:
        amounts = {
            name: value / MICRO if name in AMOUNT_PARAMETERS else value
            for name, value in (self._value or {}).items()
        }
        return Fields(amounts).human_readable()


class Prices(FormattableColumn[Any]):
    """The prices of a round, one line each."""

    def human_readable(self) -> str:
        return '\n'.join(
            f'{one["resource"]}: {Price(one["price"]).human_readable()}'
            for one in self._value or ()
        )


class HeldPrices(FormattableColumn[Any]):
    """Prices that the breaker has held, one line each."""

    def human_readable(self) -> str:
        return '\n'.join(
            f'{one["resource"]}: held at {Price(one["price"]).human_readable()} after '
            f'{Price(one["last_price"]).human_readable()}; without the breaker '
            f'{Price(one["free_price"]).human_readable()}'
            for one in self._value or ()
        )


class NotSold(FormattableColumn[Any]):
    """Resources that hosts do not control, one line each."""

    def human_readable(self) -> str:
        return '\n'.join(_not_sold(one) for one in self._value or ())


class Payers(FormattableColumn[Any]):
    """Payers that cannot cover their bids, one line each."""

    def human_readable(self) -> str:
        return '\n'.join(
            f'{payer["id"]} can pay {credit_text(payer["available"])} of '
            f'{credit_text(payer["bids"])} bid'
            for payer in self._value or ()
            if payer['scaled']
        )


Lookup = Callable[[str], str | None]
"""The name of what has this id; None: not known."""


class Named(FormattableColumn[Any]):
    """An id, which is read as <name> (<id>)."""

    def __init__(self, value: Any, lookup: Lookup = lambda name: None) -> None:
        super().__init__(value)
        self._lookup = lookup

    def human_readable(self) -> str:
        return self.with_name(self._value) if self._value else ''

    def with_name(self, one: str) -> str:
        name = self._lookup(one)
        return f'{name} ({one})' if name and name != one else str(one)


USER = re.compile(r'(?<=\bby )[0-9a-f]{32}\b')
"""An id of Keystone in a reason: submitted by <id>."""


class Reason(Named):
    """A text with names beside the ids of users."""

    @property
    def text(self) -> str:
        return str(self._value or '')

    def human_readable(self) -> str:
        return USER.sub(lambda found: self.with_name(found[0]), self.text)


class Explanation(Named):
    """What each server bid, got and is charged, and why."""

    def human_readable(self) -> str:
        lines = self._value or ()
        return '\n'.join(_explained(self.with_name(one['server_id']), one) for one in lines)


SHORT_SOURCES = {'tenant': 'its bid', 'server': 'metadata or hint', 'sustainable': 'default'}
"""Where a bid comes from, as the guide has it; other names are those of the API."""

NAMED = 10
"""Hosts that a table names; a format for programs has all."""

Column = tuple[str, str, Callable[[Any], FormattableColumn[Any]] | None]
"""Heading, attribute of the resource, and how a person reads it."""


def listed(
    columns: Sequence[Column], resources: Iterable[Any]
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """What a lister shows."""
    rows = [tuple(_cell(column, one) for column in columns) for one in resources]
    return [heading for heading, _, _ in columns], rows


def shown(columns: Sequence[Column], one: Any) -> tuple[list[str], tuple[Any, ...]]:
    """What is shown of one resource, by the names of its attributes."""
    return [name for _, name, _ in columns], tuple(_cell(column, one) for column in columns)


def credit_argument(text: str) -> int:
    """Credits as they are typed, in micro-credits."""
    try:
        return micro_credits(text, 'the amount')
    except BadAmount as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def payment_argument(text: str) -> int:
    """The same of what is paid, which is more than nothing."""
    try:
        found = credit_argument(text)
    except argparse.ArgumentTypeError:
        if not text.strip().startswith('-'):
            raise
        found = 0
    if not found:
        raise argparse.ArgumentTypeError(f'the amount is {text!r:.80}: give credits, more than 0')
    return found


def count_argument(text: str) -> int:
    """A whole number from 1 up."""
    if not text.isascii() or not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f'{text!r:.40}: give a whole number, 1 or more')
    return int(text)


def add_limit(parser: argparse.ArgumentParser, what: str, default: int | None = None) -> None:
    """The option --limit of a list. default: None: all that there are"""
    ends = f', default {default}' if default else ''
    parser.add_argument(
        '--limit',
        metavar='<n>',
        type=count_argument,
        default=default,
        help=f'Largest number of {what}{ends}',
    )


def _cell(column: Column, one: Any) -> Any:
    _, name, formatter = column
    value = getattr(one, name)
    if formatter is None and isinstance(value, str) and TIMESTAMP.fullmatch(value):
        return Time(value)
    return formatter(value) if formatter else value


def _line(entry: Any) -> str:
    if isinstance(entry, Mapping):
        return ' '.join(f'{name}={_line(value)}' for name, value in entry.items())
    if isinstance(entry, list | tuple):
        return '; '.join(_line(value) for value in entry)
    return f'{entry:.6g}' if isinstance(entry, float) else str(entry)


def _not_sold(one: Mapping[str, Any]) -> str:
    name, hosts = one['resource'], one['hosts']
    where = '' if one['everywhere'] else ' everywhere'
    if hosts is None:
        who = 'no host controls it' if one['everywhere'] else 'some hosts do not control it'
    else:
        more = f' and {len(hosts) - NAMED} more' if len(hosts) > NAMED else ''
        verb = 'does' if len(hosts) == 1 else 'do'
        noun = 'host' if len(hosts) == 1 else 'hosts'
        who = f'{noun} {", ".join(hosts[:NAMED])}{more} {verb} not control it'
    return f'{name} is not sold{where}: {who}'


def _explained(server: str, line: Mapping[str, Any]) -> str:
    bids = ' + '.join(
        f'{credit_text(bid)} ({SHORT_SOURCES.get(source, source)})'
        for bid, source in zip(line.get('bid', ()), line.get('source', ()), strict=True)
    )
    owed = credit_text(line['charge_cpu'] + line['charge_memory'])
    parts = [
        f'{server} bids {bids}' if bids else server,
        f'gets {line["actual_cpu"]:.4g} of {line["ideal_cpu"]:.4g} cores',
        f'{line["actual_memory_mib"]:.6g} of {line["ideal_memory_mib"]:.6g} MiB',
        f'charged {owed}' if line['confirmed'] else 'not confirmed, not charged',
        *line.get('why', ()),
        *([line['note']] if line.get('note') else ()),
    ]
    return '; '.join(parts)
