# SPDX-License-Identifier: Apache-2.0
"""What is worth most for each core-second starts first; what is worth less than the market's price waits.

Beyond SVMSched (papers/svmsched.txt): rule J3, policy `value`. The owner states what the whole job is worth.

    value per core-second = value / (cores * servers * time limit)                 0 <= it, micro-credits
    price per core-second = (price of what one server takes for a second) / cores  0 <= it, micro-credits

A job without a time limit has no value per core-second, so it waits as long as anything has a price. Jobs
without cores are compared per second of one server. Nobody pays the value: shares bind long jobs (J10), and
the operator decides whether queues may have this policy (J11).
"""

import numpy as np

from nova_market.core.calendar.axes import CORES
from nova_market.core.job.in_order import by_priority, started_in_order
from nova_market.core.job.policy_interface import JobSnapshot, Selection
from nova_market.core.job.reason import ReasonCode
from nova_market.core.job.room import Room, placement_of
from nova_market.core.job.share_keeping import within_shares
from nova_market.core.job.waiting_reasons import Reasons
from nova_market.core.resource import Array


@within_shares
def value(seen: JobSnapshot) -> Selection:
    """Jobs by value per core-second, backfilled, while they are worth the price."""
    waiting, hosts = seen.waiting, seen.hosts
    worth, price = worth_per_core_second(seen), price_per_core_second(seen)
    rows = np.flatnonzero(seen.candidates & (worth >= price))
    ranked = by_priority(rows, waiting, -worth[rows])
    room = Room(hosts.free, hosts.aggregates, seen.settings.host_choice)
    starts, spots = started_in_order(ranked, seen.shapes, room)
    reasons = Reasons(len(waiting))
    left = np.zeros(len(waiting), dtype=np.bool_)
    left[rows] = True
    left[starts] = False
    reasons.lack_of_room(np.flatnonzero(left), seen.shapes, hosts, room)
    dear = np.flatnonzero(seen.candidates & (worth < price))
    reasons.give(dear, ReasonCode.PRICE, worth[dear], price[dear])
    return Selection(
        starts=np.array(starts, dtype=np.intp),
        placement=placement_of(starts, spots),
        code=reasons.code,
        numbers=reasons.numbers,
        state=seen.state,
    )


def worth_per_core_second(seen: JobSnapshot) -> Array:
    """(jobs,)"""
    waiting = seen.waiting
    worth: Array = waiting.value / (_cores(seen) * waiting.servers * waiting.time_limit)
    return worth


def price_per_core_second(seen: JobSnapshot) -> Array:
    """(jobs,)"""
    price: Array = (seen.price @ seen.waiting.amount) / _cores(seen)
    return price


def _cores(seen: JobSnapshot) -> Array:
    cores = seen.waiting.amount[CORES]
    return np.where(cores > 0, cores, 1.0)
