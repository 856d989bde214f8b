# SPDX-License-Identifier: Apache-2.0
"""L2, L4, L6: what every database does for leases: booked once, paid in the same step, changed, listed."""

import threading
from dataclasses import replace

import pytest

from nova_market.core.lease.billing import charged_until
from nova_market.core.lease.record import LeaseAction, LeaseFilter, LeaseState, LeaseStep
from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import BANK, ESCROW, MINT, Posting, Reason
from nova_market.core.market.record import RoundRecord
from nova_market.db.accounts import DatabaseAccounts
from nova_market.db.leases import DatabaseLeases
from nova_market.db.ledger import DatabaseLedger
from nova_market.db.purge import purge
from nova_market.db.rounds import DatabaseRounds
from nova_market.errors import (
    BalanceTooLow,
    LeaseChanged,
    LeaseLimitReached,
    PromisesChanged,
    TooManyLeases,
)
from tests.support.job_records import id_of
from tests.support.lease_records import HOUR, NOW, event, hold, lease, node, quota
from tests.support.servers.databases import Wall


@pytest.fixture
def store(database):
    return DatabaseLeases(database, Wall(NOW))


@pytest.fixture
def ledger(database):
    """Red has 80 micro-credits."""
    DatabaseAccounts(database).open([Account(id='project:red', project_id='red')])
    made = DatabaseLedger(database, Wall(NOW))
    granted = {'debit': MINT, 'credit': 'project:red', 'amount': 80}
    made.post([Posting(key='g', reason=Reason.GRANT, **granted)])
    return made


def book(store, one, *postings, most=9, **limits):
    turn, _ = store.calendar()
    return store.book(one, turn, postings, [event(one.name)], quota(most, **limits))


def test_a_lease_is_kept_as_it_was_booked(store):
    """With its nodes in their order; asked for with its id again, it is the one that is there."""
    one = lease(hosts=('h1', 'h0'), flexible=True, utilisation=0.3, purpose='a test of é')
    stored = book(store, one)
    assert replace(stored, number=0) == one
    assert store.lease(one.id) == stored and store.lease('x') is None
    assert book(store, replace(one, cost=99)) == stored
    assert [found.action for found in store.events(one.id)] == [LeaseAction.BOOKED]
    assert store.by_ids([one.id, 'x']) == {one.id: stored}


def test_what_was_asked_for_can_be_asked_again(store):
    """The row gives the request that an algorithm takes."""
    whole = lease(hosts=('h0', 'h1'), amounts=(0.0, 0.0, 0.0), whole=True)
    asked = book(store, replace(whole, hosts=('h0', 'h1'))).request
    assert (asked.nodes, asked.whole, asked.hosts, asked.fixed) == (2, True, ('h0', 'h1'), True)


def test_leases_are_chosen_by_project_state_host_and_time(store):
    """Newest first, page by page."""
    first = book(store, lease('a', hosts=('h0', 'h1')))
    book(store, lease('b', 'blue', start=NOW + 9 * HOUR))
    third = book(store, lease('c', state=LeaseState.ACTIVE))

    def names(**chosen):
        return [one.name for one in store.leases(LeaseFilter(**chosen))]

    assert names() == ['c', 'b', 'a'] and names(project_id='red') == ['c', 'a']
    assert names(states=(LeaseState.ACTIVE,)) == ['c'] and names(host='h1') == ['a']
    assert names(since=first.end) == ['b'] and names(until=first.end) == ['c', 'a']
    assert [one.name for one in store.leases(LeaseFilter(), third.number, 1)] == ['b']


def test_what_has_changed_is_read_alone(store):
    """Of the leases that are not over, by what somebody knows of them."""
    first, second = book(store, lease('a')), book(store, lease('b', hosts=('h0', 'h1')))
    found = store.changes({})
    assert (found.turn, found.gone) == (2, frozenset())
    assert sorted(found.leases, key=lambda one: one.number) == [first, second]
    marks = {one.id: one.mark for one in found.leases}
    assert store.changes(marks).leases == []
    (changed,) = store.change([LeaseStep(before=second, after=replace(second, name='c'))])
    third = book(store, lease('d'))
    found = store.changes(marks)
    assert sorted(one.name for one in found.leases) == ['c', 'd'] and changed in found.leases
    marks |= {one.id: one.mark for one in found.leases}
    over = replace(third, state=LeaseState.ENDED, ended_at=NOW)
    store.change([LeaseStep(before=third, after=over)])
    assert (store.changes(marks).gone, store.changes(marks).leases) == ({third.id}, [])
    again = {first.id: (first.number + 9, first.revision)}
    assert first in store.changes(again).leases, 'an id that was used again'


def test_how_many_a_project_has_is_known_before(store):
    """Those that it pays for, and that are not over."""
    book(store, lease('a'))
    book(store, replace(lease('b'), payer_id='blue'))
    store.check('red', 2)
    with pytest.raises(TooManyLeases, match='has 1 leases'):
        store.check('red', 1)


