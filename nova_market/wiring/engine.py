# SPDX-License-Identifier: Apache-2.0
"""Puts the market engine together from options."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from oslo_config import cfg

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.notifications import MessagingNotices
from nova_market.adapters.openstack.market_cloud import NovaCloud
from nova_market.adapters.openstack.placement_traits import PlacementTraits
from nova_market.adapters.openstack.session import connector
from nova_market.conf import exchange as exchange_options
from nova_market.conf import market, rebalancing, steering
from nova_market.conf import usage as usage_options
from nova_market.core.lease.host_view import watts_of
from nova_market.core.market.settings import MarketSettings
from nova_market.core.resource import HostName
from nova_market.core.scheduler.publication import OperatorTerms
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.bids import DatabaseBids
from nova_market.db.database import Database
from nova_market.db.escrow import DatabaseEscrow
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.plans import DatabasePlans
from nova_market.db.rounds import DatabaseRounds
from nova_market.errors import ConfigurationError
from nova_market.ports import Clock, Enforcement, MarketCloud
from nova_market.ports.stores import MarketStores
from nova_market.row_boundary import RowBoundary
from nova_market.services.market.cordon import Steering, SteeringSettings
from nova_market.services.market.engine import Engine
from nova_market.services.market.metrics import MarketCollector
from nova_market.services.market.rebalancing import Rebalancing
from nova_market.services.market.rounds import Decided, RoundRunner
from nova_market.services.usage.recorder import UsageRecorder
from nova_market.wiring import rebalancing as rebalancing_settings
from nova_market.wiring import usage as usage_wiring
from nova_market.wiring.database import ready, set_aside_report
from nova_market.wiring.exchange import build_enforcement
from nova_market.wiring.leadership import ENGINE, leadership
from nova_market.wiring.lease_settings import host_watts
from nova_market.wiring.market_settings import market_settings
from nova_market.wiring.options import check_values


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """An engine and what its owner must close."""

    engine: Engine
    settings: MarketSettings
    collector: MarketCollector
    notices: MessagingNotices
    rebalancing: Rebalancing
    usage: UsageRecorder
    database: Database

    def close(self) -> None:
        self.usage.stop()
        self.rebalancing.stop()
        self.notices.stop()
        self.database.close()


def build(
    conf: cfg.ConfigOpts,
    *,
    cloud: MarketCloud | None = None,
    enforcement: Enforcement | None = None,
    clock: Clock | None = None,
    open_database: Callable[[cfg.ConfigOpts], Database] = ready,
) -> Parts:
    """Everything of the engine, nothing started. cloud, enforcement, clock: instead of the real ones.

    open_database: database.ready, or awaited for a service

    :raises ConfigurationError: an option that cannot work.
    :raises DatabaseUnavailable, SchemaBehind: there is no place to keep rounds.
    """
    settings, clock = market_settings(conf), clock or SystemClock()
    database = open_database(conf)
    stores, boundary = stores_of(database, clock), database.boundary
    own_cloud = cloud is None
    cloud = cloud or _nova(conf, clock, boundary)
    leads = leadership(conf, settings.name, clock, ENGINE)
    usage = usage_wiring.build(conf, database, clock, leads.leading)
    enforcement = enforcement or build_enforcement(
        conf, HostName(settings.name), clock, settings.period, usage.take
    )
    notices = MessagingNotices(conf, settings.name)
    plans, how = DatabasePlans(database, clock.wall), rebalancing_settings.load(conf)
    moves = Rebalancing(plans, cloud, clock, how, notices=notices, boundary=boundary)
    collector = MarketCollector(leads.leading, balances=conf.market.metrics_balances)
    engine = Engine(
        rounds=RoundRunner(cloud, stores, enforcement, clock, settings, operator_terms(conf)),
        store=stores.rounds,
        enforcement=enforcement,
        leadership=leads,
        notices=notices,
        clock=clock,
        settings=settings,
        aside=set_aside_report('engine', database, clock),
        rebalancing=moves,
        observe=_observers(conf, collector, usage, real=own_cloud),
    )
    return Parts(
        engine=engine,
        settings=settings,
        collector=collector,
        notices=notices,
        rebalancing=moves,
        usage=usage,
        database=database,
    )


def _nova(conf: cfg.ConfigOpts, clock: Clock, boundary: RowBoundary) -> NovaCloud:
    connect = connector(conf, 'nova-market-engine')
    return NovaCloud(connect, clock, conf.market.whole_reading, boundary)


def stores_of(database: Database, clock: Clock) -> MarketStores:
    """All stores of one database."""
    rounds = DatabaseRounds(database, clock.wall)
    return MarketStores(
        accounts=DatabaseAccounts(database),
        ledger=DatabaseLedger(database, clock.wall),
        escrow=DatabaseEscrow(database),
        bids=DatabaseBids(database, clock.wall),
        rounds=rounds,
        history=rounds,
        boundary=database.boundary,
    )


def _observers(
    conf: cfg.ConfigOpts, collector: MarketCollector, usage: UsageRecorder, *, real: bool
) -> Callable[[Decided], None]:
    """What is called with each round; hosts of a cloud that is not real have no resource providers."""
    if not real:
        return lambda decided: _seen(decided, collector, usage)
    traits = PlacementTraits(connector(conf, 'nova-market-engine'))
    hosts = Steering(traits, load_steering(conf))

    def observe(decided: Decided) -> None:
        _seen(decided, collector, usage)
        hosts.consider(decided)

    return observe


def _seen(decided: Decided, collector: MarketCollector, usage: UsageRecorder) -> None:
    collector.observe(decided)
    usage.know((*decided.inputs.servers, *decided.inputs.others))


def operator_terms(conf: cfg.ConfigOpts) -> OperatorTerms:
    """Shares from [market]project_shares, watts from [leases]host_watts.

    :raises ConfigurationError: names the option, its value and what is allowed.
    """
    rules = host_watts(conf)
    return OperatorTerms(
        shares=_shares(conf.market.project_shares), watts=lambda names: watts_of(names, rules)
    )


def _shares(given: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in given:
        project, _, part = text.rpartition(':')
        try:
            share = float(part)
        except ValueError:
            share = -1.0
        if not project or project in found or not 0.0 <= share <= 1.0:
            raise ConfigurationError(
                f'[market]project_shares: {text!r:.80}: give PROJECT_ID:SHARE, each project once and a share '
                'from 0 to 1, for example 8c1b2f:0.25'
            )
        found[project] = share
    return found


def load_steering(conf: cfg.ConfigOpts) -> SteeringSettings:
    """Settings from group [steering].

    :raises ConfigurationError: names the options and what to do.
    """
    options = conf.steering
    if options.open_below >= options.close_above:
        raise ConfigurationError(
            f'[steering]open_below = {options.open_below} must be below close_above = '
            f'{options.close_above}: hosts would go back and forth'
        )
    return SteeringSettings(
        traits=options.traits, close_above=options.close_above, open_below=options.open_below
    )


def check_options(conf: cfg.ConfigOpts) -> None:
    """:raises ConfigurationError: names the option, its value, the limit and where it stands."""
    groups = (market, rebalancing, steering, exchange_options, usage_options)
    check_values(conf, [listed for group in groups for listed in group.list_opts()])
