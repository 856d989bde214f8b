# SPDX-License-Identifier: Apache-2.0
"""Which waiting jobs get another reason or another expected start after a pass, and what they are.

Implements rule J6 of doc/source/specs/jobs.rst for many jobs: only what changed is written. The numbers in
a reason change in almost every pass, so those of a job whose code is the same are written again once in
EVERY passes, or less often where very many jobs wait. Expected starts are whole minutes, rounded up.

Shapes (jobs,) as in columns.py; times in seconds.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import repeat

import numpy as np

from nova_market.core.calendar.axes import AXES
from nova_market.core.job.pass_input import PassInput
from nova_market.core.job.policy_interface import JobPlan
from nova_market.core.job.reason import ReasonCode, sentence
from nova_market.core.job.record import JobReason
from nova_market.core.job.store_values import JobExplanation
from nova_market.core.resource import Array, Flags, Rows

MINUTE = 60.0
EVERY = 30
AGAIN = 500
"""Jobs whose numbers alone are written again in one pass."""

MOST = 2000
"""Jobs that get a reason in one pass: the first ones; the others in later passes."""

LIMIT = 'limit'
OF_A_START = ('server', 'lost')
"""Why a start has failed (core.job.attempt_end): kept during the pause that follows."""

WORDS: Mapping[ReasonCode, str] = {
    ReasonCode.NONE: '',
    ReasonCode.HELD: 'dependency',
    ReasonCode.NOT_BEFORE: 'time',
    ReasonCode.NEVER: 'size',
    ReasonCode.SHARE: 'share',
    ReasonCode.ROOM: 'room',
    ReasonCode.GANG: 'room',
    ReasonCode.ROOM_IS_MADE: 'room',
    ReasonCode.RESERVED: 'reservation',
    ReasonCode.PRICE: 'price',
    ReasonCode.WORKER: 'worker',
    ReasonCode.NEW_WORKER: 'worker',
    ReasonCode.OTHERS_FIRST: 'share',
}
"""The code that owners see, of doc/source/user/jobs.rst."""

NUMBERS: Mapping[ReasonCode, Sequence[str]] = {
    ReasonCode.HELD: ('jobs',),
    ReasonCode.NOT_BEFORE: ('seconds',),
    ReasonCode.SHARE: ('use', 'share'),
    ReasonCode.OTHERS_FIRST: ('use',),
    ReasonCode.GANG: ('servers', 'fit'),
    ReasonCode.ROOM_IS_MADE: ('jobs',),
    ReasonCode.RESERVED: ('seconds',),
    ReasonCode.PRICE: ('value', 'price'),
    ReasonCode.WORKER: ('place', 'workers', 'seconds'),
}
"""Names of the first numbers; those of ROOM and NEVER are of the axis that is short."""

BY_AXIS = (ReasonCode.ROOM, ReasonCode.NEVER, ReasonCode.NEW_WORKER)


def explanations(
    plan: JobPlan, seen: PassInput, allowed: Collection[int], turn: int
) -> tuple[JobExplanation, ...]:
    """What to write. turn: number of the pass.

    allowed: rows that may start within the limits of their queues
    """
    waiting = len(seen.job_ids) - len(seen.suspended)
    code = np.array(plan.code[:waiting])
    code[plan.starts[plan.starts < waiting]] = ReasonCode.NONE
    full = (seen.more[seen.snapshot.waiting.queue[:waiting]] <= 0) & (code == ReasonCode.NONE)
    full[[row for row in plan.starts.tolist() if row < waiting and row not in allowed]] = True
    words = [WORDS[one] for one in ReasonCode]
    number = {word: place for place, word in enumerate(dict.fromkeys([*words, LIMIT]))}
    group = np.array([number[word] for word in words])[code]
    group[full] = number[LIMIT]
    for word in OF_A_START:
        number.setdefault(word, len(number))
    reasons = seen.reasons[:waiting]
    stored = np.fromiter(map(number.get, reasons, repeat(-1)), np.intp, waiting)
    expected = _minutes(plan.expected_start, waiting)
    now = seen.expected[:waiting]
    moved = ~((expected == now) | (np.isnan(expected) & np.isnan(now)))
    paused = np.isin(stored, [number[word] for word in OF_A_START])
    said = (group != number['']) & ~(paused & (code == ReasonCode.NOT_BEFORE))
    rows = _chosen(said, (group != stored) | moved, seen.number[:waiting], turn)
    return tuple(
        JobExplanation(
            job_id=seen.job_ids[row],
            reason=_limit(seen, row) if full[row] else _reason(code[row], plan.numbers[row]),
            expected_start=None if np.isnan(expected[row]) else float(expected[row]),
        )
        for row in rows.tolist()
    )


def _chosen(waits: Flags, changed: Flags, number: Rows, turn: int) -> Rows:
    """Rows that are written: what has changed, and some of the rest."""
    every = max(EVERY, -(-len(number) // AGAIN))
    news = np.flatnonzero(waits & changed)[:MOST]
    rest = np.flatnonzero(waits & ~changed & (number % every == turn % every))
    return np.concatenate([news, rest[:AGAIN]])


def _minutes(expected: Array | None, count: int) -> Array:
    if expected is None:
        return np.full(count, np.nan)
    rounded: Array = np.ceil(expected[:count] / MINUTE) * MINUTE
    return rounded


def _reason(code: int, numbers: Array) -> JobReason:
    found = ReasonCode(code)
    values = numbers.tolist()
    if found in BY_AXIS:
        axis, needed, most, servers = values
        named = {AXES[int(axis)]: needed, 'most': most, 'servers': servers}
    else:
        named = dict(zip(NUMBERS[found], values, strict=False))
    return JobReason(code=WORDS[found], text=sentence(found, values), numbers=named)


def _limit(seen: PassInput, row: int) -> JobReason:
    most = seen.queues[int(seen.snapshot.waiting.queue[row])].limits.max_running or 0
    text = f'limit: {most} jobs of the queue are active, as many as its owner allows'
    return JobReason(code=LIMIT, text=text, numbers={'max_running': most})
