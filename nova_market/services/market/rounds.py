# SPDX-License-Identifier: Apache-2.0
"""One round: decided and stored, sent to the hosts, confirmed, settled; by whichever engine leads.

Implements rules A4, B5, F1 and F2 of doc/source/specs/market.rst. The states of a round are those of
core.market.record.RoundState; each step changes nothing when it is done already, so that an engine may die
between any two of them. Units: as in core.market.record.
"""

import logging
import math
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial

from nova_market.core.ledger.claim import holdings_of, taken, together
from nova_market.core.ledger.posting import AccountId, Reason
from nova_market.core.market import round_document
from nova_market.core.market.delivery import (
    delivery,
    ended_at,
    may_be_late,
    newly_confirmed,
    valid_until,
    was_carried_out,
)
from nova_market.core.market.enforced import unenforced
from nova_market.core.market.inputs import RoundInputs
from nova_market.core.market.record import AllocationRecord, RoundRecord, RoundState
from nova_market.core.market.round import RoundOutcome
from nova_market.core.market.round_plan import RoundPlan, round_plan
from nova_market.core.market.settings import MarketSettings
from nova_market.core.market.settlement import covered, settlement, waiting_payers
from nova_market.core.market.stated_heaviness import owners_by_host
from nova_market.core.rebalancing.problem import MarketView
from nova_market.core.scheduler import publication
from nova_market.core.scheduler.publication import NO_TERMS, OperatorTerms
from nova_market.errors import Conflict
from nova_market.ports import Clock, Enforcement, MarketCloud
from nova_market.ports.stores import MarketStores
from nova_market.services.market.inputs import MarketRead, gather, listed
from nova_market.services.market.past import CARRIES_ON, all_allocations, carried_on
from nova_market.services.market.settlement import held, settle, settle_currency, settled_payers

LOG = logging.getLogger(__name__)


@dataclass(slots=True, eq=False, kw_only=True)
class OpenRound:
    """A round that was sent; wanted, stated: as in core.market.delivery. Remembers what was confirmed."""

    record: RoundRecord
    wanted: Mapping[str, str]
    stated: Set[str]
    confirmed: set[str] = field(default_factory=set)

    def missing(self, now: int) -> Mapping[str, str]:
        """Of `wanted`, those whose confirmation is waited for after the period. now: the period that it is"""
        if not may_be_late(self.record.period, now):
            return {}
        return {
            server: host
            for server, host in self.wanted.items()
            if server not in self.confirmed and host in self.stated
        }


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Decided:
    """A round that was decided now. stored: what is in force; another engine may have been first."""

    inputs: RoundInputs
    plan: RoundPlan
    stored: RoundRecord
    ours: bool

    @property
    def outcome(self) -> RoundOutcome:
        return self.plan.outcome

    @property
    def view(self) -> MarketView:
        """What rebalancing starts from."""
        return MarketView(
            period=self.inputs.period,
            snapshot=self.inputs.snapshot,
            outcome=self.outcome,
            hosts=self.inputs.hosts,
            servers=self.inputs.servers,
            others=self.inputs.others,
        )


