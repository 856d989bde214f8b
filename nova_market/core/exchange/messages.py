# SPDX-License-Identifier: Apache-2.0
"""What hosts and aggregators write to each other, and every message as plain values and back.

Implements the heaviness set of IFI-2016.04, section III-E and IV-D, divided among aggregators. Units:
heaviness is dimensionless, resource vectors as in core.resource.

Differs from the paper: a host states what has changed and is told what others add to its owners, so an
interval costs 2 * N * k entries at most (N hosts with k owners each), not N * V (V VMs). Frames may get
lost or overtake each other: a statement says up to where its host has heard the aggregator, an answer
repeats the version of the statement, and what is not known to have arrived is said again.

Plain values are numbers, text, lists and mappings by text. `kind` tells messages apart; without one it is
a report, as hosts wrote before there were kinds. Unknown keys are ignored and absent ones mean nothing to
say, so that a later version can be read as far as it can be.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nova_market.core.exchange.quota_tally import Quota, QuotaTally
from nova_market.core.resource import HostName, OwnerId


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport:
    """One host's say about one interval.

    incarnation: grows when the service is restarted; with `sequence` it orders reports of a host
    metric:      name of the heaviness metric, reports of another metric can't be added up
    supply, load, virtual: resource vectors of the host (offered, used, sum of its VMs' VRs)
    owners:      per owner the partial sum of its VMs on this host, `width` numbers each
    quotas:      per owner (cores, ram_mib), -1 = unlimited; only from hosts that read quotas
    reads_quotas: does this host read quotas? It may then be asked for those of other owners too
    """

    host: HostName
    incarnation: int
    sequence: int
    metric: str
    supply: tuple[float, ...]
    load: tuple[float, ...]
    virtual: tuple[float, ...]
    owners: Mapping[OwnerId, tuple[float, ...]] = field(default_factory=dict)
    quotas: Mapping[OwnerId, Quota] = field(default_factory=dict)
    reads_quotas: bool = False

    @property
    def version(self) -> tuple[int, int]:
        return self.incarnation, self.sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A host's last word: do not count me any more. Its sequence follows that of the last report."""

    host: HostName
    incarnation: int
    sequence: int

    @property
    def version(self) -> tuple[int, int]:
        return self.incarnation, self.sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """Resource vectors of a host or of several: offered, used, sum of the VMs' VRs."""

    supply: tuple[float, ...]
    load: tuple[float, ...]
    virtual: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A host's say to one aggregator about the owners that this aggregator adds up.

    epoch:   of the configuration; sums of hosts that differ in it can hardly be compared
    roster:  of the aggregators that the host divides the owners among (core.exchange.rendezvous)
    whole:   forget what you knew of me; otherwise only what has changed is here
    heard:   sequence of my statement that the last answer you gave and I took belongs to
    gone:    owners without VMs here any more
    vectors: only to the aggregator this host is homed at, None = as before
    quotas:  of owners of this aggregator, all that the host knows; None = as before
    reads_quotas: may be asked for quotas
    again:   said before, and no answer has come
    reads_numbers: may the answer have an OwnerTable?
    """

    host: HostName
    incarnation: int
    sequence: int
    metric: str
    epoch: str
    roster: str
    whole: bool = False
    heard: int | None = None
    owners: Mapping[OwnerId, tuple[float, ...]] = field(default_factory=dict)
    gone: tuple[OwnerId, ...] = ()
    vectors: Vectors | None = None
    quotas: Mapping[OwnerId, Quota] | None = None
    reads_quotas: bool = False
    again: bool = False
    reads_numbers: bool = True

    @property
    def version(self) -> tuple[int, int]:
        return self.incarnation, self.sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudPart:
    """What an aggregator knows of the cloud: the other hosts homed at it, and all owners it adds up."""

    hosts: int
    owner_count: int
    vectors: Vectors
    tally: QuotaTally


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An aggregator's answer to one statement.

    host, to: the aggregator; the host that made the statement, whose version and roster are repeated
    whole:    nothing of earlier answers counts; otherwise only what has changed is here
    complete: has every host had the time to state its owners to an aggregator of this roster?
    owners:   sums over all hosts but `to`, which adds its newest itself; of its owners only
    quotas:   of these owners, where they are known; an owner without one has none any more
    cloud:    None = as before
    asked:    owners whose quotas `to` shall read
    resync:   I do not know you; send a whole statement
    reads_numbers: may a statement have an OwnerTable?
    """

    host: HostName
    to: HostName
    incarnation: int
    sequence: int
    epoch: str
    roster: str
    whole: bool = False
    complete: bool = False
    owners: Mapping[OwnerId, tuple[float, ...]] = field(default_factory=dict)
    quotas: Mapping[OwnerId, Quota] = field(default_factory=dict)
    cloud: CloudPart | None = None
    asked: tuple[OwnerId, ...] = ()
    resync: bool = False
    reads_numbers: bool = True

    @property
    def version(self) -> tuple[int, int]:
        return self.incarnation, self.sequence


Word = HostReport | Departure | Statement | Answer
