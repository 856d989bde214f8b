# SPDX-License-Identifier: Apache-2.0
"""Admission (SVMSched, section 4.2.1): what is taken, and which refusal names what."""

import re
from dataclasses import replace

import pytest

from nova_market.core.job.dependency import named_after, release
from nova_market.core.job.notices import job_notices
from nova_market.core.job.operator_limits import JobLimits
from nova_market.core.job.queue import QueueLimits, QueueState
from nova_market.core.job.queue_request import changed_queue, new_queue, shares_above_one
from nova_market.core.job.record import AfterCondition, HeldJob, JobEvent, JobState
from nova_market.core.job.request import (
    AdmissionFacts,
    Submitter,
    admitted,
    may_submit,
    most_cost,
)
from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.errors import BadJob, BadQueue, BalanceTooLow, QueueClosed
from tests.support.job_records import id_of, job, queue

NIGHT = queue(flavors=('small', 'big'), price_core_hour=0)
FACTS = AdmissionFacts(
    queues={'night': NIGHT},
    flavors={'small': (1.0, 1024.0, 10.0), 'big': (8.0, 16384.0, 80.0)},
    hosts=[(4.0, 65536.0, 500.0), (8.0, 8192.0, 500.0)],
    now=1000.0,
)
BY = Submitter(user_id='u', project_id='red', roles=('member',))
STRANGER = replace(BY, project_id='blue')
ENTRY = {'queue': 'night', 'script': '#!/bin/sh\n', 'time_limit': 600}
HELD, WAITING, FAILED = JobState.HELD, JobState.WAITING, JobState.FAILED


def admit(*entries, facts=FACTS, by=BY):
    return admitted([{**ENTRY, **entry} for entry in entries], by, facts, lambda path: path, 'd')


def refusal(*entries, **more):
    with pytest.raises(BadJob) as error:
        admit(*entries, **more)
    return str(error.value)


def test_a_size_that_no_flavor_has_is_refused_with_what_was_asked_for():
    """Without amounts that nobody gave."""
    for asked, text in (
        ({'cores': 99}, '99 cores'),
        ({'cores': 1, 'memory_mib': 1e6}, '1 core, 1000000 MiB'),
    ):
        assert f'resources: {text}: no flavor of queue night has that' in refusal(
            {'resources': asked}
        )


def test_ids_follow_from_the_place_in_the_request():
    """So the same request has the same ids; elements of an array share what they run."""
    new = admit({}, {'array': 2})
    assert [one.id for one in new.jobs] == ['job/0/0', 'job/1/0', 'job/1/1']
    assert [one.content_id for one in new.jobs] == ['job/0/0', 'array/1', 'array/1']
    assert [one.id for one in new.contents] == ['job/0/0', 'array/1']
    assert {one.submitted_at for one in new.jobs} == {1000.0}


def test_the_first_flavor_of_the_queue_that_is_enough_is_taken():
    """And fits some host as a whole: enough cores on one and memory on another is not enough."""
    assert admit({}).jobs[0].flavor == 'small'
    assert 'big takes 8 cores, 16384 MiB' in refusal({'resources': {'cores': 2}})
    larger = replace(FACTS, hosts=[*FACTS.hosts, (8.0, 16384.0, 80.0)])
    assert admit({'resources': {'cores': 2}}, facts=larger).jobs[0].flavor == 'big'
    unknown = replace(FACTS, hosts=())
    assert admit({'flavor': 'big'}, facts=unknown).jobs[0].cores == 8
    assert 'give one of them' in refusal({'flavor': 'big', 'resources': {'cores': 1}})
    gone = replace(FACTS, flavors={'small': FACTS.flavors['small']})
    assert 'the cloud has no flavor big' in refusal({'flavor': 'big'}, facts=gone)


