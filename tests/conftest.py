# SPDX-License-Identifier: Apache-2.0
"""What every test shares: nothing is skipped in CI, and a test says what machine it needs.

`@pytest.mark.integration("libvirtd", "qemu-system-x86_64")` names the programs a test starts; it runs as
root only. On a machine that lacks them the test is skipped, and with CI=true it fails instead, so that a
green run means that everything ran.

Tests may run in several processes (`pytest -n 2`): those that start the same server stay in one process and
share it, the others are divided by file. What others on the same CPUs would disturb is marked `alone`.

Everything that a test starts has NOVA_MARKET_RUN in its environment: tools/test.d/sweep.py finds by it
what is left of a run that was killed. tools/test sets it for all of its stages.
"""

import logging
import os
import shutil
from collections.abc import Generator
from pathlib import Path
from types import TracebackType

import pytest
from hypothesis import HealthCheck, settings
from oslo_service import backend

from tests.support.gate import MARKS, Gate
from tests.support.noise import Noise

# Native threads, as in production: a test that imports oslo.messaging first would choose eventlet.
backend.init_backend(backend.BackendType.THREADING)

# field 22 of the line, counted after the name of the program, which may have blanks in it
STARTED = Path('/proc/self/stat').read_text(encoding='utf-8').rpartition(')')[2].split()[19]
os.environ.setdefault('NOVA_MARKET_RUN', f'{os.getpid()}-{STARTED}')

GATE = Gate()
GATE.close()

IN_CI = os.environ.get('CI', '').lower() in {'1', 'true', 'yes'}
# where Debian keeps daemons; a user's PATH may lack it
DAEMON_PATH = os.pathsep.join([os.environ.get('PATH', ''), '/usr/sbin', '/sbin'])

# A shared machine stalls now and then: a time limit for an example would fail for no reason of ours.
# Examples are the same each time, so that a change is refused for what it does; `thorough` looks for new
# ones, and each that it finds becomes an @example.
settings.register_profile(
    'default',
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    'thorough', settings.get_profile('default'), derandomize=False, max_examples=2000
)
settings.load_profile(os.environ.get('HYPOTHESIS_PROFILE', 'default'))


def loggers() -> list[logging.Logger]:
    root = logging.getLogger()
    return [
        root,
        *(one for one in root.manager.loggerDict.values() if isinstance(one, logging.Logger)),
    ]


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Generator[None, None, None]:
    """A command that runs within a test sets up logging for its process, which is every test's."""
    before = {one: (one.level, one.handlers[:], one.propagate) for one in loggers()}
    yield
    for one in loggers():
        level, handlers, propagate = before.get(one, (logging.NOTSET, [], True))
        if one.level != level:
            one.setLevel(level)
        one.handlers[:], one.propagate = handlers, propagate


class Defects(logging.Handler):
    """Rows that were set aside for an error that is none of ours. found: lines of the log"""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(self.format(record))


@pytest.fixture(autouse=True)
def no_defect_is_set_aside(
    request: pytest.FixtureRequest, logging_as_it_was: None
) -> Generator[None, None, None]:
    """A pass goes on after a defect (rule R2 of passes); a test that is not about that does not."""
    seen, logger = Defects(), logging.getLogger('nova_market.row_boundary')
    logger.addHandler(seen)
    yield
    logger.removeHandler(seen)
    if seen.found and 'defects' not in request.fixturenames:
        pytest.fail(f'a defect was set aside; if that is meant, use `defects`: {seen.found[0]}')


@pytest.fixture
def defects() -> None:
    """For tests in which rows are to be set aside for errors that would be defects elsewhere."""


def missing(item: pytest.Item) -> list[str]:
    """What the machine lacks of what the test's markers ask for."""
    marks = [mark for name in ('integration', 'cloud') for mark in item.iter_markers(name)]
    if not marks:
        return []
    programs = {program for mark in marks for program in mark.args}
    absent = sorted(p for p in programs if shutil.which(p, path=DAEMON_PATH) is None)
    return (['root'] if os.geteuid() else []) + absent


SHARED = ('rabbit', 'mariadb', 'postgresql')
"""Servers that the tests of a process share, as their ids name them."""

GUESTS = (
    'libvirt',
    'integration/fairness/',
    'integration/market/test_enforcement',
    'test_sweep',
    'test_testbed',
)
"""What ids of tests with guests contain. A guest is found by its UUID among all processes of the machine, and
the guests of two tests have the same one."""


def group(nodeid: str) -> str:
    """Tests of one group run in one process: those with guests, those of one server, else those of a file."""
    if any(one in nodeid for one in GUESTS):
        return 'guests'
    return next((one for one in SHARED if one in nodeid), nodeid.partition('::')[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """By group, in the order of collection.

    Not `--dist loadgroup`: pytest-xdist 3.8 writes the groups where pytest 9.2 does not read them.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    config.option.loadscopereorder = False
    return ByGroup(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Several processes begin with the integration tests, which take longest."""
    if hasattr(config, 'workerinput'):
        items.sort(key=lambda item: item.get_closest_marker('integration') is None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test of the gate neither waits nor starts processes, nor do its fixtures."""
    marked = any(item.get_closest_marker(one) for one in MARKS)
    GATE.test = '' if marked else item.nodeid
    try:
        return (yield)
    finally:
        GATE.test = ''


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Beside what a test has measured stands how much of the machine others used meanwhile."""
    if item.get_closest_marker('measured') is None:
        return (yield)
    noise = Noise()
    try:
        with noise:
            return (yield)
    finally:
        item.user_properties.append(('noise', noise.share))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if lacking := missing(item):
        pytest.skip(f'needs {", ".join(lacking)}; tools/test installs what bindep.txt names')


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With CI=true a skip is a failure; an expected failure (xfail) stays one."""
    if call.excinfo is not None:
        call.excinfo = pytest.ExceptionInfo.from_exception(numbered(call.excinfo.value))
    report = yield
    if IN_CI and report.skipped and not hasattr(report, 'wasxfail'):
        report.outcome = 'failed'
        report.longrepr = f'skipped, and CI=true allows no skip: {reason(report.longrepr)}'
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A module that skips itself (importorskip) must not vanish from a CI run either."""
    report = yield
    if IN_CI and report.skipped:
        report.outcome = 'failed'
        report.longrepr = f'skipped, and CI=true allows no skip: {reason(report.longrepr)}'
    return report


def numbered(error: BaseException | None) -> BaseException | None:
    """The error with a line number in each frame of its tracebacks and of what it came from.

    What a signal handler raises (a time limit) at the end of a loop has none in CPython 3.11, and pytest then
    ends the whole run instead of saying which test failed.
    """
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = with_lines(one.__traceback__)
        waiting += [one.__cause__, one.__context__, *getattr(one, 'exceptions', ())]
    return error


def with_lines(traceback: TracebackType | None) -> TracebackType | None:
    """A copy of a traceback; a frame without a line has its function's."""
    if traceback is None:
        return None
    frame = traceback.tb_frame
    return TracebackType(
        with_lines(traceback.tb_next),
        frame,
        traceback.tb_lasti,
        traceback.tb_lineno or frame.f_code.co_firstlineno,
    )


def reason(longrepr: object) -> str:
    """The reason in a skip's report, which pytest keeps as (path, line, reason)."""
    return str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr)
