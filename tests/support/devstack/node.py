# SPDX-License-Identifier: Apache-2.0
"""A DevStack node on which nothing happens: the functions that DevStack offers to plugins are recorded.

The contract is that of DevStack's functions, functions-common, lib/ and inc/, as far as the plugin uses it.
CONTRACT has the number of arguments; a function that is not in it is unknown to the shell, and the run fails.
What a caller gets back is in ANSWERS. DevStack itself needs systemd and a machine of its own, so nothing here
shows that these functions do there what their names promise.
"""

import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.documentation.sessions import ROOT

CONTRACT: Mapping[str, tuple[int, int]] = {
    'async_wait': (1, 99),
    'configure_keystone_authtoken_middleware': (2, 3),
    'create_service_user': (1, 2),
    'define_plugin': (1, 1),
    'die': (2, 99),
    'disable_service': (1, 99),
    'echo_summary': (1, 99),
    'enable_plugin': (2, 3),
    'enable_service': (1, 99),
    'get_or_add_user_project_role': (3, 5),
    'get_or_create_endpoint': (3, 5),
    'get_or_create_role': (1, 1),
    'get_or_create_service': (3, 3),
    'get_or_create_user': (3, 4),
    'iniset': (4, 4),
    'iniset_multiline': (4, 99),
    'iniset_rpc_backend': (2, 4),
    'install': (2, 99),
    'recreate_database': (1, 1),
    'remove_uwsgi_config': (2, 2),
    'run_process': (2, 4),
    'setup_develop': (1, 3),
    'setup_logging': (1, 2),
    'stop_process': (1, 1),
    'sudo': (1, 99),
    'wait_for_service': (2, 2),
    'write_uwsgi_config': (3, 5),
}
"""Function -> the least and the most arguments. `install` and `sudo` are programs that would change files."""

ANSWERS = """
apache_site_config_for() { echo "/etc/apache2/sites-available/$1.conf"; }
database_connection_url() { echo "mysql+pymysql://root:secret@127.0.0.1/$1?charset=utf8"; }
get_python_exec_prefix() { echo "$BIN"; }
iniget() { echo "$FILTERS"; }
is_service_enabled() {
    local service
    for service in "$@"; do
        [[ ,$ENABLED_SERVICES, == *",$service,"* ]] && return 0
    done
    return 1
}
join_extras() { local IFS=,; echo "$*"; }
trueorfalse() {
    case ${!2:-} in
        1 | yes | Yes | YES | true | True | TRUE) echo True ;;
        0 | no | No | NO | false | False | FALSE) echo False ;;
        *) echo "$1" ;;
    esac
}
"""
"""Functions whose output or exit status the plugin uses; they are not recorded."""

RECORDED = """
record() { printf ' %q' "$@" >&3; echo >&3; }
for name in $NAMES; do
    eval "$name() { record $name \\"\\$@\\"; }"
done
enable_service() {
    local service
    record enable_service "$@"
    for service in "$@"; do
        [[ ,$DISABLED_SERVICES, == *",$service,"* ]] || ENABLED_SERVICES+=",$service"
    done
}
disable_service() {
    local service
    record disable_service "$@"
    for service in "$@"; do
        DISABLED_SERVICES+=",$service" ENABLED_SERVICES=,$ENABLED_SERVICES,
        ENABLED_SERVICES=${ENABLED_SERVICES//,$service,/,}
    done
}
run_process() { if is_service_enabled "$1"; then record run_process "$@"; fi }
stop_process() { if is_service_enabled "$1"; then record stop_process "$@"; fi }
wait_for_service() { record wait_for_service "$@"; [[ $ANSWERING == yes ]]; }
die() { record die "$@"; exit 1; }
"""

