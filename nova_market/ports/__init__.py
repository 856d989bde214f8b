# SPDX-License-Identifier: Apache-2.0
"""What the services need of the world, as Protocols: adapters implement them, and stores of `db`."""

from nova_market.ports.app import AppStore, EventStore, OwnerCloud, OwnerNames, SlotStore, Trusts
from nova_market.ports.bag import BagStore, OwnBags
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
from nova_market.ports.lease import LeaseStore
from nova_market.ports.market import (
    Flavors,
    Leadership,
    MarketCloud,
    Notices,
    Projects,
    ProviderTraits,
    ServerOwners,
)
from nova_market.ports.market_stores import (
    AccountStore,
    BidStore,
    EscrowStore,
    History,
    LedgerStore,
    PlanStore,
    RoundStore,
)
from nova_market.ports.notice import MailSender, NoticeOutbox, NoticeStore, WebhookSender
from nova_market.ports.offer import OfferStore
from nova_market.ports.power import ComputeServices, PowerActuator, PowerStore
from nova_market.ports.refusal import RefusalStore
from nova_market.ports.region import ChildRegions, RegionReply
from nova_market.ports.roles import UserRoles
from nova_market.ports.set_aside import SetAsideStore
from nova_market.ports.usage import UsageHistory, UsageStore

__all__ = [
    'AccountStore',
    'Actuator',
    'Allocations',
    'AppStore',
    'AttemptStore',
    'BagStore',
    'BidStore',
    'ChildRegions',
    'Clock',
    'ComputeServices',
    'Enforcement',
    'EscrowStore',
    'EventStore',
    'Exchange',
    'Flavors',
    'History',
    'HostDriver',
    'JobHosts',
    'JobStateStore',
    'JobStore',
    'Leadership',
    'LeaseStore',
    'LedgerStore',
    'MailSender',
    'MarketCloud',
    'Membership',
    'NoticeOutbox',
    'NoticeStore',
    'Notices',
    'OfferStore',
    'OwnBags',
    'OwnerCloud',
    'OwnerNames',
    'PlanStore',
    'PowerActuator',
    'PowerStore',
    'Projects',
    'ProviderTraits',
    'QueueStore',
    'QuotaSource',
    'RefusalStore',
    'RegionReply',
    'RoundStore',
    'ServerOwners',
    'SetAsideStore',
    'SlotStore',
    'StateFile',
    'Transport',
    'Trusts',
    'UsageHistory',
    'UsageStore',
    'UserRoles',
    'WebhookSender',
    'WireFormat',
    'WorkerUrl',
]
