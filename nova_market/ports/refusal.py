# SPDX-License-Identifier: Apache-2.0
"""Where the API counts what it has refused. May raise errors.DatabaseUnavailable."""

from collections.abc import Mapping
from typing import Protocol


class RefusalStore(Protocol):
    """Requests that were too many, over all processes."""

    def add(self, counted: Mapping[tuple[str, str], int]) -> None:
        """Add to what is there, by (kind, project)."""

    def totals(self) -> Mapping[tuple[str, str], int]:
        """All that was added, by (kind, project)."""
