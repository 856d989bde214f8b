# SPDX-License-Identifier: Apache-2.0
"""All option groups, for the generators of the sample configuration and the reference."""

from oslo_config import cfg

from nova_market.conf import (
    api,
    bags,
    controller,
    exchange,
    fairness,
    host,
    jobs,
    leases,
    market,
    notices,
    offers,
    openstack,
    power,
    rebalancing,
    regions,
    roles,
    steering,
    usage,
)

GROUPS = (
    api,
    bags,
    controller,
    fairness,
    exchange,
    host,
    jobs,
    leases,
    market,
    notices,
    offers,
    openstack,
    power,
    rebalancing,
    regions,
    roles,
    steering,
    usage,
)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [listed for group in GROUPS for listed in group.list_opts()]


def register_opts(conf: cfg.ConfigOpts) -> None:
    for group in GROUPS:
        group.register_opts(conf)
