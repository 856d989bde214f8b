# SPDX-License-Identifier: Apache-2.0
"""What a byte of a frame costs that was made to be dear, beside a byte of an honest report (rule H24)."""

import contextlib
import math
import time

import pytest

from nova_market.adapters.transport.wire_format import CompactFormat, PlainFormat, decode
from nova_market.errors import MalformedReport
from tests.support.exchange.hostile_frames import hostile_frames
from tests.support.host_builders import report

pytestmark = pytest.mark.benchmark

DEAREST = 2.5
"""Times the cost of a byte of an honest report, for frames that are long. It was 15 while refused values were
built."""

SHORT = 64 * 1024
SHORT_DEAREST = 6.0
"""The same of a short frame whose entries take two bytes each. Those of an honest peer take ten and more."""


def ns_a_byte(frame, times):
    """CPU time that decoding takes; the best of some, because others use the machine too."""
    best = math.inf
    for _ in range(times):
        began = time.thread_time_ns()
        with contextlib.suppress(MalformedReport):
            decode(frame)
        best = min(best, time.thread_time_ns() - began)
    return best / len(frame)


def test_a_hostile_byte_costs_no_more_than_an_honest_one():
    owners = {f'{number:032x}': (number / 7.0,) for number in range(30)}
    honest = {
        type(wire).__name__: ns_a_byte(wire.encode(report('a', owners)), 2000)
        for wire in (PlainFormat(), CompactFormat())
    }
    frames = hostile_frames()
    hostile = {name: ns_a_byte(frame, 5) for name, frame in frames.items()}
    usual = sum(honest.values()) / len(honest)
    print(f'\nhonest: {", ".join(f"{name} {cost:.1f} ns a byte" for name, cost in honest.items())}')
    for name, cost in sorted(hostile.items(), key=lambda item: -item[1])[:5]:
        print(f'{name}: {cost:.1f} ns a byte, {cost / usual:.1f} times an honest one')
    for name, cost in hostile.items():
        assert cost < usual * (SHORT_DEAREST if len(frames[name]) < SHORT else DEAREST), name
