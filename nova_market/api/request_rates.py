# SPDX-License-Identifier: Apache-2.0
"""How many requests are served of whom, for rule Q1 of doc/source/specs/market.rst. Units of api.costs."""

from dataclasses import dataclass
from enum import StrEnum

from nova_market.api.token_bucket import Rate


class Limited(StrEnum):
    """What has a bucket."""

    PROJECT = 'project'
    USER = 'user'
    WORKER = 'worker'
    MONITOR = 'monitor'


UNLIMITED = Rate()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRates:
    """requests: of a project, or of a user; reports: of a monitor. The default is no limit.

    unit: seconds of the processor that cost 1; who has paid less for a request owes the rest. 0: nobody does
    """

    requests: Rate = UNLIMITED
    worker: Rate = UNLIMITED
    reports: Rate = UNLIMITED
    unit: float = 0.0

    def of(self, kind: Limited) -> Rate:
        """Of a bucket of this kind."""
        if kind is Limited.WORKER:
            return self.worker
        return self.reports if kind is Limited.MONITOR else self.requests
