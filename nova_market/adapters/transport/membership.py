# SPDX-License-Identifier: Apache-2.0
"""Which hosts take part in the exchange: a list in the configuration, or a tooz group.

Both implement ports.Membership. Nothing is kept in tables of Nova or of ours. Units: seconds.
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Mapping

from tooz import coordination

from nova_market.core.resource import HostName
from nova_market.errors import ConfigurationError
from nova_market.outage_log import OutageLog

LOG = logging.getLogger(__name__)

GROUP = b'nova-market-fairness'

MAX_MEMBERS = 10_000
MAX_ADDRESS = 255

PER_MEMBER = 0.06
"""Seconds that the time between two looks at the group grows by with each member. The reply to a look is
as long as the group, so what all hosts cost the backend grows with its square; a thousand hosts then look
once a minute. A host that has died is noticed by its silence, sooner than by a look."""


class StaticMembers:
    """A list that the operator keeps. Implements ports.Membership."""

    def __init__(self, host: HostName, address: str, members: Mapping[HostName, str]) -> None:
        self._members = {host: address} | dict(members)

    def start(self) -> None:
        """Nothing to do."""

    def members(self) -> Mapping[HostName, str]:
        return self._members

    def stop(self) -> None:
        """Nothing to do."""


class ToozMembers:
    """A group of tooz; the last list that was read stays in force while the backend is away.

    Implements ports.Membership. One thread of ours connects, beats and reads; nothing else waits for it.
    """

    def __init__(
        self,
        host: HostName,
        address: str,
        url: str,
        period: float,
        *,
        observer: bool = False,
        known: Callable[[], Mapping[HostName, str] | None] = lambda: None,
    ) -> None:
        """period: seconds between two looks at the group of a small cloud.

        observer: look at the group without being in it, as the market's engine does.
        known:    the hosts that the operator knows, and their addresses, '' where it is as the group has it;
                  others are no members, whoever has written them into the group. None: all are. Called on the
                  thread of the group with each look.

        :raises ConfigurationError: no driver for this URL is installed.
        """
        self._host = host
        self._address = address
        self._period = period
        self._observer = observer
        self._known = known
        self._strangers = 0
        self._members: dict[HostName, str] = {} if observer else {host: address}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._outage = OutageLog(
            LOG,
            lost='the group of hosts can not be read, those that were known last stay in force',
            back='the group of hosts can be read again',
        )
        self._joined = False
        self._looks = 0
        scheme = url.partition(':')[0]
        try:
            # an identity of bytes is what all drivers take
            self._coordinator = coordination.get_coordinator(url, host.encode())
        except Exception as error:
            # stevedore, the driver's import, the URL: the text may hold the URL, and that a password
            raise ConfigurationError(
                f'[exchange]coordination_url: no tooz driver for {scheme!r} can be used '
                f'({type(error).__name__}); install what it needs, for example tooz[redis]'
            ) from None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name='exchange-members', daemon=True)
        self._thread.start()

    def members(self) -> Mapping[HostName, str]:
        return self._members

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(3.0)

    def _run(self) -> None:
        while not self._stopping.is_set():
            wait = self._period
            try:
                wait = self._beat()
            except Exception as error:
                # a driver may raise anything of the library below it
                self._joined = False
                self._outage.failed(f'{type(error).__name__}; {len(self._members)} hosts')
            else:
                self._outage.works(f'{len(self._members)} hosts')
            self._stopping.wait(wait)
        self._leave()

    def _beat(self) -> float:
        """Be there, and look who else is; returns seconds until the next beat."""
        if not self._joined:
            self._join()
        due = self._coordinator.heartbeat() if self._coordinator.requires_beating else None
        beats = max(1, round(len(self._members) * PER_MEMBER / self._period))
        if self._looks % beats == 0:
            self._look()
        self._looks += 1
        return min(self._period, due) if due and due > 0 else self._period

    def _join(self) -> None:
        if not self._coordinator.is_started:
            self._coordinator.start()
        self._looks = 0
        if self._observer:
            return
        capabilities = {'address': self._address}
        try:
            self._coordinator.join_group_create(GROUP, capabilities)
        except coordination.MemberAlreadyExist:
            # what we left behind, perhaps with another address, which not every driver can change
            self._coordinator.leave_group(GROUP).get()
            self._coordinator.join_group_create(GROUP, capabilities)
        self._joined = True

    def _look(self) -> None:
        found: dict[HostName, str] = {}
        try:
            read = self._read()
        except coordination.GroupNotCreated:
            read = {}  # no host has ever been there
        known = self._known()
        strangers = 0
        for name, capabilities in sorted(read.items()):
            host = _text(name)
            address = _text(capabilities.get('address') if isinstance(capabilities, dict) else None)
            if not host or address is None:
                continue
            if known is not None and host not in known and host != self._host:
                strangers += 1
            elif len(found) < MAX_MEMBERS:
                found[HostName(host)] = (known or {}).get(HostName(host)) or address
        self._report_strangers(strangers)
        if self._observer:
            self._members = found
            return
        if self._host not in found:
            self._joined = False  # the backend has forgotten us
        self._members = found | {self._host: self._address}

    def _report_strangers(self, count: int) -> None:
        if count > self._strangers:
            LOG.warning(
                '%d names in the group of hosts are not used: the operator does not know them '
                '([exchange]members, or a key in [exchange]zmq_key_path)',
                count,
            )
        self._strangers = count

    def _read(self) -> dict[bytes, object]:
        """Member -> the capabilities that it, or anybody who can write to the backend, has published."""
        if hasattr(self._coordinator, 'get_members_with_capabilities'):
            # one question instead of one per member, from tooz 9 on
            try:
                return dict(self._coordinator.get_members_with_capabilities(GROUP).get())
            except NotImplementedError:
                pass
        answers = [
            (name, self._coordinator.get_member_capabilities(GROUP, name))
            for name in self._coordinator.get_members(GROUP).get()
        ]
        found: dict[bytes, object] = {}
        for name, answer in answers:
            # gone between the two questions
            with contextlib.suppress(coordination.MemberNotJoined):
                found[name] = answer.get()
        return found

    def _leave(self) -> None:
        try:
            if self._joined:
                self._coordinator.leave_group(GROUP).get()
            if self._coordinator.is_started:
                self._coordinator.stop()
        except Exception as error:
            LOG.debug('leaving the group of hosts: %s', type(error).__name__)


def _text(value: object) -> str | None:
    """A name or an address that somebody else has written into the group; None when it is neither."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return None
    if not isinstance(value, str) or len(value) > MAX_ADDRESS or not (value + ' ').isprintable():
        return None
    return value
