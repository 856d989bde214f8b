# SPDX-License-Identifier: Apache-2.0
"""What a test of a pass needs: a service with a row that goes bad, and with others beside it."""

import abc
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Bad:
    """id: as its service sets it aside; project: whose it is; where, given: SQL for its row"""

    id: str
    project: str
    where: str
    given: dict[str, Any] = field(default_factory=dict)


class World(abc.ABC):
    """service: as it names itself in what it sets aside."""

    service: ClassVar[str]

    def __init__(self, database):
        self.database = database

    def close(self):  # noqa: B027
        """Let go of what was opened."""

    @abc.abstractmethod
    def prepare(self, poison) -> Bad:
        """Everything is as it is just before the row goes bad."""

    @abc.abstractmethod
    def go(self):
        """Some passes."""

    @abc.abstractmethod
    def go_far(self):
        """So many that all that can end has ended."""

    @abc.abstractmethod
    def check_others(self, poison):
        """They are as they would be without the bad row, and nothing was done to that one."""

    @abc.abstractmethod
    def check_bad(self, poison):
        """It is as it would be if it had never been bad: it was mended, and passes have gone by since."""
