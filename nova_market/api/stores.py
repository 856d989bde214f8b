# SPDX-License-Identifier: Apache-2.0
"""What the API works with: the market's stores, the cloud's directory, and settings of the service."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from nova_market.api.request_rates import RequestRates
from nova_market.core.app.policies.traits import PolicyTraits
from nova_market.core.job.attempt import WorkerPace
from nova_market.core.job.operator_limits import JobLimits
from nova_market.ports import (
    AccountStore,
    AppStore,
    AttemptStore,
    BidStore,
    ChildRegions,
    EventStore,
    Flavors,
    History,
    JobStateStore,
    JobStore,
    LeaseStore,
    LedgerStore,
    NoticeStore,
    OfferStore,
    OwnBags,
    OwnerNames,
    PlanStore,
    Projects,
    QueueStore,
    RefusalStore,
    ServerOwners,
    SetAsideStore,
    SlotStore,
    Trusts,
)
from nova_market.services.lease.asking import LeaseStores
from nova_market.services.lease.known_hosts import KnownHosts
from nova_market.services.lease.settings import LeaseSettings
from nova_market.services.notice.settings import NoticeLimits
from nova_market.services.tender.bag_requests import BagLimits
from nova_market.services.tender.offers import OfferSettings
from nova_market.services.tender.outlook import Outlooks


class Apps(AppStore, SlotStore, Protocol):
    """Applications with their servers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiStores:
    """wall: seconds since the epoch

    outlooks, known_hosts: what offers and leases are made by, kept from request to request
    regions: those below this one
    """

    ledger: LedgerStore
    accounts: AccountStore
    bids: BidStore
    history: History
    plans: PlanStore
    apps: Apps
    app_events: EventStore
    queues: QueueStore
    jobs: JobStore
    attempts: AttemptStore
    states: JobStateStore
    offers: OfferStore
    bags: OwnBags
    leases: LeaseStore
    notices: NoticeStore
    refusals: RefusalStore
    set_aside: SetAsideStore
    trusts: Trusts
    names: OwnerNames
    owners: ServerOwners
    flavors: Flavors
    projects: Projects
    wall: Callable[[], float]
    outlooks: Outlooks = field(default_factory=Outlooks)
    known_hosts: KnownHosts = field(default_factory=KnownHosts)
    regions: ChildRegions

    @property
    def of_leases(self) -> LeaseStores:
        """What leases are booked with."""
        return LeaseStores(
            leases=self.leases, states=self.states, wall=self.wall, known=self.known_hosts
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """period: seconds of a market round; response_validation: `error`, `warn` or `ignore`.

    new_weight:      of a project for which nobody has set one
    reserve:         least prices of a core and a MiB, micro-credits per period
    policies:        the scaling policies that are installed, and what each declares
    trust_roles:     roles of a caller that are handed on to the controller; none: all of them
    job_policies:    the policies that queues may have, with their parameters
    job_limits:      what queues and jobs may not exceed
    rates:           how many requests are served of a project, a worker, a monitor
    worker_pace:     how often agents of workers call
    bags:            how many a project may have open, and how many tasks each
    offers:          how long offers are good, what a hold costs, and what comes back of a late job
    leases:          how leases are placed, and what they cost
    notices:         what users may ask for
    """

    period: float = 60.0
    new_weight: float = 0.0
    reserve: tuple[float, float] = (0.0, 0.0)
    max_limit: int = 1000
    max_budgets: int = 100
    max_apps: int = 100
    max_queues: int = 20
    queue_name_rest: float = 7 * 86400.0
    max_waiting_jobs: int = 10_000
    max_jobs_per_request: int = 1000
    job_policies: Mapping[str, Collection[str] | None] = field(default_factory=dict)
    job_limits: JobLimits = field(default_factory=JobLimits)
    policies: Mapping[str, PolicyTraits] = field(default_factory=dict)
    trust_roles: tuple[str, ...] = ('member',)
    rates: RequestRates = field(default_factory=RequestRates)
    worker_pace: WorkerPace = field(default_factory=WorkerPace)
    offers: OfferSettings = field(default_factory=OfferSettings)
    bags: BagLimits = field(default_factory=BagLimits)
    leases: LeaseSettings = field(default_factory=LeaseSettings)
    notices: NoticeLimits = field(default_factory=NoticeLimits)
    response_validation: str = 'warn'
