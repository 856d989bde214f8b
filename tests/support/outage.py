# SPDX-License-Identifier: Apache-2.0
"""What does not answer for a while, between a service and what it calls."""

from typing import Any


class Outage:
    """going: whether nothing behind `around` answers now. error: what is raised then"""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.going = False

    def around(self, one: Any) -> Any:
        """The same, while there is no outage."""
        return _Behind(self, one)


class _Behind:
    def __init__(self, outage: Outage, one: Any) -> None:
        self._outage = outage
        self._one = one

    def __getattr__(self, name: str) -> Any:
        if self._outage.going:
            raise self._outage.error
        return getattr(self._one, name)
