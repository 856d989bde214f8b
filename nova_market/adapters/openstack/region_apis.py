# SPDX-License-Identifier: Apache-2.0
"""APIs of other regions, asked for offers with the application credential of group [regions].

Implements ports.ChildRegions, for rules O5 and O6 of doc/source/specs/tender.rst. All that is read of a
region ends at one deadline: a token, the status line, headers and the body, however slowly they come. A
region that did not answer is not asked again for some seconds, so that not every request waits for it. A
token that is good for more than such a request is sent to no region.

Units: seconds, bytes.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import requests
from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1 import loading
from keystoneauth1.adapter import Adapter
from oslo_config import cfg

from nova_market.adapters.openstack.answers import FAILURES, described
from nova_market.adapters.openstack.session import GROUP
from nova_market.conf.offers import children_of
from nova_market.conf.regions import GROUP as CREDENTIAL
from nova_market.conf.regions import PLUGIN
from nova_market.core.service_type import SERVICE_TYPE
from nova_market.core.tender.region_answer import (
    MAX_ANSWER,
    Expected,
    RegionAnswer,
    read_answer,
    reason,
)
from nova_market.core.tender.region_credential import PATH, excess
from nova_market.errors import BadRegionAnswer, CloudAway, CloudUnavailable, ConfigurationError
from nova_market.http_deadline import DeadlineAdapter
from nova_market.outage_log import OutageLog
from nova_market.ports import RegionReply

LOG = logging.getLogger(__name__)

CHUNK = 64 * 1024
MOST_AT_ONCE = 16
"""Requests to one region that have no answer yet; it takes no more than that from us."""

PAUSE = 5.0
"""After a region has not answered."""

REFUSED = frozenset({400, 404, 409})
"""What a region answers that has nothing for this request."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Client:
    """For one request at a time: what it reads ends at the deadline of that request."""

    adapter: Adapter
    http: DeadlineAdapter


@dataclass(slots=True, eq=False, kw_only=True)
class _Region:
    """One child. The lock is for what follows it."""

    name: str
    connect: Callable[[], _Client]
    outage: OutageLog
    lock: threading.Lock = field(default_factory=threading.Lock)
    idle: list[_Client] = field(default_factory=list)
    active: int = 0
    silent_until: float = 0.0


class RegionApis:
    """For many threads; connects at first use."""

    def __init__(self, children: Mapping[str, Callable[[], _Client]], version: str) -> None:
        """children: what makes a client of each; version: microversion, such as `market 1.8`."""
        self._version = version
        self._regions = {
            name: _Region(
                name=name,
                connect=connect,
                outage=OutageLog(
                    LOG,
                    lost=f'region {name} makes no offers, others do',
                    back=f'region {name} makes offers again',
                ),
            )
            for name, connect in children.items()
        }

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, version: str) -> 'RegionApis':
        """The regions of [offers]children.

        :raises ConfigurationError: a name or the credential cannot be used.
        """
        children = children_of(conf)
        auth = _credential(conf) if children else None

        def connector(name: str, url: str | None) -> Callable[[], _Client]:
            return lambda: _connected(conf, auth, name, url)

        return cls({name: connector(name, url) for name, url in children.items()}, version)

    @property
    def names(self) -> Sequence[str]:
        """In the order in which they are configured."""
        return tuple(self._regions)

    def ask(
        self, body: Mapping[str, Any], expected: Expected, regions: Sequence[str], within: float
    ) -> Callable[[], Sequence[RegionReply]]:
        """Ask them at once; what comes back waits for their replies. ports.ChildRegions."""
        text = json.dumps(body).encode()
        end = time.monotonic() + within
        found: dict[str, RegionReply] = {}

        def ask_one(region: _Region) -> None:
            found[region.name] = self._reply(region, text, expected, end)

        threads = [
            threading.Thread(target=ask_one, args=(self._regions[name],), daemon=True)
            for name in regions
        ]
        for one in threads:
            one.start()

        def wait() -> Sequence[RegionReply]:
            for one in threads:
                one.join(max(end - time.monotonic(), 0.0))
            late = f'did not answer in {within:g} s'
            return [found.get(name) or RegionReply(region=name, why=late) for name in regions]

        return wait

    def _reply(self, region: _Region, body: bytes, expected: Expected, end: float) -> RegionReply:
        now = time.monotonic()
        with region.lock:
            if now < region.silent_until:
                why = f'did not answer before: not asked for {region.silent_until - now:.0f} s'
                return RegionReply(region=region.name, why=why)
            if region.active >= MOST_AT_ONCE:
                why = f'{MOST_AT_ONCE} requests wait for it already'
                return RegionReply(region=region.name, why=why)
            region.active += 1
        try:
            answer, why = self._answer(region, body, expected, end)
        except CloudAway as error:
            with region.lock:
                region.silent_until = time.monotonic() + PAUSE
            answer, why = None, str(error)
            region.outage.failed(why, kind='away')
        except (CloudUnavailable, BadRegionAnswer) as error:
            answer, why = None, str(error)
            region.outage.failed(why, kind='answer')
        else:
            region.outage.works()
        finally:
            with region.lock:
                region.active -= 1
        return RegionReply(region=region.name, answer=answer, why=why)

    def _answer(
        self, region: _Region, body: bytes, expected: Expected, end: float
    ) -> tuple[RegionAnswer | None, str]:
        """(the answer, '') or (None, why there are no offers).

        :raises CloudAway, CloudUnavailable, BadRegionAnswer: it is not what it should be.
        """
        with region.lock:
            client = region.idle.pop() if region.idle else None
        try:
            client = client or region.connect()
            status, raw = self._post(client, body, end)
        # what requests raises while a body is read is an OSError
        except FAILURES as error:
            # its connection may hold the rest of an answer: the client is not used again
            if time.monotonic() >= end:
                raise CloudAway('did not answer in time') from None
            raise CloudAway(described(error)) from None
        with region.lock:
            region.idle.append(client)
        if status == 201:
            return read_answer(raw, expected), ''
        why = _refusal(raw) or f'HTTP {status}'
        if status in REFUSED:
            return None, why
        raise CloudUnavailable(f'HTTP {status}: {why}')

    def _post(self, client: _Client, body: bytes, end: float) -> tuple[int, bytes]:
        left = end - time.monotonic()
        if left <= 0:
            raise CloudAway('did not answer in time')
        client.http.begin(left)
        _refuse_excess(client.adapter.session)
        # keystoneauth would read a body whole that it logs, and follow a redirection with the token
        response = client.adapter.post(
            PATH,
            data=body,
            stream=True,
            raise_exc=False,
            log=False,
            redirect=False,
            timeout=left,
            headers={
                'Accept': 'application/json',
                'Accept-Encoding': 'identity',
                'Content-Type': 'application/json',
                'OpenStack-API-Version': self._version,
            },
        )
        with response:
            return int(response.status_code), _read(response)


