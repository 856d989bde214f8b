# SPDX-License-Identifier: Apache-2.0
"""The feed that all filters and weighers of a process share, made of the options of nova.conf.

Importing it registers group [nova_market] with Nova's own configuration.
"""

import nova.conf

from nova_market.conf import scheduler
from nova_market.core.scheduler.snapshot import SchedulerSnapshot
from nova_market.scheduler.api_client import MarketApi
from nova_market.scheduler.snapshot_cache import Feed

CONF = nova.conf.CONF

scheduler.register_opts(CONF)

_shared = Feed(
    lambda: MarketApi(CONF),
    refresh=lambda: CONF.nova_market.refresh,
    max_age=lambda: CONF.nova_market.max_age,
)


def current() -> SchedulerSnapshot | None:
    """The newest snapshot that is not too old."""
    return _shared.current()


def use(feed: Feed) -> Feed:
    """Let this process use another feed; returns the one it used."""
    global _shared
    before, _shared = _shared, feed
    return before
