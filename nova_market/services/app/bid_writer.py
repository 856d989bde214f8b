# SPDX-License-Identifier: Apache-2.0
"""Writes the bids that were decided for the servers of an application.

Implements rule B1 of doc/source/specs/market.rst for Merkat (INRIA RR-8648), section 2.3: the payer is the
application's budget. Units: micro-credits per period.

Servers that drain are paid for out of the same total (rule G3). What does not run, or is being deleted, bids
nothing. Without a bid of its own, its flavor's or the market's default would count, and its project would
pay: so such bids stay until the servers are gone.
"""

from collections import Counter
from collections.abc import Sequence

from nova_market.core.app.controller_state import state_of
from nova_market.core.app.draining import bid_of_each
from nova_market.core.app.record import DesiredServerState, StoredApp, StoredSlot
from nova_market.core.ledger.posting import AccountId, account
from nova_market.core.market.bid import StoredBid
from nova_market.errors import UnknownAccount
from nova_market.ports import BidStore
from nova_market.services.app.inputs import AppStores

SOURCE = 'app'
PAID = (DesiredServerState.PRESENT, DesiredServerState.DRAINING)


class Bidding:
    """Only bids that are not what they should be are written."""

    def __init__(self, stores: AppStores) -> None:
        self._bids: BidStore = stores.bids
        self._known: dict[str, StoredBid] = {}

    def read(self, slots: Sequence[StoredSlot]) -> None:
        """The bids of all these servers, at once: for those that are written until it is read again."""
        found = self._bids.of([slot.server_id for slot in slots if slot.server_id])
        self._known = dict(found)

    def write(self, app: StoredApp, slots: Sequence[StoredSlot], *, silent: bool = False) -> None:
        """A bid changed by hand is set back: the application's budget and policy decide.

        silent: its user may not spend (M8), so they bid nothing, whatever is meant with its servers

        :raises Conflict: somebody changes it at the same time; the next pass tries again.
        """
        carried = state_of(app.memory)
        counts = Counter((slot.component, slot.intention) for slot in slots)
        for slot in slots:
            if not slot.server_id:
                continue
            if silent or slot.intention not in PAID:
                self._nothing(app, slot.server_id)
                continue
            stay, drain = (counts[slot.component, intention] for intention in PAID)
            each = bid_of_each(carried.of(slot.component).bid, stay, drain)
            self._put(app, slot.server_id, *each)

    def silence(self, app: StoredApp, server_id: str) -> None:
        """A server without a slot that cannot be deleted."""
        self._known |= self._bids.of([server_id])
        self._nothing(app, server_id)

    def forget(self, server_id: str) -> None:
        """It is gone."""
        self._known.pop(server_id, None)
        self._bids.remove([server_id])

    def _nothing(self, app: StoredApp, server_id: str) -> None:
        found = self._known.get(server_id)
        if found is not None and (found.cpu, found.memory) == (0, 0):
            return
        try:
            self._put(app, server_id, 0, 0)
        except UnknownAccount:  # closed: it has ended
            self._put(app, server_id, 0, 0, account('project', app.project_id))

    def _put(
        self, app: StoredApp, server_id: str, cpu: int, mib: int, payer: AccountId | None = None
    ) -> None:
        found = self._known.get(server_id)
        wanted = StoredBid(
            server_id=server_id,
            project_id=app.project_id,
            payer=payer or app.payer,
            cpu=cpu,
            memory=mib,
            source=SOURCE,
            generation=found.generation if found else 0,
        )
        if found != wanted:
            self._known[server_id] = self._bids.put(wanted)