@pytest.mark.parametrize(
    ('length', 'passes'), [(65_536, True), (65_537, False), (10 * 2**20, False)]
)
def test_a_script_has_a_limit_in_bytes(length, passes):
    """The refusal names its size and the limit; an umlaut is two bytes."""
    script = '#!' + 'x' * (length - 2)
    if passes:
        assert admit({'script': script}).contents[0].script == script
        assert '65537 bytes' in refusal({'script': script[:-1] + 'ä'})
    else:
        text = refusal({}, {'script': script})
        assert text.startswith(f'jobs[1].script: {length} bytes: give at most 65536')


@pytest.mark.parametrize(
    ('entry', 'words'),
    [
        ({'checkpoint': 'save'}, 'jobs[0].checkpoint: begins with'),
        ({'script': '#!/bin/sh\0'}, 'jobs[0].script: has a NUL character'),
        ({'environment': {'A': '\ud800'}}, 'jobs[0].environment.A'),
        ({'priority': 99}, 'jobs[0].priority: 99'),
        ({'array': 501}, ''),
    ],
)
def test_what_no_schema_can_say_is_refused(entry, words):
    if entry == {'array': 501}:
        assert 'jobs: 1002 with the elements of arrays: give at most 1000' in refusal(entry, entry)
    else:
        assert words in refusal(entry)


def test_limits_of_the_queue_are_named_with_what_was_given():
    limits = QueueLimits(max_time_limit=599, max_servers=2, max_array=3)
    facts = replace(FACTS, queues={'night': replace(NIGHT, limits=limits)})
    assert 'time_limit: 600 (10m): queue night takes at most 599 (9m59s)' in refusal(
        {}, facts=facts
    )
    entry = {'time_limit': 599}
    assert 'servers: 3' in refusal({**entry, 'servers': 3}, facts=facts)
    assert 'array: 4' in refusal({**entry, 'array': 4}, facts=facts)
    assert len(admit({**entry, 'servers': 2, 'array': 3}, facts=facts).jobs) == 3


def test_who_may_submit():
    """The own project and invited ones; where there are roles, one of them, in the own project too."""
    assert may_submit(NIGHT, BY) and not may_submit(NIGHT, STRANGER)
    invited = replace(NIGHT, projects=('blue',))
    assert may_submit(invited, STRANGER)
    strict = replace(invited, roles=('creator',))
    assert not may_submit(strict, BY) and not may_submit(strict, STRANGER)
    assert may_submit(strict, replace(STRANGER, roles=('member', 'creator')))
    with pytest.raises(QueueClosed, match='night is closed'):
        admit({}, facts=replace(FACTS, queues={'night': replace(NIGHT, state=QueueState.CLOSED)}))


def test_what_jobs_may_cost_is_rounded_up_and_added_up():
    """8 cores for 600 s are 1.33 core-hours; the elements of an array count each.

    As much again is held for jobs that they displace, unless they are best effort and displace none.
    """
    dear = replace(NIGHT, price_core_hour=1_000_000)
    assert most_cost(dear, (8.0, 0.0, 0.0), 1, 600) == 1_333_334
    assert most_cost(dear, (8.0, 0.0, 0.0), 3, 3600) == 24_000_000
    facts = replace(FACTS, queues={'night': replace(dear, projects=('blue',))}, balance=666_668)
    new = admit({'array': 2}, facts=facts, by=STRANGER)
    assert {(one.cost_limit, one.reserve) for one in new.jobs} == {(166_667, 166_667)}
    with pytest.raises(BalanceTooLow, match=r'cost 0\.333334 credits .* hold 0\.333334 for'):
        admit({'array': 2}, facts=replace(facts, balance=666_667), by=STRANGER)
    some = replace(facts, balance=333_334)
    assert admit({'array': 2, 'kind': 'best_effort'}, facts=some, by=STRANGER).jobs[0].reserve == 0


def test_no_job_costs_more_than_an_account_holds():
    """Neither where it is free: the column has no more room."""
    dear = replace(FACTS, queues={'night': replace(NIGHT, price_core_hour=MAX_AMOUNT)})
    text = refusal({'servers': 64, 'time_limit': 3600}, facts=dear)
    assert 'jobs[0].time_limit: 3600 s at the price of night may cost' in text
    assert 'no account holds more than 9007199254.740992: give a shorter one' in text


