# SPDX-License-Identifier: Apache-2.0
"""R1 and R3: what every database does for rows that are set aside."""

import pytest
from sqlalchemy import insert, select

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import account
from nova_market.core.set_aside import SetAside
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.notice_tables import notice_outbox
from nova_market.db.set_aside import DatabaseSetAside
from nova_market.db.sound_rows import sound_rows, unknown_word
from nova_market.errors import BadRow

NOW = 1_800_000_000.0
PAYER = account('project', 'blue')


@pytest.fixture(name='times')
def _times():
    return [NOW]


@pytest.fixture(name='store')
def _store(database, times):
    DatabaseAccounts(database).open([Account(id=PAYER, project_id='blue')])
    return DatabaseSetAside(database, lambda: times[0])


def bad(row_id=PAYER, kind='account', stage='read', reason='weight is -1', **more):
    return SetAside(kind=kind, id=row_id, stage=stage, reason=reason, **more)


def test_what_is_kept_is_its_owner_s_and_since_when(store, times):
    """Also where another one's reason changes, and when a service starts anew."""
    store.keep('engine', [bad(), bad('a', 'host'), bad('s', 'server', project_id='red')])
    times[0] = NOW + 60
    store.keep('engine', [bad(reason='weight is nan'), bad('b', 'host')])
    found = store.list()
    assert [(one.id, one.reason, one.project_id, one.since) for one in found] == [
        (PAYER, 'weight is nan', 'blue', NOW),
        ('b', 'weight is -1', '', NOW + 60),
    ]
    assert {one.service for one in found} == {'engine'}
    store.keep('engine', [])
    assert store.list() == []


def test_each_service_has_its_own(store):
    store.keep('engine', [bad()])
    store.keep('controller', [bad(), bad(stage='renew')])
    store.keep('engine', [])
    assert [(one.service, one.stage) for one in store.list()] == [
        ('controller', 'read'),
        ('controller', 'renew'),
    ]
    assert store.list(service='engine') == [] and len(store.list(service='controller')) == 2
    assert store.list(project_id='red') == [] and len(store.list(project_id='blue')) == 2


def test_page_by_page(store):
    """Whatever is in an id."""
    rows = [bad('a/b', 'host'), bad('a', 'host'), bad(), bad(stage='renew')]
    store.keep('engine', rows)
    found, after = [], ()
    while page := store.list(after=after, limit=1):
        found += [(one.kind, one.stage, one.id) for one in page]
        after = (page[-1].service, *found[-1])
    assert found == sorted((one.kind, one.stage, one.id) for one in rows)


def test_a_long_id_is_cut(store):
    """Of a row and of a project."""
    store.keep('engine', [bad('x' * 1000, 'server', project_id='p' * 1000)])
    (one,) = store.list()
    assert (one.id, one.project_id) == ('x' * 255, 'p' * 64)
    store.keep('engine', [bad('x' * 1000, 'server', reason='other')])
    assert [one.reason for one in store.list()] == ['other']


def test_rows_of_no_known_word_are_found(database):
    """Of words between, before and behind those that are known."""

    def write(connection):
        plain = {
            'project_id': 'p', 'user_id': 'u', 'channel': 'mail', 'target': '', 'event': 'e',
            'of_project': 'p', 'at': 0.0, 'payload': b'{}', 'message': '', 'tries': 0,
            'due_at': 0.0, 'tried_at': 0.0, 'done_at': 0.0,
        }  # fmt: skip
        words = ('waiting', 'sent', 'given_up', 'a', 'gone', 'zombie', '')
        rows = [{**plain, 'key': word, 'state': word} for word in words]
        connection.execute(insert(notice_outbox), rows)

    def read(connection):
        where = unknown_word(notice_outbox.c.state, ('waiting', 'sent', 'given_up'))
        return connection.execute(select(notice_outbox.c.state).where(where)).scalars().all()

    database.write(write)
    assert sorted(database.read(read)) == ['', 'a', 'gone', 'zombie']


def test_one_row_that_cannot_be_read_is_left_out(database):
    """Set aside in the boundary of the database that it is in."""

    def value_of(number):
        if number == 2:
            raise BadRow('it is two')
        return number

    def read(connection):
        return sound_rows(connection, 'number', [1, 2, 3], value_of, str)

    assert database.read(read) == [1, 3]
    (aside,) = database.boundary.listed()
    assert (aside.kind, aside.id, aside.reason) == ('number', '2', 'it is two')
