# SPDX-License-Identifier: Apache-2.0
"""What one server used of its host in some span of time, and which servers there are.

Implements rule U1 of doc/source/specs/usage.rst, after CloudAlloc, section 3 (Monitor Function). All amounts
are whole numbers, so that the sum over any minutes is exact.

Differs from the paper: one value a minute, where it sends one a second.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NewType

import numpy as np

from nova_market.core.resource import Array, HostName, Values
from nova_market.core.row_check import AMOUNT, COUNT, Bounds

Minute = NewType('Minute', int)
"""The first second of a minute since the epoch: a multiple of MINUTE."""

MINUTE = 60
LONGEST = 2**53
"""Bound of every amount: what JSON and floats hold exactly."""

MOST = 2**60
"""Bound of every sum: the sum of two is below 2 ** 63."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerUse:
    """Sums over a span of time; `memory_mib_max` is the largest value in it.

    seconds:            that were measured
    core_ms:            milliseconds of CPU, all vCPUs together
    memory_mib_seconds: mean memory is this divided by `seconds`
    disk_bytes, disk_operations, network_bytes: read and written, received and sent
    """

    seconds: int = 0
    core_ms: int = 0
    memory_mib_seconds: int = 0
    memory_mib_max: int = 0
    disk_bytes: int = 0
    disk_operations: int = 0
    network_bytes: int = 0

    @property
    def amounts(self) -> tuple[int, ...]:
        """In the order of AMOUNTS."""
        return tuple(getattr(self, name) for name in AMOUNTS)

    @property
    def cores(self) -> float:
        """Mean number of cores in use while it was measured."""
        return self.core_ms / 1000.0 / self.seconds if self.seconds else 0.0

    @property
    def memory_mib(self) -> float:
        """Mean memory while it was measured."""
        return self.memory_mib_seconds / self.seconds if self.seconds else 0.0


AMOUNTS = tuple(field.name for field in fields(ServerUse))
SECONDS, CORE_MS, MEMORY_SUM, MEMORY_MAX, DISK_BYTES, DISK_OPERATIONS, NETWORK = range(len(AMOUNTS))


@dataclass(frozen=True, slots=True, kw_only=True)
class MinuteUse:
    """What the servers of one host used in one minute."""

    at: Minute
    servers: Mapping[str, ServerUse]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Series:
    """A server on one host with one size: what belongs together in the history.

    vcpus, memory_mib: that its flavor asks for; lease_id: that it carries, '' for none
    """

    server_id: str
    project_id: str
    host: HostName
    vcpus: int
    memory_mib: int
    lease_id: str = ''


SERIES_BOUNDS: Bounds = {'vcpus': COUNT, 'memory_mib': AMOUNT}


def use_of(amounts: Values) -> ServerUse:
    """A row of amounts, shape (len(AMOUNTS),), as a value."""
    return ServerUse(**dict(zip(AMOUNTS, amounts.tolist(), strict=True)))


def added(rows: Values, groups: Values, count: int) -> Values:
    """Rows of amounts in groups: sums, and the largest of the maxima. Shape (count, len(AMOUNTS)).

    rows: (n, len(AMOUNTS)); groups: (n,), from 0 to count - 1
    """
    result = summed(rows, groups, count)
    result[:, MEMORY_MAX] = 0
    np.maximum.at(result[:, MEMORY_MAX], groups, rows[:, MEMORY_MAX])
    return result


def summed(rows: Values, groups: Values, count: int) -> Values:
    """Sums of rows in groups, shape (count, columns); MOST where one would be more.

    A host may state up to LONGEST for its servers in each minute, and spoils no sum of others by that.
    """
    result = np.zeros((count, rows.shape[1]), dtype=np.int64)
    about = np.zeros(result.shape)
    np.add.at(result, groups, rows)
    np.add.at(about, groups, rows.astype(float))
    return bounded(result, about)


def bounded(amounts: Values, about: Array) -> Values:
    """Amounts that may have run over: MOST where they would be more. about: the same in floats"""
    found: Values = np.where(about >= MOST, MOST, np.minimum(amounts, MOST))
    return found
