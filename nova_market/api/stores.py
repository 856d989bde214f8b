# SPDX-License-Identifier: Apache-2.0
"""What the API works with: the market's stores, the cloud's directory, and settings of the service."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from nova_market.core.app.policies.traits import PolicyTraits
from nova_market.core.job.attempt import WorkerPace
from nova_market.ports import (
    AccountStore,
    AppStore,
    AttemptStore,
    BidStore,
    EventStore,
    Flavors,
    History,
    JobStateStore,
    JobStore,
    LedgerStore,
    OfferStore,
    PlanStore,
    QueueStore,
    ServerOwners,
    SlotStore,
    Trusts,
)
from nova_market.services.tender.offers import OfferSettings


class Apps(AppStore, SlotStore, Protocol):
    """Applications with their servers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiStores:
    """`wall`: seconds since the epoch."""

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
    trusts: Trusts
    owners: ServerOwners
    flavors: Flavors
    wall: Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """period: seconds of a market round; response_validation: `error`, `warn` or `ignore`.

    policies:        the scaling policies that are installed, and what each declares
    trust_roles:     roles of a caller that are handed on to the controller; none: all of them
    job_policies:    the policies of queues that are installed
    report_interval: least seconds between two reports of an application or of one of its servers
    worker_pace:     how often agents of workers call
    offers:          how long offers are good, what a hold costs, and what comes back of a late job
    """

    period: float = 60.0
    max_limit: int = 1000
    max_budgets: int = 100
    max_apps: int = 100
    max_queues: int = 20
    max_waiting_jobs: int = 10_000
    max_jobs_per_request: int = 1000
    job_policies: tuple[str, ...] = ()
    policies: Mapping[str, PolicyTraits] = field(default_factory=dict)
    trust_roles: tuple[str, ...] = ('member',)
    report_interval: float = 1.0
    worker_pace: WorkerPace = field(default_factory=WorkerPace)
    offers: OfferSettings = field(default_factory=OfferSettings)
    response_validation: str = 'warn'
