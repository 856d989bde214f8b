# SPDX-License-Identifier: Apache-2.0
"""The feed that all filters and weighers of a process share, made of the options of nova.conf.

Importing it registers group [nova_market] with Nova's own configuration.
"""

import logging

import nova.conf

from nova_market.conf import scheduler
from nova_market.core.scheduler.snapshot import SchedulerSnapshot
from nova_market.scheduler.api_client import MarketApi
from nova_market.scheduler.snapshot_cache import Feed

CONF = nova.conf.CONF

scheduler.register_opts(CONF)

LOG = logging.getLogger(__name__)

ENGINE = 'upgrade nova-market-engine'
"""What publishes shares and watts; an older one does not."""

_shared = Feed(
    lambda: MarketApi(CONF),
    refresh=lambda: CONF.nova_market.refresh,
    max_age=lambda: CONF.nova_market.max_age,
)


def current() -> SchedulerSnapshot | None:
    """The newest snapshot that is not too old."""
    return _shared.current()


class Unfed:
    """What one plug-in needs of the snapshots and is not there: logged once, with the first snapshot."""

    def __init__(self, plug_in: str, without: str, field: str, source: str, off: str) -> None:
        """without: what it does now; field: of the snapshot; source: what to do that it is there;
        off: how to switch the plug-in off.
        """
        missing = f'the snapshots of the market have no `{field}`'
        self._line = f'{plug_in} {without}: {missing}: {source}; until then, {off}'
        self._logged = False

    def looked_at(self, found: object) -> None:
        """found: what a snapshot has of it; None: nothing."""
        if found is None and not self._logged:
            self._logged = True
            LOG.warning('%s', self._line)


def use(feed: Feed) -> Feed:
    """Let this process use another feed; returns the one it used."""
    global _shared
    before, _shared = _shared, feed
    return before
