# SPDX-License-Identifier: Apache-2.0
"""What one application, its tenant or its cloud gets wrong costs nobody else anything, nor him more than due.

The controller of Merkat (INRIA RR-8648), section 2.3.1, on a real database, a cloud in memory and one clock.
"""

import logging
import subprocess
import sys
from dataclasses import replace

import pytest

from nova_market.adapters.leadership import SoleLeader
from nova_market.core.app.record import AppState, DesiredState
from nova_market.core.ledger.posting import account
from nova_market.core.timestamp import stamp
from nova_market.errors import CloudAway, CloudUnavailable
from nova_market.services.app.closing import abandoned
from tests.support.app_bed import CREDIT, POLICIES, SETTINGS, Bed, component, template

pytestmark = pytest.mark.functional


@pytest.fixture
def bed(database):
    return Bed(database)


def bids(bed):
    return {bid.server_id: (bid.cpu, bid.memory, bid.payer) for bid in bed.stores.bids.list()}


def first(bed, name='app', slot='worker-1'):
    return bed.own(name)[slot][0]


# whose trouble it is


def test_errors_of_one_tenant_stop_nobody_else(bed):
    """Whatever makes Nova answer with errors is its trouble alone, asked for once in a round."""
    bed.cloud.broken = {'small'}
    for n in range(4):
        bed.add(f'a-{n}', template(), project='blue')
    bed.add('z', template(components=[component(flavor='large')]))
    bed.run(3)
    assert bed.app('z').state is AppState.RUNNING and len(bed.own('z')) == 1
    assert not bed.controller.outage
    for n in range(4):
        (why,) = bed.reasons(f'a-{n}', 'troubled')
        assert '500' in why
    bed.cloud.broken = set()
    bed.run(2)
    assert all(bed.app(f'a-{n}').state is AppState.RUNNING for n in range(4))


def test_a_policy_that_does_not_serve_an_objective_leaves_the_application_as_it_is(bed, caplog):
    """One from before policies declared their goals: its servers and bids stay, an event tells why."""
    bed.add('app', template())
    bed.run(3)
    server, (before,) = first(bed), bids(bed).values()
    bed.change('app', template={**bed.app('app').template, 'policy': 'value_density'})
    deadline = {'deadline': stamp(bed.clock.wall() + 3600.0), 'work_core_seconds': 600.0}
    bed.add('timed', template('value_density', slo=deadline))
    with caplog.at_level(logging.DEBUG):
        bed.run(3)
    (why,) = bed.reasons('app', 'troubled')
    assert why == (
        'slo: value_density works for deadline, not for metric: its servers and bids stay as they are'
    )
    assert first(bed) == server and bids(bed)[server] == before and bed.seen[-1].troubled == 1
    assert bed.app('timed').state is AppState.RUNNING
    assert not any('one application at a time' in r.message for r in caplog.records)
    bed.change('app', template={**bed.app('app').template, 'slo': deadline})
    bed.run(2)
    assert bids(bed)[server] != before and bed.seen[-1].troubled == 0


def test_an_objective_of_one_tenant_hides_nothing_of_another_tenants(bed):
    """A policy for every objective gets the deadlines of those that have one, whoever else uses it."""
    seen_deadlines = []

    def watching(seen):
        seen_deadlines.append(seen.deadlines is not None)
        return POLICIES['vertical'](seen)

    policies = {**SETTINGS.policies, 'watching': watching}
    bed.controller = bed.another(bed.leader, settings=replace(SETTINGS, policies=policies))
    bed.add('timed', template('watching', slo={'deadline': stamp(bed.clock.wall() + 3600.0)}))
    bed.add('metric', template('watching'), project='blue')
    bed.run(2)
    assert set(seen_deadlines) == {True, False}


