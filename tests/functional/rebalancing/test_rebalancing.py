# SPDX-License-Identifier: Apache-2.0
"""Rebalancing on a cloud in memory with plans in SQLite: modes, approval, failures, another leader."""

import logging
from dataclasses import replace

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.core.rebalancing.plan import MoveState, PlanState
from nova_market.core.rebalancing.proposal import proposal, search
from nova_market.db.plans import DatabasePlans
from nova_market.errors import CloudUnavailable
from tests.support.rebalancing_bed import MIB, SETTINGS, Bed, host, server

pytestmark = pytest.mark.functional


@pytest.fixture
def bed(database):
    clock = ManualClock()
    return Bed(DatabasePlans(database, clock.wall), clock)


def states(plan):
    return plan.state, [move.state for move in plan.moves]


class Died(BaseException):
    """The engine's process is gone in the middle of a call."""


class Mortal:
    """Passes calls on, and dies at the n-th that changes something: before it, or after it was done."""

    CHANGES = ('add', 'advance', 'move', 'migrate')

    def __init__(self, world, countdown, before):
        self._world = world
        self._countdown = countdown
        self._before = before

    def __getattr__(self, name):
        call = getattr(self._world, name)
        if name not in self.CHANGES:
            return call

        def counted(*arguments, **named):
            self._countdown[0] -= 1
            if self._countdown[0] == 0 and self._before:
                raise Died
            result = call(*arguments, **named)
            if self._countdown[0] == 0:
                raise Died
            return result

        return counted


def test_an_imbalance_is_removed_by_a_migration_that_says_why(bed):
    """Three servers want all of one host; one moves to the empty host, and the plan has the numbers."""
    engine = bed.engine()
    before = bed.error()
    bed.round(engine)
    bed.ticks(engine, 10)
    plan = bed.found('p1')
    assert states(plan) == (PlanState.DONE, [MoveState.DONE])
    assert plan.decided_by == 'auto'
    (move,) = plan.moves
    assert (move.source, move.destination, move.outcome) == ('h1', 'h2', 'took 5 s')
    assert move.error_before == pytest.approx(before) and move.error_after < before
    assert f'server {move.server_id} from h1 to h2' in move.reason
    assert 'in the cloud the largest error falls from 50.00% to' in move.reason
    assert bed.where()[move.server_id] == 'h2'
    assert bed.error() < before


def test_advice_is_carried_out_when_it_is_approved(bed):
    """The plan waits, keeps its name while it stays the same, and runs once an administrator says so."""
    engine = bed.engine(mode='advise')
    for _ in range(3):
        bed.round(engine)
    assert [(p.id, p.state) for p in bed.plans.list()] == [('p1', PlanState.PROPOSED)]
    bed.ticks(engine, 10)
    assert set(bed.where().values()) == {'h1'}
    bed.plans.advance('p1', PlanState.PROPOSED, PlanState.APPROVED, by='admin')
    bed.ticks(engine, 10)
    assert bed.found('p1').state == PlanState.DONE
    assert sorted(bed.where().values()) == ['h1', 'h1', 'h2']


def test_a_rejected_plan_moves_nothing(bed):
    """It stays rejected; the next search proposes under a name of its own."""
    engine = bed.engine(mode='advise')
    bed.round(engine)
    bed.plans.advance('p1', PlanState.PROPOSED, PlanState.REJECTED, by='admin')
    bed.ticks(engine, 10)
    bed.round(engine)
    assert set(bed.where().values()) == {'h1'}
    assert bed.found('p2').state == PlanState.PROPOSED


def test_a_better_proposal_supersedes_the_old_one(bed):
    """So does the finding that nothing is left to do."""
    engine = bed.engine(mode='advise')
    bed.round(engine)
    bed.cloud.put_server(server('d', 'h1'))
    bed.round(engine)
    assert bed.found('p1').state == PlanState.SUPERSEDED
    assert len(bed.found('p2').moves) == 2
    for name in 'bcd':
        bed.cloud.remove(name)
    bed.round(engine)
    assert bed.found('p2').state == PlanState.SUPERSEDED
    assert bed.plans.list(PlanState.PROPOSED) == []


def test_off_finds_nothing_and_begins_nothing(bed):
    """What was approved before is superseded."""
    bed.round(bed.engine(mode='advise'))
    bed.plans.advance('p1', PlanState.PROPOSED, PlanState.APPROVED, by='admin')
    engine = bed.engine(mode='off')
    bed.round(engine)
    bed.ticks(engine, 5)
    assert [(p.id, p.state) for p in bed.plans.list()] == [('p1', PlanState.SUPERSEDED)]
    assert set(bed.where().values()) == {'h1'}


