# SPDX-License-Identifier: Apache-2.0
"""The file of [power]redfish_hosts: which management controller switches which host, and its credentials.

JSON: {"compute-1": {"address": "https://10.0.0.1", "username": "...", "password": "..."}, ...}. Messages name
the entry, never a value of it.
"""

import os
import stat
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from nova_market.core.resource import HostName
from nova_market.errors import ConfigurationError

OPTION = '[power]redfish_hosts'


class Controller(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """address: https URL without a path; system: path of the host there, '': the only one
    auth: basic for a controller without sessions
    certificates: file with the authority of its certificate, PEM; '': those of this machine
    """

    address: str
    username: str
    password: str
    system: str = ''
    auth: Literal['session', 'basic'] = 'session'
    certificates: str = ''

    def __repr__(self) -> str:
        """Without the password."""
        return f'Controller({self.address})'


def controllers(path: str) -> dict[HostName, Controller]:
    """By host. :raises ConfigurationError: names the file, the entry and what it must be."""
    where = f'{OPTION} = {path}'
    if not path:
        raise ConfigurationError(
            f'{OPTION} is not set; the power actuator redfish needs the file of the controllers'
        )
    try:
        with open(path, 'rb') as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            text = file.read()
    except OSError as error:
        raise ConfigurationError(f'{where}: cannot be read ({error.strerror})') from None
    if mode & 0o077:
        raise ConfigurationError(
            f'{where}: mode {mode:04o} lets others read or change the passwords; "chmod 600 {path}", and '
            'change the passwords if somebody may have read them'
        )
    try:
        found = msgspec.json.decode(text, type=dict[str, Controller])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f'{where}: {error}') from None
    for host, one in found.items():
        _check(f'{where}: {host}', one)
    return {HostName(host): one for host, one in found.items()}


def _check(where: str, one: Controller) -> None:
    try:
        parts = urlsplit(one.address)
        fine = parts.scheme == 'https' and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fine = False
    if not fine or parts.path.strip('/') or parts.query or parts.username is not None:
        raise ConfigurationError(f'{where}: give address as https://NAME or https://NAME:PORT')
    if one.system and not one.system.startswith('/redfish/'):
        raise ConfigurationError(f'{where}: give system as a path, such as /redfish/v1/Systems/1')
    if one.certificates and not os.path.isfile(one.certificates):
        raise ConfigurationError(f'{where}: there is no file {one.certificates} of certificates')
