# SPDX-License-Identifier: Apache-2.0
"""The parameters of tender queues: what their owners may give, checked.

For rule T1 of doc/source/specs/tender.rst (INRIA RR-7837, section 3.4). The first prices are the queue's
`price_core_hour`, and `memory_price` and `disk_price`; floor and ceiling are factors of them, so that one
parameter serves three units. A resource whose first price is 0 stays free.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from nova_market.core.job.queue import StoredQueue
from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.text import shown
from nova_market.errors import BadQueue

RULES = ('settled', 'printed', 'anchored')
"""core.tender.price; the first one is the default."""

PRICE_PERIOD = 50.0
"""Seconds: RR-7837, section 4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenderTerms:
    """price_period: seconds between two changes of the prices
    memory_price, disk_price: the first ones, micro-credits of a MiB and of a GiB for an hour
    floor, ceiling: within which prices stay, as parts of the first ones; step: largest factor of one change
    elasticity, gain: of rule `anchored`
    """

    price_period: float = PRICE_PERIOD
    memory_price: float = 0.0
    disk_price: float = 0.0
    floor: float = 0.01
    ceiling: float = 100.0
    step: float = 2.0
    elasticity: float = 2.0
    gain: float = 0.25


RANGES: Mapping[str, tuple[float, float]] = {
    'price_period': (1.0, 86_400.0),
    'memory_price': (0.0, float(MAX_AMOUNT)),
    'disk_price': (0.0, float(MAX_AMOUNT)),
    'floor': (1e-6, 1.0),
    'ceiling': (1.0, 1e6),
    'step': (1.001, 1000.0),
    'elasticity': (0.0, 10.0),
    'gain': (0.001, 1.0),
}
"""Least and most of each parameter."""


def tender_terms(queue: StoredQueue) -> TenderTerms:
    """The parameters of a queue that was checked."""
    return TenderTerms(**{name: float(value) for name, value in queue.parameters.items()})


def check_tender(queue: StoredQueue) -> None:
    """:raises BadQueue: names the parameter, what was given and what is allowed."""
    if queue.price_rule not in RULES:
        raise BadQueue(
            f'price_rule: {shown(queue.price_rule)} is no rule: give {", ".join(RULES[:-1])} or {RULES[-1]}'
        )
    known = [field.name for field in fields(TenderTerms)]
    for name, value in sorted(queue.parameters.items()):
        if name not in RANGES:
            raise BadQueue(
                f'parameters: {shown(name)} is none of policy tender: give {", ".join(known)}'
            )
        least, most = RANGES[name]
        # written so that NaN is refused too
        if not least <= value <= most:
            raise BadQueue(f'parameters.{name}: {value:g}: give {least:g} to {most:g}')
    if not queue.reuse:
        raise BadQueue(
            'reuse: a tender queue offers workers that have other jobs: let it reuse them, or choose another '
            'policy'
        )
    if queue.projects and not queue.projects_trust_each_other:
        raise BadQueue(
            'projects_trust_each_other: the workers of a tender queue run the jobs of all who accept its '
            'offers, one after the other: set it if its submitters accept that, or name no submitters'
        )