class RoundRunner:
    """The steps of a round. Remembers nothing: all that counts is stored."""

    def __init__(
        self,
        cloud: MarketCloud,
        stores: MarketStores,
        enforcement: Enforcement,
        clock: Clock,
        settings: MarketSettings,
        terms: OperatorTerms = NO_TERMS,
    ) -> None:
        """terms: what Nova's scheduler receives of the operator's, beside the round."""
        self._terms = terms
        self.boundary = stores.boundary
        self._cloud = cloud
        self._stores = stores
        self._enforcement = enforcement
        self._clock = clock
        self._settings = settings

    def decide(self, period: int) -> Decided:
        """Read, decide and store the round of a period.

        :raises CloudUnavailable, DatabaseUnavailable: nothing was decided, or it was stored all the same.
        """
        settings = self._settings
        read = gather(self._cloud, self._stores, self._enforcement, settings, period)
        owner = read.decidable(self.boundary)
        inputs, plan, picture = self.boundary.largest(
            'server', list(owner), 'round', partial(self._planned, read), owner.__getitem__
        )
        record = RoundRecord(
            period=period,
            leader=settings.name,
            started_at=self._clock.wall(),
            document={**plan.document, publication.KEY: picture},
        )
        stored = self._stores.rounds.begin(
            record,
            plan.prices,
            plan.allocated,
            plan.holds,
            plan.economy,
            plan.powers,
            plan.notices,
        )
        return Decided(inputs=inputs, plan=plan, stored=stored, ours=stored is record)

    def _planned(
        self, read: MarketRead, taking_part: Sequence[str]
    ) -> tuple[RoundInputs, RoundPlan, Mapping[str, object]]:
        """The decision with these servers, and what Nova's scheduler receives of it."""
        inputs = read.inputs(self._settings, taking_part)
        owners = owners_by_host((*inputs.servers, *inputs.others))
        heaviness = self._enforcement.heaviness(owners)
        plan = round_plan(inputs, self._settings, heaviness)
        picture = publication.scheduler_document(inputs, plan.outcome, heaviness, self._terms)
        return inputs, plan, picture

    def send(
        self, record: RoundRecord, allocated: Sequence[AllocationRecord] | None = None
    ) -> OpenRound:
        """Send the hosts what they get; may be done again, also by another engine, which reads it first."""
        if allocated is None:
            allocated = all_allocations(self._stores.history, record.period)
        payers = round_document.stored_payers(record.document)
        sent = delivery(record, allocated, self._covered(record.period, allocated, payers))
        ends = valid_until(record.period, self._settings.period)
        self._enforcement.send(record.period, ends, sent.by_host)
        return OpenRound(
            record=record,
            wanted=sent.wanted,
            stated=sent.stated,
            confirmed={one.server_id for one in allocated if one.confirmed},
        )

    def _covered(
        self, period: int, allocated: Sequence[AllocationRecord], payers: Mapping[str, AccountId]
    ) -> Mapping[AccountId, float]:
        """Payer -> the part of its allocations that it gets, after it has moved credits away."""
        less = covered(allocated, payers, held(self._stores.ledger, period))
        for payer, part in sorted(less.items()):
            LOG.warning(
                'round %d: %s has moved credits away while it was decided and gets %.2f %% of its share',
                period, payer, 100 * part,
            )  # fmt: skip
        return less

    def collect(self, opened: OpenRound) -> None:
        """Store the confirmations that have come and count; they may be those of a period that is over.

        What its host does not control is not charged, although it was when the round was decided (B5).
        """
        period = opened.record.period
        reported = self._enforcement.confirmed(period)
        ended = ended_at(period, self._settings.period)
        new = newly_confirmed(reported, opened.wanted, opened.confirmed, ended)
        if new:
            self._stores.rounds.confirm(period, list(new), unenforced(new))
            opened.confirmed.update(new)

    def finish(
        self, record: RoundRecord, *, sent: bool, missing: Collection[str] = ()
    ) -> RoundState:
        """Settle a round, or undo one that no host has carried out; what has become of it.

        sent:    by this engine, so hosts that have not confirmed it had the chance to
        missing: servers whose confirmation may still come: their payers are settled another time
        """
        period, rounds = record.period, self._stores.rounds
        if record.state == RoundState.PLANNED:
            confirmed = () if sent else all_allocations(self._stores.history, period)
            if not was_carried_out(record.state, confirmed, sent=sent):
                if self._settle(record, []):
                    return RoundState.PLANNED
                return self._advance(period, RoundState.PLANNED, RoundState.UNDONE)
            # an engine that has not sent it settles it with what was confirmed until now
            rounds.advance(period, RoundState.PLANNED, RoundState.APPLIED)
        allocated = all_allocations(self._stores.history, period)
        waiting = self._settle(record, allocated, missing)
        work = partial(self._settle_currency, record)
        posted = self.boundary.value('round', str(period), 'currency', work, False)
        if waiting or not posted:
            return RoundState.APPLIED
        return self._advance(period, RoundState.APPLIED, RoundState.SETTLED)

    def _settle_currency(self, record: RoundRecord) -> bool:
        """Post what the currency policy has decided, until the next round is decided with what was posted."""
        now = math.floor(self._clock.wall() / self._settings.period)
        newest = self._stores.history.rounds(before=now + 1, limit=1)
        if [one.period for one in newest] == [record.period]:
            postings = round_document.stored_postings(record.document)
            settle_currency(self._stores.ledger, postings, self._settings.name)
            self._settle_claims(record)
        return True

    def _settle_claims(self, record: RoundRecord) -> None:
        """Take what was moved since the round was decided, too, and remember what is left (M6)."""
        ledger, accounts = self._stores.ledger, self._stores.accounts
        read = partial(carried_on, record, ledger)
        claims = self.boundary.value('round', str(record.period), CARRIES_ON, read, None)
        if claims is None:
            return
        if claims.back or claims.tax:
            there = holdings_of(listed(accounts).values())
            again = taken(record.period, there, claims.back, claims.tax, '/again')
            settle_currency(ledger, again, self._settings.name)
            claims = read()
        accounts.claim(together(claims.back, claims.tax))

    def _settle(
        self,
        record: RoundRecord,
        allocated: Sequence[AllocationRecord],
        missing: Collection[str] = (),
    ) -> frozenset[AccountId]:
        """Give back what was held, and charge these; returns the payers who wait.

        For missing servers, or until what is set aside of them is mended.
        """
        ledger, by = self._stores.ledger, self._settings.name
        payers = round_document.stored_payers(record.document)
        waiting, holding = waiting_payers(allocated, payers, missing), held(ledger, record.period)
        over = waiting | settled_payers(ledger, record.period, holding)
        holding = {payer: amount for payer, amount in holding.items() if payer not in over}
        wanted = settlement(record.period, allocated, payers, holding)
        done = settle(ledger, self._stores.accounts, self.boundary, wanted, by)
        waiting |= {payer for payer, _ in wanted} - done
        # all that was posted for it, also by another engine
        self._stores.rounds.charged(
            record.period, sum(ledger.totals(record.period, Reason.CHARGE).values())
        )
        LOG.debug('round %d: %d of %d payers', record.period, len(done), len(wanted))
        return waiting

    def _advance(self, period: int, before: RoundState, after: RoundState) -> RoundState:
        try:
            self._stores.rounds.advance(period, before, after)
        except Conflict:
            # another engine was faster; whatever it did, it used the same keys
            LOG.info('round %d was completed by another engine', period)
        return after
