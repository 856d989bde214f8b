# SPDX-License-Identifier: Apache-2.0
"""A host's client of the aggregators: what it sends to which, and the totals that their replies add up to.

Implements the host's half of the collection of heaviness sets of IFI-2016.04, section IV-D.2, with owners
divided among aggregators (core.exchange.rendezvous); the vectors of a host go to one of them, its home.
Aggregators reply the sums of the other hosts and the host adds its newest report, so its own numbers count
at once, as with broadcast.

When the aggregators change, the sums of the old ones are used until all new ones are complete, or until
they are too old. Times are seconds of the host's monotonic clock, given as arguments. Reads no clock and
takes no lock: its owner does both.
"""

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from nova_market.core.exchange.aggregator_session import AggregatorSession, SessionInput
from nova_market.core.exchange.comparison import Part
from nova_market.core.exchange.messages import HostReport, StateUpdate, TotalsReply, Vectors
from nova_market.core.exchange.quota_tally import tally
from nova_market.core.exchange.rendezvous import aggregator_of, set_digest
from nova_market.core.exchange.report_table import STALE
from nova_market.core.exchange.totals import CloudTotals, add_up
from nova_market.core.resource import Array, HostName, OwnerId

SILENCE = 0.6
"""Part of `ttl` (three intervals) after which an aggregator counts as silent: two updates in a row."""

OLD_LIFE = 2.0
"""Parts of `ttl` that the sums of aggregators live which were left for others. A dead one is left two
intervals after its last reply, and the others are complete two intervals later: sums that then fell to
what this host knows by itself would enter its updates to all. Their age is in the totals, and lets
weights decay."""

MAX_SILENT = 10_000
"""So many silent aggregators are remembered, as many as there are members: one that is forgotten would be
chosen again, and somebody who can invent members could keep hosts from finding one that exists."""

MAX_PROBED = 16
"""So many of them are probed at once."""

OTHER_HOST = 'other_host'
OTHER_EPOCH = 'other_epoch'
UNSOLICITED = 'unsolicited'

Sessions = dict[HostName, AggregatorSession]

Parts = dict[HostName, Part]

NO_PARTS: Mapping[HostName, Part] = {}


