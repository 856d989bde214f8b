# SPDX-License-Identifier: Apache-2.0
"""A run of Grenade on which nothing happens: what it offers to plug-ins is recorded, as in node.py.

The contract is that of Grenade's PLUGINS.rst, inc/plugin and inc/upgrade.
"""

import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.devstack.node import ANSWERS, CONTRACT, RECORDED, VARIABLES, Call, Node
from tests.support.documentation.sessions import ROOT

GRENADE: Mapping[str, tuple[int, int]] = {
    'devstack_localrc': (2, 99),
    'ensure_services_started': (1, 99),
    'ensure_services_stopped': (1, 99),
    'register_db_to_save': (1, 99),
    'register_project_for_upgrade': (1, 1),
    'upgrade_project': (4, 4),
}

STORE = """
resource_save() { echo "$3" >"$SAVE_DIR/$1.$2"; }
resource_get() { cat "$SAVE_DIR/$1.$2"; }
"""
"""What plug-ins keep from one phase to the next, in files of SAVE_DIR."""

PLUGINS = """
declare -A GITREPO=(["nova-market"]=https://example.org/nova-market.git) GITBRANCH=(["nova-market"]=main)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """services: those that the DevStack of both sides has"""

    services: str

    def settings(self) -> list[Call]:
        """What the settings of the plug-in call."""
        return self._run(f'source {ROOT}/devstack/upgrade/settings')

    def run(self, script: str) -> list[Call]:
        """One of the scripts, in a process of its own as Grenade starts them; tracing is not shown."""
        path = shlex.quote(f'{ROOT}/devstack/upgrade/{script}')
        return self._run(f'bash {path} >/dev/null 2>&1')

    def _run(self, command: str) -> list[Call]:
        with tempfile.TemporaryDirectory() as directory:
            functions = '\n'.join([ANSWERS, RECORDED, VARIABLES, 'unset SERVICE_PROTOCOL', PLUGINS])
            files = {
                'grenade': {'grenaderc': '', 'functions': functions},
                'devstack': {'functions': '', 'stackrc': '', 'lib/apache': '', 'lib/tls': ''},
                'save': {},
                'etc/nova_market': {'nova_market.conf': ''},
            }
            for folder, texts in files.items():
                Path(directory, folder).mkdir(parents=True)
                for name, text in texts.items():
                    path = Path(directory, folder, name)
                    path.parent.mkdir(exist_ok=True)
                    path.write_text(text)
            script = '\n'.join(
                [
                    f'export GRENADE_DIR={directory}/grenade SAVE_DIR={directory}/save',
                    f'export BASE_DEVSTACK_DIR={directory}/devstack TARGET_DEVSTACK_DIR={directory}/devstack',
                    'export BASE_DEVSTACK_BRANCH=stable/2026.1 TARGET_DEVSTACK_BRANCH=master',
                    f'export NOVA_MARKET_CONF_DIR={directory}/etc/nova_market',
                    'source "$GRENADE_DIR/functions"' if 'settings' in command else '',
                    command,
                ]
            )
            names = {**CONTRACT, **GRENADE}
            calls = Node(services=self.services).shell(script, names=names)
            if 'upgrade.sh' in command:
                assert Path(directory, 'save/etc.nova_market/nova_market.conf').exists()
        return [tuple(word.replace(directory, '') for word in call) for call in calls]
