# SPDX-License-Identifier: Apache-2.0
"""What is read of an application, what may be spent, and what is decided: pure, by number."""

import math
from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.app.controller_state import ComponentState, ControllerState, state_of
from nova_market.core.app.decision import Rules, decisions
from nova_market.core.app.policies.full_deadline import full_deadline
from nova_market.core.app.policies.merkat_policies import horizontal, vertical
from nova_market.core.app.policies.policy_interface import MarketState, bought, cost
from nova_market.core.app.policies.queue_driven import queue_driven
from nova_market.core.app.policies.value_density import value_density
from nova_market.core.app.policy_columns import columns, measured
from nova_market.core.app.record import (
    APP_MARKS,
    AppReport,
    AppState,
    DesiredServerState,
    DesiredState,
    StoredApp,
    StoredSlot,
)
from nova_market.core.app.slots import slots_for
from nova_market.core.app.template import document, parsed
from nova_market.core.app.view import (
    AppView,
    BudgetState,
    MarketNow,
    fresh,
    is_finished,
    learned,
    market_state,
    metric_of,
    progress_of,
    queue_of,
    remaining,
    spendable,
)
from nova_market.core.market.owner_server import NewServer
from nova_market.core.market.record import PriceRecord
from nova_market.core.timestamp import stamp
from nova_market.errors import BadSnapshot

NOW = 6000.0
METRIC = {'metric': {'low': 0.75, 'reference': 0.9, 'high': 1.0}}


def market(period=100, price=(1e6, 10.0), idle=(2.0, 4096.0)):
    state = MarketState(
        price=np.array(price),
        capacity=np.array([8.0, 16384.0]),
        idle=np.array(idle),
        reserve=np.array([1000.0, 1.0]),
    )
    return MarketNow(period=period, now=NOW, seconds=60.0, state=state)


def view(
    slo=None,
    *,
    state=AppState.RUNNING,
    wish=DesiredState.RUN,
    count=1,
    most_count=1,
    got=(1.0, 1024.0),
    **more,
):
    """One component of servers with 2 cores and 2048 MiB."""
    given = {
        'name': 'a',
        'policy': 'vertical',
        'slo': slo or METRIC,
        'start': more.pop('start', {}),
        'components': [
            {'name': 'w', 'flavor': 'f', 'image': 'i', 'least_count': 1, 'most_count': most_count,
             'least': {'cpu': 0.5}}
        ],
    }  # fmt: skip
    template = parsed(given)
    slots = [slot(n + 1, server_id=f's{n + 1}') for n in range(count)]
    carried = ControllerState(components={'w': ComponentState(bid=(1e6, 1e4), most=(2.0, 2048.0))})
    app = StoredApp(
        id='a', project_id='p', user_id='u', template=document(template), state=state, wish=wish
    )
    made = AppView(
        app=app,
        template=template,
        carried=replace(carried, **more.pop('carried', {})),
        slots=slots,
        allocations={one.server_id: got for one in slots} if got else {},
        budget=BudgetState(balance=100_000_000, renew_amount=100_000_000),
    )
    return replace(made, **more)


def slot(number, **more):
    return StoredSlot(app_id='a', component='w', number=number, **more)


def report(**more):
    return AppReport(app_id='a', **{'at': NOW} | more)


def decided(one, policy=vertical, **more):
    (made,) = decisions([one], market(**more), policy, Rules(horizon=60, report_life=300.0))
    return made


# what may be spent


@pytest.mark.parametrize(
    ('budget', 'deadline', 'allowed'),
    [
        (BudgetState(balance=600), None, 10.0),
        (BudgetState(balance=600), NOW + 600.0, 60.0),
        (BudgetState(balance=600), NOW - 600.0, 600.0),
        (BudgetState(balance=10, renew_amount=600, project=10_000), None, 600.0),
        (BudgetState(balance=10, renew_amount=600, project=100), None, 110.0),
        # period 100: the next renewal comes with the settlement of 102, so three rounds live of this
        (BudgetState(balance=300, renew_amount=600, renew_every=34, project=10_000), None, 150.0),
        (BudgetState(balance=10, renew_amount=500, renew_every=10, project=10_000), None, 50.0),
    ],
)
def test_a_budget_lasts_until_there_is_more(budget, deadline, allowed):
    """In equal parts: until it renews itself, until the deadline, or over the horizon."""
    assert spendable(budget, market(), 60, deadline) == pytest.approx(allowed)


