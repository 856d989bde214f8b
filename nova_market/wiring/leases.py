# SPDX-License-Identifier: Apache-2.0
"""Puts the service of leases together from options."""

from collections.abc import Callable
from dataclasses import dataclass

from oslo_config import cfg
from prometheus_client import CollectorRegistry

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.notifications import MessagingNotices
from nova_market.adapters.openstack.market_cloud import NovaCloud
from nova_market.adapters.openstack.session import connector
from nova_market.conf import leases, market, power
from nova_market.db.database import Database
from nova_market.db.job_states import DatabaseJobStates
from nova_market.db.leases import DatabaseLeases
from nova_market.ports import Clock, ComputeServices, JobHosts, PowerActuator
from nova_market.services.lease.leases import BY, Leases
from nova_market.services.lease.metrics import LeasesCollector
from nova_market.services.lease.notices import LeaseNotices
from nova_market.services.lease.settings import LeaseSettings
from nova_market.wiring.database import ready, set_aside_report
from nova_market.wiring.leadership import LEASES, leadership
from nova_market.wiring.lease_settings import lease_settings
from nova_market.wiring.options import check_values
from nova_market.wiring.power import Power, power_pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A service of leases and what its owner must close."""

    leases: Leases
    power: Power
    settings: LeaseSettings
    collector: LeasesCollector
    notices: MessagingNotices
    database: Database

    def registry(self) -> CollectorRegistry:
        """For the Prometheus endpoint: leases, and hosts by their power."""
        made = self.collector.registry()
        made.register(self.power.collector)
        return made

    def close(self) -> None:
        self.power.close()
        self.notices.stop()
        self.database.close()


def build(
    conf: cfg.ConfigOpts,
    *,
    hosts: JobHosts | None = None,
    clock: Clock | None = None,
    actuator: PowerActuator | None = None,
    services: ComputeServices | None = None,
    open_database: Callable[[cfg.ConfigOpts], Database] = ready,
) -> Parts:
    """Everything of the service, nothing started.

    hosts, clock, actuator, services: instead of the real ones
    open_database: database.ready, or awaited for a service

    :raises ConfigurationError: an option that cannot work.
    :raises DatabaseUnavailable, SchemaBehind: there is nowhere to read leases.
    """
    settings = lease_settings(conf)
    clock = clock or SystemClock()
    database = open_database(conf)
    store, states = DatabaseLeases(database, clock.wall), DatabaseJobStates(database)
    notices = MessagingNotices(conf, settings.name)
    leads = leadership(conf, settings.name, clock, LEASES)
    collector = LeasesCollector(leads.leading)
    switching = power_pass(
        conf, database=database, leads=leads, notices=notices, clock=clock, account=BY,
        actuator=actuator, services=services,
    )  # fmt: skip
    made = Leases(
        leases=store,
        states=states,
        hosts=hosts or NovaCloud(connector(conf, BY), clock, boundary=database.boundary),
        leadership=leads,
        clock=clock,
        settings=settings,
        aside=set_aside_report('leases', database, clock),
        sender=_sender(database, clock, notices),
        observe=collector.observe,
        power=switching.power,
    )
    return Parts(
        leases=made,
        power=switching,
        settings=settings,
        collector=collector,
        notices=notices,
        database=database,
    )


def _sender(database: Database, clock: Clock, notices: MessagingNotices) -> LeaseNotices:
    return LeaseNotices(
        leases=DatabaseLeases(database, clock.wall),
        states=DatabaseJobStates(database),
        notices=notices,
        clock=clock,
        boundary=database.boundary,
    )


def check_options(conf: cfg.ConfigOpts) -> None:
    """:raises ConfigurationError: names the option, its value, the limit and where it stands."""
    check_values(
        conf, [listed for group in (leases, market, power) for listed in group.list_opts()]
    )
