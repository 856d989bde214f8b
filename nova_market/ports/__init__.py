# SPDX-License-Identifier: Apache-2.0
"""What the services need of the world: a few Protocols of one to four methods each."""

from nova_market.ports.app import AppStore, EventStore, OwnerCloud, SlotStore, Trusts
from nova_market.ports.exchange import (
    Allocations,
    Enforcement,
    Exchange,
    Membership,
    Transport,
    WireFormat,
)
from nova_market.ports.host import Actuator, Clock, HostDriver, QuotaSource, StateFile
from nova_market.ports.job import (
    AttemptStore,
    JobHosts,
    JobStateStore,
    JobStore,
    QueueStore,
    WorkerUrl,
)
from nova_market.ports.market import (
    Flavors,
    Leadership,
    MarketCloud,
    Notices,
    ProviderTraits,
    ServerOwners,
)
from nova_market.ports.market_stores import (
    AccountStore,
    BidStore,
    History,
    LedgerStore,
    PlanStore,
    RoundStore,
)
from nova_market.ports.offer import OfferStore

__all__ = [
    'AccountStore',
    'Actuator',
    'Allocations',
    'AppStore',
    'AttemptStore',
    'BidStore',
    'Clock',
    'Enforcement',
    'EventStore',
    'Exchange',
    'Flavors',
    'History',
    'HostDriver',
    'JobHosts',
    'JobStateStore',
    'JobStore',
    'Leadership',
    'LedgerStore',
    'MarketCloud',
    'Membership',
    'Notices',
    'OfferStore',
    'OwnerCloud',
    'PlanStore',
    'ProviderTraits',
    'QueueStore',
    'QuotaSource',
    'RoundStore',
    'ServerOwners',
    'SlotStore',
    'StateFile',
    'Transport',
    'Trusts',
    'WireFormat',
    'WorkerUrl',
]
