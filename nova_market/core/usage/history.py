# SPDX-License-Identifier: Apache-2.0
"""What is asked of the history, and what it answers.

For rule U2 of doc/source/specs/usage.rst. Arrays: amounts as core.usage.use has them; asked (n, 2): core
seconds and MiB seconds that flavors ask for, while the servers were measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.resource import Flags, HostName, Values
from nova_market.core.usage.use import (
    AMOUNTS,
    MINUTE,
    SECONDS,
    MinuteUse,
    Series,
    added,
    bounded,
    summed,
)

Window = tuple[float, float]
"""From, until: seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageFilter:
    """Whose use; what is None does not choose.

    windows: server -> the times in which its use counts, as of the tries of a job; None: all servers
    """

    project_id: str | None = None
    host: str | None = None
    lease_id: str | None = None
    windows: Mapping[str, Sequence[Window]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSeries:
    """A series with its number in the database, which orders pages."""

    number: int
    series: Series


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class UsageSums:
    """keys: the first second of each span, or the number of each series; rising. Arrays have a row each."""

    keys: Values
    amounts: Values
    asked: Values


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesUse:
    """What one server used in one minute, as it is stored."""

    at: int
    series: Series
    amounts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Of what was given to the store: new, there already, and what was not counted.

    late: of minutes that are rolled up; lost: beside what is stored of that minute and cannot be read
    """

    new: int = 0
    again: int = 0
    late: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSize:
    """Of a server that the market knows: whose it is, and what its flavor asks for.

    hosts: where it was in the last rounds
    """

    project_id: str
    vcpus: int
    memory_mib: int
    lease_id: str = ''
    hosts: frozenset[str] = frozenset()


def attributed(host: HostName, use: MinuteUse, known: Mapping[str, ServerSize]) -> list[SeriesUse]:
    """What belongs to servers that the market knows on this host."""
    found = []
    for server, one in use.servers.items():
        size = known.get(server)
        if size is None or host not in size.hosts:
            continue
        series = Series(
            server_id=server,
            project_id=size.project_id,
            host=host,
            vcpus=size.vcpus,
            memory_mib=size.memory_mib,
            lease_id=size.lease_id,
        )
        found.append(SeriesUse(at=use.at, series=series, amounts=one.amounts))
    return found


class Sums:
    """Adds up rows of the history as they are read, by span or by series."""

    def __init__(
        self,
        found: Sequence[KnownSeries],
        windows: Mapping[str, Sequence[Window]] | None,
        span: int = MINUTE,
    ) -> None:
        """found: the series that count, by number; span: seconds of a span."""
        self._span = span
        self._numbers = np.array([one.number for one in found], dtype=np.int64)
        self._asked = np.array(
            [(one.series.vcpus, one.series.memory_mib) for one in found], dtype=np.int64
        ).reshape(-1, 2)
        self._windows = None if windows is None else [windows[o.series.server_id] for o in found]
        self._sums: dict[int, tuple[Values, Values]] = {}

    def add(self, at: int, numbers: Values, amounts: Values, *, by_series: bool) -> None:
        """The rows of one span: of these series; others are left out."""
        place = np.searchsorted(self._numbers, numbers)
        place[place == len(self._numbers)] = 0
        mine = self._numbers[place] == numbers if len(self._numbers) else np.zeros(0, dtype=bool)
        if self._windows is not None:
            mine &= self._inside(at, place)
        place, amounts = place[mine], amounts[mine]
        seconds = amounts[:, [SECONDS]]
        asked = bounded(self._asked[place] * seconds, self._asked[place] * seconds.astype(float))
        if by_series:
            for row, key in enumerate(self._numbers[place].tolist()):
                self._keep(key, amounts[row], asked[row])
        elif len(amounts):
            together = np.zeros(len(amounts), dtype=np.int64)
            self._keep(at, added(amounts, together, 1)[0], summed(asked, together, 1)[0])

    def result(self) -> UsageSums:
        keys = sorted(self._sums)
        shape = (len(keys), len(AMOUNTS))
        return UsageSums(
            keys=np.array(keys, dtype=np.int64),
            amounts=np.array([self._sums[k][0] for k in keys], dtype=np.int64).reshape(shape),
            asked=np.array([self._sums[k][1] for k in keys], dtype=np.int64).reshape(-1, 2),
        )

    def _inside(self, at: int, place: Values) -> Flags:
        assert self._windows is not None
        return np.array(
            [
                any(since - self._span < at < until for since, until in self._windows[row])
                for row in place.tolist()
            ],
            dtype=np.bool_,
        )

    def _keep(self, key: int, amounts: Values, asked: Values) -> None:
        before = self._sums.get(key)
        if before is not None:
            two = np.zeros(2, dtype=np.int64)
            amounts = added(np.stack([before[0], amounts]), two, 1)[0]
            asked = summed(np.stack([before[1], asked]), two, 1)[0]
        self._sums[key] = amounts, asked
