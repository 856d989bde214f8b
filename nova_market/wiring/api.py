# SPDX-License-Identifier: Apache-2.0
"""Puts the market's API together from the configuration.

In production a WSGI server runs nova_market.wsgi.api:application; see doc/source/admin/market-api.rst.
"""

import functools
import json
import os
import time
from collections.abc import Callable, Iterable

from oslo_config import cfg
from oslo_log import log
from webob.exc import HTTPServiceUnavailable

from nova_market import ports
from nova_market.adapters.openstack.directory import ComputeDirectory
from nova_market.adapters.openstack.owner_names import OwnerNames
from nova_market.adapters.openstack.projects import KeystoneProjects
from nova_market.adapters.openstack.region_apis import RegionApis
from nova_market.adapters.openstack.token_check import checked_tokens
from nova_market.adapters.openstack.trusts import KeystoneTrusts
from nova_market.api.app import make_application
from nova_market.api.errors import ApiError, body
from nova_market.api.microversion import NEWEST
from nova_market.api.request_rates import RequestRates
from nova_market.api.stores import ApiStores, Settings
from nova_market.api.token_bucket import Rate
from nova_market.conf import database as database_options
from nova_market.conf import opts
from nova_market.core.service_type import SERVICE_TYPE
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.app_events import DatabaseAppEvents
from nova_market.db.apps import DatabaseApps
from nova_market.db.bags import DatabaseOwnBags
from nova_market.db.bids import DatabaseBids
from nova_market.db.database import Database
from nova_market.db.job_attempts import DatabaseJobAttempts
from nova_market.db.job_decisions import DatabaseJobDecisions
from nova_market.db.job_states import DatabaseJobStates
from nova_market.db.leases import DatabaseLeases
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.notices import DatabaseNotices
from nova_market.db.offers import DatabaseOffers
from nova_market.db.plans import DatabasePlans
from nova_market.db.queues import DatabaseQueues
from nova_market.db.refusals import DatabaseRefusals
from nova_market.db.rounds import DatabaseRounds
from nova_market.db.set_aside import DatabaseSetAside
from nova_market.errors import ConfigurationError
from nova_market.ports import ChildRegions, Flavors, Projects, ServerOwners, Trusts
from nova_market.services.tender.bag_requests import BagLimits
from nova_market.wiring.database import connect_api
from nova_market.wiring.job_settings import job_limits, worker_pace
from nova_market.wiring.lease_settings import lease_settings
from nova_market.wiring.market_settings import reserve_prices
from nova_market.wiring.notice_limits import notice_limits
from nova_market.wiring.offer_settings import offer_settings
from nova_market.wiring.options import explained
from nova_market.wiring.policies import job_policies, traits_by_policy
from nova_market.wiring.unknown_options import log_unknown_options

PROGRAM = 'nova-market-api'

CONFIG_FILE = 'NOVA_MARKET_CONFIG_FILE'
"""Environment variable: a configuration file for the WSGI application, instead of the usual ones.

Files in a directory beside it, named as the file with .d, are read after it, as for the usual ones.
"""

UNIT = 0.002
"""Seconds of the processor that cost as much as a short read, which takes 1 to 2 ms."""

REPORTS_AT_ONCE = 2.0
"""Of an application or of one of its servers: a metric, and what the hooks of the same guest have done."""

Wsgi = Callable[..., Iterable[bytes]]


def build(conf: cfg.ConfigOpts) -> Wsgi:
    """The application; connects to nothing yet, so that a server may fork after it.

    :raises ConfigurationError: names the option.
    """
    directory = ComputeDirectory.from_conf(conf)
    trusts = KeystoneTrusts.from_conf(conf)
    regions = RegionApis.from_conf(conf, f'{SERVICE_TYPE} {NEWEST}')
    stores = database_stores(
        connect_api(conf),
        directory,
        directory,
        trusts,
        OwnerNames.from_conf(conf),
        projects=KeystoneProjects.from_conf(conf),
        regions=regions,
    )
    authenticate = functools.partial(checked_tokens, conf=conf, unavailable=keystone_away)
    return make_application(conf, stores, settings(conf), authenticate, metrics_token(conf))


def keystone_away() -> Exception:
    """503 in the form of all errors; it is made before a request has its id."""
    error = ApiError(
        503,
        'market.identity.unavailable',
        'Keystone does not answer, and it says whose a token is; try again in a minute',
    )
    text = json.dumps(body(error, '')).encode()
    return HTTPServiceUnavailable(body=text, content_type='application/json')


