# SPDX-License-Identifier: Apache-2.0
"""What a decision needs, read once: the newest round, and each application's servers, reports and money.

Implements the inputs of Merkat (INRIA RR-8648), section 2.3.1. Units: micro-credits, cores, MiB,
core-seconds.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nova_market.core.app.controller_state import ComponentState, ControllerState, Pair, state_of
from nova_market.core.app.policies.price_smoothing import rounds_remembered, smoothed_market
from nova_market.core.app.record import AppReport, HookReport, StoredApp, StoredSlot
from nova_market.core.app.template import AppTemplate, parsed
from nova_market.core.app.view import AppView, BudgetState, MarketNow, market_state
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import AccountId, account
from nova_market.core.market.bid import MARKET_RESOURCES
from nova_market.core.market.record import AllocationRecord, PriceRecord
from nova_market.core.market.round_document import answering_hosts
from nova_market.core.resource import Array
from nova_market.errors import BadRow
from nova_market.ports import (
    AccountStore,
    AppStore,
    BidStore,
    Clock,
    EventStore,
    History,
    LedgerStore,
    SlotStore,
)
from nova_market.row_boundary import RowBoundary
from nova_market.services.app.settings import ControllerSettings

LOG = logging.getLogger(__name__)

CATCH_UP = 60
"""Rounds that are counted at once after the controller was away; older ones are not."""

PAGE = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AppStores:
    """Everything that is kept, as ports."""

    apps: AppStore
    slots: SlotStore
    events: EventStore
    bids: BidStore
    accounts: AccountStore
    ledger: LedgerStore
    history: History
    boundary: RowBoundary = field(default_factory=RowBoundary)
    """Of the database that they are in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is read once for all decisions of a round."""

    reports: Mapping[str, Sequence[AppReport]]
    hooks: Mapping[str, Sequence[HookReport]]
    accounts: Mapping[AccountId, Account]


class Gathering:
    """Reads; changes nothing."""

    def __init__(self, stores: AppStores, clock: Clock, settings: ControllerSettings) -> None:
        self._stores = stores
        self._clock = clock
        self._settings = settings
        self._rounds: dict[tuple[int, str], Sequence[AllocationRecord]] = {}

    def market(self) -> MarketNow | None:
        """The newest round; None before the first one, or when it had no host and so nothing was free."""
        newest = self._stores.history.rounds(limit=1)
        if not newest:
            return None
        period, keep = newest[0].period, self._settings.price_memory
        first = max(period - rounds_remembered(keep), 0)
        rounds: dict[int, dict[str, PriceRecord]] = {}
        for one in self._stores.history.prices(first, period):
            rounds.setdefault(one.period, {})[one.resource] = one
        records = rounds.pop(period, {})
        if not records and not self._has_hosts(period):
            return None
        self._rounds = {}
        state = market_state(records, self._settings.reserve)
        return MarketNow(
            period=period,
            now=self._clock.wall(),
            seconds=float(self._settings.period),
            state=smoothed_market(state, _prices(rounds), keep),
        )

    def _has_hosts(self, period: int) -> bool:
        """Without prices: whether hosts hand out everything unsold (B5), or there is nothing at all."""

        def answers() -> bool:
            found = self._stores.history.round(period)
            return found is not None and bool(answering_hosts(found.document))

        # of one that cannot be read nothing is decided
        return self._stores.boundary.value('round', str(period), 'its hosts', answers, False)

    def known(self, apps: Sequence[StoredApp]) -> Known:
        """Reports of these, and all accounts that are open."""
        ids = [app.id for app in apps]
        return Known(
            reports=self._stores.events.reports(ids),
            hooks=self._stores.events.hooks(ids),
            accounts=self._accounts() if apps else {},
        )

    def views(
        self,
        apps: Sequence[StoredApp],
        slots: Mapping[str, Sequence[StoredSlot]],
        most: Mapping[str, Mapping[str, Pair]],
        market: MarketNow,
        known: Known,
    ) -> list[AppView]:
        """most: by application and component, what a server can use."""
        made = []
        for app in apps:
            self._check_accounts(app)
            own = slots.get(app.id, ())
            template = parsed(app.template)
            carried = _sized(state_of(app.memory), template, most.get(app.id, {}))
            ids = {slot.server_id for slot in own if slot.server_id}
            newest = self._of(market.period, app.project_id, ids | {*carried.servers})
            made.append(
                AppView(
                    app=app,
                    template=template,
                    carried=self._counted(app, carried, own, market),
                    slots=own,
                    reports=known.reports.get(app.id, ()),
                    hooks=known.hooks.get(app.id, ()),
                    allocations={
                        one.server_id: (one.actual_cpu, one.actual_memory_mib) for one in newest
                    },
                    due=sum(one.charge_cpu + one.charge_memory for one in newest),
                    budget=_budget(app, known.accounts),
                )
            )
        return made

    def _check_accounts(self, app: StoredApp) -> None:
        """:raises BadRow: what it has is not known, which is not nothing."""
        for name in (app.payer, account('project', app.project_id)):
            if name in self._stores.boundary.unread('account'):
                raise BadRow(f'account {name} cannot be read')

    def _accounts(self) -> Mapping[AccountId, Account]:
        """All that are open."""
        found: list[Account] = []
        while page := self._stores.accounts.list(None, found[-1].id if found else '', PAGE):
            found += page
        return {one.id: one for one in found}

    def _counted(
        self,
        app: StoredApp,
        carried: ControllerState,
        slots: Sequence[StoredSlot],
        market: MarketNow,
    ) -> ControllerState:
        """With what was confirmed and charged since; the newest round is not over yet."""
        first = max(carried.counted + 1, market.period - CATCH_UP)
        if not carried.counted:
            first = market.period  # what was before it was made is not its own
        present = {slot.server_id for slot in slots if slot.server_id}
        spent, given, part = carried.spent, carried.given, carried.part
        for period in range(first, market.period):
            # those that were given back since have cost something too
            found = self._of(period, app.project_id, present | {*carried.servers})
            confirmed = [one for one in found if one.confirmed]
            spent += sum(one.charge_cpu + one.charge_memory for one in confirmed)
            given += sum(one.actual_cpu for one in confirmed) * market.seconds
            there = [one for one in confirmed if one.server_id in present]
            full = _full(carried, slots, {one.server_id for one in there})
            if full > 0:
                part = min(sum(one.actual_cpu for one in there) / full, 1.0)
        return replace(
            carried,
            counted=market.period - 1,
            spent=spent,
            given=given,
            part=part,
            servers=tuple(sorted(present)),
        )

    def _of(self, period: int, project: str, own: Collection[str]) -> Sequence[AllocationRecord]:
        """Allocations of these servers; a project's are read once for all its applications."""
        if not own:
            return []
        if (period, project) not in self._rounds:
            found: list[AllocationRecord] = []
            after = ''
            while page := self._stores.history.allocations(period, after, PAGE, project):
                found += page
                after = page[-1].server_id
            self._rounds[period, project] = found
        return [one for one in self._rounds[period, project] if one.server_id in own]


