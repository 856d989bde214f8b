# SPDX-License-Identifier: Apache-2.0
"""A number of periods, typed as such or as a length of time.

Units: periods; lengths of time in seconds. Each cloud has its own length of a period, which is beside the
newest prices.
"""

import argparse
import math
from dataclasses import dataclass
from typing import Any

from osc_lib import exceptions

from nova_market.core.text import shown
from nova_market.core.timestamp import length_text
from nova_market.osc.v1.columns import count_argument
from nova_market.osc.v1.time_argument import duration_argument

PERIODS = '<periods>'
"""Metavar."""

EXAMPLES = 'a number of periods, such as 60, or a length of time, such as 1h or 1d12h'
"""What to give, for the help of options."""


@dataclass(frozen=True, slots=True)
class Length:
    """seconds: as many whole periods as have all of it."""

    seconds: int


def periods_argument(text: str) -> int | Length:
    """A whole number from 1 up, or a length of time."""
    if text.isascii() and text.isdigit():
        return count_argument(text)
    try:
        length = duration_argument(text)
    except argparse.ArgumentTypeError:
        length = 0
    if not length:
        raise argparse.ArgumentTypeError(f'{shown(text)}: give {EXAMPLES}; 1 period or more')
    return Length(length)


def periods(market: Any, given: int | Length) -> int:
    """How many these are in the cloud of this proxy.

    :raises CommandError: its periods have no known length yet.
    """
    if not isinstance(given, Length):
        return given
    each = market.period_length()
    if each is None:
        raise exceptions.CommandError(
            f'{length_text(given.seconds)}: how many periods this is can be computed after the first '
            'round only: give a number of periods, such as 60'
        )
    return math.ceil(given.seconds / float(each))
