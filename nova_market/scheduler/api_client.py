# SPDX-License-Identifier: Apache-2.0
"""Reads the snapshot from the market API, with the account of group [nova_market] of nova.conf.

Implements rule S2 of doc/source/specs/market.rst. Used by a background thread only.
"""

from dataclasses import replace
from typing import Any

import requests
from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1 import loading
from keystoneauth1.adapter import Adapter
from oslo_config import cfg

from nova_market.conf.scheduler import GROUP as OPTIONS
from nova_market.core.scheduler.reserved import reserved_from
from nova_market.core.scheduler.snapshot import SchedulerSnapshot, snapshot_of
from nova_market.core.scheduler.snapshot_reader import MAX_CARRIERS, SnapshotDocument, read_answer
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

MAX_NESTED = 1000 + MAX_CARRIERS
"""Lists and objects in an answer: a server that carries a lease is one, all the rest of a snapshot about 60.
To parse millions would stop all threads of the process for seconds."""


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
        document = read_answer(_flat(self._get(f'{PATH}{_query(known)}')))
        if known is None:
            return snapshot_of(document), document.age
        if document.hosts is not None:
            return _with_reserved(snapshot_of(document), document, known), document.age
        if document.period != known.period:
            raise BadSnapshot('the market API answers a round without its tables')
        found = _with_reserved(known, document, known)
        return None if found is known else found, document.age

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


def _query(known: SchedulerSnapshot | None) -> str:
    """What the API need not send again. An older one takes no `known_reserved`, and has published none."""
    if known is None:
        return ''
    version = f'&known_reserved={known.reserved.version}' if known.reserved else ''
    return f'?known={known.period}{version}'


def _with_reserved(
    found: SchedulerSnapshot, document: SnapshotDocument, known: SchedulerSnapshot
) -> SchedulerSnapshot:
    """With what leases have reserved now.

    :raises BadSnapshot: it is no sound table.
    """
    held, at = known.reserved, document.reserved_at
    if document.reserved is not None:
        return (
            found
            if found is not known
            else replace(known, reserved=reserved_from(document.reserved))
        )
    if held is not None and at is not None and held.at != at:
        held = replace(held, at=at)
    return found if found.reserved is held else replace(found, reserved=held)


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
