# SPDX-License-Identifier: Apache-2.0
"""Statistics of minutes (J6) for any course of things and any times of passes."""

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nova_market.core.job.minutes import (
    COUNTED,
    MINUTE,
    Happened,
    Mark,
    PassRead,
    needed,
    queue_minutes,
)
from nova_market.core.job.record import (
    AttemptState,
    JobAction,
    JobEvent,
    JobState,
    StoredAttempt,
    StoredJob,
)
from tests.support.job_records import id_of, job, queue, waiting_rows

END = 600.0
THOUSANDTHS = st.integers(1, int(1000 * END)).map(lambda n: n / 1000)
QUEUES = ('night', 'day')
ENDS = {
    JobAction.FINISHED: (AttemptState.FINISHED, JobState.FINISHED),
    JobAction.FAILED: (AttemptState.FAILED, JobState.FAILED),
    JobAction.PREEMPTED: (AttemptState.PREEMPTED, JobState.WAITING),
}


@dataclass(frozen=True)
class Course:
    """Of one job: submitted, then attempts one after the other. runs: (begin, end, how)."""

    name: str
    queue: str
    cores: float
    submitted: float
    runs: tuple[tuple[float, float, JobAction], ...]

    def at(self, now: float) -> tuple[StoredJob, list[StoredAttempt]]:
        """What is stored of it at a time."""
        begun = [run for run in self.runs if run[0] <= now]
        own = job(self.name, self.queue, cores=self.cores, submitted_at=self.submitted)
        changed = {'state': JobState.WAITING, 'attempt': len(begun)}
        parts = []
        for number, (begin, end, how) in enumerate(begun, 1):
            over = end <= now
            of_attempt, of_job = ENDS[how] if over else (AttemptState.RUNNING, JobState.RUNNING)
            parts.append(
                StoredAttempt(
                    job_id=own.id, number=number, worker_id='w', state=of_attempt,
                    created_at=begin, ended_at=end if over else 0.0,
                )
            )  # fmt: skip
            changed['state'] = of_job
            if over:
                changed |= {'changed_at': end}
            if of_job in (JobState.FINISHED, JobState.FAILED):
                changed['ended_at'] = end
        return job(
            self.name, self.queue, cores=self.cores, submitted_at=self.submitted, **changed
        ), parts


@st.composite
def courses(draw: st.DrawFn) -> list[Course]:
    found = []
    # whole seconds and halves: sums are exact, and times fall on the ends of minutes
    time = st.integers(0, int(2 * END)).map(lambda n: n / 2)
    for row in range(draw(st.integers(0, 6))):
        times = sorted(draw(st.lists(time, min_size=1, max_size=7, unique=True)))
        runs = []
        for number, (begin, end) in enumerate(zip(times[1::2], times[2::2], strict=False)):
            last = 2 * number + 4 >= len(times)
            how = draw(st.sampled_from(list(ENDS))) if last else JobAction.PREEMPTED
            runs.append((begin, end, how))
        found.append(
            Course(
                name=f'j{row}',
                queue=draw(st.sampled_from(QUEUES)),
                cores=draw(st.sampled_from([0.5, 1.0, 4.0])),
                submitted=times[0],
                runs=tuple(runs),
            )
        )
    return found


@st.composite
def seamless(draw: st.DrawFn) -> list[Course]:
    """Jobs that start in the moment in which the one before them ends, at times that no sum has exactly."""
    times = st.lists(THOUSANDTHS, min_size=2, max_size=12, unique=True).map(sorted)
    return [
        finished(f'j{slot}.{number}', draw(st.sampled_from(QUEUES)), begin, end)
        for slot in range(draw(st.integers(1, 4)))
        for number, (begin, end) in enumerate(pairwise(draw(times)))
    ]


def finished(name: str, queue: str, begin: float, end: float) -> Course:
    """A job that starts when it is submitted, on one core."""
    runs = ((begin, end, JobAction.FINISHED),)
    return Course(name=name, queue=queue, cores=1.0, submitted=begin, runs=runs)


def events_of(all_of: list[Course]) -> list[JobEvent]:
    """In order of time, as passes store them."""
    found = []
    for one in all_of:
        for number, (begin, end, how) in enumerate(one.runs, 1):
            found.append((begin, id_of(one.name), JobAction.STARTED, number))
            found.append((end, id_of(one.name), how, number))
    return [
        JobEvent(job_id=name, at=at, action=action, attempt=attempt, number=number)
        for number, (at, name, action, attempt) in enumerate(sorted(found), 1)
    ]


