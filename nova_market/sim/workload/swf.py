# SPDX-License-Identifier: Apache-2.0
"""Reads logs in the Standard Workload Format, plain or gzip.

Implements the format of the Parallel Workloads Archive (Chapin et al., 1999; version 2.2): comments begin
with a semicolon, a job is a line of 18 numbers, -1 stands for unknown. The log is read from a path that is
given.

Used: 1 number, 2 submit, 4 run time, 5 processors (8, what was asked for, where 5 is unknown), 9 estimate
(the run time where it is unknown or less), 10 memory in KiB per processor (7, used, where 10 is unknown);
where a job comes from: 12 user, 13 group, 14 application, 15 queue, 16 partition.
Jobs without a run time or processors are left out, and counted.
"""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import BufferedIOBase
from pathlib import Path

import numpy as np

from nova_market.core.resource import Array, Rows, Values
from nova_market.errors import BadWorkload
from nova_market.sim.workload.job import Workload

FIELDS = 18

LARGEST = 2**30
"""Bytes of a log; the longest of the archive has 300 MB."""

PIECE = 2**20
"""Bytes that are read at once."""

MOST = 2.0**53
"""Bound of its numbers, which are whole ones."""

ORIGINS = {'user': 11, 'group': 12, 'application': 13, 'queue': 14, 'partition': 15}
"""Column of each number that tells where a job comes from; -1 where the log does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """jobs in order of submission; header: of lines `; Name: value`; left_out: jobs with too few numbers
    origins: (jobs,) of each name in ORIGINS
    """

    jobs: Workload
    origins: dict[str, Values]
    header: dict[str, str]
    left_out: int

    def take(self, rows: Rows) -> 'Log':
        """Some jobs, in the order of rows."""
        origins = {name: numbers[rows] for name, numbers in self.origins.items()}
        return replace(self, jobs=self.jobs.take(rows), origins=origins)


def read_log(path: Path) -> Log:
    """:raises BadWorkload: names the file, the line and what is wrong; OSError when it cannot be read."""
    with path.open('rb') as file:
        packed = file.read(2) == b'\x1f\x8b'
    try:
        with gzip.open(path) if packed else path.open('rb') as file:
            raw = b''.join(_pieces(file))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadWorkload(f'{path} is a damaged gzip file: {error}') from error
    if len(raw) > LARGEST:
        raise BadWorkload(f'{path} has more than {LARGEST} bytes when it is unpacked')
    lines = raw.decode('utf-8', 'replace').splitlines()
    records = [line for line in lines if line.strip() and not line.lstrip().startswith(';')]
    table = _table(path, lines, records)
    return _log(table, _header(lines))


def _pieces(file: BufferedIOBase) -> Iterator[bytes]:
    """What is in it, up to a little more than LARGEST: to ask for that at once takes as much memory."""
    size = 0
    while size <= LARGEST and (piece := file.read(PIECE)):
        size += len(piece)
        yield piece


def _table(path: Path, lines: list[str], records: list[str]) -> Array:
    try:
        flat = np.array(' '.join(records).split(), dtype=np.float64)
    except ValueError:
        flat = np.zeros(1)
    if len(flat) != FIELDS * len(records) or not (np.abs(flat) <= MOST).all():
        raise BadWorkload(_complaint(path, lines))
    return flat.reshape(-1, FIELDS)


def _complaint(path: Path, lines: list[str]) -> str:
    """The first line that is no job, for a person to find."""
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith(';'):
            continue
        if len(words) != FIELDS:
            return f'{path}, line {number}: {len(words)} fields; a job has {FIELDS}'
        for word in words:
            try:
                fine = abs(float(word)) <= MOST
            except ValueError:
                fine = False
            if not fine:
                return f'{path}, line {number}: {word!r:.40} is not a number up to 2^53'
    return f'{path} cannot be read as a workload log'


def _log(table: Array, header: dict[str, str]) -> Log:
    run = table[:, 3]
    processors = np.where(table[:, 4] > 0, table[:, 4], table[:, 7])
    known = (run >= 0) & (processors >= 1) & (table[:, 1] >= 0)
    # a stable order: jobs of one second stay as the log has them
    rows = np.flatnonzero(known)[np.argsort(table[known, 1], kind='stable')]
    memory = np.where(table[:, 9] > 0, table[:, 9], table[:, 6])
    jobs = Workload(
        number=table[rows, 0].astype(np.int64),
        submit=table[rows, 1],
        run=run[rows],
        processors=processors[rows].astype(np.int64),
        estimate=np.maximum(table[rows, 8], run[rows]),
        memory_mib=np.where(memory > 0, memory / 1024.0, np.nan)[rows],
    )
    origins = {name: table[rows, column].astype(np.int64) for name, column in ORIGINS.items()}
    return Log(jobs=jobs, origins=origins, header=header, left_out=int((~known).sum()))


def _header(lines: list[str]) -> dict[str, str]:
    """The first of each name counts: continuation lines have none."""
    found: dict[str, str] = {}
    for line in lines:
        if not line.lstrip().startswith(';'):
            break
        name, colon, value = line.lstrip('; ').partition(':')
        if colon:
            found.setdefault(name.strip(), value.strip())
    return found