def test_an_approval_that_is_too_old_does_not_begin(bed):
    """The engine was away: its numbers are of another day."""
    bed.round(bed.engine(mode='advise'))
    bed.plans.advance('p1', PlanState.PROPOSED, PlanState.APPROVED, by='admin')
    bed.clock.advance(3601.0)
    engine = bed.engine(mode='advise')
    engine.tick()
    assert bed.found('p1').state == PlanState.SUPERSEDED


def test_one_plan_at_a_time(bed):
    """While servers are on their way nothing else is proposed, and moves go one after the other."""
    bed.cloud.put_server(server('d', 'h1'))
    engine = bed.engine()
    bed.round(engine)
    for _ in range(7):
        bed.clock.advance(1.0)
        bed.round(engine)
        moving = [one for one in bed.cloud.servers() if one.status == 'MIGRATING']
        assert len(moving) <= 1
        assert [p.id for p in bed.plans.list()] == ['p1']
    bed.ticks(engine, 10)
    assert states(bed.found('p1')) == (PlanState.DONE, [MoveState.DONE, MoveState.DONE])
    assert sorted(bed.where().values()) == ['h1', 'h1', 'h2', 'h2']


def test_a_failed_migration_is_backed_off(bed):
    """The server rests twice as long after each failure; another one is moved in its place."""
    servers = [server('a', 'h1'), server('b', 'h1', migratable=False)]
    bed = Bed(bed.plans, bed.clock, servers=servers)
    engine = bed.engine()

    def attempt():
        bed.cloud.failing.add('a')
        bed.round(engine)
        bed.ticks(engine, 10)
        return bed.found(f'p{bed.period}')

    first = attempt()
    assert states(first) == (PlanState.FAILED, [MoveState.FAILED])
    assert first.moves[0].outcome == 'the copy was broken off'
    bed.clock.advance(1180.0)
    assert attempt() is None
    bed.clock.advance(20.0)
    assert attempt().state == PlanState.FAILED
    bed.clock.advance(2380.0)
    assert attempt() is None
    bed.clock.advance(20.0)
    bed.round(engine)
    bed.cloud.failing.clear()
    assert bed.found(f'p{bed.period}').moves[0].server_id == 'a'


def test_a_server_that_moved_rests(bed):
    """Bids change sides at once, and the server that just came does not go back before its rest is over."""
    engine = bed.engine()
    bed.round(engine)
    bed.ticks(engine, 10)
    (moved,) = (one for one, where in bed.where().items() if where == 'h2')
    bed.cloud.put_server(server('d', 'h2', migratable=False))
    bed.cloud.put_server(server('e', 'h2', migratable=False))
    bed.round(engine)
    assert bed.found('p2') is None
    bed.clock.advance(600.0)
    for name in 'abc':
        if name != moved:
            bed.cloud.remove(name)
    bed.round(engine)
    assert [move.server_id for move in bed.found('p3').moves] == [moved]


def test_the_cloud_changes_while_a_plan_waits(bed):
    """Each move is looked at again before it is made; one that cannot be made is dropped and says why."""
    engine = bed.engine(mode='advise')
    bed.cloud.put_server(server('d', 'h1'))
    bed.round(engine)
    first, second = (move.server_id for move in bed.found('p1').moves)
    bed.cloud.remove(first)
    bed.plans.advance('p1', PlanState.PROPOSED, PlanState.APPROVED, by='admin')
    bed.ticks(engine, 1)
    bed.cloud.put_host(host('h2', enabled=False))
    bed.ticks(engine, 10)
    plan = bed.found('p1')
    assert states(plan) == (PlanState.FAILED, [MoveState.DROPPED, MoveState.DROPPED])
    assert [move.outcome for move in plan.moves] == [
        'the server is gone',
        'h2 takes no servers now',
    ]
    assert bed.where()[second] == 'h1'


def test_the_next_leader_watches_what_the_last_one_began(bed):
    """It does not ask again, and it carries out the rest of the plan."""
    bed.cloud.put_server(server('d', 'h1'))
    old = bed.engine()
    bed.round(old)
    bed.ticks(old, 2)
    assert MoveState.MOVING in states(bed.found('p1'))[1]
    new = bed.engine()
    bed.ticks(new, 15)
    assert states(bed.found('p1')) == (PlanState.DONE, [MoveState.DONE, MoveState.DONE])
    assert {bed.cloud.migration(m.server_id).id for m in bed.found('p1').moves} == {'1', '2'}


