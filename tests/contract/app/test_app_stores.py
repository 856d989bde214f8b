# SPDX-License-Identifier: Apache-2.0
"""What every database does for applications: rows, servers, events, reports."""

from dataclasses import replace

import pytest

from nova_market.core.app.record import (
    MAX_EVENTS,
    AppEvent,
    AppReport,
    AppState,
    DesiredServerState,
    DesiredState,
    HookReport,
    StoredApp,
    StoredSlot,
)
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import account
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.app_events import DatabaseAppEvents
from nova_market.db.apps import DatabaseApps
from nova_market.db.purge import purge
from nova_market.errors import BadAmount, Conflict, TooManyApps, UnknownAccount
from tests.support.servers.databases import Wall

TEMPLATE = {'name': 'zephyr', 'components': [{'name': 'worker'}]}


@pytest.fixture
def wall():
    return Wall()


@pytest.fixture
def store(database, wall):
    accounts = DatabaseAccounts(database)
    accounts.open([Account(id=account('project', p), project_id=p) for p in ('red', 'blue')])
    return DatabaseApps(database, wall)


@pytest.fixture
def events(database):
    return DatabaseAppEvents(database)


def app(name='a', project='red', **more):
    return StoredApp(id=name, project_id=project, user_id='u', template=TEMPLATE, **more)


def slot(number=1, name='a', **more):
    return StoredSlot(app_id=name, component='worker', number=number, **more)


def test_an_application_is_kept_as_it_is(store, wall):
    """What was stored is read again; storing it twice changes nothing."""
    made = store.create(app(trust_id='t', credential='c' * 64), most=3)
    assert made == replace(
        app(trust_id='t', credential='c' * 64),
        generation=1,
        created_at=wall.now,
        changed_at=wall.now,
    )
    assert store.app('a') == made == store.create(app(name='a', trust_id='other'), most=3)
    assert made.payer == 'budget:a' and made.name == 'zephyr'
    assert store.app('b') is None


def test_a_project_has_so_many_applications_at_most(store):
    """Of those that have ended ten times as many stay, until they are deleted; others' do not count."""
    store.create(app('a'), most=1)
    store.create(app('b', 'blue'), most=1)
    with pytest.raises(TooManyApps, match='has 1 applications'):
        store.create(app('c'), most=1)
    with pytest.raises(TooManyApps, match='has 1 applications'):
        store.check('red', most=1)
    store.check('red', most=2)
    store.decide('a', AppState.WAITING, {'state': AppState.FINISHED}, [])
    for number in range(9):
        assert store.create(app(f'c{number}'), most=1).generation == 1
        store.decide(f'c{number}', AppState.WAITING, {'state': AppState.DROPPED}, [])
    with pytest.raises(
        TooManyApps, match='has 10 applications, with those that have ended: delete'
    ):
        store.create(app('d'), most=1)
    store.remove('c0')
    assert store.create(app('d'), most=1).generation == 1


def test_a_project_without_an_account_has_no_applications(store):
    """Its budget's money would have nowhere to come from."""
    with pytest.raises(UnknownAccount):
        store.create(app(project='nobody'), most=1)


def test_lists_are_paged_by_id(store):
    """Of one project or of all."""
    for name, project in (('c', 'red'), ('a', 'red'), ('b', 'blue')):
        store.create(app(name, project), most=9)
    assert [one.id for one in store.list()] == ['a', 'b', 'c']
    assert [one.id for one in store.list('red', limit=1)] == ['a']
    assert [one.id for one in store.list('red', after='a')] == ['c']


def test_the_owner_changes_what_he_has_read(store):
    """Of two changes of the same generation one wins; asking again for what is there is no conflict."""
    store.create(app(), most=1)
    other = {**TEMPLATE, 'name': 'other'}
    changed = store.change('a', {'template': other, 'wish': DesiredState.SUSPEND}, 1)
    assert (changed.name, changed.wish, changed.generation) == ('other', DesiredState.SUSPEND, 2)
    assert changed == store.app('a') == store.change('a', {'wish': DesiredState.SUSPEND}, 1)
    with pytest.raises(Conflict, match='generation 2, not 1'):
        store.change('a', {'wish': DesiredState.RUN}, 1)
    with pytest.raises(Conflict, match='no application'):
        store.change('b', {'wish': DesiredState.RUN}, 1)
    with pytest.raises(BadAmount, match='state'):
        store.change('a', {'state': AppState.FINISHED}, 2)


def test_what_runs_on_the_servers_is_kept_apart(store):
    """By component; the same change twice is no conflict, and what was not changed stays."""
    texts = {'worker': 'ä' * 10, 'web': '#!/bin/sh'}
    store.create(app(), 1, texts)
    assert store.user_data('a') == texts
    changed = store.change('a', {'user_data': {'web': 'x'}, 'credential': 'c'}, 1)
    assert changed == store.change('a', {'user_data': {'web': 'x'}, 'credential': 'c'}, 1)
    with pytest.raises(Conflict):
        store.change('a', {'user_data': {'web': 'y'}}, 1)
    store.change('a', {'wish': DesiredState.SUSPEND}, 2)
    assert store.user_data('a') == {'web': 'x'}
    assert store.user_data('b') == {}


