# SPDX-License-Identifier: Apache-2.0
"""All that offers for jobs of one queue are made by, as it was at one moment.

For rules O1 and O2 of doc/source/specs/tender.rst. It is read at once: who reads it in parts may see a queue
of before a promise and workers of after it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nova_market.core.job.queue import StoredQueue
from nova_market.core.job.request import Size
from nova_market.core.tender.stored_offer import StoredOffer

FORECAST = 'forecast'
"""Under this name the service of jobs publishes its forecast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastMark:
    """Which forecast somebody has. version: grows with each one, 0: none; at: of the pass that made it"""

    version: int = 0
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferRows:
    """What is stored.

    hosts:    sizes of the largest hosts; (): not known
    idle:     workers of the queue without a job that may run the asker's, by flavor
    version:  of the forecast
    forecast: core.job.forecast.document_of; None: it is the one that the reader has; {}: there is none yet
    turn:     of the last promise; promised: what is held, or was accepted since the forecast
    """

    queue: StoredQueue
    hosts: Sequence[Size]
    idle: Mapping[str, int]
    version: int
    forecast: Mapping[str, Any] | None
    turn: int
    promised: Sequence[StoredOffer]
