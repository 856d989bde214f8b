# SPDX-License-Identifier: Apache-2.0
"""The forecast of each pass is published for those who make offers (rule O1 of doc/source/specs/tender.rst).

It is one document among those of the service, written over the one before. The last start times of workers,
by which new ones are promised, are another one, so that whoever leads next goes on with them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from nova_market.core.job import start_time
from nova_market.core.job.forecast import Forecast, document_of, forecast_from
from nova_market.core.job.queue import StoredWorker
from nova_market.core.job.record import StoredAttempt
from nova_market.core.job.start_time import StartTimes, measured_starts, start_times_from
from nova_market.core.tender.outlook import FORECAST
from nova_market.ports import JobStateStore
from nova_market.row_boundary import RowBoundary

STATE = FORECAST
STARTS = 'worker_starts'


class ForecastWriter:
    """Writes what the leader's passes leave."""

    def __init__(self, states: JobStateStore, boundary: RowBoundary, handover: float = 0.0) -> None:
        """handover: seconds from a decision until a worker that is idle runs its job."""
        self._states = states
        self._boundary = boundary
        self._handover = handover
        self._starts: StartTimes | None = None

    def forget(self) -> None:
        """Another service has led meanwhile."""
        self._starts = None

    def write(
        self,
        forecast: Forecast,
        attempts: Iterable[Sequence[StoredAttempt]],
        workers: Mapping[str, StoredWorker],
    ) -> None:
        """attempts: of the active jobs.

        :raises errors.DatabaseUnavailable: the next pass writes it.
        """
        before = self.starts()
        after = before.extended(
            measured_starts((one for some in attempts for one in some), workers)
        )
        if after != before:
            self._states.write(STARTS, start_time.document_of(after))
            self._starts = after
        found = replace(
            forecast, start_seconds=after.usual(), starts=after.bounds(), handover=self._handover
        )
        self._states.write(STATE, document_of(found))

    def starts(self) -> StartTimes:
        """The last starts of new workers."""
        if self._starts is None:
            stored = self._states.read(STARTS)
            self._starts = self._boundary.value(
                'document', STARTS, 'parse', lambda: start_times_from(stored), StartTimes()
            )
        return self._starts


def read_forecast(states: JobStateStore) -> Forecast | None:
    """What was published last; None: nothing yet."""
    return forecast_from(states.read(STATE))
