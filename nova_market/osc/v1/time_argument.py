# SPDX-License-Identifier: Apache-2.0
"""How times and lengths of time are typed, for all commands.

Units: seconds. A time that names no zone is UTC, as all times of OpenStack are. What Slurm's users type as a
length of time is read as Slurm reads it, but for a bare number, which is minutes there and seconds elsewhere:
it is refused.
"""

import argparse
import re

from nova_market.core.text import shown
from nova_market.core.timestamp import EARLIEST, LATEST, UNITS, seconds, stamp
from nova_market.errors import BadTime
from nova_market.osc.v1.cloud_clock import now

DAY = UNITS['d']
DAYS = {'yesterday': -1, 'today': 0, 'tomorrow': 1}
"""Their first second in UTC, in days from today."""

_WITH_UNITS = re.compile(r'(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?', re.ASCII)
_CLOCK = re.compile(r'(?:(\d{1,9})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?', re.ASCII)

DURATION = '<time>'
"""Metavar of a length of time."""

PAST = 'such as 1h (ago), yesterday, 2026-11-21 or 2026-11-21T12:00, in UTC'
FUTURE = 'such as 2h (from now), tomorrow, 2026-11-21 or 2026-11-21T12:00, in UTC'
"""What to give, for the help of options."""


def past_argument(text: str) -> str:
    """A time as the API has it; a length of time is so long ago."""
    return _time(text, ahead=False)


def future_argument(text: str) -> str:
    """A time as the API has it; a length of time is from now on."""
    return _time(text, ahead=True)


def moment(text: str, now: float, *, ahead: bool) -> float:
    """Seconds since the epoch, whole ones.

    now, today, yesterday, tomorrow; a date, whose first second it is; a date and a time in ISO 8601; or a
    length of time: from now on with `ahead` or after a `+`, else so long ago.

    :raises BadTime: names the value, and gives examples.
    """
    if text == 'now':
        return now // 1
    if text in DAYS:
        return now // DAY * DAY + DAYS[text] * DAY
    length = _length(text.removeprefix('+'))
    if length is not None:
        found = now // 1 + (length if ahead or text.startswith('+') else -length)
    else:
        try:
            found = seconds(text) // 1
        except BadTime:
            raise BadTime(f'{shown(text)} is no time: give one {_examples(ahead)}') from None
    if not EARLIEST <= found <= LATEST:
        raise BadTime(
            f'{shown(text)} is not in the years 1 to 9999: give a time {_examples(ahead)}'
        )
    return found


def duration_argument(text: str) -> int:
    """Seconds: 90s, 15m, 2h, 1d12h; or as Slurm writes it: 1-02:30:00, 2:30:00, 30:00, 1-2."""
    length = _length(text)
    if length is not None:
        return length
    if (clock := _CLOCK.fullmatch(text)) and set(text) & {':', '-'}:
        days, *rest = clock.groups()
        given = [int(part) for part in rest if part is not None]
        # with days the first one is hours; without them one colon is minutes:seconds
        largest = 3600 if days is not None or len(given) == 3 else 60
        units = (largest, largest // 60, 1)
        return int(days or 0) * DAY + sum(n * unit for n, unit in zip(given, units, strict=False))
    raise argparse.ArgumentTypeError(
        f'{shown(text)}: give a time with its unit, such as 90s, 15m, 2h or 1d12h, '
        'or as Slurm writes it, such as 1-02:30:00 or 2:30:00'
    )


def _length(text: str) -> int | None:
    """Of a time with units; None: it is none."""
    parts = _WITH_UNITS.fullmatch(text) if text else None
    if parts is None:
        return None
    return sum(
        int(part or 0) * unit for part, unit in zip(parts.groups(), UNITS.values(), strict=True)
    )


def _time(text: str, *, ahead: bool) -> str:
    try:
        return stamp(moment(text, now(), ahead=ahead))
    except BadTime as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _examples(ahead: bool) -> str:
    return FUTURE if ahead else PAST
