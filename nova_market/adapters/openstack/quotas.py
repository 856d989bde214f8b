# SPDX-License-Identifier: Apache-2.0
"""Quotas of projects, read from Nova through openstacksdk with the account of group [openstack].

Implements the actual quota of IFI-2016.04, eq. 3, whose cores and memory are Nova's. Units: cores, MiB;
-1 = unlimited.
"""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from openstack import connection
from openstack import exceptions as sdk_errors
from oslo_config import cfg

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.openstack.answers import translated
from nova_market.adapters.openstack.session import connector
from nova_market.core.exchange.validation import MAX_QUOTA
from nova_market.core.resource import OwnerId
from nova_market.errors import CloudUnavailable, QuotaUnavailable
from nova_market.ports import Clock

LOG = logging.getLogger(__name__)


READING_SECONDS = 60.0
"""Time limit of one reading; what it got by then is kept, and the next one goes on from there."""

PROJECT_ID = re.compile(r'[A-Za-z0-9_.-]{1,64}', re.ASCII)
"""What may stand in a URL: an owner comes from a guest's metadata."""

Quota = tuple[int, int]


class OpenStackQuotas:
    """Implements ports.QuotaSource. For one thread."""

    def __init__(
        self,
        connect: Callable[[], connection.Connection],
        refresh: float = 300.0,
        clock: Clock | None = None,
    ) -> None:
        """connect: makes the connection, at first use.

        refresh: seconds for which a quota is not read again.
        """
        self._connect = connect
        self._refresh = refresh
        self._clock = clock or SystemClock()
        self._connection: connection.Connection | None = None
        self._known: dict[OwnerId, tuple[float, Quota | None]] = {}

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> 'OpenStackQuotas':
        """With the account of group [openstack]; nothing is connected yet.

        :raises ConfigurationError: the account is not complete.
        """
        connect = connector(conf, '[fairness]quota_source = openstack')
        return cls(connect, conf.fairness.quota_refresh)

    def quotas(self, owners: Sequence[OwnerId]) -> Mapping[OwnerId, Quota]:
        started = self._clock.monotonic()
        projects = {owner for owner in owners if PROJECT_ID.fullmatch(owner)}
        wanted = sorted(projects)
        self._known = {o: known for o, known in self._known.items() if o in projects}
        missing = [owner for owner in wanted if not self._fresh(owner, started)]
        for number, owner in enumerate(missing):
            now = self._clock.monotonic()
            if now - started > READING_SECONDS:
                raise QuotaUnavailable(
                    f'{number} of {len(missing)} quotas read in {now - started:.0f} s; the rest follows'
                )
            self._known[owner] = (now, self._read(owner))
        quotas = {owner: self._known[owner][1] for owner in wanted}
        return {owner: quota for owner, quota in quotas.items() if quota is not None}

    def _fresh(self, owner: OwnerId, now: float) -> bool:
        return owner in self._known and now - self._known[owner][0] < self._refresh

    def _read(self, owner: OwnerId) -> Quota | None:
        """One project's quota, None when there is no such project."""
        try:
            with translated():
                found = self._asked(owner)
        except CloudUnavailable as error:
            raise QuotaUnavailable(str(error)) from None
        if found is None:
            return None
        quota = (found.cores, found.ram)
        if not all(isinstance(n, int) and -1 <= n <= MAX_QUOTA for n in quota):
            LOG.warning('quota of %s is left out: cores %r, ram %r', owner, *quota)
            return None
        return quota

    def _asked(self, owner: OwnerId) -> Any:
        if self._connection is None:
            self._connection = self._connect()
        try:
            return self._connection.compute.get_quota_set(owner)
        except (sdk_errors.NotFoundException, sdk_errors.BadRequestException) as error:
            # Nova answers 400 for a project that Keystone does not know
            LOG.debug('no quota of %s: %s', owner, error)
            return None
