# SPDX-License-Identifier: Apache-2.0
"""The directory of a playground: all that it writes is in it, and one playground runs in it at a time.

playground.json    what the directory is, and which format it has
world.json         the cloud in memory and the time of its clock, when it was saved last
market.sqlite      the database of the services; nova_market.conf: their configuration
clouds.yaml        the logins, for openstackclient; passwords.json: with that of the services
clock.json         the cloud's clock, for the client; shell: runs the client
log, mail          what the services log; mail that they send

What has a password in it, and the database, is for its owner only.
"""

import fcntl
import json
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nova_market.adapters.state_file import JsonFile
from nova_market.errors import BadPlayground
from nova_market.playground.people import DOMAIN, LOGINS, SERVICE

ADDRESS = '127.0.0.1'
"""Where a playground listens: nobody but this machine reaches it."""

FORMAT = 1
"""Of what is kept; another one is not read."""

MARKER = 'playground.json'
ODD = frozenset('?#\n')
"""Characters that the URL of a database cannot have in a path."""

CLOUD = """  {name}:
    auth_type: password
    auth:
      auth_url: {url}/identity/v3
      username: {name}
      password: {password}
      project_name: {project}
      user_domain_id: {domain}
      project_domain_id: {domain}
    region_name: RegionOne
    identity_api_version: '3'
"""

SHELL = """#!/bin/sh
# A shell for the playground in this directory, or one command in it:  shell [USER [COMMAND...]]
user=${{1:-alice}}
[ $# -eq 0 ] || shift
here=$(cd "$(dirname "$0")" && pwd) || exit
for name in $(env | sed -n 's/^\\(OS_[A-Z_]*\\)=.*/\\1/p'); do unset "$name"; done
export OS_CLIENT_CONFIG_FILE="$here/clouds.yaml" OS_CLOUD="$user" OS_MARKET_CLOCK="$here/clock.json"
export PATH={bin}:"$PATH" XDG_CACHE_HOME="$here/cache"
[ $# -eq 0 ] || exec "$@"
echo "You are $user. Try: openstack market account show; exit leaves this shell." >&2
PS1="playground $user\\$ " exec "${{PLAYGROUND_SHELL:-/bin/sh}}"
"""

CONFIGURATION = """# of the playground in this directory, written again at each start
[database]
connection = sqlite:///{path}/market.sqlite
sqlite_synchronous = false
[market]
coordination_url =
period = 60
total_credits = 24000
reserve_price_cpu = 0.05
new_project_weight = 1
[api]
request_rate = 0
response_validation = ignore
[controller]
interval = 20
[jobs]
interval = 20
poll = 20
heartbeat = 60
worker_url = {url}/market
[leases]
interval = 30
price_core_hour = 20
host_watts = *:160:120
[power]
mode = auto
fullest = 0.8
spare_hosts = 1
idle = 900
least_off = 900
wake = 240
[notices]
interval = 20
mail_domains = *
[offers]
valid = 3600
[openstack]
{account}
[keystone_authtoken]
{account}
interface = public
memcached_servers =
www_authenticate_uri = {url}/identity
"""

ACCOUNT = """auth_type = password
auth_url = {url}/identity/v3
username = {name}
password = {password}
project_name = {project}
user_domain_id = {domain}
project_domain_id = {domain}
region_name = RegionOne"""


