# SPDX-License-Identifier: Apache-2.0
"""The servers of an application that exist now, as its guests see them: who joined, who is about to leave.

For the "reconfigures the application" of Merkat (INRIA RR-8648), section 2.3.1: a load balancer or a master
has to know its servers; rule G4 of doc/source/specs/market.rst. The list has a version by content, so that an
acknowledgement names exactly what was acted on, whoever computes it and whenever.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence

from nova_market.core.app.record import DesiredServerState, StoredSlot

MAX_MEMBERS = 1000
"""As many servers as a component may have, 200 bytes each; an application with more gets no list."""

SHOWN = (DesiredServerState.PRESENT, DesiredServerState.DRAINING)

Member = Mapping[str, str | int]


def members(slots: Sequence[StoredSlot]) -> list[Member] | None:
    """Those that run, by component and number; None: they are too many for a list."""
    found = [one for one in slots if one.address and one.intention in SHOWN]
    if len(found) > MAX_MEMBERS:
        return None
    return [
        {
            'component': one.component,
            'number': one.number,
            'server_id': one.server_id,
            'address': one.address,
            'state': str(one.intention),
        }
        for one in sorted(found, key=lambda one: (one.component, one.number))
    ]


def version_of(listed: Sequence[Member]) -> str:
    """Of a list: 16 hexadecimal digits."""
    text = json.dumps(list(listed), sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