def _prices(rounds: Mapping[int, Mapping[str, PriceRecord]]) -> Array:
    """(rounds, resources), the oldest first; 0 where a resource was not sold."""
    found = [
        [of[name].price if name in of else 0.0 for name in MARKET_RESOURCES]
        for _, of in sorted(rounds.items())
    ]
    return np.array(found, dtype=np.float64).reshape(len(found), len(MARKET_RESOURCES))


def _budget(app: StoredApp, accounts: Mapping[AccountId, Account]) -> BudgetState:
    own, found = accounts.get(account('project', app.project_id)), accounts.get(app.payer)
    project = own.balance if own else 0
    if found is None:
        return BudgetState(project=project)
    return BudgetState(
        balance=found.balance,
        renew_amount=found.renew_amount,
        renew_every=found.renew_every,
        project=project,
    )


def _full(carried: ControllerState, slots: Sequence[StoredSlot], servers: set[str]) -> float:
    """CPU that these servers could use."""
    return sum(carried.of(one.component).most[0] for one in slots if one.server_id in servers)


def _sized(
    carried: ControllerState, template: AppTemplate, most: Mapping[str, Pair]
) -> ControllerState:
    parts: dict[str, ComponentState] = {}
    for one in template.components:
        known = carried.of(one.name)
        parts[one.name] = replace(known, most=most.get(one.name, known.most))
    return replace(carried, components=parts)
