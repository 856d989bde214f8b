# SPDX-License-Identifier: Apache-2.0
"""The settings of the market from group [market]; the engine and the controller have the same."""

from oslo_config import cfg

from nova_market.core.ledger.currency import PARTS
from nova_market.core.ledger.money import micro_credits
from nova_market.core.market.settings import MarketSettings
from nova_market.errors import BadAmount, ConfigurationError
from nova_market.plugins import load_plugin
from nova_market.wiring.names import service_name

REDISTRIBUTE = 'redistribute'
MIB_PER_GIB = 1024.0


def market_settings(conf: cfg.ConfigOpts) -> MarketSettings:
    """From the options.

    :raises ConfigurationError: names the option, its value and what to do.
    """
    options = conf.market
    pricing = load_plugin('nova_market.pricing', options.pricing, '[market]pricing')
    currency = load_plugin('nova_market.currency', options.currency, '[market]currency')
    return MarketSettings(
        name=service_name(conf, 'market', 'engine'),
        period=options.period,
        pricing=pricing,
        currency=currency,
        reserve=reserve_prices(conf),
        host_reserve=(options.host_reserve_cores, options.host_reserve_memory_mib),
        total=_amount(conf, 'total_credits'),
        renew_every=options.renew_every,
        return_delay=0 if options.currency == REDISTRIBUTE else options.return_delay,
        tax_rate=round(options.tax_percent * PARTS / 100),
        tax_floor=_amount(conf, 'tax_floor'),
        new_weight=options.new_project_weight,
        breaker=options.price_breaker,
        notice=options.notice_periods,
        options={'pricing': options.pricing, 'currency': options.currency},
    )


def reserve_prices(conf: cfg.ConfigOpts) -> tuple[float, float]:
    """Of a core and of a MiB, micro-credits per period.

    :raises ConfigurationError: names the option, its value and what to do.
    """
    return (
        float(_amount(conf, 'reserve_price_cpu')),
        _amount(conf, 'reserve_price_memory') / MIB_PER_GIB,
    )


def _amount(conf: cfg.ConfigOpts, option: str) -> int:
    try:
        return micro_credits(getattr(conf.market, option), f'[market]{option}')
    except BadAmount as error:
        raise ConfigurationError(str(error)) from None
