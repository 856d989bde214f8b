# SPDX-License-Identifier: Apache-2.0
"""The sums of some owners over all hosts: what an aggregator remembers and answers.

Implements the sums of eq. (4) of IFI-2016.04 and the collection of heaviness sets of section IV-D.2, without
FIFO queues and barrier: the last statement of a host counts, and dies `ttl` seconds after it was received.
Everything is soft state: an aggregator that starts empty asks hosts to say everything again.

Sums are kept exactly, as whole numbers of 2^-60, and changed by what a statement changes: they cost
O(changed), do not drift, and do not depend on the order of arrival. All times are seconds of the
receiver's monotonic clock, given as arguments. Reads no clock and takes no lock: its owner does both.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

from nova_market.core.exchange import Departure
from nova_market.core.letters import Answer, CloudPart, Statement, Vectors
from nova_market.core.quantity import RESOURCES, HostName, OwnerId
from nova_market.core.quota_tally import Quota, QuotaTally, tally
from nova_market.core.report_book import MAX_HOSTS, OTHER_METRIC, STALE, TOO_MANY_HOSTS
from nova_market.core.schema import MAX_OWNERS
from nova_market.core.suppression import differs

MAX_ENTRIES = 1_000_000
"""So many owners of hosts are remembered; 1,000 hosts of 30 owners take 30,000."""

TOO_MANY_OWNERS = 'too_many_owners'

SETTLING = 0.4
"""Part of `ttl` (three intervals) in which every host has spoken once: 1.2 intervals."""

UNIT = 2.0**60
"""Numbers are kept as whole multiples of 1 / UNIT, 9e-19: finer than a double near 1 can say."""

NOBODY = HostName('')

Whole = tuple[int, ...]


@dataclass(slots=True, kw_only=True)
class _Told:
    """What a host was last told of an owner: the sum over the others, and the quota.

    since: the statement from which on every answer has said it
    stamp: state of the owner's sums that it was last compared with
    """

    others: tuple[float, ...]
    quota: Quota | None
    since: int
    stamp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _ToldCloud:
    """What a host was last told of the cloud: supply, load and virtual in a row; hosts, owners, tally."""

    sums: tuple[float, ...]
    counts: tuple[int, int, QuotaTally]
    since: int


@dataclass(slots=True, kw_only=True)
class _Row:
    """One host. present: False once it has said that it is gone; its version then guards the place."""

    version: tuple[int, int]
    received: float
    roster: str
    present: bool = True
    reads_quotas: bool = False
    owners: dict[OwnerId, Whole] = field(default_factory=dict)
    vectors: Whole | None = None
    quotas: Mapping[OwnerId, Quota] = field(default_factory=dict)
    told: dict[OwnerId, _Told] = field(default_factory=dict)
    told_cloud: _ToldCloud | None = None


class Aggregator:
    """Sums per owner and over the hosts homed here."""

    def __init__(
        self,
        host: HostName,
        metric: str,
        ttl: float,
        epoch: str,
        limit: int = MAX_HOSTS,
        entries: int = MAX_ENTRIES,
    ) -> None:
        """host: its name in answers; ttl: seconds after which a silent host is forgotten."""
        self._host = host
        self._metric = metric
        self._ttl = ttl
        self._epoch = epoch
        self._limit = limit
        self._room = entries
        self._rows: dict[HostName, _Row] = {}  # in the order in which they were last heard
        self._hosts_of: dict[OwnerId, int] = {}
        self._sums: dict[OwnerId, list[int]] = {}
        self._stamps: dict[OwnerId, int] = {}
        self._stamp = 0  # grows with every change of a sum or a quota
        self._homed = 0
        self._vectors = [0] * (3 * len(RESOURCES))
        self._quotas: dict[OwnerId, dict[HostName, Quota]] = {}
        self._tally: QuotaTally | None = None
        self._reader: HostName | None = None
        self._rosters: dict[str, tuple[float, float]] = {}

    def receive(self, statement: Statement, now: float) -> Answer | str:
        """Take a statement; returns what to answer, or why nothing is taken.

        A statement that is not newer than the last is refused while that one lives. After that any is
        taken: the clock of a restarted host may have jumped back, and its incarnation with it.
        """
        self._expire(now)
        row = self._rows.get(statement.host)
        if statement.metric != self._metric:
            return OTHER_METRIC
        if row is not None and statement.version <= row.version:
            return STALE
        if statement.epoch != self._epoch:
            return self._answer(statement)
        if not statement.whole and not _continues(row, statement):
            return self._answer(statement, resync=True)
        reason = self._refusal(row, statement)
        if reason:
            return reason
        row = self._write(row, statement, now)
        first, _ = self._rosters.get(statement.roster, (now, now))
        self._rosters[statement.roster] = (first, now)
        owners, quotas = self._news(row, statement)
        return self._answer(
            statement,
            whole=statement.whole,
            complete=now - first >= SETTLING * self._ttl,
            owners=owners,
            quotas=quotas,
            cloud=self._cloud_news(row, statement),
            asked=self._asked(row, statement.host),
        )

    def leave(self, departure: Departure, now: float) -> str:
        """Forget a host that says it is gone; a statement it made before may still arrive late."""
        self._expire(now)
        row = self._rows.get(departure.host)
        if row is not None and departure.version <= row.version:
            return STALE
        if row is None and len(self._rows) >= self._limit:
            return TOO_MANY_HOSTS
        self._forget(departure.host)
        self._rows[departure.host] = _Row(
            version=departure.version, received=now, roster='', present=False
        )
        return ''

    def _answer(self, statement: Statement, **parts: object) -> Answer:
        return Answer(
            host=self._host,
            to=statement.host,
            incarnation=statement.incarnation,
            sequence=statement.sequence,
            epoch=self._epoch,
            roster=statement.roster,
            **parts,  # type: ignore[arg-type]
        )

    # -- what is remembered

    def _expire(self, now: float) -> None:
        while self._rows:
            host, row = next(iter(self._rows.items()))
            if now - row.received < self._ttl:
                break
            self._forget(host)
        for roster, (_, last) in list(self._rosters.items()):
            if now - last >= self._ttl:
                del self._rosters[roster]

    def _refusal(self, row: _Row | None, statement: Statement) -> str:
        if row is None and len(self._rows) >= self._limit:
            return TOO_MANY_HOSTS
        had = 0 if row is None else len(row.owners) + len(row.quotas)
        before = 0 if row is None or statement.whole else len(row.owners.keys() - statement.owners)
        owners = before + len(statement.owners)
        quotas = len(statement.quotas or (row.quotas if row is not None else ()))
        if owners > MAX_OWNERS or owners + quotas - had > self._room:
            return TOO_MANY_OWNERS
        return ''

    def _write(self, row: _Row | None, statement: Statement, now: float) -> _Row:
        host = statement.host
        if row is None or not row.present:
            row = _Row(version=statement.version, received=now, roster=statement.roster)
        self._rows.pop(host, None)
        self._rows[host] = row
        row.version, row.received, row.roster = statement.version, now, statement.roster
        if row.reads_quotas != statement.reads_quotas:
            row.reads_quotas, self._reader = statement.reads_quotas, None
        gone: Iterable[OwnerId] = statement.gone
        if statement.whole:
            gone = row.owners.keys() - statement.owners.keys()
            row.told, row.told_cloud = {}, None
        for owner in gone:
            self._remove(row, owner)
        for owner, partial in statement.owners.items():
            self._put(row, owner, _exact(partial))
        if statement.vectors is not None or statement.whole:
            self._home(row, statement.vectors)
        if statement.quotas is not None or statement.whole:
            self._quote(host, row, statement.quotas or {})
        return row

    def _put(self, row: _Row, owner: OwnerId, partial: Whole) -> None:
        before = row.owners.get(owner)
        if before == partial:
            return
        row.owners[owner] = partial
        self._touch(owner)
        sums = self._sums.get(owner)
        if sums is None:
            sums = self._sums[owner] = []
            self._tally = None
        if before is None:
            self._room -= 1
            self._hosts_of[owner] = self._hosts_of.get(owner, 0) + 1
        _replace(sums, before or (), partial)

    def _remove(self, row: _Row, owner: OwnerId) -> None:
        row.told.pop(owner, None)
        before = row.owners.pop(owner, None)
        if before is None:
            return
        self._room += 1
        self._touch(owner)
        self._hosts_of[owner] -= 1
        if self._hosts_of[owner]:
            _replace(self._sums[owner], before, ())
        else:
            del self._hosts_of[owner], self._sums[owner], self._stamps[owner]
            self._tally = None

    def _home(self, row: _Row, vectors: Vectors | None) -> None:
        after = None
        if vectors is not None:
            after = _exact((*vectors.supply, *vectors.load, *vectors.virtual))
        if after == row.vectors:
            return
        self._homed += (after is not None) - (row.vectors is not None)
        _replace(self._vectors, row.vectors or (), after or ())
        row.vectors = after

    def _quote(self, host: HostName, row: _Row, quotas: Mapping[OwnerId, Quota]) -> None:
        if quotas == row.quotas:
            return
        self._room += len(row.quotas) - len(quotas)
        for owner in row.quotas.keys() - quotas.keys():
            said = self._quotas[owner]
            del said[host]
            if not said:
                del self._quotas[owner]
        for owner, quota in quotas.items():
            self._quotas.setdefault(owner, {})[host] = quota
        for owner in row.quotas.keys() | quotas.keys():
            if owner in self._stamps:
                self._touch(owner)
        row.quotas = dict(quotas)
        self._tally = self._reader = None

    def _touch(self, owner: OwnerId) -> None:
        self._stamp += 1
        self._stamps[owner] = self._stamp

    def _forget(self, host: HostName) -> None:
        row = self._rows.pop(host, None)
        if row is None:
            return
        if row.reads_quotas:
            self._reader = None
        for owner in list(row.owners):
            self._remove(row, owner)
        self._home(row, None)
        self._quote(host, row, {})

    # -- what is answered

    def _news(
        self, row: _Row, statement: Statement
    ) -> tuple[dict[OwnerId, tuple[float, ...]], dict[OwnerId, Quota]]:
        """Sums and quotas of the host's owners that it may not know yet."""
        owners: dict[OwnerId, tuple[float, ...]] = {}
        quotas: dict[OwnerId, Quota] = {}
        heard = -1 if statement.heard is None else statement.heard
        for owner, mine in row.owners.items():
            stamp = self._stamps[owner]
            told = row.told.get(owner)
            if told is None or told.stamp != stamp:
                others = _without(self._sums[owner], mine)
                quota = self._quota(owner) if self._quotas else None
                if told is None or told.quota != quota or differs(told.others, others):
                    told = row.told[owner] = _Told(
                        others=others, quota=quota, since=statement.sequence, stamp=stamp
                    )
                else:
                    told.stamp = stamp
            if told.since > heard:
                owners[owner] = told.others
                if told.quota is not None:
                    quotas[owner] = told.quota
        return owners, quotas

    def _cloud_news(self, row: _Row, statement: Statement) -> CloudPart | None:
        """The others homed here and the owners of all, if the host may not know them yet."""
        if self._tally is None:
            quotas = {o: q for o in self._hosts_of if (q := self._quota(o)) is not None}
            self._tally = tally(quotas, quotas)
        sums = _without(self._vectors, row.vectors or ())
        counts = (self._homed - (row.vectors is not None), len(self._hosts_of), self._tally)
        told = row.told_cloud
        if told is None or told.counts != counts or differs(told.sums, sums):
            told = _ToldCloud(sums=sums, counts=counts, since=statement.sequence)
            row.told_cloud = told
        elif told.since <= (-1 if statement.heard is None else statement.heard):
            return None
        size = len(RESOURCES)
        return CloudPart(
            hosts=told.counts[0],
            owner_count=told.counts[1],
            vectors=Vectors(
                supply=told.sums[:size],
                load=told.sums[size : 2 * size],
                virtual=told.sums[2 * size :],
            ),
            tally=told.counts[2],
        )

    def _quota(self, owner: OwnerId) -> Quota | None:
        """Where hosts differ the last by name is believed, as in core.exchange.add_up."""
        said = self._quotas.get(owner)
        return said[max(said)] if said else None

    def _asked(self, row: _Row, host: HostName) -> tuple[OwnerId, ...]:
        """Owners whose quotas nobody else reads; one host is asked, if it can a host that has read some."""
        if self._reader is None:
            readers = [(not r.quotas, name) for name, r in self._rows.items() if r.reads_quotas]
            self._reader = min(readers)[1] if readers else NOBODY
        if self._reader != host:
            return ()
        wanted = (
            owner
            for owner in self._hosts_of
            if owner not in row.owners and self._quotas.get(owner, {}).keys() <= {host}
        )
        return tuple(sorted(wanted)[:MAX_OWNERS])


def _continues(row: _Row | None, statement: Statement) -> bool:
    """Can a statement of changes be taken as the next one of what is known?"""
    return (
        row is not None
        and row.present
        and row.version[0] == statement.incarnation
        and row.roster == statement.roster
    )


def _exact(numbers: Iterable[float]) -> Whole:
    return tuple([int(number * UNIT) for number in numbers])


def _replace(sums: list[int], before: Whole, after: Whole) -> None:
    """Exchange a term of sums in place; they are as wide as their widest term has been."""
    if len(sums) == len(before) == len(after) == 1:  # most metrics
        sums[0] += after[0] - before[0]
        return
    sums.extend([0] * (len(after) - len(sums)))
    for i, (old, new) in enumerate(zip_longest(before, after, fillvalue=0)):
        if old != new:
            sums[i] += new - old


def _without(sums: list[int], mine: Whole) -> tuple[float, ...]:
    """The others' part in sums that are at least as wide as ours, as numbers."""
    if len(sums) == len(mine) == 1:  # most metrics
        return ((sums[0] - mine[0]) / UNIT,)
    return tuple([(a - b) / UNIT for a, b in zip_longest(sums, mine, fillvalue=0)])
