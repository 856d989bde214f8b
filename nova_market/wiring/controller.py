# SPDX-License-Identifier: Apache-2.0
"""Puts the controller of applications together from options."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from oslo_config import cfg

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.openstack.owner_cloud import NovaOwnerCloud
from nova_market.adapters.openstack.session import GROUP, REQUEST_SECONDS
from nova_market.conf import controller, market
from nova_market.conf import roles as role_options
from nova_market.core.app.decision import Rules
from nova_market.core.app.record import APP_MARKS
from nova_market.core.app.template import Rest
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.app_events import DatabaseAppEvents
from nova_market.db.apps import DatabaseApps
from nova_market.db.bids import DatabaseBids
from nova_market.db.database import Database
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.rounds import DatabaseRounds
from nova_market.errors import ConfigurationError
from nova_market.ports import Clock, OwnerCloud, UserRoles
from nova_market.services.app.controller import Controller
from nova_market.services.app.inputs import AppStores
from nova_market.services.app.metrics import ControllerCollector
from nova_market.services.app.settings import ControllerSettings
from nova_market.wiring.database import ready, set_aside_report
from nova_market.wiring.leadership import CONTROLLER, leadership
from nova_market.wiring.market_settings import market_settings
from nova_market.wiring.names import service_name
from nova_market.wiring.options import check_values
from nova_market.wiring.policies import policies
from nova_market.wiring.standing import standings

LOG = logging.getLogger(__name__)

SERVICE = 'nova-market-controller'


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A controller and what its owner must close."""

    controller: Controller
    settings: ControllerSettings
    collector: ControllerCollector
    database: Database

    def close(self) -> None:
        self.database.close()


def build(
    conf: cfg.ConfigOpts,
    *,
    cloud: OwnerCloud | None = None,
    clock: Clock | None = None,
    roles: UserRoles | None = None,
    open_database: Callable[[cfg.ConfigOpts], Database] = ready,
) -> Parts:
    """Everything of the controller, nothing started. cloud, clock, roles: instead of the real ones.

    open_database: database.ready, or awaited for a service

    :raises ConfigurationError: an option that cannot work.
    :raises DatabaseUnavailable, SchemaBehind: there is nowhere to read applications.
    """
    settings = load_settings(conf)
    clock = clock or SystemClock()
    database = open_database(conf)
    leads = leadership(conf, settings.name, clock, CONTROLLER)
    collector = ControllerCollector(leads.leading)
    made = Controller(
        stores=stores_of(database, clock),
        cloud=cloud or NovaOwnerCloud.from_conf(conf, SERVICE, APP_MARKS, database.boundary),
        standings=standings(conf, SERVICE, clock, roles),
        leadership=leads,
        clock=clock,
        settings=settings,
        aside=set_aside_report('controller', database, clock),
        observe=collector.observe,
    )
    return Parts(controller=made, settings=settings, collector=collector, database=database)


def stores_of(database: Database, clock: Clock) -> AppStores:
    """All stores of one database."""
    apps = DatabaseApps(database, clock.wall)
    return AppStores(
        apps=apps,
        slots=apps,
        events=DatabaseAppEvents(database),
        bids=DatabaseBids(database, clock.wall),
        accounts=DatabaseAccounts(database),
        ledger=DatabaseLedger(database, clock.wall),
        history=DatabaseRounds(database, clock.wall),
        boundary=database.boundary,
    )


def check_options(conf: cfg.ConfigOpts) -> None:
    """:raises ConfigurationError: names the option, its value, the limit and where it stands."""
    check_values(
        conf,
        [listed for group in (controller, market, role_options) for listed in group.list_opts()],
    )


def load_settings(conf: cfg.ConfigOpts) -> ControllerSettings:
    """Settings from groups [controller] and [market].

    :raises ConfigurationError: names the options and what to do.
    """
    options = conf.controller
    if options.first_pause > options.longest_pause:
        raise ConfigurationError(
            f'[controller]first_pause = {options.first_pause:g} is above longest_pause = '
            f'{options.longest_pause:g}: give a shorter first pause'
        )
    of_market = market_settings(conf)
    return ControllerSettings(
        name=service_name(conf, 'controller', 'controller'),
        interval=options.interval,
        period=of_market.period,
        reserve=of_market.reserve,
        rules=Rules(horizon=options.horizon, report_life=options.report_life),
        policies=policies(),
        settle_time=max(options.settle_time, 2.0 * (conf[GROUP].timeout or REQUEST_SECONDS)),
        first_pause=options.first_pause,
        longest_pause=options.longest_pause,
        price_memory=options.price_memory,
        when_suspended=Rest(options.when_suspended),
    )
