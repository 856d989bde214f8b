# SPDX-License-Identifier: Apache-2.0
"""A service of notices with its servers and its database."""

import pytest

from nova_market.db.database import Database
from tests.support.notice_bed import NoticeBed
from tests.support.servers.notices import HookServer, MailServer, certified


@pytest.fixture(name='server')
def no_server():
    """Only SQLite here."""


@pytest.fixture(scope='session')
def certificates(tmp_path_factory):
    """(directory with ca.pem, what servers on localhost need)."""
    directory = tmp_path_factory.mktemp('certificates')
    return directory, certified(directory)


@pytest.fixture
def mail(certificates):
    made = MailServer(certificates[1])
    made.start()
    yield made
    made.stop()


@pytest.fixture
def hook(certificates):
    made = HookServer(certificates[1])
    made.start()
    yield made
    made.stop()


@pytest.fixture
def bed(url, database, mail, hook, certificates):
    fast = Database({'connection': url, 'sqlite_synchronous': False})
    yield NoticeBed(fast, mail, hook, certificates[0])
    fast.close()
