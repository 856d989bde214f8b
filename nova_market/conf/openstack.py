# SPDX-License-Identifier: Apache-2.0
"""Options of group [openstack]: the account that reads quotas, as keystoneauth has them."""

from keystoneauth1 import exceptions, loading
from oslo_config import cfg

GROUP = cfg.OptGroup(
    'openstack', title='Account that reads quotas (role reader on the system or admin)'
)


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    loading.register_auth_conf_options(conf, GROUP.name)
    loading.register_session_conf_options(conf, GROUP.name)
    loading.register_adapter_conf_options(conf, GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    options = (
        loading.get_auth_common_conf_options()
        + loading.get_auth_plugin_conf_options('password')
        + loading.get_session_conf_options()
        + loading.get_adapter_conf_options(include_deprecated=False)
    )
    return [(GROUP, options)]


def plugin_options(kind: str) -> list[cfg.Opt]:
    """The options of one way to authenticate; none where no such plug-in is installed."""
    try:
        options: list[cfg.Opt] = loading.get_auth_plugin_conf_options(kind)
    except exceptions.NoMatchingPlugin:
        return []
    return options
