# SPDX-License-Identifier: Apache-2.0
"""Times as text: ISO 8601, UTC when no zone is named. Units: seconds since the epoch."""

from datetime import UTC, datetime

from nova_market.errors import BadTime

FORM = 'a time in ISO 8601, UTC when it names no zone, such as 2026-11-21T12:00:00Z'
"""What to give, for errors."""

LATEST = 253_402_300_799.0
"""The last second of the year 9999 in UTC: later times have no text."""

UNITS = {'d': 86_400, 'h': 3600, 'm': 60, 's': 1}
"""Of lengths of time as people type them, in seconds."""

EARLIEST = -62_135_596_800.0
"""The first second of the year 1."""


def stamp(at: float) -> str:
    """Seconds since the epoch as text."""
    return datetime.fromtimestamp(at, UTC).isoformat().replace('+00:00', 'Z')


def seconds(value: str | datetime) -> float:
    """A time as seconds since the epoch; YAML makes a datetime of what looks like one.

    :raises BadTime: there is no such day or hour, or in UTC it is not in the years 1 to 9999.
    """
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
        at = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise BadTime(f'time {str(value)!r:.40}: {error}: give {FORM}') from None
    if not EARLIEST <= at <= LATEST:
        raise BadTime(
            f'time {str(value)!r:.40} is not in the years 1 to 9999 in UTC: give one that is'
        )
    return at


def length_text(length: float) -> str:
    """A length of time as people type it: 5400 is 1h30m."""
    rest, parts = round(length), []
    for name, unit in UNITS.items():
        count, rest = divmod(rest, unit)
        if count:
            parts.append(f'{count}{name}')
    return ''.join(parts) or '0s'


def both_texts(length: float) -> str:
    """A length of time for a refusal, as programs send it and as people type it: 5400 (1h30m)."""
    return f'{length:.12g} ({length_text(length)})'