# reports


def test_old_reports_do_not_count_and_the_application_speaks_for_its_servers():
    old, one, two = (
        report(at=1.0),
        report(server_id='s1', metric=1.0),
        report(server_id='s2', metric=3.0),
    )
    assert fresh([old, one, two], NOW - 300) == [one, two]
    assert metric_of(fresh([one, two], 0.0)) == 2.0
    whole = report(metric=9.0)
    assert fresh([whole, one, two], 0.0) == [whole]
    assert metric_of([old]) is None


def test_queues_and_progress_add_up():
    """What servers do side by side goes on at the same time."""
    parts = [
        report(server_id='s1', total=10.0, done=4.0, seconds_each=6.0, waiting=2),
        report(server_id='s2', total=10.0, done=8.0, seconds_each=2.0, waiting=1, busy=1),
    ]
    found = progress_of(view(reports=parts, count=2))
    assert (found.total, found.done, found.seconds_each) == (20.0, 12.0, 2.0)
    assert queue_of(parts) == (3, 1)
    other = [report(metric=1.0)]
    assert (progress_of(view(reports=other)), queue_of(other)) == (None, None)


def test_a_server_that_says_nothing_has_its_work_before_it():
    """One that is new, or lost, does not make the work less; one that is given back counts no more."""
    parts = [report(server_id=f's{n}', total=10.0, done=10.0) for n in (1, 2)]
    three = view(reports=parts, count=3)
    assert (progress_of(three).total, progress_of(three).done) == (30.0, 20.0)
    assert not is_finished(three)
    lost = replace(three, slots=[*three.slots[:2], slot(3)])
    assert progress_of(lost).total == 30.0 and not is_finished(lost)
    left = replace(three, slots=[*three.slots[:2], slot(3, intention=DesiredServerState.GONE)])
    assert progress_of(left).total == 20.0 and is_finished(left)
    none = replace(three, slots=[slot(1)])
    assert progress_of(none) is None and not is_finished(none)


def test_the_end_is_reported_by_each_server_or_by_the_whole():
    """More than all of one part is not part of another; what was told before the start is another run's."""
    parts = [report(server_id=f's{n}', total=10.0, done=done) for n, done in ((1, 19.0), (2, 1.0))]
    assert not is_finished(view(reports=parts, count=2))
    done = [report(total=4.0, done=4.0)]
    assert is_finished(view(reports=[*parts, *done], count=2))
    assert not is_finished(view(reports=done, carried={'began': NOW + 1.0}))


def test_the_time_of_an_iteration_is_measured_between_reports():
    """Eq. (4), brought to full allocations: half the CPU, so half of 20 s."""
    first = view(reports=[report(at=NOW - 100, total=50.0, done=10.0)], carried={'part': 0.5})
    carried = learned(first)
    assert (carried.at, carried.done, carried.each) == (NOW - 100, 10.0, 0.0)
    second = view(reports=[report(total=50.0, done=15.0)])
    carried = learned(
        replace(second, carried=replace(carried, components=second.carried.components))
    )
    assert carried.each == pytest.approx(10.0)
    known = replace(second, carried=replace(carried, components=second.carried.components))
    assert remaining(known, NOW, 300.0) == pytest.approx(350.0)
    # one core of two: half a second of work in each
    assert remaining(known, NOW + 100, 300.0) == pytest.approx(300.0)


def test_an_outlier_does_not_end_an_application():
    """Twice as long at most in one report; nothing is learned over a suspension."""
    one = view(reports=[report(total=50.0, done=15.0, seconds_each=900.0)])
    reported = {'components': one.carried.components, 'at': NOW - 60, 'done': 14.0, 'each': 10.0}
    assert learned(replace(one, carried=ControllerState(**reported))).each == 20.0
    resumed = replace(
        one, app=replace(one.app, changed_at=NOW - 30), carried=ControllerState(**reported)
    )
    carried = learned(resumed)
    assert (carried.at, carried.done, carried.each) == (NOW, 15.0, 10.0)
    rests = replace(
        one, app=replace(one.app, state=AppState.SUSPENDED), carried=ControllerState(**reported)
    )
    assert learned(rests).each == 10.0


