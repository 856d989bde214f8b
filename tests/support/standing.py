# SPDX-License-Identifier: Apache-2.0
"""What users may do, in memory, by the policies of the API as they are installed."""

from functools import cache

from oslo_config import cfg

from nova_market.adapters.in_memory.user_roles import StaticUserRoles
from nova_market.ports import Clock
from nova_market.services.standing import Allows, Standings, StandingSettings
from nova_market.wiring.standing import allowing

EVERYTHING = frozenset({'admin', 'manager', 'member', 'reader'})


@cache
def default_policies() -> Allows:
    """Of a service without a file of policies."""
    conf = cfg.ConfigOpts()
    conf([], project='nova_market', default_config_files=[])
    return allowing(conf)


def everybody() -> StaticUserRoles:
    """Everybody has every role everywhere, until a test changes that."""
    return StaticUserRoles({}, EVERYTHING)


def standings(
    source: StaticUserRoles, clock: Clock, settings: StandingSettings | None = None
) -> Standings:
    return Standings(source, default_policies(), clock, settings or StandingSettings())
