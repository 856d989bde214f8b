# SPDX-License-Identifier: Apache-2.0
"""What a worker sends: a heartbeat, a result; each within its bounds.

Implements rules JW4 to JW6 of doc/source/specs/worker.rst. Units: seconds, MiB, bytes. All seconds are
differences on the guest's monotonic clock; no absolute time of a guest is used for any decision.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from nova_market.errors import BadAmount

MAX_TAIL = 65_536
"""Bytes of output in one message: the last ones that the job has written."""

MAX_TEXT = 200
"""Characters of why a job could not be started."""

MAX_SECONDS = 366 * 86_400.0
MAX_CPU_SECONDS = MAX_SECONDS * 4096
MAX_MEMORY_MIB = 2.0**30
MAX_BYTES = 2**53
MAX_SIGNAL = 64


class End(StrEnum):
    """How the script of a job ended."""

    EXIT = 'exit'
    SIGNAL = 'signal'
    TIME_LIMIT = 'time_limit'
    STOPPED = 'stopped'
    """By the order `stop`: it is preempted, or its worker is to go."""

    CANCELLED = 'cancelled'
    """By the order `cancel`."""

    NOT_STARTED = 'not_started'
    """The agent could not start it; `text` is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Resources that the processes of a job have taken. max_rss_mib: NaN where the agent cannot measure it.

    wall_seconds: from the start of the script to its end
    """

    wall_seconds: float
    user_seconds: float = 0.0
    system_seconds: float = 0.0
    max_rss_mib: float = math.nan

    def __post_init__(self) -> None:
        """:raises BadAmount: a value that no machine measures."""
        _check('wall_seconds', self.wall_seconds, MAX_SECONDS)
        _check('user_seconds', self.user_seconds, MAX_CPU_SECONDS)
        _check('system_seconds', self.system_seconds, MAX_CPU_SECONDS)
        if not math.isnan(self.max_rss_mib):
            _check('max_rss_mib', self.max_rss_mib, MAX_MEMORY_MIB)

    @property
    def cpu_seconds(self) -> float:
        return self.user_seconds + self.system_seconds

    def document(self) -> Mapping[str, float]:
        """As an attempt keeps it; without what was not measured."""
        found = {
            'wall_seconds': self.wall_seconds,
            'user_seconds': self.user_seconds,
            'system_seconds': self.system_seconds,
            'cpu_seconds': self.cpu_seconds,
            'max_rss_mib': self.max_rss_mib,
        }
        return {name: value for name, value in found.items() if not math.isnan(value)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The end of what a job has written. total: bytes written in all."""

    tail: bytes = b''
    total: int = 0

    def __post_init__(self) -> None:
        """:raises BadAmount: more than is kept, or more at the end than in all."""
        if len(self.tail) > MAX_TAIL:
            raise BadAmount(f'output has {len(self.tail)} bytes: send the last {MAX_TAIL}')
        _check('output_bytes', self.total, MAX_BYTES)
        if self.total < len(self.tail):
            raise BadAmount(
                f'output_bytes is {self.total}, and output has {len(self.tail)} bytes: '
                'give the bytes that were written in all'
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A job is about to be started (ran None), or runs. ran: seconds since its script was started.

    output: None: nothing was written since the last one
    """

    job_id: str
    attempt: int
    ran: float | None
    output: Output | None = None

    def __post_init__(self) -> None:
        """:raises BadAmount: names the value and its limit."""
        _check('attempt', self.attempt, MAX_BYTES)
        _check('ran', self.ran or 0.0, MAX_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How an attempt ended on this worker.

    exit_code:  of the script, with `exit`; signal: with `signal`; None otherwise
    checkpoint: exit code of the checkpoint script; None: it was not run
    uploaded:   whether the whole output was stored at the URL; None: there was none to store it at
    """

    job_id: str
    attempt: int
    end: End
    exit_code: int | None = None
    signal: int | None = None
    usage: Usage
    output: Output
    checkpoint: int | None = None
    uploaded: bool | None = None
    text: str = ''

    def __post_init__(self) -> None:
        """:raises BadAmount: names the value and its limit."""
        _check('attempt', self.attempt, MAX_BYTES)
        if (self.exit_code is None) is (self.end is End.EXIT):
            raise BadAmount(f'end is {self.end}: give exit_code with exit, and with nothing else')
        if (self.signal is None) is (self.end is End.SIGNAL):
            raise BadAmount(f'end is {self.end}: give signal with signal, and with nothing else')
        if self.exit_code is not None:
            _check('exit_code', self.exit_code, 255)
        if self.signal is not None and not 1 <= self.signal <= MAX_SIGNAL:
            raise BadAmount(f'signal is {self.signal}: give 1 to {MAX_SIGNAL}')


def _check(name: str, value: float, most: float) -> None:
    if not 0 <= value <= most:  # NaN too
        raise BadAmount(f'{name} is {value:g}: give 0 to {most:g}')
