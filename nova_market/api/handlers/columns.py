# SPDX-License-Identifier: Apache-2.0
"""The fields of a stored record by name, as JSON objects show them."""

from typing import Any


def columns(record: Any) -> dict[str, Any]:
    """Its fields by name. dataclasses.asdict copies values deeply, at ten times the cost."""
    return {name: getattr(record, name) for name in record.__slots__}
