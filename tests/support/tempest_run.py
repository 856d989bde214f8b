# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of our plug-in under Tempest, with accounts that there are: nothing is made in Keystone."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from configparser import ConfigParser
from pathlib import Path

import yaml

from tests.support.documentation.sessions import ROOT

Options = Mapping[str, Mapping[str, object]]

ABSENT = ('cinder', 'glance', 'horizon', 'neutron', 'nova', 'swift')
"""Services that Tempest expects unless its configuration says otherwise."""


def run_tempest(
    directory: Path, accounts: Sequence[Mapping[str, object]], options: Options
) -> dict[str, int]:
    """Tests that `Passed` or `Failed`, and classes of which none was run, `Skipped`.

    accounts: as in accounts.yaml. options: section -> options, beside what is the same everywhere

    :raises AssertionError: Tempest did not run, or a test failed; with what it printed.
    """
    directory.joinpath('accounts.yaml').write_text(yaml.safe_dump(list(accounts)))
    conf = ConfigParser()
    conf.read_dict(
        {
            'DEFAULT': {'log_file': f'{directory}/tempest.log'},
            'oslo_concurrency': {'lock_path': f'{directory}/locks'},
            'auth': {
                'use_dynamic_credentials': 'false',
                'test_accounts_file': f'{directory}/accounts.yaml',
            },
            'identity': {'auth_version': 'v3', 'region': 'RegionOne'},
            'service_available': dict.fromkeys(ABSENT, 'false'),
        }
    )
    conf.read_dict(options)
    with directory.joinpath('tempest.conf').open('w') as file:
        conf.write(file)
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name('tempest')),
            *('run', '--serial', '--config-file', str(directory / 'tempest.conf')),
            *('--regex', '^nova_market.tempest_plugin'),
        ],
        cwd=directory,
        env={**os.environ, 'PYTHONPATH': str(ROOT)},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    found = re.findall(r'- (Passed|Skipped|Failed): (\d+)', done.stdout)
    counts = {kind: int(number) for kind, number in found}
    assert counts and not counts['Failed'], done.stdout + done.stderr
    return counts
