# SPDX-License-Identifier: Apache-2.0
"""The economy of the cloud, and what the means of projects buy (rule P4)."""

from typing import Any

from openstack.resource import Body, QueryParameters

from nova_market.sdk.v1.market_resource import MarketResource
from nova_market.sdk.v1.microversion import ECONOMY, NEWEST_FIRST


class PastEconomy(MarketResource):
    """Where the credits were when a round was decided, what it charged, and the price index."""

    base_path = '/economy/history'
    resources_key = 'periods'
    allow_list = True
    _max_microversion = NEWEST_FIRST
    _query_mapping = QueryParameters('since', 'until')

    period = Body('period', type=int)
    at = Body('at')
    issued = Body('issued', type=int)
    projects = Body('projects', type=int)
    budgets = Body('budgets', type=int)
    escrow = Body('escrow', type=int)
    bank = Body('bank', type=int)
    charged = Body('charged', type=int)
    price_index = Body('price_index', type=float)


class Economy(PastEconomy):
    """The newest one, with the velocity of a window and the basket of the index."""

    resource_key = 'economy'
    allow_list = False

    circulating = Body('circulating', type=int)
    velocity = Body('velocity', type=float)
    seen_periods = Body('seen_periods', type=int)
    base = Body('base', type=dict)
    left_out: list[dict[str, Any]] = Body('left_out', type=list)


class PurchasingPower(MarketResource):
    """What a project can spend per period for ever, and what that buys."""

    base_path = '/purchasing-power'
    resources_key = 'purchasing_power'
    allow_list = True
    _max_microversion = ECONOMY
    _query_mapping = QueryParameters('project_id', 'all_projects')

    project_id = Body('project_id', alternate_id=True)
    period = Body('period', type=int)
    at = Body('at')
    wealth = Body('wealth', type=int)
    spend = Body('spend', type=int)
    cores = Body('cores', type=float)
    part = Body('part', type=float)
    real = Body('real', type=float)


class PastPurchasingPower(PurchasingPower):
    """The same, newest first; of a service before version 1.17 oldest first."""

    base_path = '/purchasing-power/history'
    _max_microversion = NEWEST_FIRST
    _query_mapping = QueryParameters('project_id', 'all_projects', 'since', 'until')