def test_what_jobs_may_cost_is_held_once_for_a_job_or_an_array():
    """Nothing for jobs in a queue of their own project: it would pay itself."""
    dear = replace(NIGHT, price_core_hour=6, projects=('blue',))
    facts = replace(FACTS, queues={'night': dear}, balance=6)
    new = admit({}, {'array': 2}, facts=facts, by=STRANGER)
    assert [(one.key, one.debit, one.amount) for one in new.holds] == [
        ('hold:0:job/job/0/0', 'project:blue', 2),
        ('hold:0:job/array/1', 'project:blue', 4),
    ]
    own = admit({}, facts=replace(facts, balance=0))
    assert own.jobs[0].cost_limit == 1 and not own.holds
    assert not admit({}, by=BY).holds


# dependencies


def test_jobs_of_a_request_may_name_each_other_in_any_order():
    """And what is stored, of the own project only."""
    entries = [{'name': 'b', 'after': ['a', 'old']}, {'name': 'a'}]
    assert named_after(entries, ['B', 'A'], {'old': 'red'}, 'red') == [('A', 'old'), ()]
    with pytest.raises(BadJob, match="no job 'old'"):
        named_after(entries, ['B', 'A'], {'old': 'blue'}, 'red')
    with pytest.raises(BadJob, match='2 jobs of this request are called'):
        named_after([{'name': 'a'}, {'name': 'a'}, {'after': ['a']}], ['1', '2', '3'], {}, 'red')


@pytest.mark.parametrize(
    ('after', 'ring'),
    [
        ({'a': ['a']}, 'a after a is'),
        ({'a': ['b'], 'b': ['c'], 'c': ['a']}, 'a after b after c after a is'),
        ({'x': ['a'], 'a': ['b'], 'b': ['a']}, 'a after b after a is'),
        ({'a': ['b', 'c'], 'b': ['d'], 'c': ['d'], 'd': []}, ''),
    ],
)
def test_a_ring_is_refused_by_the_names_of_its_jobs(after, ring):
    """A job that two others come after is no ring, nor is what only leads to one a part of it."""
    entries = [{'name': name, 'after': names} for name, names in after.items()]
    if ring:
        assert ring in refusal(*entries)
    else:
        assert len(admit(*entries).jobs) == 4


def test_a_chain_of_a_thousand_jobs_is_no_ring():
    entries = [{'name': f'j{n}', 'after': [f'j{n + 1}'] if n < 999 else []} for n in range(1000)]
    assert sum(one.state is HELD for one in admit(*entries).jobs) == 999


@pytest.mark.parametrize(
    ('condition', 'states', 'then'),
    [
        (AfterCondition.SUCCESS, [JobState.FINISHED, JobState.FINISHED], WAITING),
        (AfterCondition.SUCCESS, [JobState.FINISHED, JobState.RUNNING], HELD),
        (AfterCondition.SUCCESS, [JobState.RUNNING, FAILED], JobState.CANCELLED),
        (AfterCondition.SUCCESS, [JobState.CANCELLED], JobState.CANCELLED),
        (AfterCondition.END, [FAILED, JobState.CANCELLED], WAITING),
        (AfterCondition.END, [FAILED, HELD], HELD),
        (AfterCondition.SUCCESS, [], WAITING),
    ],
)
def test_a_held_job_is_released_or_cancelled(condition, states, then):
    """What was purged has ended; a job that waits on has the count of those that have not."""
    state, reason = release(HeldJob(id='h', condition=condition, states=states))
    assert state is then and (reason is None) == (then is WAITING)


# queues and notices


def test_shares_may_add_up_to_one_and_no_more():
    assert shares_above_one(dict.fromkeys('abc', 1 / 3)) is None
    assert shares_above_one({'a': 0.7, 'b': 0.4}) == pytest.approx(1.1)