def test_the_first_time_of_an_iteration_is_bounded_too():
    """By what the template says of all the work; what is no time at all is not learned."""
    slo = {'deadline': stamp(NOW + 3600), 'work_core_seconds': 1000.0}
    slow = view(slo, reports=[report(total=50.0, done=1.0, seconds_each=900.0)])
    assert learned(slow).each == 2.0 * 1000.0 / 2.0 / 50.0
    still = view(slo, reports=[report(total=50.0, done=5e-324)], carried={'at': NOW - 60})
    assert learned(still).each == 0.0
    free = view(reports=[report(total=50.0, done=1.0, seconds_each=900.0)])
    assert learned(free).each == 900.0


def test_a_guest_that_hangs_does_not_come_nearer_to_its_end():
    """It gets CPU; what was told is believed for as long as reports count."""
    one = view(reports=[report(total=50.0, done=10.0)], carried={'at': NOW, 'each': 20.0})
    assert remaining(one, NOW + 300, 300.0) == 650.0
    assert remaining(one, NOW + 9000, 300.0) == 650.0


def test_work_that_nobody_reports_is_what_was_not_given_yet():
    slo = {'deadline': stamp(NOW + 3600), 'work_core_seconds': 7200.0}
    assert remaining(view(slo, carried={'given': 3600.0}), NOW, 300.0) == 1800.0
    assert remaining(view(slo, reports=[report(total=4.0, done=1.0)]), NOW, 300.0) == 2700.0
    assert remaining(view({'deadline': stamp(NOW + 3600)}), NOW, 300.0) is None


@pytest.mark.parametrize(
    ('total', 'done', 'over'), [(0.0, 0.0, False), (4.0, 3.9, False), (4.0, 4.0, True)]
)
def test_only_all_of_some_work_is_the_end(total, done, over):
    assert is_finished(view(reports=[report(total=total, done=done)])) is over


def test_memory_is_the_same_after_a_restart():
    carried = view().carried
    assert state_of(carried.document()) == carried
    assert state_of({}) == ControllerState()


# decisions


def test_bids_follow_the_metric():
    """Algorithm 2 through the whole chain: worse by half doubles nothing, it adds the gap."""
    found = decided(view(reports=[report(metric=1.8)]))
    assert found.carried.of('w').bid[0] == pytest.approx(1.5e6)
    assert [e.action for e in found.events] == ['bid']
    assert 'worse than it needs' in found.events[0].reason
    better = decided(view(reports=[report(metric=0.45)]))
    assert better.carried.of('w').bid[0] == pytest.approx(0.5e6)


def test_without_reports_nothing_changes():
    found = decided(view(reports=[report(at=NOW - 1000, metric=9.0)]))
    assert found.carried.of('w').bid == (1e6, 1e4) and found.events == ()
    assert found.figures.performance is None


def test_servers_that_no_round_has_seen_change_nothing():
    """They are booting: nothing can be said of their bids."""
    found = decided(view(got=None, reports=[report(metric=9.0)]))
    assert found.carried.of('w').bid == (1e6, 1e4) and found.counts == {'w': 1}


def test_a_deadline_without_any_word_of_the_work_starts_small():
    """Half a core of two is the least: not the whole budget for an unknown need."""
    slo = {'deadline': stamp(NOW + 3600)}
    one = view(slo, state=AppState.WAITING, count=0, got=None)
    found = decided(one, full_deadline)
    assert found.state is AppState.RUNNING
    assert found.carried.of('w').bid[0] < 0.1 * one.budget.balance


def test_an_end_counts_what_the_last_round_costs():
    done = view(reports=[report(total=1.0, done=1.0)], due=7, carried={'spent': 35})
    found = decided(done)
    assert (found.state, found.figures.spent) == (AppState.FINISHED, 42)


@pytest.mark.parametrize(
    ('limit', 'before', 'wish', 'state'),
    [
        (2e6, None, DesiredState.RUN, AppState.RUNNING),
        (1e6, None, DesiredState.RUN, AppState.WAITING),
        (1e6, NOW, DesiredState.RUN, AppState.CANCELLED),
        (1e6, NOW + 1, DesiredState.RUN, AppState.WAITING),
        (2e6, None, DesiredState.SUSPEND, AppState.WAITING),
    ],
)
def test_terms_of_a_start(limit, before, wish, state):
    """Below the price, not at it; before the time, not at it; and its owner may hold it."""
    start = {'price_below': {'cpu': limit}}
    if before is not None:
        start |= {'before': stamp(before), 'else': 'cancel'}
    one = view(state=AppState.WAITING, wish=wish, count=0, got=None, start=start)
    assert decided(one).state is state


