# SPDX-License-Identifier: Apache-2.0
"""The settings of leases from group [leases]; the API and the service have the same."""

import math
from collections.abc import Sequence
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from oslo_config import cfg

from nova_market.adapters.solver.highs import highs
from nova_market.core.lease.billing import LeasePrices
from nova_market.core.lease.host_view import HostWatts
from nova_market.core.lease.life import LifeSettings
from nova_market.core.lease.limit import HOUR, LeaseLimits
from nova_market.core.lease.timetable import TimetableEntry
from nova_market.core.ledger.money import micro_credits
from nova_market.errors import BadAmount, BadLease, ConfigurationError
from nova_market.services.lease.settings import LeaseSettings
from nova_market.wiring.names import service_name
from nova_market.wiring.policies import objectives, placements

DAYS = ('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun')


def lease_settings(conf: cfg.ConfigOpts) -> LeaseSettings:
    """From the options.

    :raises ConfigurationError: names the option, its value and what is allowed.
    """
    options = conf.leases
    made = LeaseSettings(
        name=service_name(conf, 'leases', 'leases'),
        interval=options.interval,
        life=LifeSettings(
            charge_period=options.charge_period,
            end_notice=options.end_notice,
            start_patience=options.start_patience,
            refund=options.refund,
            full_refund_within=options.full_refund_within,
        ),
        prices=LeasePrices(
            core_hour=_price(options, 'price_core_hour'),
            memory_gib_hour=_price(options, 'price_memory_gib_hour'),
            disk_gib_hour=_price(options, 'price_disk_gib_hour'),
        ),
        watts=host_watts(conf),
        hosts=tuple(options.hosts),
        stays_on=tuple(options.stays_on),
        algorithms=placements(),
        objectives=objectives(),
        timetable=_timetable(options.timetable),
        zone=_zone(options.zone),
        solver=highs,
        seconds=options.seconds,
        request_seconds=options.request_seconds,
        freeze=options.freeze,
        lost_after=options.lost_after,
        view_age=max(120.0, 6.0 * options.interval),
        forecast_age=conf.offers.forecast_age,
        longest=options.longest,
        horizon=options.horizon,
        limits=_limits(options),
        publish_ahead=options.publish_ahead,
    )
    for entry in made.timetable:
        if entry.algorithm not in made.algorithms or entry.objective not in made.objectives:
            raise ConfigurationError(
                f'[leases]timetable: {entry.algorithm} {entry.objective}: give an algorithm of '
                f'{", ".join(made.algorithms)} and an objective of {", ".join(made.objectives)}'
            )
    return made


def host_watts(conf: cfg.ConfigOpts) -> tuple[HostWatts, ...]:
    """From [leases]host_watts.

    :raises ConfigurationError: names the option, its value and what is allowed.
    """
    return tuple(_watts(one) for one in conf.leases.host_watts)


def _limits(options: cfg.ConfigOpts) -> LeaseLimits:
    return LeaseLimits(
        leases=options.max_leases,
        core_seconds=options.max_core_hours * HOUR or math.inf,
        part=options.max_part,
        cloud_core_seconds=options.max_cloud_core_hours * HOUR or math.inf,
        cloud_part=options.max_cloud_part,
    )


def _price(options: cfg.ConfigOpts, name: str) -> int:
    try:
        return micro_credits(options[name], f'[leases]{name}')
    except BadAmount as error:
        raise ConfigurationError(str(error)) from None


def _watts(text: str) -> HostWatts:
    pattern, _, rest = text.partition(':')
    idle, _, more = rest.partition(':')
    try:
        found = HostWatts(pattern=pattern, base_w=float(idle), peak_w=float(more))
    except ValueError:
        found = HostWatts(pattern='', base_w=-1.0, peak_w=-1.0)
    if not (found.pattern and 0 <= found.base_w < 1e9 and 0 <= found.peak_w < 1e9):
        raise ConfigurationError(
            f'[leases]host_watts = {text!r:.80}: give PATTERN:IDLE:MORE in watts, for example *:160:120'
        )
    return found


def _timetable(entries: Sequence[str]) -> tuple[TimetableEntry, ...]:
    if not entries:
        raise ConfigurationError('[leases]timetable is empty: give at least one entry')
    return tuple(_entry(one) for one in entries)


def _entry(text: str) -> TimetableEntry:
    try:
        days, at, algorithm, objective = text.split()
        hour, minute = at.split(':')
        chosen = DAYS if days == '*' else tuple(days.split(','))
        if not 0 <= int(minute) < 60:
            raise ValueError(minute)
        return TimetableEntry(
            minute=60 * int(hour) + int(minute),
            days=tuple(DAYS.index(one) for one in chosen),
            algorithm=algorithm,
            objective=objective,
        )
    except (ValueError, BadLease):
        raise ConfigurationError(
            f'[leases]timetable = {text!r:.80}: give DAYS HH:MM ALGORITHM OBJECTIVE, for example '
            '"mon,fri 08:00 greedy_consistent power"'
        ) from None


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigurationError(
            f'[leases]zone = {name!r:.80}: give a time zone of this machine, for example Europe/Berlin'
        ) from None
    return name