@pytest.mark.parametrize('asked', [True, False])
def test_a_leader_that_died_between_writing_and_asking(bed, asked):
    """The move is marked; Nova was asked or was not: the next leader brings the server there once."""
    bed.round(bed.engine(mode='advise'))
    (move,) = bed.found('p1').moves
    bed.plans.advance('p1', PlanState.PROPOSED, PlanState.APPROVED, by='admin')
    bed.plans.advance('p1', PlanState.APPROVED, PlanState.RUNNING)
    bed.plans.move('p1', 0, MoveState.WAITING, MoveState.MOVING)
    if asked:
        bed.cloud.migrate(move.server_id, move.destination)
        bed.clock.advance(60.0)
    engine = bed.engine(mode='advise')
    bed.ticks(engine, 10)
    plan = bed.found('p1')
    assert states(plan) == (PlanState.DONE, [MoveState.DONE])
    assert bed.cloud.migration(move.server_id).id == '1'
    assert ('had arrived' in plan.moves[0].outcome) == asked


class Deaf:
    """A cloud whose next answers to `migrate` get lost: the request was heard, or it was not."""

    def __init__(self, cloud, arrives):
        self._cloud = cloud
        self._arrives = arrives
        self.lost = 1

    def __getattr__(self, name):
        return getattr(self._cloud, name)

    def migrate(self, server_id, destination):
        if self.lost and not self._arrives:
            self.lost -= 1
            raise CloudUnavailable('no connection')
        self._cloud.migrate(server_id, destination)
        if self.lost:
            self.lost -= 1
            raise CloudUnavailable('the answer got lost')


@pytest.mark.parametrize('arrives', [True, False])
def test_an_answer_that_got_lost(bed, arrives):
    """Whether Nova heard the request is found out; the server moves once."""
    cloud = bed.cloud
    bed.cloud = Deaf(cloud, arrives)
    engine = bed.engine()
    bed.round(engine)
    bed.ticks(engine, 12)
    assert states(bed.found('p1')) == (PlanState.DONE, [MoveState.DONE])
    assert cloud.migration(bed.found('p1').moves[0].server_id).id == '1'


def test_a_cloud_that_is_down_is_waited_for(bed, caplog):
    """One line in the log, no failed move, and on it goes when the cloud is back."""
    engine = bed.engine()
    bed.round(engine)
    bed.cloud.available = False
    with caplog.at_level(logging.WARNING):
        bed.ticks(engine, 20)
    assert [record.message for record in caplog.records if 'waits' in record.message] != []
    assert len(caplog.records) == 1
    bed.cloud.available = True
    bed.ticks(engine, 10)
    assert bed.found('p1').state == PlanState.DONE


class Sleepy:
    """A cloud that says yes and does nothing."""

    def __init__(self, cloud):
        self._cloud = cloud

    def __getattr__(self, name):
        return getattr(self._cloud, name)

    def migrate(self, server_id, destination):
        pass


def test_a_migration_that_never_begins_has_failed(bed):
    """Nova accepted it and its conductor died."""
    bed.cloud = Sleepy(bed.cloud)
    engine = bed.engine()
    bed.round(engine)
    bed.ticks(engine, 120)
    assert bed.found('p1').state == PlanState.RUNNING
    bed.ticks(engine, 10)
    (move,) = bed.found('p1').moves
    assert move.state == MoveState.FAILED and 'has not begun' in move.outcome


def test_a_migration_without_end_is_given_up(bed):
    """The host died in the middle; rebalancing goes on, and the server is never stopped."""
    bed.cloud.put_server(server('a', 'h1', mib=60_000))
    bed.cloud.put_server(server('b', 'h1', migratable=False))
    bed.cloud.put_server(server('c', 'h1', migratable=False))
    bed.cloud.put_host(host('h1', mib=128_000.0))
    engine = bed.engine(end_within=30.0)
    bed.round(engine)
    bed.ticks(engine, 40)
    (move,) = bed.found('p1').moves
    assert move.state == MoveState.FAILED and 'left to Nova' in move.outcome
    assert 'a' in bed.where()


def test_two_full_hosts_exchange_servers_through_a_third(bed):
    """RAM fits at every step; Nova refuses nothing."""
    hosts = [host('h1', mib=2 * MIB), host('h2', mib=2 * MIB), host('h3', cores=0.1, mib=MIB)]
    servers = [
        server('a', 'h1', vcpus=4), server('b', 'h1', vcpus=4),
        server('c', 'h2', vcpus=1), server('d', 'h2', vcpus=1),
    ]  # fmt: skip
    bed = Bed(bed.plans, bed.clock, hosts, servers)
    engine = bed.engine()
    before = bed.error()
    bed.round(engine)
    plan = bed.found('p1')
    assert len(plan.moves) == 3 and 'on its way' in ''.join(move.reason for move in plan.moves)
    bed.ticks(engine, 40)
    assert states(bed.found('p1')) == (PlanState.DONE, [MoveState.DONE] * 3)
    assert bed.error() < before