def test_a_cloud_that_is_silent_is_asked_for_three_projects(bed):
    """Whoever asks it for nothing does not make it answer."""
    for n in range(6):
        bed.add(f'runs-{n}', template(), project=f'p{n}')
        bed.add(f'runs-{n}-waits', template(), project=f'p{n}', balance=0)
    bed.run(2)
    bed.cloud.available = False
    bed.controller.turn()
    assert bed.cloud.unanswered == 3 and bed.controller.outage


def test_a_cloud_of_one_project_is_not_asked_for_each_application(bed):
    for n in range(4):
        bed.add(f'app-{n}', template())
    bed.run(2)
    bed.cloud.available = False
    bed.controller.turn()
    assert bed.cloud.unanswered == 1 and bed.controller.outage


def test_a_list_that_fails_is_asked_for_once_in_a_pass(bed, monkeypatch):
    """However many applications its project has: an error may take as long as a time-out."""
    asked = []

    def failing(access):
        asked.append(access)
        raise CloudUnavailable('compute answers 500')

    for n in range(3):
        bed.add(f'app-{n}', template())
    bed.run(2)
    monkeypatch.setattr(bed.cloud, 'servers', failing)
    bed.controller.turn()
    assert len(asked) == 1


def test_owners_do_not_learn_where_the_cloud_is(bed, monkeypatch, caplog):
    """What could not be reached, and as whom, is for the operator's log."""
    bed.add('app', template())

    def away(access, name):
        raise CloudAway('ConnectFailure: http://10.1.2.3:8774/v2.1')

    monkeypatch.setattr(bed.cloud, 'flavor', away)
    bed.run(1)
    assert bed.reasons('app', 'troubled') == ['the cloud does not answer']
    assert '10.1.2.3' in caplog.text


def test_projects_that_never_get_an_answer_keep_it_from_nobody(bed, monkeypatch):
    """Their lists are so long that asking for them times out each time: the others get their turn."""
    for project in ('a', 'b', 'c', 'x', 'y'):
        bed.add(f'app-{project}', template(), project=project)
    bed.run(2)
    servers = bed.cloud.servers

    def slow(access):
        if access.project_id in 'abc':
            raise CloudAway('time-out')
        return servers(access)

    monkeypatch.setattr(bed.cloud, 'servers', slow)
    before = {name: first(bed, name) for name in ('app-x', 'app-y')}
    for server in before.values():
        bed.cloud.remove(server)
    bed.run(1)
    assert all(first(bed, name) != before[name] for name in before)


def test_accounts_are_read_once_in_a_round(bed, defects):
    """However many policies and parameters there are, and though one of them fails."""

    class Counting:
        scans = 0

        def __init__(self, of):
            self._of = of

        def __getattr__(self, name):
            Counting.scans += name == 'list'
            return getattr(self._of, name)

    def broken(seen, *, size=1.0):
        raise ZeroDivisionError('not today')

    bed.controller = bed.another(
        bed.leader,
        stores=replace(bed.stores, accounts=Counting(bed.stores.accounts)),
        settings=replace(SETTINGS, policies={**SETTINGS.policies, 'broken': broken}),
    )
    for n in range(3):
        queue = {'slo': {'queue': True}, 'parameters': {'growth': 0.1 + n}}
        bed.add(f'q-{n}', template('queue_driven', **queue))
        bed.add(f'b-{n}', template('broken'))
    bed.run(1)
    assert all(bed.app(f'q-{n}').period for n in range(3))
    assert Counting.scans == 2  # a page, and the one that has no more


def test_each_kind_of_trouble_is_reported_once(bed, defects):
    """A second cause is told too, and neither again in each pass."""
    causes = ['no water 1', 'no power', 'no water 2', 'no power']

    def broken(seen):
        raise ZeroDivisionError(causes[len(bed.stores.history.rounds(limit=100)) - 1])

    policies = {**SETTINGS.policies, 'broken': broken}
    bed.controller = bed.another(bed.leader, settings=replace(SETTINGS, policies=policies))
    bed.add('app', template('broken'))
    bed.run(4)
    problems = [why.split(': ')[1] for why in bed.reasons('app', 'troubled')]
    assert problems == ['no power', 'no water 1']


