# SPDX-License-Identifier: Apache-2.0
"""The schema of messages as they are written: their keys, their types and their bounds.

`kind` tells messages apart. Unknown keys are ignored, and absent ones mean that there is nothing to report;
so an earlier and a later version understand each other as far as both go. The keys are those of the first
version: an attribute whose name has changed since keeps its key by `field(name=...)`. What msgspec cannot
check is checked by core.exchange.codec: printable names, mappings by owner, packed sums.
"""

from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from nova_market.core.exchange.allocation_messages import (
    ALLOCATE,
    APPLIED,
    MAX_CORES,
    MAX_ENFORCED,
    MAX_MEMORY_MIB,
    MAX_SERVERS,
    MAX_TIME,
)
from nova_market.core.exchange.validation import (
    MAX_AMOUNT,
    MAX_COPIES,
    MAX_NAME,
    MAX_OWNERS,
    MAX_QUOTA,
    MAX_SUM,
    MAX_WIDTH,
)
from nova_market.core.resource import RESOURCES
from nova_market.core.usage.use import AMOUNTS, LONGEST, MINUTE

WIRE_VERSION = 1

TALLY_NUMBERS = 6
"""Known, total and largest, each for cores and memory."""

ONE = len(RESOURCES)

Version = Annotated[int, Meta(ge=1, lt=2**31)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Copy = Annotated[int, Meta(ge=0, lt=MAX_COPIES)]
Copies = Annotated[int, Meta(ge=1, le=MAX_COPIES)]
Natural = Annotated[int, Meta(ge=0)]
Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
Names = Annotated[tuple[Name, ...], Meta(max_length=MAX_OWNERS)]
Amount = Annotated[float, Meta(ge=-MAX_AMOUNT, le=MAX_AMOUNT)]
Total = Annotated[float, Meta(ge=-MAX_SUM, le=MAX_SUM)]
Vector = Annotated[
    tuple[Annotated[float, Meta(ge=0.0, le=MAX_AMOUNT)], ...], Meta(min_length=ONE, max_length=ONE)
]
TotalVector = Annotated[
    tuple[Annotated[float, Meta(ge=0.0, le=MAX_SUM)], ...], Meta(min_length=ONE, max_length=ONE)
]
Tally = Annotated[tuple[Natural, ...], Meta(min_length=TALLY_NUMBERS, max_length=TALLY_NUMBERS)]
Limit = Annotated[int, Meta(ge=-1, le=MAX_QUOTA)]
Cores = Annotated[float, Meta(ge=0.0, le=MAX_CORES)]
Used = Annotated[
    tuple[Annotated[int, Meta(ge=0, le=LONGEST)], ...],
    Meta(min_length=len(AMOUNTS), max_length=len(AMOUNTS)),
]
Mapped = Raw | UnsetType
"""A mapping by name, decoded by core.exchange.frame. What is written is the mapping itself."""
MemoryMib = Annotated[float, Meta(ge=0.0, le=MAX_MEMORY_MIB)]


class Head(Struct):
    """What tells messages apart. Hosts wrote reports without a kind, and departures as `gone`, at first."""

    kind: str = 'report'
    gone: bool = False


class WireMessage(Struct, kw_only=True, omit_defaults=True, tag_field='kind'):
    v: Version = field()


class WireDeparture(WireMessage, tag='gone'):
    host: Name
    incarnation: Count
    sequence: Count
    gone: bool = False


class WireReport(WireMessage, tag='report'):
    host: Name
    incarnation: Count
    sequence: Count
    metric: Name
    supply: Vector
    load: Vector
    virtual: Vector
    owners: Mapped = UNSET
    quotas: Mapped = UNSET
    reads_quotas: bool = False


class WireUpdate(WireMessage, tag='state'):
    host: Name
    incarnation: Count
    sequence: Count
    metric: Name
    epoch: Name
    aggregator_set: Name = field(name='roster')
    full: bool = field(default=False, name='whole')
    acked: Count | UnsetType = field(default=UNSET, name='heard')
    owners: Mapped = UNSET
    gone_owners: Names = field(default=(), name='left')
    supply: Vector | UnsetType = UNSET
    load: Vector | UnsetType = UNSET
    virtual: Vector | UnsetType = UNSET
    quotas: Mapped = UNSET
    reads_quotas: bool = False
    retransmitted: bool = field(default=False, name='again')
    reads_numbers: bool = False
    copy: Copy = 0
    copies: Copies = 1


class WireReply(WireMessage, tag='answer'):
    host: Name
    to: Name
    incarnation: Count
    sequence: Count
    epoch: Name
    aggregator_set: Name = field(name='roster')
    full: bool = field(default=False, name='whole')
    complete: bool = False
    owners: Mapped = UNSET
    quotas: Mapped = UNSET
    asked: Names = ()
    supply: TotalVector | UnsetType = UNSET
    load: TotalVector | UnsetType = UNSET
    virtual: TotalVector | UnsetType = UNSET
    hosts: Count | UnsetType = UNSET
    owner_count: Count | UnsetType = UNSET
    tally: Tally | UnsetType = UNSET
    resync: bool = False
    reads_numbers: bool = False
    copy: Copy = 0
    older: Count | UnsetType = UNSET


class WireAllocation(WireMessage, tag=ALLOCATE):
    engine: Name
    host: Name
    period: Count
    expires: Annotated[float, Meta(ge=0.0, le=MAX_TIME)]
    servers: Mapped = UNSET


class WireConfirmation(WireMessage, tag=APPLIED):
    engine: Name
    host: Name
    period: Count
    servers: Annotated[tuple[Name, ...], Meta(max_length=MAX_SERVERS)] | UnsetType = UNSET
    heaviness: Mapped = UNSET
    enforced: Annotated[tuple[Name, ...], Meta(max_length=MAX_ENFORCED)] | UnsetType = UNSET
    used_at: Annotated[int, Meta(ge=0, le=LONGEST, multiple_of=MINUTE)] | UnsetType = UNSET
    used: Mapped = UNSET
    since: (
        Annotated[
            tuple[Annotated[int, Meta(ge=0, le=int(MAX_TIME))], ...], Meta(max_length=MAX_SERVERS)
        ]
        | UnsetType
    ) = UNSET


# -- the values of mappings by name; the keys are checked together

PartialSums = list[Annotated[tuple[Amount, ...], Meta(min_length=1, max_length=MAX_WIDTH)]]
TotalSums = list[Annotated[tuple[Total, ...], Meta(min_length=1, max_length=MAX_WIDTH)]]
Quotas = list[tuple[Limit, Limit]]
Servers = list[tuple[Cores, MemoryMib]]
Uses = list[Used]
Heaviness = list[Amount]
