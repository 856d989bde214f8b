# SPDX-License-Identifier: Apache-2.0
"""Puts the service of jobs together from options."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from oslo_config import cfg

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.notifications import MessagingNotices
from nova_market.adapters.openstack.directory import ComputeDirectory
from nova_market.adapters.openstack.market_cloud import NovaCloud
from nova_market.adapters.openstack.owner_cloud import NovaOwnerCloud
from nova_market.adapters.openstack.session import GROUP, REQUEST_SECONDS, connector
from nova_market.adapters.worker_url import HttpWorkerUrl
from nova_market.conf import bags, jobs, market
from nova_market.conf import roles as role_options
from nova_market.core.job.part_fate import ProgressSettings
from nova_market.core.job.policy_interface import HostChoice, JobSettings, PreemptOrder
from nova_market.core.job.queue import WORKER_MARKS
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.bag_steps import DatabaseBags
from nova_market.db.database import Database
from nova_market.db.job_attempts import DatabaseJobAttempts
from nova_market.db.job_decisions import DatabaseJobDecisions
from nova_market.db.job_states import DatabaseJobStates
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.offers import DatabaseOffers
from nova_market.db.queues import DatabaseQueues
from nova_market.errors import BadAmount, ConfigurationError
from nova_market.ports import Clock, Flavors, JobHosts, OwnerCloud, UserRoles
from nova_market.services.job.billing import Billing
from nova_market.services.job.inputs import JobStores
from nova_market.services.job.jobs import Jobs
from nova_market.services.job.metrics import JobsCollector
from nova_market.services.job.notices import JobNotices
from nova_market.services.job.settings import JobsSettings, WorkerImage
from nova_market.services.job.statistics import JobStatistics
from nova_market.services.job.submission import SubmissionQuotas
from nova_market.services.tender.bags import Bags, BagSettings, BagStores
from nova_market.services.tender.offers import OfferStores
from nova_market.services.tender.settling import OfferSettling
from nova_market.wiring import standing
from nova_market.wiring.database import ready, set_aside_report
from nova_market.wiring.job_settings import job_limits, worker_pace
from nova_market.wiring.leadership import JOBS, leadership
from nova_market.wiring.names import service_name
from nova_market.wiring.offer_settings import offer_settings
from nova_market.wiring.options import check_values
from nova_market.wiring.policies import job_plugins

SERVICE = 'nova-market-jobs'


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A service of jobs and what its owner must close."""

    jobs: Jobs
    settings: JobsSettings
    collector: JobsCollector
    notices: MessagingNotices
    database: Database

    def close(self) -> None:
        self.notices.stop()
        self.database.close()


def build(
    conf: cfg.ConfigOpts,
    *,
    cloud: OwnerCloud | None = None,
    hosts: JobHosts | None = None,
    flavors: Flavors | None = None,
    clock: Clock | None = None,
    roles: UserRoles | None = None,
    open_database: Callable[[cfg.ConfigOpts], Database] = ready,
) -> Parts:
    """Everything of the service, nothing started.

    cloud, hosts, flavors, clock, roles: instead of the real ones
    open_database: database.ready, or awaited for a service

    :raises ConfigurationError: an option that cannot work.
    :raises DatabaseUnavailable, SchemaBehind: there is nowhere to read jobs.
    """
    settings = load_settings(conf)
    clock = clock or SystemClock()
    database = open_database(conf)
    stores = stores_of(database, clock)
    notices = MessagingNotices(conf, settings.name)
    leads = leadership(conf, settings.name, clock, JOBS)
    ledger = DatabaseLedger(database, clock.wall)
    collector = JobsCollector(leads.leading)
    made = Jobs(
        stores=stores,
        cloud=cloud or NovaOwnerCloud.from_conf(conf, SERVICE, WORKER_MARKS, database.boundary),
        hosts=hosts or NovaCloud(connector(conf, SERVICE), clock, boundary=database.boundary),
        url=HttpWorkerUrl(settings.image.url, settings.image.certificates),
        billing=Billing(ledger, DatabaseAccounts(database), database.boundary),
        settling=OfferSettling(stores.offers, ledger, database.boundary),
        bags=bags_of(conf, database, clock, leads.leading, flavors, roles),
        aside=set_aside_report('jobs', database, clock),
        leadership=leads,
        clock=clock,
        settings=settings,
        reporter=_reporter(stores, database),
        sender=_sender(stores, notices, clock, database),
        observe=collector.observe,
    )
    return Parts(
        jobs=made, settings=settings, collector=collector, notices=notices, database=database
    )


def _reporter(stores: JobStores, database: Database) -> JobStatistics:
    return JobStatistics(
        queues=stores.queues,
        jobs=stores.jobs,
        attempts=stores.attempts,
        states=stores.states,
        boundary=database.boundary,
    )


