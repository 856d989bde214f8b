# SPDX-License-Identifier: Apache-2.0
"""Jobs that come after others: what `after` names, rings, and when a held job is released.

Beyond SVMSched (rule J2 of doc/source/specs/jobs.rst). In a request `after` names jobs and arrays that are
stored, by id, or jobs of the same request, by name; only the latter can be a ring.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from nova_market.core.job.record import ENDED, AfterCondition, HeldJob, JobReason, JobState
from nova_market.core.text import shown
from nova_market.errors import BadJob, Conflict


def named_after(
    entries: Sequence[Mapping[str, Any]],
    ids: Sequence[str],
    known: Mapping[str, str],
    project_id: str,
) -> list[tuple[str, ...]]:
    """For each entry the ids that it comes after. ids: of the entries' jobs or arrays, by position.

    known: ids that are stored -> their project; only those of `project_id` may be named.

    :raises BadJob: a name that is of no job or of two, or a ring, by the names of its jobs.
    """
    by_name: dict[str, list[int]] = {}
    for n, entry in enumerate(entries):
        if name := entry.get('name'):
            by_name.setdefault(name, []).append(n)
    found: list[tuple[str, ...]] = []
    inside: list[list[int]] = []
    for n, entry in enumerate(entries):
        named: list[str] = []
        inside.append([])
        for name in entry.get('after', ()):
            here = by_name.get(name, [])
            if len(here) > 1:
                raise BadJob(
                    f'jobs[{n}].after: {len(here)} jobs of this request are called {shown(name)}: '
                    'give them different names'
                )
            if here:
                inside[n].append(here[0])
                named.append(ids[here[0]])
            elif known.get(name) == project_id:
                named.append(name)
            else:
                raise BadJob(
                    f'jobs[{n}].after: there is no job {shown(name)}: give the id of a job or an array of '
                    'your project, or the name of a job of this request'
                )
        found.append(tuple(named))
    ring = _ring(inside)
    if ring:
        path = ' after '.join(str(entries[n].get('name')) for n in ring)
        raise BadJob(f'jobs[{ring[0]}].after: {path} is a ring: take one of these dependencies out')
    return found


def again(held: HeldJob) -> tuple[JobState, JobReason | None]:
    """What a requeued job is: HELD while one that it comes after has not ended, else WAITING.

    :raises Conflict: it would be cancelled at once.
    """
    if all(one in ENDED for one in held.states):
        # who requeues it knows how they ended
        return JobState.WAITING, None
    state, reason = release(held)
    if state is JobState.CANCELLED and reason is not None:
        raise Conflict(
            f'job {held.id}: {reason.text}, and it comes after jobs that have not ended: requeue it when '
            'they have, or requeue those that failed or were cancelled first'
        )
    return state, reason


def release(held: HeldJob) -> tuple[JobState, JobReason | None]:
    """What a held job is now: HELD as before, WAITING, or CANCELLED with the reason.

    A job that was purged has ended long ago and holds nobody up.
    """
    if held.condition is AfterCondition.SUCCESS:
        for state in (JobState.FAILED, JobState.CANCELLED):
            count = sum(one is state for one in held.states)
            if count:
                text = f'{count} of the jobs that it comes after {_is(count)} {state}'
                return JobState.CANCELLED, JobReason(
                    code='dependency', text=text, numbers={'jobs': count}
                )
    if all(one in ENDED for one in held.states):
        return JobState.WAITING, None
    count = sum(one not in ENDED for one in held.states)
    text = f'comes after {count} {"jobs that have" if count > 1 else "job that has"} not ended'
    return JobState.HELD, JobReason(code='dependency', text=text, numbers={'jobs': count})


def _is(count: int) -> str:
    return 'is' if count == 1 else 'are'


def _ring(after: Sequence[Sequence[int]]) -> list[int]:
    """Entries of a ring, the first one again at its end; [] when there is none.

    after: for each entry the entries that it comes after. An explicit stack: a chain may have 1,000 links.
    """
    done = [False] * len(after)
    for start in range(len(after)):
        path, position, iterators = [start], {start: 0}, [iter(after[start])]
        while path:
            following = next(iterators[-1], None)
            if following is None:
                done[path[-1]] = True
                del position[path.pop()]
                iterators.pop()
            elif following in position:
                return [*path[position[following] :], following]
            elif not done[following]:
                position[following] = len(path)
                path.append(following)
                iterators.append(iter(after[following]))
    return []