VARIABLES = """
ENABLED_SERVICES=$SERVICES DISABLED_SERVICES=
NOVA_CONF=/etc/nova/nova.conf TEMPEST_CONFIG=/opt/stack/tempest/etc/tempest.conf
DEST=/opt/stack DATA_DIR=/opt/stack/data STACK_USER=stack ENABLE_DEBUG_LOG_LEVEL=True
HOST_IP=192.0.2.1 SERVICE_TIMEOUT=60
KEYSTONE_SERVICE_URI=http://192.0.2.1/identity SERVICE_PASSWORD=secret REGION_NAME=RegionOne
SERVICE_DOMAIN_NAME=Default SERVICE_PROJECT_NAME=service SERVICE_PROTOCOL=http SERVICE_HOST=192.0.2.1
DATABASE_BACKENDS="mysql postgresql"
"""

PROGRAMS = ('nova-market-manage', 'nova-market-status')
"""Ours that the plugin runs itself, recorded too."""

Call = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One machine of a DevStack cloud.

    services: those that are enabled before local.conf is read
    localrc: lines of local.conf
    filters: what nova.conf has as enabled_filters
    answering: do APIs answer after they were started?
    """

    services: str
    localrc: str = ''
    filters: str = 'ComputeFilter'
    answering: bool = True

    def run(self, *phases: str, fails: bool = False) -> list[Call]:
        """What the plugin calls of DevStack in these phases, in one shell as stack.sh has one.

        :raises AssertionError: the shell printed an error, or a call is not one that DevStack takes.
        """
        script = '\n'.join(
            [
                'set -o errexit -o nounset',
                ANSWERS,
                RECORDED,
                VARIABLES,
                f'NOVA_MARKET_DIR={shlex.quote(str(ROOT))}',
                self.localrc,
                'source "$NOVA_MARKET_DIR/devstack/settings"',
                *(f'source "$NOVA_MARKET_DIR/devstack/plugin.sh" {phase}' for phase in phases),
            ]
        )
        return self.shell(script, fails=fails)

    def shell(
        self,
        script: str,
        *,
        names: Mapping[str, tuple[int, int]] = CONTRACT,
        fails: bool = False,
    ) -> list[Call]:
        """The calls that a script makes of what is recorded; descriptor 3 is the record."""
        with tempfile.TemporaryDirectory() as directory:
            bin_dir, record = Path(directory, 'bin'), Path(directory, 'record')
            bin_dir.mkdir()
            for program in PROGRAMS:
                text = f'#!/bin/bash\nprintf " %q" {program} "$@" >&3; echo >&3\n'
                (bin_dir / program).write_text(text)
            (bin_dir / 'uwsgi').write_text('#!/bin/false\n')
            for program in bin_dir.iterdir():
                program.chmod(0o755)
            done = subprocess.run(
                ['bash', '-c', f'exec 3>{shlex.quote(str(record))}\n{script}'],
                env={**self._environment(bin_dir), 'NAMES': ' '.join(names)},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            written = record.read_text().replace(directory, '/usr/local')
        assert (done.stderr, done.returncode) == ('', int(fails))
        return [checked(shlex.split(line), names) for line in written.splitlines()]

    def _environment(self, bin_dir: Path) -> dict[str, str]:
        return {
            'PATH': f'{bin_dir}:/usr/bin:/bin',
            'BIN': str(bin_dir),
            'SERVICES': self.services.replace(' ', ','),
            'FILTERS': self.filters,
            'ANSWERING': 'yes' if self.answering else 'no',
        }


def checked(call: Sequence[str], names: Mapping[str, tuple[int, int]]) -> Call:
    """:raises AssertionError: DevStack's function would not take it."""
    name, *arguments = call
    if name in names:
        least, most = names[name]
        assert least <= len(arguments) <= most, f'{name} takes {least} to {most} arguments: {call}'
    if name == 'run_process':
        # systemd starts what has an absolute path, and DevStack refuses sudo
        assert arguments[1].startswith('/'), call
        assert 'sudo' not in arguments[1], call
    return tuple(call)


def options(calls: Sequence[Call], file: str) -> dict[tuple[str, str], str]:
    """Section and option -> the value that a file has at the end."""
    return {(call[2], call[3]): call[4] for call in calls if call[:2] == ('iniset', file)}


def named(calls: Sequence[Call], name: str) -> list[Call]:
    return [call for call in calls if call[0] == name]
