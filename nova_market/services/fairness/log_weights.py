# SPDX-License-Identifier: Apache-2.0
"""The log-weights of the last round, kept on disk so that a service that was killed goes on from them.

They are display for nobody and worth nothing after a boot; a document that is damaged or cannot be written
costs some intervals of convergence and no more. Units: seconds since the epoch.
"""

import logging
import math
from collections.abc import Mapping

from nova_market.core.host.load import Incarnation
from nova_market.core.resource import GuestId
from nova_market.outage_log import OutageLog
from nova_market.ports import StateFile

LOG = logging.getLogger(__name__)
FORMAT = 1


class LogWeights:
    def __init__(self, file: StateFile, boot: str) -> None:
        """boot: identity of the running kernel; what another boot has written is void."""
        self._file = file
        self._boot = boot
        self._outage = OutageLog(
            LOG,
            lost='log-weights are not recorded: a service that is killed starts without them',
            back='log-weights are recorded again',
        )

    def save(self, x: Mapping[Incarnation, float], wall: float) -> None:
        """What the round of `wall` decided."""
        guests = [{'id': key[0], 'domain_id': key[1], 'x': value} for key, value in x.items()]
        try:
            self._file.save({'format': FORMAT, 'boot': self._boot, 'time': wall, 'guests': guests})
        except OSError as error:
            self._outage.failed(error)
        else:
            self._outage.works()

    def load(self) -> tuple[dict[Incarnation, float], float]:
        """(x by incarnation, when it was decided); nothing and 0 where there is no sound document."""
        document = self._file.load()
        if not document or document.get('boot') != self._boot or document.get('format') != FORMAT:
            return {}, 0.0
        try:
            wall = float(document['time'])  # type: ignore[arg-type]
            x = {
                (GuestId(str(guest['id'])), int(guest['domain_id'])): float(guest['x'])
                for guest in document['guests']  # type: ignore[attr-defined]
            }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            LOG.warning('the record of log-weights is damaged and ignored (%s)', error)
            return {}, 0.0
        return {key: value for key, value in x.items() if math.isfinite(value)}, wall
