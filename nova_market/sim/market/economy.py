# SPDX-License-Identifier: Apache-2.0
"""The economy of a small cloud over many periods: rounds, charges and the currency, and nothing else.

Implements rules M1 to M4, B1 to B4 and P1 of doc/source/specs/market.rst by the functions that the services
call: core.market.inputs reads, core.market.round_plan decides, and what it decides is posted to a book as
services.market posts it to the ledger. Hosts apply everything at once, and no server migrates. Units:
micro-credits, cores, MiB; times in periods.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import BANK, AccountId, Book, Posting, Reason, Totals, totals
from nova_market.core.market.bid import MARKET_RESOURCES, StoredBid
from nova_market.core.market.carried_state import (
    CarriedState,
    before_first_round,
    carried_state,
    due_returns,
    uncounted,
    with_charges,
)
from nova_market.core.market.inputs import (
    RoundInputs,
    inventory_of,
    missing_accounts,
    round_inputs,
)
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.past import Past, paid_by_projects, past_of
from nova_market.core.market.record import RoundRecord
from nova_market.core.market.round_document import stored_payers, stored_postings
from nova_market.core.market.round_plan import RoundPlan, round_plan
from nova_market.core.market.settings import MarketSettings
from nova_market.core.market.settlement import settlement
from nova_market.sim.cloud.accounts import posted


class Economy:
    """A cloud with its accounts. `hosts` and `servers` may be replaced between two periods."""

    def __init__(
        self,
        hosts: Sequence[CloudHost],
        servers: Sequence[CloudServer],
        settings: MarketSettings,
        accounts: Sequence[Account] = (),
        first: int = 1000,
    ) -> None:
        """accounts: those that are there before the first period, with nothing in them."""
        self.hosts, self.servers = tuple(hosts), tuple(servers)
        self.settings = settings
        self.book = Book()
        self.period = first
        self._accounts = {one.id: one for one in accounts}
        self._carried: CarriedState | None = None
        self._before: tuple[RoundRecord, RoundPlan] | None = None
        self._charged: dict[int, Totals] = {}

    def pass_period(
        self, stored: Mapping[str, StoredBid] | None = None
    ) -> tuple[RoundInputs, RoundPlan]:
        """One round: decided, applied and settled. stored: server -> the bid that its owner has placed."""
        for one in missing_accounts(self.servers, self._accounts):
            self._accounts[one.id] = one
        inputs = round_inputs(
            self.period,
            inventory_of(self.hosts, self.servers),
            stored or {},
            {n: replace(a, balance=self.book.balance(n)) for n, a in self._accounts.items()},
            self._past(),
            self.settings,
            bank=self.book.balance(BANK),
            enforced={one.name: MARKET_RESOURCES for one in self.hosts},
        )
        plan = round_plan(inputs, self.settings, {})
        self._settle(plan)
        self.period += 1
        return inputs, plan

    def grant(self, posting: Posting) -> None:
        """Credits by hand."""
        self.book.post(posting)

    def _past(self) -> Past:
        if self._before is None or self._carried is None:
            return Past(carried=before_first_round(self.period))
        record, plan = self._before
        delay = self.settings.return_delay
        due, carried = due_returns(self._carried, self.period, delay, record.period)
        if delay:
            new = uncounted(carried, record.period, due)
            carried = with_charges(carried, new, self._paid(new))
        charged = sum(self._charged.get(record.period, {}).values())
        economy = replace(plan.economy, charged=charged)
        return past_of(record, plan.prices, plan.allocated, self._paid(due), carried, economy)

    def _paid(self, periods: range) -> dict[str, int]:
        charges = (self._charged.get(one, {}) for one in periods)
        return paid_by_projects(charges, lambda budget: self._accounts[budget].project_id)

    def _settle(self, plan: RoundPlan) -> None:
        payers = stored_payers(plan.document)
        holding: dict[AccountId, int] = {p.debit: p.amount for p in plan.holds}
        applied = [replace(one, confirmed=True) for one in plan.allocated]
        self.book.post_all(plan.holds)
        charges = [p for _, own in settlement(self.period, applied, payers, holding) for p in own]
        self.book.post_all(charges)
        self._charged[self.period] = totals(charges).get(Reason.CHARGE, {})
        self._carried = posted(
            self.book, stored_postings(plan.document), carried_state(plan.document)
        )
        record = RoundRecord(
            period=self.period, leader='simulator', started_at=0.0, document=plan.document
        )
        self._before = record, plan
