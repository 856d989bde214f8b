# SPDX-License-Identifier: Apache-2.0
"""Why a job waits: a code, its numbers, and a sentence that is made when somebody asks (rule J6).

A pass gives every waiting job a code and WIDTH numbers, as arrays. What the numbers mean depends on the code
and stands at each code. Only `sentence` makes text, so that 100,000 waiting jobs cost two arrays.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum

from nova_market.core.calendar.axes import AXES

WIDTH = 4
"""Numbers of one reason."""


class ReasonCode(IntEnum):
    """Why a job waits. In brackets: its numbers, in their order; those that are not named are 0."""

    NONE = 0
    """It starts in this pass."""
    HELD = 1
    """It waits for other jobs to end. [how many]"""
    NOT_BEFORE = 2
    """It may not start yet. [seconds until it may]"""
    NEVER = 3
    """It would not fit if nothing else ran. [axis, needed, most of any host, servers]"""
    SHARE = 4
    """Its queue's use would exceed its share. [use after starting, share, 1 for a short job]"""
    ROOM = 5
    """No host has room for one of its servers. [axis, needed, most free on any host, servers]

    The axis is the one that is shortest. Each may be enough on some host, but not all on the same one.
    """
    GANG = 6
    """There is room for some of its servers, but not for all. [servers, how many fit]"""
    ROOM_IS_MADE = 7
    """Best-effort jobs are being preempted for it. [how many]"""
    RESERVED = 8
    """It would delay a job with a reservation. [seconds until that job's start, row of that job]"""
    PRICE = 9
    """It is worth less than the market's price. [value, price; micro-credits per core-second]"""
    WORKER = 10
    """It was promised a worker of its tender queue. [place in the line, workers, seconds until its turn]"""
    NEW_WORKER = 11
    """It was promised a new worker, and no host has room. [as ROOM]; nothing is preempted for it"""
    OTHERS_FIRST = 12
    """Its queue has no share, and jobs within the shares of others wait. [use after starting]"""


FOR_ROOM = (
    ReasonCode.ROOM,
    ReasonCode.GANG,
    ReasonCode.RESERVED,
    ReasonCode.ROOM_IS_MADE,
    ReasonCode.NEW_WORKER,
)
"""Reasons of jobs that start as soon as there is room."""


def sentence(code: ReasonCode | int, numbers: Sequence[float]) -> str:
    """The reason as people read it; empty for NONE.

    numbers: WIDTH of them
    """
    return _TEXTS[ReasonCode(code)](*(float(number) for number in numbers))


def _none(*_: float) -> str:
    return ''


def _held(jobs: float, *_: float) -> str:
    return f'dependency: {_count(jobs, "job")} that it comes after {"has" if jobs == 1 else "have"} not ended'


def _not_before(seconds: float, *_: float) -> str:
    return f'time: it may start in {seconds:.0f} seconds'


def _never(axis: float, needed: float, most: float, servers: float) -> str:
    return f'size: {_needs(axis, needed, servers)}, and the largest host has {_amount(axis, most)}'


def _share(use: float, share: float, short: float, *_: float) -> str:
    return f'share: would be {use:.3g} of {share:.3g}; a {"short" if short else "long"} job'


def _room(axis: float, needed: float, most: float, servers: float) -> str:
    if needed <= most:
        return f'room: {_needs(axis, needed, servers)}, but no host that has that has enough of the rest'
    return f'room: {_needs(axis, needed, servers)}, at most {most:g} free on any host'


def _gang(servers: float, fit: float, *_: float) -> str:
    return f'room: {servers:g} servers that start together, {fit:g} would fit'


def _room_is_made(jobs: float, *_: float) -> str:
    return f'room: {_count(jobs, "best-effort job")} {"is" if jobs == 1 else "are"} being preempted for it'


def _reserved(seconds: float, *_: float) -> str:
    return f'reservation: it would delay a job that can start in {seconds:.0f} seconds'


def _price(value: float, price: float, *_: float) -> str:
    return f'price: worth {value:.4g} micro-credits per core-second, the price is {price:.4g}'


def _worker(place: float, workers: float, seconds: float, *_: float) -> str:
    return (
        f'worker: {_count(workers, "worker")} of its flavor, number {place:g} in their line, its turn comes '
        f'within {seconds:.0f} seconds'
    )


def _new_worker(axis: float, needed: float, most: float, servers: float) -> str:
    return _room(axis, needed, most, servers).replace('room: ', 'worker: a new one: ', 1)


def _others_first(use: float, *_: float) -> str:
    return f'share: would be {use:.3g} of none, and jobs within the shares of other queues wait for room'


_TEXTS: Mapping[ReasonCode, Callable[..., str]] = {
    ReasonCode.NONE: _none,
    ReasonCode.HELD: _held,
    ReasonCode.NOT_BEFORE: _not_before,
    ReasonCode.NEVER: _never,
    ReasonCode.SHARE: _share,
    ReasonCode.ROOM: _room,
    ReasonCode.GANG: _gang,
    ReasonCode.ROOM_IS_MADE: _room_is_made,
    ReasonCode.RESERVED: _reserved,
    ReasonCode.PRICE: _price,
    ReasonCode.WORKER: _worker,
    ReasonCode.NEW_WORKER: _new_worker,
    ReasonCode.OTHERS_FIRST: _others_first,
}


def _needs(axis: float, needed: float, servers: float) -> str:
    each = f'{servers:g} servers of ' if servers > 1 else ''
    return each + _amount(axis, needed)


def _amount(axis: float, amount: float) -> str:
    name = AXES[int(axis)]
    if name == 'cores':
        return _count(amount, 'core')
    return f'{amount:g} {"MiB of memory" if name == "memory_mib" else "GiB of disk"}'


def _count(amount: float, noun: str) -> str:
    return f'{amount:g} {noun}' if amount == 1 else f'{amount:g} {noun}s'