def test_who_decided_by_what_has_changed_decides_again(store):
    """Nothing of the second lease is kept."""
    turn, live = store.calendar()
    assert live == [] and turn == store.turn()
    store.book(lease('a'), turn, (), (), quota())
    with pytest.raises(PromisesChanged):
        store.book(lease('b'), turn, (), (), quota())
    assert [one.name for one in store.calendar()[1]] == ['a'] and store.lease(id_of('b')) is None


def test_twenty_book_at_once_and_one_gets_the_last_room(store):
    """Each books as long as nobody else is there."""
    together, ends = threading.Barrier(20), []

    def client(number):
        together.wait()
        while True:
            turn, live = store.calendar()
            if live:
                ends.append('full')
                return
            try:
                ends.append(store.book(lease(f'l{number}'), turn, (), (), quota()).name)
                return
            except PromisesChanged:
                continue

    threads = [threading.Thread(target=client, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(ends) == 20 and ends.count('full') == 19 and len(store.calendar()[1]) == 1


def test_a_lease_is_paid_as_it_is_booked_or_is_none(store, ledger):
    """Too little credit: no lease, no event, no turn."""
    one = lease(cost=90)
    with pytest.raises(BalanceTooLow):
        book(store, one, hold(one, 90))
    assert store.calendar() == (0, []) and store.events_since(0) == []
    book(store, one, hold(one, 60))
    assert ledger.balances(['project:red', ESCROW]) == {'project:red': 20, ESCROW: 60}
    assert ledger.discrepancies() == []


def test_a_project_reserves_no_more_ahead_than_its_limit(store):
    """Two cores for an hour each; what has passed counts no more, what others have booked does not count."""
    most = 5 * HOUR
    book(store, lease('a'), core_seconds=most)
    book(store, lease('x', 'blue', hours=100), core_seconds=1000 * HOUR)
    book(store, lease('b'), core_seconds=most)
    with pytest.raises(LeaseLimitReached, match='takes 2 core-hours, the project has 4 ahead and'):
        book(store, lease('c'), core_seconds=most)
    assert len(store.spans('red')) == 2
    turn, _ = store.calendar()
    half_past = quota(core_seconds=most, now=NOW + 2.5 * HOUR)
    store.book(lease('c', start=NOW + 9 * HOUR), turn, (), (), half_past)
    assert len(store.spans('red')) == 3


def test_all_projects_together_reserve_no_more_ahead_than_the_limit_of_the_cloud(store):
    """Two cores for an hour each, whoever books them."""
    for name, project in (('a', 'red'), ('b', 'blue')):
        book(store, lease(name, project), cloud_core_seconds=5 * HOUR)
    with pytest.raises(LeaseLimitReached, match=r'all leases have 4 ahead .*max_cloud_core_hours'):
        book(store, lease('c'), cloud_core_seconds=5 * HOUR)


def test_leases_take_no_more_than_a_part_of_the_cloud_at_once(store):
    """Of the project that has booked them, and of all together; all memory counts as all cores."""
    book(store, lease('a'), total=(8.0, 8192.0, 0.0), part=0.5)
    book(store, lease('b'), total=(8.0, 8192.0, 0.0), part=0.5)
    with pytest.raises(
        LeaseLimitReached, match=r'up to 4 meanwhile, of at most 4, which is 0.5 of'
    ):
        book(store, lease('c'), total=(8.0, 8192.0, 0.0), part=0.5)
    book(store, lease('c', start=NOW + 3 * HOUR), total=(8.0, 8192.0, 0.0), part=0.5)
    with pytest.raises(LeaseLimitReached, match='max_cloud_part'):
        book(store, lease('d', 'blue'), total=(8.0, 8192.0, 0.0), part=0.5, cloud_part=0.5)
    full = node(amounts=(0.0, 4096.0, 0.0))
    with pytest.raises(LeaseLimitReached, match='the lease takes 4 cores'):
        book(store, lease('e', 'blue', nodes=(full,)), total=(8.0, 8192.0, 0.0), part=0.25)


def test_a_lease_that_is_given_away_counts_for_who_has_booked_it(store):
    """Until it is over."""
    one = book(store, lease('a'), core_seconds=2 * HOUR)
    given = LeaseStep(before=one, after=replace(one, project_id='blue'))
    (one,) = store.change([given])
    with pytest.raises(LeaseLimitReached):
        book(store, lease('b'), core_seconds=2 * HOUR)
    book(store, lease('c', 'blue'), core_seconds=2 * HOUR)
    store.change([LeaseStep(before=one, after=replace(one, state=LeaseState.ENDED))])
    book(store, lease('b'), core_seconds=2 * HOUR)


def test_a_change_that_takes_more_is_checked_too(store):
    """One that takes less is fine, even above the limit; a turn is needed for it."""
    one = book(store, lease('a', nodes=()))
    longer = LeaseStep(before=one, after=replace(one, end=one.end + HOUR))
    shorter = LeaseStep(before=one, after=replace(one, end=one.end - HOUR / 2))
    turn, _ = store.calendar()
    with pytest.raises(LeaseLimitReached):
        store.change([longer], turn, quota=quota(core_seconds=2 * HOUR))
    with pytest.raises(LeaseChanged, match='give its turn'):
        store.change([longer], quota=quota(core_seconds=9 * HOUR))
    turn, _ = store.calendar()
    store.change([shorter], turn, quota=quota(core_seconds=1.0))


def test_of_those_who_book_at_once_none_takes_the_project_over_its_limit(store):
    """Each decides by what was booked until then; who comes second decides again, and is refused."""
    ends = []

    def books(number):
        one = lease(f'l{number}', hosts=(f'h{number}',))
        while True:
            try:
                ends.append(book(store, one, core_seconds=5 * HOUR).name)
                return
            except PromisesChanged:
                continue
            except LeaseLimitReached:
                return

    threads = [threading.Thread(target=books, args=(number,)) for number in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(ends) == 2 and len(store.spans('red')) == 2


def test_a_project_has_at_most_so_many_leases(store):
    """Others' do not count, nor those that are over."""
    first = book(store, lease('a'))
    with pytest.raises(TooManyLeases, match='1 leases'):
        book(store, lease('b'), most=1)
    book(store, lease('b', 'blue'), most=1)
    over = replace(first, state=LeaseState.ENDED, ended_at=NOW)
    store.change([LeaseStep(before=first, after=over)])
    book(store, lease('c'), most=1)


def test_a_step_is_written_once_and_whole(store, ledger):
    """Rows, nodes, money and events; two that read the same: one is told that it has changed."""
    one = book(store, lease(cost=60), hold(lease(), 60))
    moved = replace(one, nodes=(node('h1'),))
    step = LeaseStep(before=one, after=moved, events=(event(action=LeaseAction.MOVED),))
    with pytest.raises(LeaseChanged, match='other room'):
        store.change([step])
    (written,) = store.change([step], turn=1)
    assert written == replace(moved, revision=1) == store.lease(one.id)
    # the answer got lost: the same again changes nothing
    assert store.change([step], turn=1) == [written]
    assert len(store.events(one.id)) == 2
    other = replace(one, purpose='else')
    with pytest.raises(LeaseChanged, match='meanwhile'):
        store.change([LeaseStep(before=one, after=other)])
    assert store.lease(one.id) == written


def test_steps_together_are_all_written_or_none(store):
    """The first one alone could be."""
    first, second = book(store, lease('a')), book(store, lease('b'))
    gone = replace(second, revision=7)
    steps = [LeaseStep(before=one, after=replace(one, purpose='x')) for one in (first, gone)]
    with pytest.raises(LeaseChanged):
        store.change(steps)
    assert [store.lease(one.id).purpose for one in (first, second)] == ['', '']


def test_a_lease_that_is_over_takes_no_room(store):
    """It needs no turn to end, and is not in the calendar any more."""
    one = book(store, lease())
    over = replace(one, state=LeaseState.ENDED, ended_at=NOW, end=NOW)
    store.change([LeaseStep(before=one, after=over)])
    assert store.calendar() == (1, []) and store.lease(one.id).nodes == one.nodes


def test_events_of_all_leases_in_their_order(store):
    """And of one the newest first, page by page."""
    book(store, lease('a'))
    book(store, lease('b'))
    every = store.events_since(0)
    assert [one.lease_id for one in every] == [id_of('a'), id_of('b')]
    assert store.events_since(every[0].number) == every[1:]
    assert store.events(id_of('a'), before=every[0].number) == []


def test_old_leases_are_purged(store, database):
    """With their nodes and events; not those that are not over."""
    old, kept, new = (book(store, lease(name)) for name in ('old', 'kept', 'new'))
    for one, at in ((old, NOW), (new, NOW + 9 * HOUR)):
        over = replace(one, state=LeaseState.ENDED, ended_at=at)
        store.change([LeaseStep(before=one, after=over)])
    assert purge(database, NOW + HOUR).rows['leases'] == 1
    assert store.lease(old.id) is None and store.events(old.id) == []
    assert store.lease(kept.id) == kept and store.lease(new.id) is not None


def test_what_is_charged_carries_the_period_after_the_newest_round(database, store, ledger):
    """M3, L6: so it returns with the charges of that period; 0 without a market, and holds always."""
    one = book(store, lease(cost=60), hold(lease(), 60))
    rounds = DatabaseRounds(database, Wall(NOW))
    keys = []
    for charge, period in ((10, None), (10, 7), (10, 8)):
        if period is not None:
            record = RoundRecord(period=period, leader='e', started_at=NOW, document={})
            rounds.begin(record, [], [])
        until = one.start + (one.charged + charge) / one.cost * HOUR
        after, postings = charged_until(one, until, HOUR / 6)
        (one,) = store.change([LeaseStep(before=one, after=after, postings=postings)])
        lines = ledger.statement('project:red', limit=2)
        keys += [line.posting.key for line in lines]
    subject = f'lease/{one.id}'
    assert keys == [
        key
        for revision, period in enumerate((0, 8, 9))
        for key in (f'charge:{period}:{subject}/{revision}', f'release:0:{subject}/{revision}')
    ]
    assert ledger.totals(9, Reason.CHARGE) == {('project:red', BANK): 10}