def test_a_trust_that_is_replaced_is_kept_until_it_is_ended(store):
    """Once, whoever asks how often; what the change does not touch replaces none."""
    store.create(app('a', trust_id='t1'), most=2)
    store.create(app('b'), most=2)
    store.change('a', {'wish': DesiredState.SUSPEND}, 1)
    for _ in range(2):
        store.change('a', {'trust_id': 't2'}, 2)
    assert store.change('a', {'trust_id': 't2', 'user_id': 'other'}, 3).user_id == 'other'
    store.change('b', {'trust_id': 't9'}, 1)
    assert store.replaced_trusts() == {'a': ['t1']}
    store.change('a', {'trust_id': 't3'}, 4)
    assert store.replaced_trusts() == {'a': ['t1', 't2']}
    for _ in range(2):
        store.trust_ended('a', 't1')
    assert store.replaced_trusts() == {'a': ['t2']}
    store.remove('a')
    assert store.replaced_trusts() == {}


def test_what_is_being_deleted_is_never_taken_back(store):
    """Its state says so at once, and it is looked after again when it was closed."""
    store.create(app(), most=1)
    store.decide('a', AppState.WAITING, {'state': AppState.FINISHED, 'closed': True}, [])
    assert list(store.open()) == []
    deleted = store.change('a', {'wish': DesiredState.DELETE}, 1)
    assert (deleted.state, deleted.closed) == (AppState.DELETING, False)
    with pytest.raises(Conflict, match='being deleted'):
        store.change('a', {'wish': DesiredState.RUN}, 2)
    assert [one.id for one in store.open()] == ['a']


def test_a_decision_is_written_with_its_servers(store, wall):
    """State and intentions together; `changed_at` is when the state changed."""
    store.create(app(), most=1)
    wall.now += 5
    changed = {
        'state': AppState.RUNNING,
        'period': 7,
        'memory': {'worker': {'change': [1.5, 0.0]}},
        'figures': {'spent': 3},
    }
    store.decide('a', AppState.WAITING, changed, [slot(2), slot(1)])
    found = store.app('a')
    assert {name: getattr(found, name) for name in changed} == changed
    assert found.changed_at == wall.now
    wall.now += 5
    store.decide('a', AppState.RUNNING, {'period': 8}, [slot(1, server_id='s')])
    assert store.app('a').changed_at == wall.now - 5
    assert store.slots('a') == [slot(1, server_id='s'), slot(2)]


def test_a_decision_counts_only_for_the_state_it_was_made_in(store):
    """The owner has deleted it meanwhile: nothing is written, no server either. The same twice is nothing."""
    store.create(app(), most=1)
    # a tuple comes back as a list
    decided = {'state': AppState.RUNNING, 'memory': {'bid': (1.0, 2.0)}}
    store.decide('a', AppState.WAITING, decided, [])
    store.decide('a', AppState.WAITING, decided, [])
    store.change('a', {'wish': DesiredState.DELETE}, 1)
    with pytest.raises(Conflict, match='is deleting, not running'):
        store.decide('a', AppState.RUNNING, {'period': 9}, [slot()])
    assert store.slots('a') == []
    with pytest.raises(Conflict, match='is gone'):
        store.decide('b', AppState.RUNNING, {'period': 9}, [])


def test_rows_of_servers_are_replaced_and_dropped(store):
    """By component and number; `all` has those of applications that are looked after."""
    store.create(app('a'), most=2)
    store.create(app('b'), most=2)
    store.put([slot(2), slot(1), slot(1, 'b')])
    gone = slot(2, intention=DesiredServerState.GONE, server_id='s', attempts=3, retry_at=2.5)
    store.put([gone])
    assert store.all() == {'a': [slot(1), gone], 'b': [slot(1, 'b')]}
    store.drop([gone])
    store.decide('b', AppState.WAITING, {'closed': True}, [])
    assert store.all() == {'a': [slot(1)]}
    assert gone.label == 'worker-2'


def test_an_application_is_forgotten_with_all_that_is_its(store, events):
    """Nothing is left; what is said of it afterwards is lost."""
    store.create(app(), most=1)
    store.put([slot()])
    events.tell([event()])
    events.report(AppReport(app_id='a', at=1.0, metric=2.0))
    store.remove('a')
    events.tell([event()])
    assert (store.app('a'), list(store.slots('a'))) == (None, [])
    assert (list(events.events('a')), events.reports(['a'])) == ([], {})
    with pytest.raises(Conflict):
        events.report(AppReport(app_id='a', at=1.0))


def test_purging_forgets_what_has_ended_long_ago(store, database, wall):
    """Those that are open, or that ended lately, stay."""
    for name in ('old', 'new', 'open'):
        store.create(app(name), most=3)
    store.put([slot(name='old')])
    store.decide('old', AppState.WAITING, {'state': AppState.DROPPED, 'closed': True}, [])
    wall.now += 100
    store.decide('new', AppState.WAITING, {'state': AppState.DROPPED, 'closed': True}, [])
    assert purge(database, wall.now - 50).rows['apps'] == 1
    assert [one.id for one in store.list()] == ['new', 'open']


