# SPDX-License-Identifier: Apache-2.0
"""From the options of group [rebalancing] to frozen settings."""

from oslo_config import cfg

from nova_market.core.rebalancing.cool_down import CoolDown
from nova_market.core.rebalancing.move_order import MigrationSettings
from nova_market.core.rebalancing.settings import RebalancingSettings
from nova_market.core.rebalancing.tabu_search import BalanceSettings
from nova_market.errors import ConfigurationError


def load(conf: cfg.ConfigOpts) -> RebalancingSettings:
    """:raises ConfigurationError: options that contradict each other."""
    options = conf.rebalancing
    if options.longest_cool_down < options.cool_down:
        raise ConfigurationError(
            f'[rebalancing]longest_cool_down = {options.longest_cool_down:g} is below cool_down = '
            f'{options.cool_down:g}: raise it or lower cool_down'
        )
    return RebalancingSettings(
        mode=options.mode,
        every=options.every,
        balance=BalanceSettings(
            idle_iterations=options.idle_iterations,
            tolerated_error=options.tolerated_error,
            migrations=options.migrations,
            inflow=options.inflow,
        ),
        migration=MigrationSettings(
            horizon=options.horizon,
            copy_rate=options.copy_rate,
            copy_cores=options.copy_cores,
            period=float(conf.market.period),
        ),
        cool_down=CoolDown(rest=options.cool_down, longest=options.longest_cool_down),
        approval_valid=options.approval_valid,
        begin_within=options.begin_within,
        end_within=options.end_within,
    )
