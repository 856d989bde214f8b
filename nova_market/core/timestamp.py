# SPDX-License-Identifier: Apache-2.0
"""Times as text: ISO 8601, UTC when no zone is named. Units: seconds since the epoch."""

from datetime import UTC, datetime

from nova_market.errors import BadTime

FORM = 'a time in ISO 8601, UTC when it names no zone, such as 2026-11-21T12:00:00Z'
"""What to give, for errors."""


def stamp(at: float) -> str:
    """Seconds since the epoch as text."""
    return datetime.fromtimestamp(at, UTC).isoformat().replace('+00:00', 'Z')


def seconds(value: str | datetime) -> float:
    """A time as seconds since the epoch; YAML makes a datetime of what looks like one.

    :raises BadTime: there is no such day or hour.
    """
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise BadTime(f'time {str(value)!r:.40}: {error}: give {FORM}') from None