def test_a_search_that_breaks_does_not_end_the_engine(bed, caplog):
    """A defect is logged with its traceback; the next round searches again."""
    engine = bed.engine()
    bed.period = 1
    broken = replace(bed.view(), hosts=())
    engine.consider(broken)
    engine.tick()
    assert 'search for a better placement failed' in caplog.text
    bed.round(engine)
    assert bed.found('p2') is not None


def test_a_plan_holds_plain_numbers(bed):
    """Drivers of databases do not know numpy's, though they look the same."""
    rebalancing = bed.engine()
    bed.period = 1
    found = search(bed.view(), frozenset(), SETTINGS)
    (move,) = proposal(found, SETTINGS, bed.clock.wall()).moves
    numbers = (move.error_before, move.error_after, move.gain, move.cost, move.changed_at)
    assert {type(number) for number in numbers} == {float}
    assert len(move.reason) < 1000
    rebalancing.stop()


@pytest.mark.parametrize('before', [True, False], ids=['before', 'after'])
def test_an_engine_that_dies_at_any_call_is_followed_by_another(bed, before):
    """Whatever it was about to write or to ask, or had just written or asked: each server moves once."""
    for call in range(1, 100):
        servers = [server(f'{name}{call}', 'h1') for name in 'abcd']
        world = Bed(bed.plans, bed.clock, servers=servers)
        world.period = 1000 * call
        mortal = Bed(bed.plans, bed.clock, servers=servers)
        mortal.cloud, mortal.period = world.cloud, world.period
        countdown = [call]
        mortal.plans = Mortal(world.plans, countdown, before)
        mortal.cloud = Mortal(world.cloud, countdown, before)
        first = mortal.engine()
        try:
            mortal.round(first)
            mortal.ticks(first, 20)
        except Died:
            pass
        else:
            break
        second = world.engine()
        world.period += 1
        world.round(second)
        world.ticks(second, 20)
        assert sorted(world.where().values()) == ['h1', 'h1', 'h2', 'h2'], call
        made = [world.cloud.migration(one.id) for one in servers]
        assert sorted(one.id for one in made if one) == ['1', '2'], call
        assert bed.plans.list(PlanState.RUNNING) == bed.plans.list(PlanState.APPROVED) == []
    assert call > 8


def test_two_that_both_believe_to_lead(bed):
    """One does not know yet that it has lost the lead: no server moves twice, no move fails for it."""
    bed.cloud.put_server(server('d', 'h1'))
    one, other = bed.engine(), bed.engine()
    bed.round(one)
    for _ in range(20):
        one.tick()
        other.tick()
        bed.clock.advance(1.0)
    assert states(bed.found('p1')) == (PlanState.DONE, [MoveState.DONE, MoveState.DONE])
    made = [bed.cloud.migration(name) for name in 'abcd']
    assert sorted(m.id for m in made if m) == ['1', '2']


class Vague:
    """A cloud that says where a migration goes only when it is over, as Nova may."""

    def __init__(self, cloud):
        self._cloud = cloud

    def __getattr__(self, name):
        return getattr(self._cloud, name)

    def migration(self, server_id):
        found = self._cloud.migration(server_id)
        running = found is not None and found.state == 'running'
        return replace(found, destination='') if running else found


def test_a_migration_that_does_not_say_where_it_goes(bed):
    """It is taken for the one that was asked for, by this engine and by the next."""
    bed.cloud = Vague(bed.cloud)
    first = bed.engine()
    bed.round(first)
    bed.ticks(first, 2)
    bed.ticks(bed.engine(), 10)
    assert states(bed.found('p1')) == (PlanState.DONE, [MoveState.DONE])


def test_a_server_that_somebody_else_migrates(bed):
    """Somebody was faster and sent it elsewhere: the move has failed, and nothing is forced."""
    bed.cloud.put_host(host('h3', cores=0.1))
    engine = bed.engine()
    bed.round(engine)
    (move,) = bed.found('p1').moves
    bed.cloud.migrate(move.server_id, 'h3')
    bed.ticks(engine, 10)
    plan = bed.found('p1')
    assert plan.state == PlanState.FAILED and plan.moves[0].outcome
    assert bed.where()[move.server_id] == 'h3'
