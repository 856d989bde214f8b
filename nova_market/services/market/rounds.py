# SPDX-License-Identifier: Apache-2.0
"""One round: decided and stored, sent to the hosts, confirmed, settled; by whichever engine leads.

Implements rules A4, F1 and F2 of doc/source/specs/market.rst. The states of a round are those of
core.market.record.RoundState; each step changes nothing when it is done already, so that an engine may die
between any two of them. Units: as in core.market.record.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nova_market.core.ledger.posting import AccountId
from nova_market.core.market import round_document
from nova_market.core.market.currency_step import currency_inputs, currency_step
from nova_market.core.market.inputs import RoundInputs
from nova_market.core.market.inventory import Allocation
from nova_market.core.market.notices import Notice, notices
from nova_market.core.market.record import AllocationRecord, RoundRecord, RoundState
from nova_market.core.market.round import RoundOutcome, decide
from nova_market.core.market.settings import MarketSettings
from nova_market.core.market.settlement import covered, hold_postings, payer_of, settlement
from nova_market.core.rebalancing.problem import MarketView
from nova_market.core.resource import HostName
from nova_market.core.scheduler import publication
from nova_market.errors import Conflict
from nova_market.ports import Clock, Enforcement, MarketCloud
from nova_market.ports.stores import Stores
from nova_market.services.market.inputs import gather
from nova_market.services.market.past import all_allocations
from nova_market.services.market.settlement import held, settle, settle_currency

LOG = logging.getLogger(__name__)

GRACE = 3.0
"""Periods for which hosts keep an allocation after its own: a standby takes two of them to take over."""


@dataclass(slots=True, eq=False, kw_only=True)
class OpenRound:
    """A round that is being carried out. Remembers what was confirmed.

    wanted: server -> host, of those whose confirmation is waited for
    """

    record: RoundRecord
    wanted: dict[str, str]
    confirmed: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Decided:
    """A round that was decided now. stored: what is in force; another engine may have been first."""

    inputs: RoundInputs
    outcome: RoundOutcome
    stored: RoundRecord
    allocated: Sequence[AllocationRecord]
    ours: bool
    notices: tuple[Notice, ...]

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
    """The steps of a round. Remembers nothing: what counts is stored."""

    def __init__(
        self,
        cloud: MarketCloud,
        stores: Stores,
        enforcement: Enforcement,
        clock: Clock,
        settings: MarketSettings,
    ) -> None:
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
        inputs = gather(self._cloud, self._stores, settings, period)
        outcome = decide(inputs.snapshot, settings.pricing)
        postings, carried = currency_step(currency_inputs(inputs, outcome), settings)
        new, carried = notices(inputs, outcome, settings, carried)
        heaviness = self._enforcement.heaviness()
        record = RoundRecord(
            period=period,
            leader=settings.name,
            started_at=self._clock.wall(),
            document=round_document.document(
                inputs, outcome, settings, carried, postings, heaviness
            )
            | {publication.KEY: publication.scheduler_document(inputs, outcome, heaviness)},
        )
        allocated = round_document.allocation_records(inputs, outcome)
        stored = self._stores.rounds.begin(
            record,
            round_document.price_records(inputs, outcome),
            allocated,
            hold_postings(period, allocated, round_document.stored_payers(record.document)),
        )
        return Decided(
            inputs=inputs,
            outcome=outcome,
            stored=stored,
            allocated=allocated,
            ours=stored is record,
            notices=tuple(new),
        )

    def send(
        self, record: RoundRecord, allocated: Sequence[AllocationRecord] | None = None
    ) -> OpenRound:
        """Tell the hosts; may be done again, also by another engine, which reads what was allocated."""
        if allocated is None:
            allocated = all_allocations(self._stores.history, record.period)
        answering = round_document.answering_hosts(record.document)
        payers = round_document.stored_payers(record.document)
        less = self._covered(record.period, allocated, payers)
        # a host without servers is told so: silence would mean that there is no market any more
        by_host: dict[HostName, list[Allocation]] = {
            HostName(host): [] for host in sorted(answering)
        }
        for one in allocated:
            part = less.get(payer_of(one, payers), 1.0)
            by_host.setdefault(HostName(one.host), []).append(
                Allocation(
                    server_id=one.server_id,
                    cores=one.actual_cpu * part,
                    memory_mib=one.actual_memory_mib * part,
                )
            )
        ends = (record.period + 1 + GRACE) * self._settings.period
        self._enforcement.send(record.period, ends, by_host)
        return OpenRound(
            record=record,
            wanted={one.server_id: one.host for one in allocated if one.host in answering},
            confirmed={one.server_id for one in allocated if one.confirmed},
        )

    def _covered(
        self, period: int, allocated: Sequence[AllocationRecord], payers: Mapping[str, AccountId]
    ) -> Mapping[AccountId, float]:
        """Payer -> part of his allocations that he gets, as he has moved credits away while we decided."""
        less = covered(allocated, payers, held(self._stores.ledger, period))
        for payer, part in sorted(less.items()):
            LOG.warning(
                'round %d: %s has moved credits away while it was decided and gets %.2f %% of its share',
                period, payer, 100 * part,
            )  # fmt: skip
        return less

    def collect(self, opened: OpenRound) -> None:
        """Store the confirmations that have come; a server that has left its host is not confirmed."""
        said = self._enforcement.confirmed(opened.record.period)
        wanted = opened.wanted
        new = [s for s, h in said.items() if s not in opened.confirmed and wanted.get(s) == h]
        if new:
            self._stores.rounds.confirm(opened.record.period, new)
            opened.confirmed.update(new)

    def finish(self, record: RoundRecord, *, sent: bool) -> RoundState:
        """Settle a round, or undo one that nobody has carried out; what has become of it.

        sent: by this engine, so hosts that say nothing have been asked
        """
        period, rounds = record.period, self._stores.rounds
        if record.state == RoundState.PLANNED:
            if not sent and not self._confirmed(period):
                self._settle(record, [])
                return self._advance(period, RoundState.PLANNED, RoundState.UNDONE)
            # what was confirmed until now counts, and nothing that comes later
            rounds.advance(period, RoundState.PLANNED, RoundState.APPLIED)
        self._settle(record, all_allocations(self._stores.history, period))
        postings = round_document.stored_postings(record.document)
        settle_currency(self._stores.ledger, postings, self._settings.name)
        return self._advance(period, RoundState.APPLIED, RoundState.SETTLED)

    def _confirmed(self, period: int) -> bool:
        """Has any host confirmed anything?"""
        return any(one.confirmed for one in all_allocations(self._stores.history, period))

    def _settle(self, record: RoundRecord, allocated: Sequence[AllocationRecord]) -> None:
        """Give back what was held, and charge these."""
        ledger, by = self._stores.ledger, self._settings.name
        payers = round_document.stored_payers(record.document)
        wanted = settlement(record.period, allocated, payers, held(ledger, record.period))
        new = settle(ledger, self._stores.accounts, wanted, by)
        LOG.debug('round %d: %d payers, %d new postings', record.period, len(wanted), new)

    def _advance(self, period: int, before: RoundState, after: RoundState) -> RoundState:
        try:
            self._stores.rounds.advance(period, before, after)
        except Conflict:
            # another engine was faster; whatever it did, it used the same keys
            LOG.info('round %d was completed by another engine', period)
        return after
