# SPDX-License-Identifier: Apache-2.0
"""Tables of what came of a scenario: jobs, runs, and rounds of the market; as CSV, as Parquet, or both.

Beyond the papers. Units as in scenario; times in seconds of the run, money in credits. What never began or
ended is empty. The same cases give the same bytes (of one version of pyarrow). Rows are written as the
cases come, so memory holds one case.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from nova_market.core.ledger.money import MICRO
from nova_market.core.market.economy_record import supply_of, velocity_of
from nova_market.core.market.record import EconomyRecord
from nova_market.errors import ConfigurationError
from nova_market.sim.scenario.runs import Case

CSV, PARQUET = 'csv', 'parquet'
FORMATS = (CSV, PARQUET)

Columns = dict[str, Any]
"""Name -> one value for all rows, or an array."""

TEXT, WHOLE, REAL = 'text', 'whole', 'real'

KEY = {'scale': REAL, 'seed': WHOLE, 'discipline': TEXT}

TABLES: dict[str, dict[str, str]] = {
    'jobs': KEY
    | {
        'job': WHOLE, 'submit': REAL, 'run': REAL, 'processors': WHOLE, 'deadline': REAL,
        'budget': REAL, 'start': REAL, 'end': REAL, 'in_time': WHOLE, 'paid': REAL,
    },
    'runs': KEY
    | {
        'jobs': WHOLE, 'satisfaction': REAL, 'in_time': REAL, 'finished': REAL,
        'mean_wait': REAL, 'makespan': REAL, 'paid': REAL, 'suspensions': WHOLE,
        'migrations': WHOLE, 'largest_error': REAL, 'velocity': REAL, 'price_index': REAL,
    },
    'rounds': KEY
    | {
        'time': REAL, 'price': REAL, 'used': REAL, 'running': WHOLE, 'waiting': WHOLE,
        'servers': WHOLE, 'largest_error': REAL, 'migrations': WHOLE, 'homeless': WHOLE,
        'issued': REAL, 'bank': REAL, 'charged': REAL, 'price_index': REAL,
    },
}  # fmt: skip


class Sink(Protocol):
    """Where a table goes."""

    def write(self, columns: Columns, rows: int) -> None: ...
    def close(self) -> None: ...


class CsvSink:
    """Numbers with at most six digits after the point."""

    def __init__(self, path: Path, kinds: Mapping[str, str]) -> None:
        self._stream = path.open('w', newline='', encoding='utf-8')
        self._writer = csv.writer(self._stream)
        self._writer.writerow(kinds)
        self._names = tuple(kinds)

    def write(self, columns: Columns, rows: int) -> None:
        lists = [_listed(columns[name], rows) for name in self._names]
        for values in zip(*lists, strict=True):
            self._writer.writerow([_text(value) for value in values])

    def close(self) -> None:
        self._stream.close()


class ParquetSink:
    """One row group for each case."""

    def __init__(self, path: Path, kinds: Mapping[str, str]) -> None:
        """:raises ConfigurationError: pyarrow is not installed."""
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise ConfigurationError(
                f"Parquet needs pyarrow ({error}): pip install '.[sim]' in a checkout of nova-market"
            ) from error
        self._arrow = pyarrow
        types = {TEXT: pyarrow.string(), WHOLE: pyarrow.int64(), REAL: pyarrow.float64()}
        self._schema = pyarrow.schema([(name, types[kind]) for name, kind in kinds.items()])
        self._writer = pyarrow.parquet.ParquetWriter(path, self._schema)

    def write(self, columns: Columns, rows: int) -> None:
        arrays = [
            self._arrow.array(
                [None if _unknown(v) else v for v in _listed(columns[field.name], rows)],
                type=field.type,
            )
            for field in self._schema
        ]
        self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


SINKS: dict[str, Callable[[Path, Mapping[str, str]], Sink]] = {
    CSV: CsvSink,
    PARQUET: ParquetSink,
}


class Results:
    """The tables of many cases in a directory; a context."""

    def __init__(
        self, directory: Path, formats: Sequence[str] = (CSV,), varied: Sequence[str] = ()
    ) -> None:
        """varied: names of the settings that a sweep varies; columns in front of each table.

        :raises ConfigurationError: a format that cannot be written here.
        """
        self._varied = tuple(varied)
        front = dict.fromkeys(self._varied, TEXT)
        self._sinks: dict[str, list[Sink]] = {
            name: [SINKS[form](directory / f'{name}.{form}', front | kinds) for form in formats]
            for name, kinds in TABLES.items()
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for sinks in self._sinks.values():
            for sink in sinks:
                sink.close()

    def add(self, case: Case, values: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Write a case; returns its line of the summary."""
        front: Columns = {name: (values or {})[name] for name in self._varied}
        front |= case.key._asdict()
        line = front | summary_line(case)
        self._write('runs', line, 1)
        self._write('jobs', front | _jobs(case), len(case.jobs))
        if case.rounds is not None:
            self._write('rounds', front | _rounds(case), len(case.rounds.time))
        return {name: value for name, value in line.items() if not _unknown(value)}

    def _write(self, table: str, columns: Columns, rows: int) -> None:
        for sink in self._sinks[table]:
            sink.write(columns, rows)


