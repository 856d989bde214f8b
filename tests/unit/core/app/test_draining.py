# SPDX-License-Identifier: Apache-2.0
"""Which servers are given up and taken back, when a draining one goes, and what is paid for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.app.draining import (
    LEAVE_SECONDS,
    WATCHER_LIFE,
    bid_of_each,
    drain_end,
    load,
    may_begin,
)
from nova_market.core.app.members import MAX_MEMBERS, members, version_of
from nova_market.core.app.record import (
    AppReport,
    DesiredServerState,
    HookReport,
    StoredApp,
    StoredSlot,
)
from nova_market.core.app.slots import Draining, slots_for
from nova_market.core.market.owner_server import ServerState

NOW, LIMIT = 6000.0, 600.0
PRESENT, DRAINS = DesiredServerState.PRESENT, DesiredServerState.DRAINING
GONE, SUSPENDED = DesiredServerState.GONE, DesiredServerState.SUSPENDED
APP = StoredApp(id='a', project_id='p', user_id='u', template={})


def slot(number, intention=PRESENT, **more):
    given = {'server_id': f's{number}', 'address': f'10.0.0.{number}'}
    if intention is DRAINS:
        given |= {'drain_at': NOW - 100.0, 'drain_until': NOW + 500.0}
    return StoredSlot(app_id='a', component='w', number=number, intention=intention, **given | more)


def after(slots, count, intention=PRESENT, timeout=LIMIT, **known):
    """Intentions by number."""
    how = Draining(now=NOW, timeout={'w': timeout}, **known)
    found = {one.number: one for one in slots}
    found |= {one.number: one for one in slots_for(APP, slots, {'w': count}, intention, how)}
    return {n: one.intention for n, one in sorted(found.items())}


def hook(server_id='s1', **more):
    return HookReport(app_id='a', server_id=server_id, **{'at': NOW} | more)


# who


@pytest.mark.parametrize(
    ('slots', 'tasks', 'number'),
    [
        ([slot(1), slot(2), slot(3)], {}, 3),
        ([slot(1), slot(2), slot(3)], {'s1': 1, 's2': 0, 's3': 0}, 3),
        ([slot(1), slot(2), slot(3)], {'s1': 1, 's2': 0, 's3': 2}, 2),
        ([slot(1), slot(2), slot(3)], {'s1': 1, 's2': 3, 's3': 2}, 1),
        ([slot(1), slot(2), slot(3)], {'s1': 1, 's3': 1}, 2),
        ([slot(1), slot(2, address=''), slot(3)], {'s1': 0, 's3': 0}, 2),
    ],
    ids=['last', 'idle', 'the idle one', 'fewest', 'unknown before busy', 'still booting'],
)
def test_the_one_with_the_least_to_lose_is_given_up(slots, tasks, number):
    """G2; of equals the one with the highest number."""
    wanted = {n: DRAINS if n == number else PRESENT for n in (1, 2, 3)}
    assert after(slots, 2, tasks=tasks) == wanted


def test_a_server_has_until_its_components_timeout():
    """Counted from the decision, and stored."""
    (row,) = slots_for(
        APP, [slot(1), slot(2)], {'w': 1}, PRESENT, Draining(now=NOW, timeout={'w': LIMIT})
    )
    assert (row.drain_at, row.drain_until, row.drain_id) == (NOW, NOW + LIMIT, 6_000_000)


def test_without_a_timeout_a_server_goes_at_once():
    assert after([slot(1), slot(2)], 1, timeout=0.0) == {1: PRESENT, 2: GONE}


def test_a_server_that_was_never_made_goes_at_once():
    assert after([slot(1), slot(2, server_id='', address='')], 1) == {1: PRESENT, 2: GONE}


def test_those_that_drain_are_taken_back_first():
    """The busiest; no new server is made, and nothing is left of the draining."""
    slots = [slot(1), slot(2, DRAINS), slot(3, DRAINS)]
    assert after(slots, 2, tasks={'s2': 1, 's3': 4}) == {1: PRESENT, 2: DRAINS, 3: PRESENT}
    assert after(slots, 4) == dict.fromkeys((1, 2, 3, 4), PRESENT)
    (row,) = slots_for(APP, slots[:2], {'w': 2}, PRESENT)
    assert (row.drain_at, row.drain_until, row.drain_id) == (0.0, 0.0, 0)


def test_one_whose_work_has_ended_is_not_taken_back():
    """It is out of service already; another one is made."""
    slots = [slot(1), slot(2, DRAINS)]
    assert after(slots, 2, drained=['s2']) == {1: PRESENT, 2: DRAINS, 3: PRESENT}


def test_those_that_drain_rest_and_end_with_their_application():
    """Suspended with the others, deleted with the others."""
    slots = [slot(1), slot(2, DRAINS)]
    assert after(slots, 1, SUSPENDED) == {1: SUSPENDED, 2: SUSPENDED}
    assert after(slots, 0, GONE) == {1: GONE, 2: GONE}


@given(
    st.lists(st.sampled_from([PRESENT, DRAINS, GONE]), max_size=8),
    st.integers(1, 8),
    st.dictionaries(st.sampled_from([f's{n}' for n in range(1, 9)]), st.integers(0, 3)),
    st.sampled_from([0.0, LIMIT]),
)
def test_there_are_as_many_as_wanted_and_no_server_is_taken_from_its_way_out(
    intentions, count, tasks, timeout
):
    """Whatever was before; what drains is never deleted by growth or by another shrink."""
    slots = [slot(n, one) for n, one in enumerate(intentions, 1)]
    found = after(slots, count, tasks=tasks, timeout=timeout)
    assert list(found.values()).count(PRESENT) == count
    for number, before in enumerate(intentions, 1):
        assert before is not GONE or found[number] is GONE
        assert before is not DRAINS or found[number] in (DRAINS, PRESENT)


def test_tasks_are_of_servers_and_not_too_old():
    reports = [
        AppReport(app_id='a', at=NOW, waiting=9, busy=9),
        AppReport(app_id='a', server_id='s1', at=NOW, waiting=1, busy=2),
        AppReport(app_id='a', server_id='s2', at=NOW - 301.0, busy=2),
        AppReport(app_id='a', server_id='s3', at=NOW, metric=1.0),
        AppReport(app_id='a', server_id='s4', at=NOW, busy=0),
    ]
    assert load(reports, NOW - 300.0) == {'s1': 3, 's4': 0}


# when


DRAINING = slot(1, DRAINS)


@pytest.mark.parametrize(
    ('state', 'report', 'at', 'reason'),
    [
        (ServerState.RUNNING, None, NOW, ''),
        (ServerState.SUSPENDED, None, NOW, ''),
        (ServerState.BUSY, None, NOW, ''),
        (ServerState.UNKNOWN, None, NOW, ''),
        (ServerState.STOPPED, None, NOW, 'nothing works there: it is stopped'),
        (ServerState.BUILDING, None, NOW, 'nothing works there: it is building'),
        (None, None, NOW, 'it is gone'),
        (ServerState.RUNNING, {'drain': DRAINING.drain_id, 'drained': True}, NOW, 'its work ended'),
        (ServerState.RUNNING, {'drain': DRAINING.drain_id, 'drained': False}, NOW, ''),
        (ServerState.RUNNING, {'drain': 1, 'drained': True}, NOW, ''),
        (ServerState.RUNNING, None, NOW + 500.0, 'its work did not end in 600 s'),
    ],
    ids=str,
)
def test_a_draining_server_is_deleted_for_a_reason(state, report, at, reason):
    """G1: and an old report of another draining is none."""
    found = drain_end(DRAINING, state, hook(**report) if report else None, at)
    assert found.startswith(reason) and bool(found) == bool(reason)


def begins(*reports, at=NOW - 90.0, slots=(), version='v'):
    return may_begin(DRAINING, [DRAINING, slot(2), *slots], version, reports, at)


def test_it_begins_when_the_others_have_taken_it_out():
    """G4: those that ask for the list, and are not on their way out themselves."""
    there = {'at': NOW - 90.0}
    assert begins(hook('s2', members='v', **there))
    assert not begins(hook('s2', members='older', **there))
    assert not begins(hook('', members='', **there)), 'a balancer that reports of no server'
    assert begins(hook('s2', members=None, **there)), 'it has no hook for it'
    assert begins(hook('s1', members='older', **there)), 'its own'
    assert begins(hook('s3', members='older', **there), slots=[slot(3, DRAINS)])
    assert begins(hook('s2', members='older', at=NOW - 90.0 - WATCHER_LIFE))
    assert begins(hook('s2', members='older', **there), version=None)


def test_it_begins_a_minute_later_at_the_latest():
    """Or after half of its time, whichever is shorter."""
    report = hook('s2', members='older')
    assert not begins(report, at=NOW - 100.0 + LEAVE_SECONDS - 1.0)
    assert begins(report, at=NOW - 100.0 + LEAVE_SECONDS)
    short = slot(1, DRAINS, drain_until=NOW - 80.0)
    assert not may_begin(short, [short], 'v', [hook('', members='')], NOW - 91.0)
    assert may_begin(short, [short], 'v', [hook('', members='')], NOW - 90.0)


# what is paid


def test_those_that_drain_are_paid_for_by_those_that_stay():
    """G3: three stay, one drains: three quarters for each."""
    assert bid_of_each((4000.0, 400.0), 3, 1) == (3000, 300)
    assert bid_of_each((4000.7, 400.0), 3, 0) == (4000, 400)


@given(st.floats(0, 1e12), st.integers(0, 1000), st.integers(0, 1000))
def test_never_more_is_paid_than_was_decided(bid, stay, drain):
    each, _ = bid_of_each((bid, 0.0), stay, drain)
    assert each * (stay + drain) <= bid * stay * (1 + 1e-9)


# members


def test_members_are_the_servers_that_run():
    """With those that drain, in a fixed order; the version is of the content."""
    slots = [slot(2, DRAINS), slot(1), slot(3, address=''), slot(4, GONE), slot(5, SUSPENDED)]
    listed = members(slots)
    assert [(one['number'], one['state']) for one in listed] == [(1, 'present'), (2, 'draining')]
    assert version_of(listed) == version_of(members(list(reversed(slots))))
    assert version_of(listed) != version_of(members([slot(2), slot(1)]))


def test_too_many_members_are_no_list():
    """A part of it would be taken for the whole."""
    assert len(members([slot(n) for n in range(1, MAX_MEMBERS + 1)])) == MAX_MEMBERS
    assert members([slot(n) for n in range(1, MAX_MEMBERS + 2)]) is None
