# SPDX-License-Identifier: Apache-2.0
"""Writes what was decided to bid, for each server of an application.

Implements rule B1 of doc/source/specs/market.rst for Merkat (INRIA RR-8648), section 2.3: the payer is the
application's budget. Units: micro-credits per period.
"""

from collections.abc import Mapping, Sequence

from nova_market.core.app_memory import remembered
from nova_market.core.app_record import Intention, StoredApp, StoredSlot
from nova_market.core.record import StoredBid
from nova_market.ports import BidStore
from nova_market.scaling.gathering import Stores

SOURCE = 'app'


class Bidding:
    """Only bids that are not what they should be are written."""

    def __init__(self, stores: Stores) -> None:
        self._bids: BidStore = stores.bids

    def known(self, slots: Sequence[StoredSlot]) -> Mapping[str, StoredBid]:
        """The bids of all these servers, at once."""
        return self._bids.of([slot.server_id for slot in slots if slot.server_id])

    def write(
        self, app: StoredApp, slots: Sequence[StoredSlot], known: Mapping[str, StoredBid]
    ) -> None:
        """A bid changed by hand is set back: the application's budget and policy decide.

        :raises Conflict: somebody changes it at the same time; the next pass tries again.
        """
        memory = remembered(app.memory)
        own = [s for s in slots if s.server_id and s.intention is Intention.PRESENT]
        for slot in own:
            cpu, mib = memory.of(slot.component).bid
            found = known.get(slot.server_id)
            wanted = StoredBid(
                server_id=slot.server_id,
                project_id=app.project_id,
                payer=app.payer,
                cpu=int(cpu),
                memory=int(mib),
                source=SOURCE,
                generation=found.generation if found else 0,
            )
            if found != wanted:
                self._bids.put(wanted)
