# SPDX-License-Identifier: Apache-2.0
"""What is kept of rows that services have set aside (rule R3 of doc/source/specs/passes.rst)."""

from collections.abc import Sequence
from typing import Protocol

from nova_market.core.set_aside import SetAside


class SetAsideStore(Protocol):
    """Any method may raise errors.DatabaseUnavailable."""

    def keep(self, service: str, rows: Sequence[SetAside]) -> None:
        """These are set aside by this service now, and no others; what is new becomes an event of the row."""

    def list(
        self,
        project_id: str | None = None,
        service: str | None = None,
        after: Sequence[str] = (),
        limit: int = 1000,
    ) -> Sequence[SetAside]:
        """Those of one project or of all, of one service or of all, by service, kind, stage and id.

        after: these four of the last one of the page before this one
        """
