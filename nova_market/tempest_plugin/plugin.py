# SPDX-License-Identifier: Apache-2.0
"""The plug-in of Tempest: its options, its tests, and the client that they use."""

from pathlib import Path
from typing import Any

from oslo_config import cfg
from tempest import config
from tempest.test_discover import plugins

from nova_market.tempest_plugin import config as options

HERE = Path(__file__).resolve().parent


class NovaMarketTempestPlugin(plugins.TempestPlugin):
    """Entry point `nova_market` of `tempest.test_plugins`."""

    def load_tests(self) -> tuple[str, str]:
        """Where the tests are, and the directory from which they are imported."""
        return str(HERE / 'tests'), str(HERE.parents[1])

    def register_opts(self, conf: cfg.ConfigOpts) -> None:
        conf.register_opt(options.AVAILABLE, group='service_available')
        for group, listed in options.GROUPS:
            conf.register_group(group)
            conf.register_opts(listed, group=group)

    def get_opt_lists(self) -> list[tuple[str, list[cfg.Opt]]]:
        named = [(group.name, listed) for group, listed in options.GROUPS]
        return [('service_available', [options.AVAILABLE]), *named]

    def get_service_clients(self) -> list[dict[str, Any]]:
        """`os_primary.market_v1.MarketClient()`, as Tempest names clients."""
        return [
            {
                'name': 'market_v1',
                'service_version': 'market.v1',
                'module_path': 'nova_market.tempest_plugin.market_client',
                'client_names': ['MarketClient'],
                **config.service_client_config('market'),
            }
        ]
