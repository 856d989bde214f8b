# SPDX-License-Identifier: Apache-2.0
"""The messages that hosts and aggregators send each other.

Implements the heaviness set of IFI-2016.04, section III-E and IV-D, divided among aggregators. Units:
heaviness is dimensionless, resource vectors as in core.resource.

Differs from the paper: a host sends what has changed and receives what the others add to its owners, so an
interval costs 2 * N * k entries at most (N hosts with k owners each), not N * V (V VMs). Frames may get
lost or overtake each other: a state update acknowledges the last reply that its host took, a reply repeats
the version of the update, and what is not acknowledged is sent again.

core.exchange.codec defines how messages are written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nova_market.core.exchange.quota_tally import Quota, QuotaTally
from nova_market.core.resource import HostName, OwnerId


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport:
    """What one host reports of one interval, to all other hosts or, divided, to aggregators.

    incarnation: grows when the service is restarted; with `sequence` it orders reports of a host
    metric:      name of the heaviness metric; reports of different metrics cannot be added up
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
    """A host leaves and is no longer counted. The sequence follows that of its last report."""

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
class StateUpdate:
    """A host's state, sent to one aggregator: the owners that this aggregator adds up.

    epoch:          digest of the configuration; sums of hosts with different ones cannot be compared
    aggregator_set: digest of the aggregators that the host divides the owners among (rendezvous hashing)
    full:           replaces everything that is known of the host; otherwise the update is a delta
    acked:          sequence of the update that belongs to the last reply the host took
    gone:           owners that have no VMs here any more
    vectors:        only for the aggregator that counts this host; None = as before
    quotas:         all that the host knows, of owners of this aggregator; None = as before
    reads_quotas:   may be asked for quotas
    retransmitted:  sent before, and no reply has come
    reads_numbers:  may the reply have PackedSums?
    copy, copies:   of the aggregators of an owner, which one of how many this is (core.exchange.comparison)
    """

    host: HostName
    incarnation: int
    sequence: int
    metric: str
    epoch: str
    aggregator_set: str
    full: bool = False
    acked: int | None = None
    owners: Mapping[OwnerId, tuple[float, ...]] = field(default_factory=dict)
    gone: tuple[OwnerId, ...] = ()
    vectors: Vectors | None = None
    quotas: Mapping[OwnerId, Quota] | None = None
    reads_quotas: bool = False
    retransmitted: bool = False
    reads_numbers: bool = True
    copy: int = 0
    copies: int = 1

    @property
    def version(self) -> tuple[int, int]:
        return self.incarnation, self.sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudPart:
    """One aggregator's part of the cloud: the other hosts that it counts, and all owners it adds up."""

    hosts: int
    owner_count: int
    vectors: Vectors
    tally: QuotaTally


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalsReply:
    """An aggregator's reply to one state update.

    host, to:      the aggregator; the sender of the update, whose version and aggregator set are repeated
    full:          replaces all earlier replies; otherwise the reply is a delta
    complete:      has every host had the time to send its owners to an aggregator of this set?
    owners:        sums over all hosts but `to`, which adds its newest itself; of its owners only
    quotas:        of these owners, where they are known; an owner without one has none any more
    cloud:         None = as before
    asked:         owners whose quotas `to` shall read
    resync:        the aggregator does not know the host and asks for a full update
    reads_numbers: may an update have PackedSums?
    copy:          as in the update
    older:         hosts that send their updates to fewer copies than the host; None: the aggregator itself
                   knows nothing of copies, or the host has asked for one only
    """

    host: HostName
    to: HostName
    incarnation: int
    sequence: int
    epoch: str
    aggregator_set: str
    full: bool = False
    complete: bool = False
    owners: Mapping[OwnerId, tuple[float, ...]] = field(default_factory=dict)
    quotas: Mapping[OwnerId, Quota] = field(default_factory=dict)
    cloud: CloudPart | None = None
    asked: tuple[OwnerId, ...] = ()
    resync: bool = False
    reads_numbers: bool = True
    copy: int = 0
    older: int | None = None

    @property
    def version(self) -> tuple[int, int]:
        return self.incarnation, self.sequence