def _read(response: Any) -> bytes:
    """The body, if it is as short as an answer.

    :raises BadRegionAnswer: it is longer, or packed.
    """
    if response.headers.get('Content-Encoding', 'identity') != 'identity':
        raise BadRegionAnswer('the answer is packed, which was not asked for')
    parts: list[bytes] = []
    size = 0
    for chunk in response.iter_content(CHUNK):
        size += len(chunk)
        if size > MAX_ANSWER:
            raise BadRegionAnswer(f'the answer is longer than {MAX_ANSWER} bytes')
        parts.append(chunk)
    return b''.join(parts)


def _refusal(raw: bytes) -> str:
    """The words of an error; '' for what is none of ours."""
    try:
        return reason(str(json.loads(raw)['errors'][0]['detail']))
    except (ValueError, LookupError, TypeError, RecursionError):
        return ''


def _credential(conf: cfg.ConfigOpts) -> Any:
    """:raises ConfigurationError: it is none, or not complete."""
    given = conf[CREDENTIAL.name].auth_type
    if given != PLUGIN:
        raise ConfigurationError(
            f'[regions]auth_type = {given}: [offers]children are asked with {PLUGIN} alone: a region that is '
            'broken into has the token that it was sent, so that must be good for nothing else'
        )
    try:
        return loading.load_auth_from_conf_options(conf, CREDENTIAL.name)
    except keystone_errors.ClientException as error:
        raise ConfigurationError(f'[regions]: {error}') from None


def _refuse_excess(session: Any) -> None:
    """:raises CloudUnavailable: the token that would be sent is good for more than this request."""
    access = session.auth.get_access(session)
    problem = excess(access.role_names, access.application_credential_access_rules)
    if problem:
        raise CloudUnavailable(f'the credential of [regions] cannot be used: {problem}')


def _connected(conf: cfg.ConfigOpts, auth: Any, name: str, url: str | None) -> _Client:
    """A client of a region, at its address in the catalog or at the one that is given."""
    http, deadline = requests.Session(), DeadlineAdapter()
    for scheme in ('http://', 'https://'):
        http.mount(scheme, deadline)
    session = loading.load_session_from_conf_options(
        conf, GROUP, auth=auth, session=http, timeout=conf.offers.child_timeout
    )
    interfaces = conf[GROUP].valid_interfaces or ['public']
    adapter = Adapter(
        session,
        service_type=SERVICE_TYPE,
        interface=interfaces[0],
        region_name=name,
        endpoint_override=url,
        connect_retries=0,
        status_code_retries=0,
    )
    return _Client(adapter=adapter, http=deadline)
