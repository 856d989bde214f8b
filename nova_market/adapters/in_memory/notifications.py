# SPDX-License-Identifier: Apache-2.0
"""Notifications that are kept in memory."""

from collections.abc import Mapping


class RecordedNotices:
    """Implements ports.Notices: keeps what was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, Mapping[str, object]]] = []

    def tell(self, event: str, project_id: str, payload: Mapping[str, object]) -> None:
        self.sent.append((event, project_id, dict(payload)))