class AggregatorClient:
    """One host's sessions with its aggregators."""

    def __init__(
        self,
        host: HostName,
        metric: str,
        ttl: float,
        epoch: str,
        copy: int = 0,
        copies: int = 1,
    ) -> None:
        """ttl: seconds after which a reply is too old to be used.

        copy, copies: which one of how many aggregators of each owner these sessions are with
        """
        self._host = host
        self._copy, self._copies = copy, copies
        self._groups: tuple[HostName, ...] = ()
        self._metric = metric
        self._ttl = ttl
        self._epoch = epoch
        self._first: float | None = None
        self._report: HostReport | None = None
        self._aggregators: tuple[HostName, ...] = ()
        self._aggregator_set = ''
        self._sessions: Sessions = {}
        self._old: Parts = {}  # as they counted when the sessions were left
        self._agreed: Mapping[HostName, Part] = NO_PARTS
        self._aggregator_by_key: dict[str, HostName] = {}
        self._sent_updates: dict[HostName, StateUpdate] = {}
        self._retransmitted_versions: dict[HostName, tuple[int, int]] = {}
        self._waiting: dict[HostName, float] = {}
        self._probed: dict[HostName, float] = {}

    def updates(
        self,
        report: HostReport,
        aggregators: Iterable[HostName],
        now: float,
        groups: Sequence[HostName] | None = None,
    ) -> Mapping[HostName, StateUpdate]:
        """The updates to send, at least one to each aggregator.

        groups: of a further copy: the aggregators of the first one, at whose places these add up the same
        owners
        """
        if self._first is None:
            self._first = now
        self._report = report
        chosen = tuple(aggregators) if groups is not None else tuple(sorted(aggregators))
        shares = chosen if groups is None else tuple(groups)
        if (chosen, shares) != (self._aggregators, self._groups):
            self._turn_to(chosen, shares, now)
        parts = self._parts(report)
        result: dict[HostName, StateUpdate] = {}
        for to, session in self._sessions.items():
            result[to] = session.update(report, parts[to], now)
            self._waiting.setdefault(to, now)
        self._sent_updates = dict(result)
        return result | self._probes(report, now)

    def receive(self, reply: TotalsReply, now: float) -> str:
        """Take a reply; returns '' or why it is of no use."""
        if reply.to != self._host:
            return OTHER_HOST
        if self._report is None or reply.version > self._report.version:
            return UNSOLICITED
        waited = self._waiting.pop(reply.host, None) is not None
        if reply.epoch != self._epoch:
            return OTHER_EPOCH
        session = self._sessions.get(reply.host)
        if session is None:
            return '' if waited else STALE
        reason = session.receive(reply, now, self._ttl)
        # an aggregator may reply to the update and to its retransmission
        twice = self._retransmitted_versions.get(reply.host) == reply.version
        return '' if reason == STALE and twice else reason

    def silent(self, now: float) -> frozenset[HostName]:
        """Aggregators that have not replied to two updates in a row."""
        limit = SILENCE * self._ttl
        return frozenset(host for host, since in self._waiting.items() if now - since >= limit)

    def forget_others(self, hosts: Container[HostName]) -> None:
        """Wait for replies of these alone: who is no member any more is not probed (H32)."""
        self._waiting = {host: since for host, since in self._waiting.items() if host in hosts}

    def unacked(self) -> frozenset[HostName]:
        """Aggregators whose replies to the last updates have not come yet."""
        return frozenset(host for host, session in self._sessions.items() if session.unacked)

    def retransmit(self, hosts: Iterable[HostName]) -> Mapping[HostName, StateUpdate]:
        """The last updates that these aggregators have not replied to, each at most once."""
        retransmitted = sorted(self.unacked() & self._sent_updates.keys() & set(hosts))
        self._retransmitted_versions |= {to: self._sent_updates[to].version for to in retransmitted}
        return {to: replace(self._sent_updates.pop(to), retransmitted=True) for to in retransmitted}

    def parts(self) -> tuple[Part, ...]:
        """What each aggregator has replied, in their order; usable if it is about the last update."""
        return tuple(
            Part(
                aggregator=to,
                others=session.others,
                quotas=session.quotas,
                cloud=session.cloud,
                asked=session.asked,
                carried=-math.inf if session.carried is None else session.carried,
                usable=session.complete and not session.unacked,
                older=session.older,
            )
            for to, session in self._sessions.items()
        )

    def totals(self, now: float, agreed: Mapping[HostName, Part] = NO_PARTS) -> CloudTotals:
        """Sums over the cloud of the owners of this host; of this host alone without replies.

        agreed: what counts in place of what these aggregators have replied
        """
        never = 2 * self._ttl + now - (now if self._first is None else self._first)
        if self._report is None:
            return add_up([], self._metric, never)
        self._agreed = agreed
        parts = self._picture(now)
        oldest = min((part.carried for part in parts.values()), default=-math.inf)
        age = never if oldest == -math.inf else now - oldest
        own = add_up([self._report], self._report.metric, age)
        life = OLD_LIFE if parts is self._old else 1.0
        return _overlay(own, [part for part in parts.values() if self._alive(part, now, life)])

    # -- what is sent to which aggregator

    def _turn_to(
        self, chosen: tuple[HostName, ...], groups: tuple[HostName, ...], now: float
    ) -> None:
        silent = self.silent(now)
        self._waiting = {
            host: since for host, since in self._waiting.items() if host in silent or host in chosen
        }
        while len(self._waiting) > MAX_SILENT + len(chosen):
            del self._waiting[min(self._waiting, key=self._waiting.__getitem__)]
        current = self._picture(now)
        if current and all(self._alive(part, now, OLD_LIFE) for part in current.values()):
            self._old = current
        self._agreed = NO_PARTS
        self._aggregators, self._groups, self._aggregator_by_key = chosen, groups, {}
        self._aggregator_set = set_digest(chosen if groups == chosen else (*chosen, *groups))
        head = (self._host, self._metric, self._epoch, self._aggregator_set)
        self._sessions = {to: AggregatorSession(*head, self._copy, self._copies) for to in chosen}

    def _parts(self, report: HostReport) -> dict[HostName, SessionInput]:
        owners: dict[HostName, dict[OwnerId, tuple[float, ...]]] = {to: {} for to in self._sessions}
        quotas: dict[HostName, dict[OwnerId, tuple[int, int]]] = {to: {} for to in self._sessions}
        if not self._sessions:
            return {}
        for owner, partial in report.owners.items():
            owners[self._aggregator_of(owner)][owner] = partial
        for owner, quota in report.quotas.items():
            quotas[self._aggregator_of(owner)][owner] = quota
        vectors = Vectors(supply=report.supply, load=report.load, virtual=report.virtual)
        home = self._aggregator_of(self._host)
        return {
            to: SessionInput(
                owners=owners[to], vectors=vectors if to == home else None, quotas=quotas[to]
            )
            for to in self._sessions
        }

    def _aggregator_of(self, key: str) -> HostName:
        found = self._aggregator_by_key.get(key)
        if found is None:
            if (
                len(self._aggregator_by_key)
                > 10 * len(self._report.owners if self._report else ()) + 1000
            ):
                self._aggregator_by_key.clear()
            place = self._groups.index(aggregator_of(key, self._groups))
            found = self._aggregator_by_key[key] = self._aggregators[place]
        return found

    def _probes(self, report: HostReport, now: float) -> dict[HostName, StateUpdate]:
        """Empty updates to aggregators that were silent and are not in use any more, every `ttl` seconds.

        One that is back replies that it does not know this host, and is no longer silent.
        """
        due = [
            host
            for host in self._waiting
            if host not in self._sessions
            and now - self._probed.get(host, now - self._ttl) >= self._ttl
        ]
        due = sorted(due, key=lambda host: (self._probed.get(host, -math.inf), host))[:MAX_PROBED]
        self._probed = {
            h: t for h, t in self._probed.items() if h in self._waiting
        } | dict.fromkeys(due, now)
        return {
            host: StateUpdate(
                host=self._host,
                incarnation=report.incarnation,
                sequence=report.sequence,
                metric=self._metric,
                epoch=self._epoch,
                aggregator_set=self._aggregator_set or 'none',
                copy=self._copy,
                copies=self._copies,
            )
            for host in due
        }

    # -- what is known

    def _alive(self, part: Part, now: float, life: float = 1.0) -> bool:
        return now - part.carried <= life * self._ttl

    def _picture(self, now: float) -> Parts:
        """What to believe: what the old aggregators have replied until the new ones are complete."""
        if self._old:
            complete = self._sessions and all(
                self._agreed[to].usable if to in self._agreed else session.complete
                for to, session in self._sessions.items()
            )
            alive = all(self._alive(part, now, OLD_LIFE) for part in self._old.values())
            if complete or not alive:
                self._old = {}
        return self._old or {
            part.aggregator: self._agreed.get(part.aggregator, part) for part in self.parts()
        }


