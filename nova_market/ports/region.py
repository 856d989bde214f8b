# SPDX-License-Identifier: Apache-2.0
"""What the API needs to ask other regions for offers (rule O5 of doc/source/specs/tender.rst)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from nova_market.core.tender.region_answer import Expected, RegionAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionReply:
    """What one region answered. answer: None: nothing that can be used, and `why` has the reason."""

    region: str
    answer: RegionAnswer | None = None
    why: str = ''


class ChildRegions(Protocol):
    """The regions below this one."""

    @property
    def names(self) -> Sequence[str]:
        """Of all of them, in the order in which they are configured."""

    def ask(
        self, body: Mapping[str, Any], expected: Expected, regions: Sequence[str], within: float
    ) -> Callable[[], Sequence[RegionReply]]:
        """Ask these regions at once. The function that comes back waits for their replies.

        body: of the request to each; within: seconds from now on, after which no reply is waited for. Nothing
        is raised: a region that does not answer, or answers what cannot be used, is a reply with a reason.
        """
