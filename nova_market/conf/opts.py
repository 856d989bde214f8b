# SPDX-License-Identifier: Apache-2.0
"""All option groups, for the generators of the sample configuration and the reference."""

from oslo_config import cfg

from nova_market.conf import exchange, fairness, host, openstack


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return fairness.list_opts() + exchange.list_opts() + host.list_opts() + openstack.list_opts()


def register_opts(conf: cfg.ConfigOpts) -> None:
    for group in (fairness, exchange, host, openstack):
        group.register_opts(conf)