def _sender(
    stores: JobStores, notices: MessagingNotices, clock: Clock, database: Database
) -> JobNotices:
    return JobNotices(
        attempts=stores.attempts,
        jobs=stores.jobs,
        states=stores.states,
        notices=notices,
        clock=clock,
        boundary=database.boundary,
    )


def bags_of(
    conf: cfg.ConfigOpts,
    database: Database,
    clock: Clock,
    leading: Callable[[], bool],
    flavors: Flavors | None = None,
    roles: UserRoles | None = None,
) -> Bags:
    """Bags of tasks, which ask for offers and submit jobs as the API does for their owners."""
    stores = stores_of(database, clock)
    ledger = DatabaseLedger(database, clock.wall)
    return Bags(
        BagStores(
            bags=DatabaseBags(database, clock.wall),
            jobs=stores.jobs,
            ledger=ledger,
            offers=OfferStores(
                offers=DatabaseOffers(database, clock.wall),
                queues=stores.queues,
                accounts=DatabaseAccounts(database),
                flavors=flavors or ComputeDirectory.from_conf(conf),
                wall=clock.wall,
            ),
        ),
        BagSettings(
            offers=offer_settings(conf),
            tries=conf.bags.tries,
            seconds=conf.bags.seconds,
            quotas=SubmissionQuotas(
                most_waiting=conf.api.max_waiting_jobs,
                most_jobs=conf.api.max_jobs_per_request,
                limits=job_limits(conf),
            ),
        ),
        clock.monotonic,
        database.boundary,
        leading,
        standings=standing.standings(conf, SERVICE, clock, roles),
    )


def stores_of(database: Database, clock: Clock) -> JobStores:
    """All stores of one database."""
    return JobStores(
        queues=DatabaseQueues(database, clock.wall),
        jobs=DatabaseJobDecisions(database, clock.wall),
        attempts=DatabaseJobAttempts(database),
        states=DatabaseJobStates(database),
        offers=DatabaseOffers(database, clock.wall),
    )


def check_options(conf: cfg.ConfigOpts) -> None:
    """:raises ConfigurationError: names the option, its value, the limit and where it stands."""
    check_values(
        conf,
        [listed for group in (bags, jobs, market, role_options) for listed in group.list_opts()],
    )


def load_settings(conf: cfg.ConfigOpts) -> JobsSettings:
    """Settings from group [jobs].

    :raises ConfigurationError: names the options and what to do.
    """
    options = conf.jobs
    if options.first_pause > options.longest_pause:
        raise ConfigurationError(
            f'[jobs]first_pause = {options.first_pause:g} is above longest_pause = '
            f'{options.longest_pause:g}: give a shorter first pause'
        )
    return JobsSettings(
        name=service_name(conf, 'jobs', 'jobs'),
        interval=options.interval,
        selection=JobSettings(
            host_choice=HostChoice(options.host_choice),
            preempt_order=PreemptOrder(options.preempt_order),
            reservations_per_queue=options.reservations_per_queue,
            most_reservations=options.most_reservations,
            most_looks=options.most_looks,
        ),
        progress=ProgressSettings(
            start_timeout=options.start_timeout,
            margin=options.margin,
            first_pause=options.first_pause,
            longest_pause=options.longest_pause,
        ),
        pace=worker_pace(conf),
        image=_image(conf),
        policies=job_plugins(options.policies),
        limits=job_limits(conf),
        settle_time=max(options.settle_time, 2.0 * (conf[GROUP].timeout or REQUEST_SECONDS)),
        first_pause=options.first_pause,
        longest_pause=options.longest_pause,
    )


def _image(conf: cfg.ConfigOpts) -> WorkerImage:
    """What workers boot with.

    :raises ConfigurationError: no worker could be started with it.
    """
    options = conf.jobs
    parts = urlsplit(options.worker_url)
    if parts.scheme not in ('http', 'https') or not parts.hostname:
        raise ConfigurationError(
            f'[jobs]worker_url = {options.worker_url!r}: give the URL of the market API as servers of '
            'queues reach it, for example https://market.example.org:9654'
        )
    certificates = ''
    if options.worker_certificates:
        try:
            certificates = Path(options.worker_certificates).read_text(encoding='ascii')
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f'[jobs]worker_certificates = {options.worker_certificates}: {error}: give a file in PEM'
            ) from None
    agents = files('nova_market') / 'guest_agent'
    image = WorkerImage(
        url=options.worker_url,
        user=options.worker_user,
        certificates=certificates,
        python_agent=(agents / 'worker.py').read_text(encoding='utf-8'),
        shell_agent=(agents / 'worker.sh').read_text(encoding='utf-8'),
    )
    try:
        image.user_data('0' * 36, 'A' * 43)
    except BadAmount as error:
        raise ConfigurationError(f'[jobs]worker_certificates: {error}') from None
    return image