def passed(all_of: list[Course], now: float, mark: Mark):
    """What a pass at this time makes of what is stored then."""
    stored = {own.id: (own, parts) for own, parts in (one.at(now) for one in all_of)}
    active = [own for own, _ in stored.values() if own.state is JobState.RUNNING]
    waits = [
        own
        for own, _ in stored.values()
        if own.state is JobState.WAITING and own.submitted_at <= now
    ]
    read = PassRead(
        now=now,
        queues=[queue(name) for name in QUEUES],
        waiting=waiting_rows(waits),
        active=active,
        attempts={own.id: stored[own.id][1] for own in active},
        capacity={'': (32.0, 1.0)},
    )
    events = [one for one in events_of(all_of) if one.at <= now and one.number > mark.number]
    named = needed(events, read)
    since = Happened(
        events=events,
        jobs={name: stored[name][0] for name in named},
        attempts={name: stored[name][1] for name in named},
    )
    return queue_minutes(read, mark, since)


def kept(all_of: list[Course], times: list[float]):
    """Rows of the table after passes at these times; each begins with the stored mark only."""
    table = {}
    mark = Mark(until=0.0)
    for now in times:
        rows, mark = passed(all_of, now, mark)
        table |= {(one.queue_id, one.minute): one for one in rows}
    return table


TIMES = st.lists(st.integers(1, int(2 * END)).map(lambda n: n / 2), max_size=12, unique=True)


@given(courses(), TIMES)
def test_rows_do_not_depend_on_when_passes_are_made(all_of, times):
    """Also not on restarts, as nothing but the mark is carried over; none of ten minutes is missing."""
    table = kept(all_of, [*sorted({*times, END})])
    assert table == kept(all_of, [END])
    assert len(table) == (len(QUEUES) + 1) * END / MINUTE


@given(courses(), TIMES)
def test_sums_of_the_minutes_are_the_totals(all_of, times):
    """Events are counted once, and core-seconds are those of the runs, cut at the end."""
    table = kept(all_of, [*sorted({*times, END})])
    happened = [one for one in events_of(all_of) if one.at < END]
    for action in COUNTED:
        counted = [getattr(one, action) for one in table.values() if not one.queue_id]
        assert sum(counted) == sum(one.action == action for one in happened)
    for name in QUEUES:
        held = sum(
            one.cores * max(min(end, END) - begin, 0.0)
            for one in all_of
            if one.queue == name
            for begin, end, _ in one.runs
        )
        rows = [one for one in table.values() if one.queue_id == id_of(name)]
        assert MINUTE * sum(one.cores for one in rows) == pytest.approx(held)


@given(st.one_of(courses(), seamless()), THOUSANDTHS)
@example(
    [
        finished('a', 'night', 0.0, 0.5),
        finished('b', 'night', 0.5, 0.6),
        finished('c', 'night', 0.0, 0.6),
    ],
    0.6,
)
def test_a_minute_has_no_more_cores_than_ran_at_any_time_in_it(all_of, now):
    """To the last digit: who compares it with the share of a queue finds no more than was running."""
    for (queue_id, minute), row in kept(all_of, [now]).items():
        begin, end = minute * MINUTE, min((minute + 1) * MINUTE, now)
        runs = [
            (one.cores, since, until)
            for one in all_of
            if queue_id in ('', id_of(one.queue))
            for since, until, _ in one.runs
        ]
        times = [begin, *(since for _, since, _ in runs if begin < since < end)]
        most = max(sum(cores for cores, a, b in runs if a <= time < b) for time in times)
        assert row.cores <= most


@given(courses(), TIMES)
def test_all_together_are_the_sum_of_the_queues(all_of, times):
    table = kept(all_of, [*sorted({*times, END})])
    for minute in range(int(END / MINUTE)):
        whole = table['', minute]
        parts = [table[id_of(name), minute] for name in QUEUES]
        for field in ('cores', 'share', 'waiting', 'running', *COUNTED):
            assert getattr(whole, field) == pytest.approx(sum(getattr(one, field) for one in parts))


@given(courses(), TIMES)
def test_jobs_at_the_end_of_a_minute_are_those_that_were_there(all_of, times):
    table = kept(all_of, [*sorted({*times, END})])
    for minute in range(int(END / MINUTE)):
        at = (minute + 1) * MINUTE
        runs = waits = 0
        for one in all_of:
            running = any(begin <= at < end for begin, end, _ in one.runs)
            over = one.runs and one.runs[-1][2] is not JobAction.PREEMPTED and one.runs[-1][1] <= at
            runs += running
            waits += one.submitted <= at and not running and not over
        assert (table['', minute].running, table['', minute].waiting) == (runs, waits)


@given(courses(), TIMES)
def test_marks_never_go_back_and_lie_where_minutes_begin(all_of, times):
    marks = [Mark(until=0.0)]
    for now in sorted(times):
        marks.append(passed(all_of, now, marks[-1])[1])
    for before, after in pairwise(marks):
        assert after.until >= before.until
        assert after.number >= before.number
        assert after.until % MINUTE == 0
