# SPDX-License-Identifier: Apache-2.0
"""Every reason has a plain sentence with its numbers."""

import pytest

from nova_market.core.job.reason import WIDTH, ReasonCode, sentence


@pytest.mark.parametrize(
    ('code', 'numbers', 'text'),
    [
        (ReasonCode.NONE, (), ''),
        (ReasonCode.HELD, (2,), 'dependency: 2 jobs that it comes after have not ended'),
        (ReasonCode.HELD, (1,), 'dependency: 1 job that it comes after has not ended'),
        (ReasonCode.NOT_BEFORE, (90,), 'time: it may start in 90 seconds'),
        (ReasonCode.NEVER, (0, 64, 48, 1), 'size: 64 cores, and the largest host has 48 cores'),
        (ReasonCode.SHARE, (0.41, 0.33, 0), 'share: would be 0.41 of 0.33; a long job'),
        (ReasonCode.ROOM, (0, 8, 5, 1), 'room: 8 cores, at most 5 free on any host'),
        (
            ReasonCode.ROOM,
            (1, 4096, 512, 3),
            'room: 3 servers of 4096 MiB of memory, at most 512 free on any host',
        ),
        (ReasonCode.GANG, (8, 5), 'room: 8 servers that start together, 5 would fit'),
        (ReasonCode.ROOM_IS_MADE, (2,), 'room: 2 best-effort jobs are being preempted for it'),
        (
            ReasonCode.RESERVED,
            (600, 3),
            'reservation: it would delay a job that can start in 600 seconds',
        ),
        (
            ReasonCode.PRICE,
            (0.5, 0.75),
            'price: worth 0.5 micro-credits per core-second, the price is 0.75',
        ),
    ],
)
def test_a_reason_is_a_sentence(code: ReasonCode, numbers: tuple[float, ...], text: str) -> None:
    """The sentence names what is needed and what there is."""
    whole = [*numbers, *[0.0] * (WIDTH - len(numbers))]
    assert sentence(code, whole) == text


@pytest.mark.parametrize('code', ReasonCode)
def test_no_code_is_without_a_sentence(code: ReasonCode) -> None:
    """A code from the database, an integer, has its sentence too; only NONE is empty."""
    assert bool(sentence(int(code), [0.0] * WIDTH)) == (code is not ReasonCode.NONE)
