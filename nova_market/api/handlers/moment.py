# SPDX-License-Identifier: Apache-2.0
"""Times on the wire: ISO 8601, UTC."""

from datetime import UTC, datetime
from typing import Any

from nova_market.api.errors import ApiError


def stamp(at: float) -> str:
    """Seconds since the epoch as text."""
    return datetime.fromtimestamp(at, UTC).isoformat().replace('+00:00', 'Z')


def seconds(text: str) -> float:
    """Text as seconds since the epoch.

    :raises ApiError: 400, no such day or hour.
    """
    try:
        found = datetime.fromisoformat(text)
        return max((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp(), 0.0)
    except (ValueError, OverflowError) as error:
        raise ApiError(400, 'market.request.invalid', f'time {text!r:.40}: {error}') from None


def columns(record: Any) -> dict[str, Any]:
    """Its fields by name. dataclasses.asdict copies values deeply, at ten times the cost."""
    return {name: getattr(record, name) for name in record.__slots__}
