# SPDX-License-Identifier: Apache-2.0
"""The power actuator that [power]actuator names, and the part of the service of leases that uses it."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from oslo_config import cfg

from nova_market.adapters.openstack.compute_services import NovaServices
from nova_market.adapters.openstack.session import connector
from nova_market.core.power.host_step import StepSettings
from nova_market.core.power.plan import PowerSettings
from nova_market.core.power.record import Mode
from nova_market.db.database import Database
from nova_market.db.job_states import DatabaseJobStates
from nova_market.db.power import DatabasePower
from nova_market.errors import BadPower, ConfigurationError
from nova_market.plugins import load_plugin
from nova_market.ports import Clock, ComputeServices, Leadership, Notices, PowerActuator
from nova_market.services.power.actuator_calls import ActuatorCalls
from nova_market.services.power.metrics import PowerCollector
from nova_market.services.power.notices import PowerNotices
from nova_market.services.power.power_pass import PowerPass
from nova_market.services.power.settings import PowerServiceSettings

NAMESPACE = 'nova_market.power'

Plugin = Callable[[cfg.ConfigOpts], PowerActuator]


def power_actuator(conf: cfg.ConfigOpts) -> PowerActuator:
    """:raises ConfigurationError: no such plug-in, or an option of it that cannot work."""
    plugin: Plugin = load_plugin(NAMESPACE, conf.power.actuator, '[power]actuator')
    return plugin(conf)


THREADS = 8
"""Hosts that the actuator is called for at once: one that does not answer holds up no other one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What the service of leases does about power, and what its owner must close."""

    power: PowerPass
    collector: PowerCollector
    pool: ThreadPoolExecutor

    def close(self) -> None:
        # calls that are under way end by themselves, in a bounded time
        self.pool.shutdown(wait=False, cancel_futures=True)


def power_settings(conf: cfg.ConfigOpts) -> PowerServiceSettings:
    """:raises ConfigurationError: options that do not go together."""
    options = conf.power
    try:
        return PowerServiceSettings(
            mode=Mode(options.mode),
            plan=PowerSettings(
                fullest=options.fullest,
                spare=options.spare_hosts,
                idle=options.idle,
                least_off=options.least_off,
                wake=options.wake,
                margin=options.margin,
                at_most=options.at_most,
            ),
            steps=StepSettings(
                settle=options.settle,
                drain=options.drain,
                off_within=options.off_within,
                wake_within=options.wake_within,
                least_off=options.least_off,
                at_most=options.at_most,
            ),
        )
    except BadPower as error:
        raise ConfigurationError(f'[power]: {error}') from None


def power_pass(
    conf: cfg.ConfigOpts,
    *,
    database: Database,
    leads: Leadership,
    notices: Notices,
    clock: Clock,
    account: str,
    actuator: PowerActuator | None = None,
    services: ComputeServices | None = None,
) -> Power:
    """Everything about power, nothing started. account: who needs [openstack], for messages

    actuator, services: instead of the real ones

    :raises ConfigurationError: an option that cannot work.
    """
    settings, actuator = power_settings(conf), actuator or power_actuator(conf)
    if settings.mode is Mode.AUTO and not actuator.acts:
        raise ConfigurationError(
            f'[power]mode = auto: [power]actuator = {conf.power.actuator} switches nothing: set script, '
            'redfish or ironic, or mode = advise'
        )
    store, states = DatabasePower(database), DatabaseJobStates(database)
    collector = PowerCollector(leads.leading)
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix='power')
    made = PowerPass(
        store=store,
        services=services or NovaServices(connector(conf, account)),
        calls=ActuatorCalls(actuator, pool.submit, clock.monotonic),
        states=states,
        leadership=leads,
        clock=clock,
        settings=settings,
        boundary=database.boundary,
        sender=PowerNotices(
            power=store,
            states=states,
            notices=notices,
            clock=clock,
            boundary=database.boundary,
        ),
        observe=collector.observe,
    )
    return Power(power=made, collector=collector, pool=pool)