def test_a_start_is_planned_by_past_prices():
    """A price that has just fallen may rise again with the first of those who wait."""
    one, now = view(state=AppState.WAITING, count=0, got=None), market()
    assert decided(one).state is AppState.RUNNING
    dear = replace(now, state=replace(now.state, planned_price=np.array([1e9, 10.0])))
    (made,) = decisions([one], dear, vertical, Rules(horizon=60, report_life=300.0))
    assert made.state is AppState.WAITING


def test_applications_are_decided_together_as_alone():
    """Columns do not mix: many at once give what each gives by itself."""
    many = [
        view(reports=[report(metric=m)], count=c, most_count=6)
        for m, c in ((0.1, 3), (0.9, 2), (5.0, 1))
    ]
    for policy in (vertical, horizontal):
        together = decisions(many, market(), policy, Rules())
        alone = [decisions([one], market(), policy, Rules())[0] for one in many]
        assert [d.carried for d in together] == [d.carried for d in alone]
        assert [d.counts for d in together] == [d.counts for d in alone]


def test_figures_have_no_infinity():
    """JSON has none: with the deadline over, lateness is not a number any more."""
    slo = {'deadline': stamp(NOW - 1), 'work_core_seconds': 100.0}
    figures = decided(view(slo)).figures
    assert figures.lateness is None and math.isfinite(figures.budget)


def test_an_application_is_not_dropped_for_one_report():
    """Three decisions in a row on something new; until then its bids stay as they are."""
    slo = {'deadline': stamp(NOW + 3600)}
    one = view(slo, reports=[report(at=NOW - 9, total=1000.0, done=1.0, seconds_each=1e15)])
    states = []
    for at in (NOW - 9, NOW - 9, NOW - 8, NOW - 7):
        one = replace(one, reports=[replace(one.reports[0], at=at)])
        found = decided(one, full_deadline)
        states.append((found.state, found.carried.doubts, found.carried.of('w').bid))
        one = replace(one, carried=found.carried)
    rest = (1e6, 1e4)
    assert states[:3] == [(AppState.RUNNING, n, rest) for n in (1, 1, 2)]
    assert states[3][:2] == (AppState.DROPPED, 3)


def test_doubts_that_are_cleared_are_forgotten():
    slo = {'deadline': stamp(NOW + 3600)}
    one = view(slo, reports=[report(total=10.0, done=5.0)], carried={'doubts': 2, 'each': 1.0})
    found = decided(one, full_deadline)
    assert (found.state, found.carried.doubts) == (AppState.RUNNING, 0)


@pytest.mark.parametrize(
    ('state', 'more', 'after'),
    [
        (AppState.RUNNING, {}, AppState.SUSPENDED),
        (AppState.SUSPENDED, {}, AppState.SUSPENDED),
        (AppState.WAITING, {'count': 0, 'got': None}, AppState.DROPPED),
        (AppState.RUNNING, {'reports': [report(total=1.0, done=1.0)]}, AppState.FINISHED),
    ],
)
def test_nothing_runs_and_pays_past_its_deadline(state, more, after):
    """What is not known to be done stops paying; its owner may move the deadline or fetch what there is."""
    found = decided(view({'deadline': stamp(NOW)}, state=state, **more), full_deadline)
    assert found.state is after


def test_what_cannot_be_done_any_more_ends_after_its_deadline():
    """Though nothing new is told."""
    slo = {'deadline': stamp(NOW)}
    one = view(slo, reports=[report(at=NOW - 900, total=10.0, done=1.0)])
    one = replace(one, carried=replace(one.carried, at=NOW - 900, each=600.0))
    states = []
    for _ in range(3):
        found = decided(one, full_deadline)
        states.append(found.state)
        one = replace(one, carried=found.carried)
    assert states == [AppState.RUNNING, AppState.RUNNING, AppState.DROPPED]


def test_what_ends_while_its_servers_boot_says_why():
    reported = [report(total=1000.0, done=0.0, seconds_each=60.0)]
    one = view({'deadline': stamp(NOW + 60)}, got=None, reports=reported, carried={'doubts': 2})
    (ended,) = decided(one, full_deadline).events
    assert ended.action == 'dropped' and 'not even full allocations' in ended.reason