def test_who_loses_the_lead_stops_in_the_middle(bed):
    """What is left is for whoever leads now."""

    class Losing(SoleLeader):
        left = 10**9

        def leading(self):
            self.left -= 1
            return self.left >= 0

    leader = Losing()
    controller = bed.another(leader)
    for n in range(4):
        bed.add(f'app-{n}', template())
    bed.market.engine.tick()
    controller.turn()
    leader.left = 2
    bed.cloud.asked.clear()
    for n in range(4):
        bed.cloud.remove(first(bed, f'app-{n}'))
    controller.turn()
    assert bed.cloud.asked == [('create', 'worker-1')] * 2


# what it costs


@pytest.mark.parametrize('wish', [DesiredState.SUSPEND, DesiredState.DELETE])
def test_what_nova_refuses_to_stop_pays_no_more(bed, wish):
    """A locked server: nothing is bid from the budget, nor by default from its project; reported once."""
    bed.add('app', template())
    bed.run(2)
    bed.cloud.locked = {first(bed)}
    bed.change('app', wish=wish)
    bed.run(3)
    assert bids(bed) == {first(bed): (0, 0, account('budget', 'app'))}
    (why,) = bed.reasons('app', 'refused')
    assert 'is locked' in why
    assert bed.cores('app') == 0 or wish is DesiredState.SUSPEND
    bed.cloud.locked = set()
    bed.run(2)
    rest = {} if wish is DesiredState.DELETE else {first(bed): (0, 0, account('budget', 'app'))}
    assert bids(bed) == rest


def test_without_its_trust_what_is_deleted_pays_no_more(bed):
    """Its money goes back at once, nothing is renewed; row and servers wait for a trust, or an operator."""
    bed.add('app', template(), renew=1000.0)
    bed.run(2)
    server = first(bed)
    bed.cloud.trusts.clear()
    bed.change('app', wish=DesiredState.DELETE)
    bed.run(2)
    before = bed.market.balance('red')
    assert before == pytest.approx(1000 * CREDIT, abs=20 * CREDIT)
    bed.run(4)
    assert bed.market.balance('red') == before
    assert bids(bed) == {server: (0, 0, account('budget', 'app'))}
    assert bed.stores.accounts.account(account('budget', 'app')).closed
    left = abandoned(bed.stores, 'app')
    assert (left.app.state, left.servers, left.trusts) == (
        AppState.DELETING, [server], [left.app.trust_id],
    )  # fmt: skip
    assert bed.app('app') is None and bids(bed) == {} and bed.stores.slots.all() == {}
    bed.run(2)
    assert list(bed.cloud.made) == [server] and bed.seen[-1].troubled == 0


@pytest.mark.clock
def test_an_operator_forgets_what_runs_too(bed, url, tmp_path):
    """It says what may be left; what is not there is an error."""
    bed.add('app', template())
    bed.run(2)
    path = tmp_path / 'controller.conf'
    path.write_text(f'[database]\nconnection = {url}\n')

    def forget():
        asked = [sys.executable, '-W', 'ignore', '-m', 'nova_market.cmd.controller']
        asked += ['--config-file', str(path), 'forget', 'app']
        return subprocess.run(asked, capture_output=True, text=True, timeout=120)

    done = forget()
    server, trust = first(bed), next(iter(bed.cloud.trusts))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        'application app of project red is forgotten',
        f'server {server} may be left: delete it',
        f'trust {trust} may be left: delete it',
    ]
    bed.run(2)
    assert bed.app('app') is None and list(bed.cloud.made) == [server]
    again = forget()
    assert (again.returncode, again.stdout) == (1, '')
    assert "there is no application 'app'" in again.stderr


