# SPDX-License-Identifier: Apache-2.0
"""Documents of rounds, which never change and are long on a large cloud: the newest few are kept.

Whole ones are for operators, and the newest one for Nova's scheduler and for how heavy projects are: each
process reads that one once. Of a round that it shows, a project reads its own part.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from nova_market.core.market.record import RoundRecord
from nova_market.ports import History

KEPT = 3

Line = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """lines: what the document has of each server."""

    record: RoundRecord
    lines: Mapping[str, Line]


class Documents:
    """Serves all threads of a process."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._lock = Lock()
        self._kept: OrderedDict[int, Explained] = OrderedDict()

    def newest(self) -> Explained | None:
        """The newest round; None before the first."""
        rounds = self._history.rounds(limit=1)
        return self.of(rounds[0].period) if rounds else None

    def of_project(self, period: int, project_id: str) -> Explained | None:
        """A round with the lines of some projects, of this one all. None when there is none."""
        found = self._history.round_for(period, project_id)
        return _explained(found) if found else None

    def of(self, period: int) -> Explained | None:
        """A round; its state may be an older one, its document is not. None when there is none.

        What is kept outlives a purge: whoever shows a round asks the history whether it is still there.
        """
        with self._lock:
            if period in self._kept:
                self._kept.move_to_end(period)
                return self._kept[period]
        found = self._history.round(period)
        if found is None:
            return None
        made = _explained(found)
        with self._lock:
            self._kept[period] = made
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return made


def _explained(record: RoundRecord) -> Explained:
    lines = record.document.get('servers')
    found = lines if isinstance(lines, list) else []
    return Explained(record=record, lines={line['id']: line for line in found})