def test_a_component_that_cannot_be_made_holds_no_other():
    """Bids of the others follow; of its own nothing is said."""
    one = view(reports=[report(metric=1.8)])
    parts = [{**dict(one.app.template['components'][0]), 'name': name} for name in ('w', 'bad')]
    template = parsed({**one.app.template, 'components': parts})
    carried = replace(one.carried, components={n: one.carried.of('w') for n in ('w', 'bad')})
    both = [*one.slots, StoredSlot(app_id='a', component='bad', number=1)]
    found = decided(replace(one, template=template, carried=carried, slots=both))
    assert found.carried.of('w').bid[0] == pytest.approx(1.5e6)
    assert found.carried.of('bad').bid == (1e6, 1e4)
    assert [e.reason.split(':')[0] for e in found.events] == ['w']


# slots


def counted(count, slots, intention=DesiredServerState.PRESENT):
    app = view().app
    after = {one.number: one for one in slots}
    after |= {one.number: one for one in slots_for(app, slots, {'w': count}, intention)}
    return {n: one.intention for n, one in sorted(after.items())}


def test_more_servers_take_the_lowest_numbers_that_are_free():
    """A number whose server is still going is not free."""
    there = [slot(1, server_id='a'), slot(3, server_id='c', intention=DesiredServerState.GONE)]
    found = counted(3, there)
    assert found == {
        1: DesiredServerState.PRESENT,
        2: DesiredServerState.PRESENT,
        3: DesiredServerState.GONE,
        4: DesiredServerState.PRESENT,
    }


def test_fewer_servers_let_go_of_those_that_were_never_made_then_of_the_last():
    there = [slot(1), slot(2, server_id='b'), slot(3, server_id='c')]
    assert counted(2, there)[1] is DesiredServerState.GONE
    assert counted(1, there) == {
        1: DesiredServerState.GONE,
        2: DesiredServerState.PRESENT,
        3: DesiredServerState.GONE,
    }


def test_suspending_makes_no_servers():
    assert counted(3, [slot(1, server_id='a')], DesiredServerState.SUSPENDED) == {
        1: DesiredServerState.SUSPENDED
    }


def test_marks_cannot_be_overwritten():
    given = NewServer(
        owner='a',
        place='w-1',
        name='n',
        flavor='f',
        image='i',
        metadata={'market:app': 'other', 'x': 'y'},
    )
    assert APP_MARKS.of(given) == {'market:app': 'a', 'market:slot': 'w-1', 'x': 'y'}


# what is missing


def columns_of(*views):
    found = [measured(one, market(), 60, 300.0) for one in views]
    return columns(views, found, market())[0]


def test_what_an_application_does_not_have_is_missing():
    """Not a deadline far away, nor a queue of nothing."""
    timed = view({'deadline': stamp(NOW + 3600)})
    queue = view({'queue': True})
    assert columns_of(timed).deadlines.left.tolist() == [3600.0]
    assert columns_of(timed).backlog is None
    assert columns_of(view()).deadlines is None
    assert columns_of(timed, view()).deadlines is None
    assert columns_of(queue).backlog.busy.tolist() == [1]
    reports = [report(waiting=2, busy=1)]
    assert columns_of(view({'queue': True}, reports=reports)).backlog.waiting.tolist() == [2]
    # whether others of its policy report one too must not decide
    assert columns_of(view(reports=reports)).backlog is None


@pytest.mark.parametrize(
    ('policy', 'missing'),
    [(full_deadline, 'deadlines'), (value_density, 'deadlines'), (queue_driven, 'backlogs')],
)
def test_a_policy_refuses_an_application_without_what_it_needs(policy, missing):
    """Whoever installed it for such an application reads why."""
    with pytest.raises(BadSnapshot, match=f'needs the {missing}'):
        decided(view(), policy)


def test_a_resource_that_nobody_sells_is_free():
    """B5: an application without credits for memory gets all of it, and its CPU is paid as before."""
    record = PriceRecord(
        period=1, resource='cpu', price=1e6, bid_price=1e6, capacity=8.0, allocated=6.0, bids=1
    )
    state = market_state({'cpu': record}, (1000.0, 1.0))
    assert (state.price.tolist(), state.reserve.tolist()) == ([1e6, 0.0], [1000.0, 0.0])
    others, amount = np.array([[1e6], [0.0]]), np.array([[1.0], [1e6]])
    assert cost(amount, others, state)[1].tolist() == [0.0]
    assert bought(np.array([[1e6], [1.0]]), others, state)[1] >= 1e6
