# SPDX-License-Identifier: Apache-2.0
"""What offers for jobs are made by: read at once for each request, and long parts once for each forecast.

For rules O1 and O2 of doc/source/specs/tender.rst. A forecast of 1,000 hosts takes 10 ms to parse, and is the
same for seconds; so is the calendar behind what was promised since.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from nova_market.core.calendar.calendar import Calendar
from nova_market.core.job.forecast import Forecast, forecast_from
from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.request import Size
from nova_market.core.tender.job_offer import Promise, behind
from nova_market.core.tender.outlook import ForecastMark
from nova_market.core.tender.place import Kind
from nova_market.core.tender.stored_offer import HOW, How, OfferState, StoredOffer
from nova_market.ports import OfferStore

KIND: Mapping[How, Kind] = {how: kind for kind, how in HOW.items()}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Outlook:
    """One queue at one moment.

    hosts:    sizes of the largest ones; (): not known
    idle:     workers of the queue without a job, by flavor
    forecast: None: there is none yet; version: of the forecast
    turn:     of the last promise; promised: since the forecast
    """

    queue: StoredQueue
    hosts: Sequence[Size]
    idle: Mapping[str, int]
    forecast: Forecast | None
    version: int
    turn: int
    promised: Sequence[StoredOffer]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Behind:
    """The calendar of a forecast behind these promises, in their order."""

    version: int
    ids: tuple[str, ...]
    calendar: Calendar


class Outlooks:
    """Reads them, and keeps the newest forecast. For many threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._forecast: tuple[ForecastMark, Forecast | None] = (ForecastMark(), None)
        self._behind: _Behind | None = None

    def of(self, store: OfferStore, queue: str, project_id: str) -> Outlook | None:
        """Of a queue, by queue_access.key_of, for a project; None: there is none."""
        known, forecast = self._forecast
        found = store.outlook(queue, project_id, known)
        if found is None:
            return None
        if found.forecast is not None:
            forecast = forecast_from(found.forecast)
            at = forecast.at if forecast else 0.0
            self._forecast = (ForecastMark(version=found.version, at=at), forecast)
        return Outlook(
            queue=found.queue,
            hosts=found.hosts,
            idle=found.idle,
            forecast=forecast,
            version=found.version,
            turn=found.turn,
            promised=found.promised,
        )

    def calendar(self, outlook: Outlook, promised: Sequence[StoredOffer], now: float) -> Calendar:
        """Of its forecast, which must be there, behind these promises.

        What was placed behind the calendar before stays where it is while promises are added: a job that was
        promised a start some seconds ago still begins then.
        """
        assert outlook.forecast is not None, 'no calendar without a forecast'
        ids = tuple(one.id for one in promised)
        with self._lock:
            last = self._behind
            calendar, done = outlook.forecast.calendar, 0
            same = last is not None and outlook.version and last.version == outlook.version
            if last is not None and same and ids[: len(last.ids)] == last.ids:
                calendar, done = last.calendar, len(last.ids)
            calendar = behind([promise_of(one) for one in promised[done:]], calendar, now)
            self._behind = _Behind(version=outlook.version, ids=ids, calendar=calendar)
        return calendar


def promise_of(offer: StoredOffer) -> Promise:
    """What an offer that is held or was accepted takes."""
    return Promise(
        queue_id=offer.queue_id,
        flavor=offer.flavor,
        size=offer.flavors[offer.flavor],
        servers=offer.servers,
        time_limit=offer.time_limit,
        how=KIND[offer.how],
        until=offer.due_at if offer.state is OfferState.ACCEPTED else 0.0,
    )