def _overlay(own: CloudTotals, parts: Sequence[Part]) -> CloudTotals:
    """The host's own totals and what the others add to them."""
    others = {owner: sums for part in parts for owner, sums in part.others.items()}
    quotas = {**own.quotas, **{o: q for part in parts for o, q in part.quotas.items()}}
    # owners that no aggregator has counted yet
    fresh = [owner for owner in own.owners if owner not in others]
    supply, load, virtual = own.supply.copy(), own.load.copy(), own.virtual.copy()
    hosts, owner_count, quota_tally = own.hosts, len(fresh), tally(fresh, quotas)
    for cloud in (part.cloud for part in parts if part.cloud is not None):
        supply += cloud.vectors.supply
        load += cloud.vectors.load
        virtual += cloud.vectors.virtual
        hosts += cloud.hosts
        owner_count += cloud.owner_count
        quota_tally += cloud.tally
    return CloudTotals(
        owners=own.owners,
        sums=_sums(own, others),
        supply=supply,
        load=load,
        virtual=virtual,
        hosts=hosts,
        quotas=quotas,
        age=own.age,
        owner_count=max(owner_count, len(own.owners)),
        quota_tally=quota_tally,
        asked=tuple(dict.fromkeys(owner for part in parts for owner in part.asked)),
    )


def _sums(own: CloudTotals, others: Mapping[OwnerId, tuple[float, ...]]) -> Array:
    here = [(i, others[owner]) for i, owner in enumerate(own.owners) if owner in others]
    width = max([own.sums.shape[1], *(len(sums) for _, sums in here)])
    sums = np.pad(own.sums, ((0, 0), (0, width - own.sums.shape[1])))
    for i, more in here:
        sums[i, : len(more)] += more
    return sums