# events and reports


def event(name='a', **more):
    given = {'at': 1.0, 'period': 3, 'action': 'grew', 'reason': 'why', 'numbers': {'count': 2}}
    return AppEvent(app_id=name, **given | more)


def test_events_are_listed_newest_first_in_pages(store, events):
    """Each has its number; a reason that is too long is cut."""
    store.create(app(), most=1)
    events.tell([event(at=1.0), event(at=2.0, reason='x' * 5000)])
    first, second = events.events('a')
    assert (first.at, len(first.reason), second) == (2.0, 1000, event(number=second.number))
    assert events.events('a', before=first.number) == [second]
    assert events.events('a', limit=1) == [first]


def test_only_so_many_events_are_kept(store, events):
    """The oldest go, those of others stay."""
    store.create(app('a'), most=2)
    store.create(app('b'), most=2)
    events.tell([event('b')])
    for first in range(0, MAX_EVENTS + 200, 200):
        events.tell([event(at=float(first + n)) for n in range(200)])
    found = events.events('a', limit=MAX_EVENTS * 2)
    assert (len(found), found[0].at, found[-1].at) == (MAX_EVENTS, MAX_EVENTS + 199.0, 200.0)
    assert len(events.events('b')) == 1


def test_a_report_takes_the_place_of_the_one_before(store, events):
    """Field by field: a monitor that tells the queue does not wipe out another's progress."""
    store.create(app('a'), most=2)
    store.create(app('b'), most=2)
    store.put([slot(server_id='s')])
    events.report(AppReport(app_id='a', at=1.0, total=10.0, done=2.0))
    events.report(AppReport(app_id='a', at=2.0, waiting=4, busy=0, done=3.0))
    events.report(AppReport(app_id='a', server_id='s', at=3.0, metric=0.5))
    both = AppReport(app_id='a', at=2.0, total=10.0, done=3.0, waiting=4, busy=0)
    of_server = AppReport(app_id='a', server_id='s', at=3.0, metric=0.5)
    assert events.reports(['a', 'b', 'c']) == {'a': [both, of_server]}


def test_only_servers_of_the_application_are_reported_of(store, events):
    """So there are never more reports than servers."""
    store.create(app(), most=1)
    with pytest.raises(Conflict, match='no server x'):
        events.report(AppReport(app_id='a', server_id='x', at=1.0, metric=1.0))


def test_reports_go_with_their_servers(store, events):
    """When the row is dropped, or its server is gone; those of the application and of others stay."""
    store.create(app(), most=1)
    store.put([slot(1, server_id='s1'), slot(2, server_id='s2'), slot(3, server_id='s3')])
    for name in ('', 's1', 's2', 's3'):
        events.report(AppReport(app_id='a', server_id=name, at=1.0, metric=1.0))
    store.drop([slot(1)])
    store.put([slot(2)])
    assert [one.server_id for one in events.reports(['a'])['a']] == ['', 's3']


def test_what_hooks_did_is_kept_apart_from_reports(store, events):
    """An agent that only asks does not make an old metric look new; a field stays until it is replaced."""
    store.create(app(), most=1)
    store.put([slot(1, server_id='s1'), slot(2, server_id='s2')])
    events.report(AppReport(app_id='a', server_id='s1', at=1.0, metric=1.0))
    for at, more in ((2.0, {'members': 'v1'}), (3.0, {'drain': 7, 'drained': False, 'text': 'no'})):
        events.report_hooks(HookReport(app_id='a', server_id='s1', at=at, **more))
    events.report_hooks(HookReport(app_id='a', server_id='s2', at=3.0))
    events.report_hooks(HookReport(app_id='a', at=4.0, members=''))
    kept = HookReport(
        app_id='a', server_id='s1', at=3.0, members='v1', drain=7, drained=False, text='no'
    )
    assert [one.server_id for one in events.hooks(['a'])['a']] == ['', 's1', 's2']
    assert events.hooks(['a', 'b'])['a'][1] == kept
    assert events.reports(['a'])['a'][0].at == 1.0
    with pytest.raises(Conflict, match='no server x'):
        events.report_hooks(HookReport(app_id='a', server_id='x', at=1.0))
    store.drop([slot(1)])
    assert [one.server_id for one in events.hooks(['a'])['a']] == ['', 's2']
    store.remove('a')
    assert events.hooks(['a']) == {}


def test_a_draining_server_is_read_as_it_was_written(store):
    """To the last digit: its times name the draining."""
    store.create(app(), most=1)
    one = slot(
        server_id='s', address='fd00::1', intention=DesiredServerState.DRAINING,
        drain_at=1_790_000_000.123456, drain_until=1_790_000_600.123456,
    )  # fmt: skip
    store.put([one])
    assert store.slots('a') == [one] and store.all() == {'a': [one]}
    assert store.slots('a')[0].drain_id == one.drain_id
