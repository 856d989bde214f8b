# SPDX-License-Identifier: Apache-2.0
"""The forecast of each pass is published for those who make offers (rule O1 of doc/source/specs/tender.rst).

It is one document among those of the service, written over the one before. Of how long workers take to start
it has the last that was measured.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from nova_market.core.job.forecast import (
    START_SECONDS,
    Forecast,
    document_of,
    forecast_from,
    measured_start,
)
from nova_market.core.job.queue import StoredWorker
from nova_market.core.job.record import StoredAttempt
from nova_market.core.tender.outlook import FORECAST
from nova_market.ports import JobStateStore

STATE = FORECAST


class ForecastWriter:
    """Writes what the leader's passes leave."""

    def __init__(self, states: JobStateStore) -> None:
        self._states = states
        self._start_seconds: float | None = None

    def forget(self) -> None:
        """Another service has led meanwhile."""
        self._start_seconds = None

    def write(
        self,
        forecast: Forecast,
        attempts: Iterable[Sequence[StoredAttempt]],
        workers: Mapping[str, StoredWorker],
    ) -> None:
        """attempts: of the active jobs.

        :raises errors.DatabaseUnavailable: the next pass writes it.
        """
        measured = measured_start((one for some in attempts for one in some), workers)
        self._start_seconds = measured or self.start_seconds()
        found = replace(forecast, start_seconds=self._start_seconds)
        self._states.write(STATE, document_of(found))

    def start_seconds(self) -> float:
        """In which a new worker starts, as it was measured last."""
        if self._start_seconds is None:
            last = read_forecast(self._states)
            self._start_seconds = last.start_seconds if last else START_SECONDS
        return self._start_seconds


def read_forecast(states: JobStateStore) -> Forecast | None:
    """What was published last; None: nothing yet."""
    return forecast_from(states.read(STATE))