def test_a_double_that_cannot_be_deleted_costs_nothing(bed):
    flavor = bed.cloud.flavors['small']
    bed.add('app', template())
    bed.run(2)
    marks = {'market:app': 'app', 'market:slot': 'worker-1', 'market:bid_cpu': '5'}
    bed.cloud.put('double', 'red', marks, flavor)
    bed.cloud.locked = {'double'}
    bed.run(2)
    assert bids(bed)['double'][:2] == (0, 0)
    bed.cloud.locked = set()
    bed.run(2)
    assert 'double' not in bids(bed) and bed.own('app') == {'worker-1': [first(bed)]}


def test_a_trust_that_cannot_be_used_now_is_not_forgotten(bed):
    """Its owner is locked out for an hour: it is a delegation that lives on, until it is deleted."""
    bed.add('app', template(), balance=0)
    bed.run(2)
    bed.cloud.barred = set(bed.cloud.trusts)
    bed.change('app', wish=DesiredState.DELETE)
    bed.run(3)
    assert bed.app('app').state is AppState.DELETING and len(bed.cloud.trusts) == 1
    bed.cloud.barred = set()
    bed.run(2)
    assert bed.app('app') is None and bed.cloud.trusts == {}


def test_what_was_given_back_is_in_what_was_spent(bed):
    """Charges of all servers it ever had, also of those that went in the middle."""
    given = template('horizontal', components=[component(count=(1, 4))])
    bed.add('web', given)
    for metric in (3.0, 3.0, 3.0, 3.0, 0.1, 0.1, 0.1, 0.9):
        bed.report('web', metric=metric)
        bed.run(1)
    assert {'grew', 'shrank'} <= set(bed.actions('web'))
    ids = [why.split()[1] for why in bed.reasons('web', 'created')]
    rows = [one for s in ids for one in bed.stores.history.allocations_of(s, limit=1000)]
    counted = bed.app('web').memory['counted']
    assert len(ids) > len(bed.own('web'))
    assert bed.app('web').figures['spent'] == sum(
        one.charge_cpu + one.charge_memory
        for one in rows
        if one.confirmed and one.period <= counted
    )


# servers that come late, or not at all


def test_a_server_that_comes_late_is_not_left_behind(database):
    """Its making was not answered: until it cannot come any more its application is there."""
    bed = Bed(database, settings=replace(SETTINGS, settle_time=120.0))
    bed.add('app', template())
    bed.cloud.lost_answers = 1
    bed.market.engine.tick()
    bed.controller.tick()
    (late,) = bed.cloud.made
    made = bed.cloud.made.pop(late)
    bed.change('app', wish=DesiredState.DELETE)
    bed.clock.advance(30)
    bed.run(1)
    bed.cloud.made[late] = made
    bed.run(2)
    assert (bed.app('app'), bed.cloud.made, bed.cloud.trusts) == (None, {}, {})
    assert bed.cloud.asked.count(('create', 'worker-1')) == 1


def test_what_was_refused_does_not_keep_the_end_back(bed):
    """The pause after many refusals is long, but nothing can come any more."""
    bed.add('app', template(components=[component(image='missing')]))
    bed.run(9)
    (slot,) = bed.stores.slots.slots('app')
    assert slot.retry_at > bed.clock.wall() + 120
    bed.change('app', wish=DesiredState.DELETE)
    bed.run(1)
    assert bed.app('app') is None


def test_a_server_in_error_that_stays_is_tried_ever_less(bed):
    """It cannot be deleted: the pauses grow, and the owner's events are not filled with it."""
    bed.cloud.failing, bed.cloud.locked = {'worker-1'}, {'server-0001'}
    bed.add('app', template())
    bed.run(10)
    assert 4 <= bed.actions('app').count('failed') <= 7
    assert bed.cloud.asked.count(('delete', 'server-0001')) <= 7


def test_names_of_servers_are_as_long_as_nova_takes_them(bed):
    bed.add('app', template(name='n' * 255))
    bed.run(2)
    (name,) = {one.name for one in bed.cloud.made.values()}
    assert len(name) == 255 and name.endswith('n-worker-1')