def test_a_change_of_a_queue_leaves_what_it_does_not_name():
    limits = replace(NIGHT, limits=QueueLimits(max_array=3))
    made = changed_queue(limits, {'limits': {'max_servers': 2}}, (), (), JobLimits())
    assert made.limits == QueueLimits(max_array=3, max_servers=2)


def test_a_queue_has_one_of_the_policies_that_the_operator_allows():
    """The one that it has by default must be allowed too; a change of something else leaves it as it is."""
    allowed = ('rigid', 'easy')
    words = r"policy: 'magic' is not installed, or .*\[jobs\]policies\): give easy or rigid"
    with pytest.raises(BadQueue, match=words):
        changed_queue(NIGHT, {'policy': 'magic'}, allowed, (), JobLimits())
    assert changed_queue(NIGHT, {'short_below': 60}, allowed, (), JobLimits()).policy == 'flexible'
    who = {'queue_id': 'q', 'project_id': 'p', 'user_id': 'u', 'now': 0.0}
    with pytest.raises(BadQueue, match="policy: 'flexible'"):
        new_queue({'name': 'day'}, allowed, (), JobLimits(), **who)


@pytest.mark.parametrize(
    ('given', 'entry'),
    [
        (
            {'short_below': 61},
            'short_below: 61: the operator allows at most 60 ([jobs]max_short_below)',
        ),
        ({'limits': {'max_notice': 11}}, 'limits.max_notice: 11: the operator allows at most 10'),
        ({'limits': {'max_least_run_time': 9}}, 'at most 8 ([jobs]max_least_run_time): give less'),
        ({'limits': {'max_retries': 3}}, 'limits.max_retries: 3: the operator allows at most 2'),
    ],
)
def test_a_queue_cannot_be_given_more_than_the_operator_allows(given, entry):
    """What it has from before, and is not named, is no reason to refuse a change."""
    most = JobLimits(max_short_below=60, max_notice=10, max_least_run_time=8, max_retries=2)
    old = replace(NIGHT, short_below=1800, limits=QueueLimits(max_notice=99))
    with pytest.raises(BadQueue, match=re.escape(entry)):
        changed_queue(old, given, (), (), most)
    assert changed_queue(old, {'description': 'x'}, (), (), most).limits.max_notice == 99
    assert (
        changed_queue(old, {'limits': {'max_notice': None}}, (), (), most).limits.max_notice is None
    )


@pytest.mark.parametrize('name', ['notice', 'least_run_time', 'retries'])
def test_a_job_cannot_keep_its_room_for_longer_than_its_queue_allows(name):
    """Nor is what it leaves out above that; a queue in force has a limit for each."""
    limits = QueueLimits(max_notice=5, max_least_run_time=5, max_retries=0)
    facts = replace(FACTS, queues={'night': replace(NIGHT, limits=limits)})
    given = getattr(limits, f'max_{name}') + 1
    of_time = name != 'retries'
    more, most = (f' ({given}s)', f' ({given - 1}s)') if of_time else ('', '')
    expected = f'{name}: {given}{more}: queue night takes at most {given - 1}{most}: give less'
    assert expected in refusal({name: given}, facts=facts)
    (plain,) = admit({}, facts=facts).jobs
    assert (plain.notice, plain.least_run_time, plain.retries) == (5, 0, 0)


def test_a_best_effort_job_cannot_keep_its_room_suspended():
    entry = {'kind': 'best_effort', 'preempt_action': 'suspend'}
    assert 'preempt_action: suspend keeps the room of a server: give shelve' in refusal(entry)
    assert admit({**entry, 'kind': 'production'}).jobs


def test_notices_are_of_what_happened_to_jobs_that_are_there():
    events = [
        JobEvent(job_id=name, at=1.0, action=action, attempt=2, numbers={'cores': 3})
        for name, action in ((id_of('a'), 'failed'), (id_of('a'), 'cancel asked'), ('x', 'failed'))
    ]
    (notice,) = job_notices(events, {id_of('a'): job(exit_code=9)})
    assert (notice.event, notice.project_id) == ('market.job.failed', 'red')
    assert (notice.payload['exit_code'], notice.payload['cores']) == (9, 3)