def database_stores(
    database: Database,
    owners: ServerOwners,
    flavors: Flavors,
    trusts: Trusts,
    names: ports.OwnerNames,
    wall: Callable[[], float] = time.time,
    *,
    projects: Projects,
    regions: ChildRegions | None = None,
) -> ApiStores:
    """Everything in one database. regions: those below this one; None: there are none."""
    return ApiStores(
        ledger=DatabaseLedger(database, wall),
        accounts=DatabaseAccounts(database),
        bids=DatabaseBids(database, wall),
        history=DatabaseRounds(database, wall),
        plans=DatabasePlans(database, wall),
        apps=DatabaseApps(database, wall),
        app_events=DatabaseAppEvents(database),
        queues=DatabaseQueues(database, wall),
        jobs=DatabaseJobDecisions(database, wall),
        attempts=DatabaseJobAttempts(database),
        states=DatabaseJobStates(database),
        offers=DatabaseOffers(database, wall),
        bags=DatabaseOwnBags(database, wall),
        leases=DatabaseLeases(database, wall),
        notices=DatabaseNotices(database, wall),
        refusals=DatabaseRefusals(database),
        set_aside=DatabaseSetAside(database, wall),
        trusts=trusts,
        names=names,
        owners=owners,
        flavors=flavors,
        projects=projects,
        wall=wall,
        regions=regions or RegionApis({}, ''),
    )


def settings(conf: cfg.ConfigOpts) -> Settings:
    """The settings of the handlers."""
    return Settings(
        period=float(conf.market.period),
        new_weight=conf.market.new_project_weight,
        reserve=reserve_prices(conf),
        max_limit=conf.api.max_limit,
        max_budgets=conf.api.max_budgets,
        max_apps=conf.api.max_apps,
        max_queues=conf.api.max_queues,
        queue_name_rest=conf.api.queue_name_rest,
        max_waiting_jobs=conf.api.max_waiting_jobs,
        max_jobs_per_request=conf.api.max_jobs_per_request,
        job_policies=job_policies(conf.jobs.policies),
        job_limits=job_limits(conf),
        policies=traits_by_policy(),
        trust_roles=tuple(conf.api.trust_roles),
        rates=request_rates(conf),
        worker_pace=worker_pace(conf),
        offers=offer_settings(conf),
        bags=BagLimits(max_tasks=conf.bags.max_tasks, max_open=conf.bags.max_open),
        leases=lease_settings(conf),
        notices=notice_limits(conf),
        response_validation=conf.api.response_validation,
    )


def request_rates(conf: cfg.ConfigOpts) -> RequestRates:
    """How many requests are served."""
    options = conf.api
    interval = options.report_interval
    return RequestRates(
        requests=Rate(per_second=options.request_rate, burst=options.request_burst),
        worker=Rate(per_second=options.worker_rate, burst=options.worker_burst),
        reports=Rate(per_second=1 / interval if interval else 0.0, burst=REPORTS_AT_ONCE),
        unit=UNIT,
    )


def metrics_token(conf: cfg.ConfigOpts) -> str | None:
    """None: /metrics is off."""
    if not conf.api.metrics_enabled:
        return None
    if not conf.api.metrics_token:
        raise ConfigurationError(
            '[api]metrics_enabled is true and [api]metrics_token is empty: every balance would be open to '
            'everybody; set a long random text'
        )
    return str(conf.api.metrics_token)


def register_opts(conf: cfg.ConfigOpts) -> None:
    """All that the application reads, but what its middleware registers by itself."""
    log.register_options(conf)
    opts.register_opts(conf)
    database_options.register_opts(conf)


def configured_application() -> Wsgi:
    """With the configuration files of this machine; what nova_market.wsgi.api serves."""
    conf = cfg.ConfigOpts()
    register_opts(conf)
    given = os.environ.get(CONFIG_FILE)
    files = [given] if given else cfg.find_config_files('nova_market', 'nova_market')
    # None: oslo.config looks where the usual files are
    beside = [one for one in (f'{given}.d',) if os.path.isdir(one)] if given else None
    conf(
        [],
        project='nova_market',
        prog=PROGRAM,
        default_config_files=files,
        default_config_dirs=beside,
    )
    log.setup(conf, PROGRAM)
    log_unknown_options(conf)
    try:
        return build(conf)
    except cfg.ConfigSourceValueError as error:
        raise explained(conf, error) from None
