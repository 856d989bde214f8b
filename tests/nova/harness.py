# SPDX-License-Identifier: Apache-2.0
"""A plug-in of pytest for tests inside Nova, ours and Nova's own: -p tests.nova.harness

Nova chooses native threads, as nova-scheduler does from release 34 on. It forbids eventlet then, so that
must come before whatever imports eventlet when it can, which tests/conftest.py does by way of oslo.service.
"""

import functools
import importlib
import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = '1'

importlib.import_module('nova.monkey_patch').patch()
test = importlib.import_module('nova.test')


def _forget(self: object, name: str) -> None:
    """Nova's tests forget their attributes when they are over; pytest deletes its own once more."""
    with suppress(AttributeError):
        object.__delattr__(self, name)


test.TestCase.__delattr__ = _forget


def _with_paste(self: object) -> None:
    """The wheel has api-paste.ini elsewhere than the source tree."""
    _set_up(self)
    path = os.path.join(sys.prefix, 'etc/nova/api-paste.ini')
    self.conf.set_default('api_paste_config', path, group='wsgi')  # type: ignore[attr-defined]


PATIENCE = 120
"""Looks, half a second apart, at what is waited for. Nova's ten are too few on a busy machine."""


def _patient(wait: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with more looks. Its third argument says how many."""

    @functools.wraps(wait)
    def waiting(self: object, one: object, two: object, *more: Any, **named: Any) -> Any:
        if more:
            more = (max(more[0], PATIENCE), *more[1:])
        else:
            named['max_retries'] = max(named.get('max_retries', 0), PATIENCE)
        return wait(self, one, two, *more, **named)

    return waiting


_helpers = importlib.import_module('nova.tests.functional.integrated_helpers').InstanceHelperMixin
# private: of Nova, whose tests wait for a server here and nowhere else
_wait = _helpers._wait_for_server_parameter
# private: as above
_helpers._wait_for_server_parameter = _patient(_wait)

_fixture = importlib.import_module('nova.tests.fixtures.conf').ConfFixture
_set_up = _fixture.setUp
_fixture.setUp = _with_paste


_kept: list[sqlite3.Connection] = []


def _with_a_connection(name: str) -> tuple[str, str]:
    """A file of a database of Nova's tests, to which a connection stays open until the test is over.

    Nova opens one for each transaction. When the last one is closed, SQLite removes the index of the file's
    log; who comes next makes it anew under the lock of writers, and does not wait for whom it meets there:
    one transaction in some hundred fails, "database is locked".
    """
    url, path = _use_file(name)
    kept = sqlite3.connect(path, check_same_thread=False)
    # the file is opened by the first statement
    kept.execute('SELECT name FROM sqlite_master').fetchall()
    _kept.append(kept)
    return url, path


def pytest_runtest_logfinish() -> None:
    """The test is over, and so are its databases."""
    while _kept:
        _kept.pop().close()


_databases = importlib.import_module('nova.tests.fixtures.nova')
# private: of Nova, whose tests make a database here and nowhere else
_use_file = _databases._use_file_backed_sqlite_with_wal
# private: as above
_databases._use_file_backed_sqlite_with_wal = _with_a_connection
