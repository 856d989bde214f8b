# SPDX-License-Identifier: Apache-2.0
"""Puts usage history together from options."""

from collections.abc import Callable

from oslo_config import cfg

from nova_market.core.usage.resolution import Keeping
from nova_market.db.database import Database
from nova_market.db.usage import DatabaseUsage
from nova_market.ports import Clock
from nova_market.services.usage.recorder import UsageRecorder


def build(
    conf: cfg.ConfigOpts, database: Database, clock: Clock, leads: Callable[[], bool]
) -> UsageRecorder:
    """What writes the history, not started. leads: does this engine lead?"""
    store = DatabaseUsage(database, keeping(conf))
    return UsageRecorder(store, clock, leads, database.boundary)


def keeping(conf: cfg.ConfigOpts) -> Keeping:
    """From group [usage_history]."""
    options = conf.usage_history
    return Keeping(
        minutes=options.keep_minutes * 3600.0,
        ten_minutes=options.keep_ten_minutes * 86_400.0,
        days=options.keep_days * 86_400.0,
    )
