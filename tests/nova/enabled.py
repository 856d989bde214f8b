# SPDX-License-Identifier: Apache-2.0
"""A plug-in of pytest that enables all our filters and weighers in Nova's own tests: -p tests.nova.enabled

Those tests name filters and weighers themselves, so ours are added where the scheduler has read its
options. The market they see knows no difference between hosts and refuses nobody: whatever Nova's tests
expect of placement must hold, and every line of ours is run on the way.
"""

import dataclasses
import importlib
import logging
from typing import Any

import numpy as np
import pytest

import nova_market.scheduler
from nova_market.core.scheduler.snapshot import SchedulerSnapshot
from tests.nova.plugged import feed_of
from tests.support.scheduler_builders import held, quiet

host_manager = importlib.import_module('nova.scheduler.host_manager')
market_feed = importlib.import_module('nova_market.scheduler.market_feed')
weighers = importlib.import_module('nova_market.scheduler.weighers')

PROJECT_ID = '6f70656e737461636b20342065766572'
"""Of nova.tests.fixtures.nova, which must not be imported yet."""

NAMES = ('host1', 'host2', 'host3', 'compute', 'compute1', 'compute2', 'compute3', 'fake-mini')
MULTIPLIER = 100.0
RAN: dict[str, int] = {}
"""How often each plug-in was asked."""


class Faults(logging.Handler):
    """What ours complain of: they let everything pass then, as Nova's tests expect it."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(record.getMessage())


FAULTS = Faults()


def even_handed() -> SchedulerSnapshot:
    """Equal hosts; everything that can be published is, and tells of the project of Nova's tests."""
    count = len(NAMES)
    elsewhere = held(('L', 'another', 0.0, 1e12, {'elsewhere': None}), at=1e12)
    flat = quiet(
        count,
        projects={'red': 0, PROJECT_ID: 1},
        share=np.array([1.0, 1.0]),
        heaviness=np.zeros(2),
        host_heaviness=np.zeros(count),
        watts=np.ones((2, count)),
        reserved=elsewhere,
    )
    return dataclasses.replace(flat, hosts={name: row for row, name in enumerate(NAMES)})


def counted(cls: type) -> type:
    """The class, counting how often it is asked."""
    method = 'filter_all' if hasattr(cls, 'filter_all') else 'opinion'

    def asked(self: Any, *arguments: Any) -> Any:
        RAN[cls.__name__] += 1
        return getattr(cls, method)(self, *arguments)

    return type(cls.__name__, (cls,), {method: asked})


def pytest_configure() -> None:
    filters = [counted(cls) for cls in nova_market.scheduler.all_filters()]
    singles = [counted(cls) for cls in nova_market.scheduler.installed_weighers()]
    weighers.installed_weighers = lambda: singles
    original = host_manager.HostManager.__init__

    def with_ours(self: Any) -> None:
        for cls in singles:
            market_feed.CONF.set_override(cls.option, MULTIPLIER, group='nova_market')
        original(self)
        self.enabled_filters = [*self.enabled_filters, *(cls() for cls in filters)]
        self.weighers = [*self.weighers, weighers.MarketWeigher()]

    host_manager.HostManager.__init__ = with_ours
    RAN.update(dict.fromkeys([cls.__name__ for cls in (*filters, *singles)], 0))
    logging.getLogger('nova_market.scheduler').addHandler(FAULTS)
    market_feed.use(feed_of(even_handed()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    asked = ', '.join(f'{name} {times}' for name, times in sorted(RAN.items()))
    terminalreporter.write_line(f'plug-ins were asked: {asked}')
    for fault in sorted(set(FAULTS.seen)):
        terminalreporter.write_line(f'a plug-in failed: {fault}')


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run in which one of ours was not asked, or failed, has shown nothing."""
    if session.testscollected and (FAULTS.seen or not all(RAN.values())):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