class Folder:
    """Nothing is read or written before `open`."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock: int | None = None
        self._world = JsonFile(str(self.path / 'world.json'), 0o600, durable=False)

    def open(self, version: str) -> None:
        """Make the directory, if need be, and keep others out of it until `close`. version: of this program

        :raises BadPlayground: it is not a playground's, or of another format, or another one runs there.
        """
        if ODD & set(str(self.path)):
            raise BadPlayground(
                f'{self.path}: the path has one of "?" and "#", which the URL of its database cannot have; '
                'give another --directory'
            )
        if not (self.path / MARKER).exists():
            self._make(version)
        self._check(version)
        self._lock = os.open(self.path / 'lock', os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise BadPlayground(
                f'a playground runs in {self.path} already; end it with Ctrl-C, or give another --directory'
            ) from None

    def close(self) -> None:
        """Let others in."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def passwords(self) -> Mapping[str, str]:
        """Of those who log in and of the services, by name: random ones, made at the first start."""
        file = JsonFile(str(self.path / 'passwords.json'), 0o600)
        known = {str(k): str(v) for k, v in (file.load() or {}).items()}
        names = [one.name for one in (*LOGINS, SERVICE)]
        if set(names) - known.keys():
            known = {name: secrets.token_hex(10) for name in names} | known
            file.save(known)
        return known

    def world(self) -> Mapping[str, Any] | None:
        """What was saved last; None: it was never saved."""
        return self._world.load()

    def save(self, world: Mapping[str, Any]) -> None:
        """In place of what was saved before."""
        self._world.save(world)

    def begin_anew(self) -> None:
        """Take away what an earlier start has left that was ended before it had saved anything."""
        for name in ('market.sqlite', 'market.sqlite-wal', 'market.sqlite-shm'):
            (self.path / name).unlink(missing_ok=True)

    def state_clock(self, wall: float, at: float, speed: float) -> None:
        """For clients: at the time `at` of the machine the cloud's clock had `wall`, and it runs so fast."""
        file = JsonFile(str(self.path / 'clock.json'), 0o600, durable=False)
        file.save({'wall': wall, 'at': at, 'speed': speed})

    def configure(self, url: str) -> Path:
        """Write what depends on the address; the configuration of the services."""
        passwords = self.passwords()
        clouds = [
            CLOUD.format(
                name=one.name, url=url, password=passwords[one.name], project=one.project,
                domain=DOMAIN,
            )
            for one in LOGINS
        ]  # fmt: skip
        self._write('clouds.yaml', 'clouds:\n' + ''.join(clouds), 0o600)
        programs = "'" + str(Path(sys.executable).parent).replace("'", "'\\''") + "'"
        self._write('shell', SHELL.format(bin=programs), 0o700)
        account = ACCOUNT.format(
            url=url, name=SERVICE.name, password=passwords[SERVICE.name], project=SERVICE.project,
            domain=DOMAIN,
        )  # fmt: skip
        # oslo.config takes a dollar sign for the name of another option
        path = str(self.path).replace('$', '$$')
        text = CONFIGURATION.format(path=path, url=url, account=account)
        return self._write('nova_market.conf', text, 0o600)

    def _make(self, version: str) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            empty = not any(self.path.iterdir())
        except OSError as error:
            raise BadPlayground(
                f'{self.path}: {error.strerror}; give another --directory'
            ) from None
        if not empty:
            raise BadPlayground(
                f'{self.path} is not empty, and no playground of nova-market: nothing in it is touched; '
                'give a --directory that is new or empty'
            )
        try:
            self._write(MARKER, json.dumps({'format': FORMAT, 'version': version}), 0o600)
        except OSError as error:
            raise BadPlayground(
                f'{self.path}: {error.strerror}; give another --directory'
            ) from None

    def _check(self, version: str) -> None:
        try:
            found = json.loads((self.path / MARKER).read_text(encoding='utf-8'))
            kept, made_by = found['format'], found['version']
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadPlayground(
                f'{self.path / MARKER} cannot be read ({error}): delete the directory, or give another '
                '--directory'
            ) from None
        if kept != FORMAT:
            raise BadPlayground(
                f'{self.path} was made by {made_by}, and {version} does not read it: give another '
                '--directory, or delete this one'
            )

    def _write(self, name: str, text: str, mode: int) -> Path:
        """Whole or not at all."""
        path = self.path / name
        made = self.path / f'.{name}.new'
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), 'w') as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
        made.replace(path)
        return path
