# SPDX-License-Identifier: Apache-2.0
"""Reads the snapshot from the market API, with the account of group [nova_market] of nova.conf.

Implements rule S2 of doc/source/specs/market.rst. Used by a background thread only.
"""

from typing import Any

import requests
from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1 import loading
from keystoneauth1.adapter import Adapter
from oslo_config import cfg

from nova_market.conf.scheduler import GROUP as OPTIONS
from nova_market.core.scheduler.snapshot import SchedulerSnapshot, snapshot_of
from nova_market.core.scheduler.snapshot_reader import MAX_LEASES, read_answer
from nova_market.errors import BadSnapshot, CloudUnavailable, ConfigurationError
from nova_market.http_deadline import DeadlineAdapter

GROUP = OPTIONS.name
PATH = '/v1/scheduler-snapshot'
MIB = 2**20
CHUNK = 256 * 1024

REQUEST_SECONDS = 10.0
"""Longest pause within an answer, where [nova_market]timeout sets none."""

READING_SECONDS = 60.0
"""For a whole answer with all that it needs, a token for example: one that trickles in is given up."""

MAX_NESTED = 1000 + 2 * MAX_LEASES
"""Lists and objects in an answer: a lease has two of them, all the rest of a snapshot about 40. To parse
millions would stop all threads of the process for seconds."""


class MarketApi:
    """The published snapshot. For one thread; connects at first use."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._adapter: Adapter | None = None
        self._http = DeadlineAdapter()

    def read(self, known: SchedulerSnapshot | None) -> tuple[SchedulerSnapshot | None, float]:
        """(a newer snapshot, or None when `known` is the newest; seconds since its round began).

        :raises CloudUnavailable: the API does not answer, or not with a snapshot.
        :raises BadSnapshot: it is none that can be used.
        :raises ConfigurationError: the account is not complete.
        """
        query = '' if known is None else f'?known={known.period}'
        document = read_answer(_flat(self._get(f'{PATH}{query}')))
        if known is not None and document.hosts is None:
            if document.period == known.period:
                return None, document.age
            raise BadSnapshot('the market API answers a round without its tables')
        return snapshot_of(document), document.age

    def _get(self, path: str) -> bytes:
        adapter = self._adapter or self._connected()
        self._http.begin(READING_SECONDS)
        try:
            # keystoneauth would read a body whole that it logs, or makes an error of
            response = adapter.get(
                path,
                stream=True,
                raise_exc=False,
                log=False,
                headers={'Accept': 'application/json'},
            )
            with response:
                if response.status_code != 200:
                    raise CloudUnavailable(
                        f'the market API answers HTTP {response.status_code} {response.reason!s:.100}'
                    )
                return _read(response, self._conf[GROUP].max_snapshot_mib * MIB)
        # what requests raises while a body is read is an OSError
        except (keystone_errors.ClientException, OSError) as error:
            if self._http.left <= 0:
                raise CloudUnavailable(
                    f'the answer takes longer than {READING_SECONDS:g} s'
                ) from None
            raise CloudUnavailable(f'{type(error).__name__}: {str(error)[:200]}') from None

    def _connected(self) -> Adapter:
        options = self._conf[GROUP]
        try:
            auth = loading.load_auth_from_conf_options(self._conf, GROUP)
            if auth is None:
                raise ConfigurationError(
                    f'[{GROUP}]auth_type is not set: filters and weighers need an account with the role '
                    'service (auth_type = password, auth_url, username, ...)'
                )
            http = requests.Session()
            for scheme in ('http://', 'https://'):
                http.mount(scheme, self._http)
            session = loading.load_session_from_conf_options(
                self._conf,
                GROUP,
                auth=auth,
                session=http,
                timeout=options.timeout or REQUEST_SECONDS,
            )
            self._adapter = loading.load_adapter_from_conf_options(
                self._conf, GROUP, session=session, auth=auth
            )
        except (keystone_errors.ClientException, ValueError) as error:
            raise ConfigurationError(f'[{GROUP}]: {error}') from None
        return self._adapter


def _flat(raw: bytes) -> bytes:
    """The body, unless it holds more than a snapshot can.

    :raises BadSnapshot: it has too many lists and objects.
    """
    found = raw.count(b'[') + raw.count(b'{')
    if found > MAX_NESTED:
        raise BadSnapshot(
            f'the answer has {found} lists and objects, a snapshot at most {MAX_NESTED}'
        )
    return raw


def _read(response: Any, most: int) -> bytes:
    """The body of a response of requests, if it is no longer than this.

    :raises BadSnapshot: it is longer.
    """
    parts: list[bytes] = []
    size = 0
    for chunk in response.iter_content(CHUNK):
        size += len(chunk)
        if size > most:
            raise BadSnapshot(
                f'the answer is longer than [{GROUP}]max_snapshot_mib = {most // MIB}: raise it, '
                'or check which service answers there'
            )
        parts.append(chunk)
    return b''.join(parts)
