# SPDX-License-Identifier: Apache-2.0
"""What an engine is told once, at start: frozen settings from group [market].

Units: period in seconds; other times in periods; prices in micro-credits per core or MiB and period; amounts
in micro-credits; rates in parts per million.
"""

from dataclasses import dataclass, field

from oslo_config import cfg
from stevedore import extension

from nova_market.core.currency import PARTS, Currency, recharge
from nova_market.core.money import micro_credits
from nova_market.core.price import Pricing, clearing_price
from nova_market.errors import BadAmount, ConfigurationError

REDISTRIBUTE = 'redistribute'


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketSettings:
    """reserve: least prices of a core and of a MiB; host_reserve: cores and MiB that a host keeps
    total, renew_every, return_delay, tax_rate, tax_floor: M3; return_delay 0: the bank's income is split
    notice: a payer whose credits last for fewer periods is told (M4)
    """

    name: str = 'engine'
    period: int = 60
    pricing: Pricing = clearing_price
    currency: Currency = recharge
    reserve: tuple[float, float] = (1000.0, 1.0)
    host_reserve: tuple[float, float] = (1.0, 1024.0)
    total: int = 0
    renew_every: int = 60
    return_delay: int = 60
    tax_rate: int = 0
    tax_floor: int = 0
    notice: int = 60
    options: dict[str, object] = field(default_factory=dict)
    """What a round's document says of the settings."""


def load_settings(conf: cfg.ConfigOpts, name: str) -> MarketSettings:
    """Settings from group [market].

    :raises ConfigurationError: names the option, its value and what to do.
    """
    options = conf.market
    rate = round(options.tax_percent * PARTS / 100)
    returns = options.currency != REDISTRIBUTE
    return MarketSettings(
        name=options.name or name,
        period=options.period,
        pricing=_plugin('nova_market.pricing', options.pricing, 'pricing'),
        currency=_plugin('nova_market.currency', options.currency, 'currency'),
        reserve=(
            float(_amount(options.reserve_price_cpu, 'reserve_price_cpu')),
            _amount(options.reserve_price_memory, 'reserve_price_memory') / 1024.0,
        ),
        host_reserve=(options.host_reserve_cores, options.host_reserve_memory_mib),
        total=_amount(options.total_credits, 'total_credits'),
        renew_every=options.renew_every,
        return_delay=options.return_delay if returns else 0,
        tax_rate=rate,
        tax_floor=_amount(options.tax_floor, 'tax_floor'),
        notice=options.notice_periods,
        options={'pricing': options.pricing, 'currency': options.currency},
    )


def _amount(text: str, option: str) -> int:
    try:
        return micro_credits(text, f'[market]{option}')
    except BadAmount as error:
        raise ConfigurationError(str(error)) from None


def _plugin(namespace: str, name: str, option: str):  # type: ignore[no-untyped-def]
    manager = extension.ExtensionManager(namespace, on_load_failure_callback=_ignore)
    try:
        return manager[name].plugin
    except KeyError:
        known = ', '.join(sorted(manager.names())) or 'none'
        raise ConfigurationError(
            f'[market]{option} = {name}: no such plug-in in {namespace} that can be loaded; installed: '
            f'{known}'
        ) from None


def _ignore(manager: object, entry_point: object, error: Exception) -> None:
    """A plug-in of somebody else that can't be imported is no reason not to start."""
