# SPDX-License-Identifier: Apache-2.0
"""Options of group [regions]: the application credential that asks other regions for offers."""

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = cfg.OptGroup(
    'regions',
    title='Application credential, with the role market_region and access rules, that asks [offers]children',
)

PLUGIN = 'v3applicationcredential'


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    loading.register_auth_conf_options(conf, GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    options = loading.get_auth_common_conf_options() + loading.get_auth_plugin_conf_options(PLUGIN)
    return [(GROUP, options)]