def summary_line(case: Case) -> dict[str, Any]:
    """One run in numbers; None where a discipline has no such thing."""
    wait = case.schedule.wait(case.jobs)
    started = wait[np.isfinite(wait)]
    count, cloud = len(case.jobs), case.cloud
    return {
        'jobs': count,
        'satisfaction': round(case.schedule.satisfaction(case.terms), 6),
        'in_time': round(case.schedule.success(case.terms), 6),
        'finished': round(float(case.schedule.finished().mean()), 6) if count else 0.0,
        'mean_wait': round(float(started.mean()), 3) if len(started) else 0.0,
        'makespan': round(case.schedule.makespan(), 3),
        'paid': None if case.paid is None else round(float(case.paid.sum()), 6),
        'suspensions': None if case.suspensions is None else int(case.suspensions.sum()),
        'migrations': None if cloud is None else sum(cloud.migrations),
        'largest_error': None if cloud is None else round(max(cloud.error, default=0.0), 6),
        **_economy(cloud.economy if cloud else []),
    }


def _economy(records: Sequence[EconomyRecord]) -> dict[str, float | None]:
    """P4: the velocity of the whole run, and the price index at its end."""
    indices = [one.price_index for one in records if one.price_index is not None]
    moved = velocity_of(records)
    return {
        'velocity': None if moved is None else round(moved, 9),
        'price_index': round(indices[-1], 6) if indices else None,
    }


def _jobs(case: Case) -> Columns:
    jobs, schedule = case.jobs, case.schedule
    return {
        'job': jobs.number,
        'submit': jobs.submit,
        'run': jobs.run,
        'processors': jobs.processors,
        'deadline': case.terms.deadline,
        'budget': case.terms.budget,
        'start': schedule.start,
        'end': schedule.end,
        'in_time': schedule.in_time(case.terms).astype(np.int64),
        'paid': 0.0 if case.paid is None else case.paid,
    }


def _rounds(case: Case) -> Columns:
    rounds, cloud = case.rounds, case.cloud
    assert rounds is not None
    return {
        'time': rounds.time,
        'price': rounds.price,
        'used': rounds.used,
        'running': rounds.running,
        'waiting': rounds.waiting,
        'servers': cloud.servers if cloud else None,
        'largest_error': cloud.error if cloud else None,
        'migrations': cloud.migrations if cloud else None,
        'homeless': cloud.homeless if cloud else None,
        **_credits(cloud.economy if cloud else None),
    }


def _credits(records: Sequence[EconomyRecord] | None) -> Columns:
    """P4, in credits."""
    if records is None:
        return dict.fromkeys(('issued', 'bank', 'charged', 'price_index'))
    return {
        'issued': [supply_of(one).issued / MICRO for one in records],
        'bank': [one.bank / MICRO for one in records],
        'charged': [(one.charged or 0) / MICRO for one in records],
        'price_index': [one.price_index for one in records],
    }


def _listed(column: Any, rows: int) -> list[Any]:
    if isinstance(column, np.ndarray):
        found: list[Any] = column.tolist()
        return found
    return column if isinstance(column, list) else [column] * rows


def _unknown(value: Any) -> bool:
    return value is None or value != value


def _text(value: Any) -> str:
    if _unknown(value):
        return ''
    return f'{value:.6f}'.rstrip('0').rstrip('.') if isinstance(value, float) else str(value)
