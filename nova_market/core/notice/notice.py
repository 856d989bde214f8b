# SPDX-License-Identifier: Apache-2.0
"""A notice: an event as it is sent, whether as a notification, by mail or to a webhook."""

from collections.abc import Mapping
from dataclasses import dataclass

PREFIX = 'market.'
"""Of the names of all events; people leave it out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One event of a project. project_id: '' for what concerns the whole cloud.

    key: names the event for ever, so that a receiver can tell a repetition; at: seconds since the epoch
    user_id: whose thing it is; '' where it is nobody's in particular
    """

    event: str
    project_id: str
    payload: Mapping[str, object]
    key: str
    at: float
    user_id: str = ''

    @property
    def name(self) -> str:
        """The event as people write it: `lease.started`."""
        return self.event.removeprefix(PREFIX)
