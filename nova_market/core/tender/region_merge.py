# SPDX-License-Identifier: Apache-2.0
"""Offers of several regions as one list.

Implements rule O5 of doc/source/specs/tender.rst (INRIA RR-7837, section 2: DIET's tree of agents, in which
each merges what those below it answer) on core.tender.offer.merged.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from nova_market.core.tender.offer import Offers, merged
from nova_market.core.tender.place import NOBODY, Kind
from nova_market.core.tender.region_answer import RegionAnswer, RegionOffer
from nova_market.core.tender.stored_offer import HOW, How, StoredOffer
from nova_market.core.tender.utility import Utility, best_first

KIND: Mapping[How, Kind] = {how: kind for kind, how in HOW.items()}


class Priced(Protocol):
    """What offers of all origins have."""

    @property
    def cost(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def how(self) -> How: ...
    @property
    def count(self) -> int: ...


def together(
    own: Sequence[StoredOffer],
    others: Sequence[Sequence[RegionOffer]],
    utility: Utility,
    weight: float,
) -> list[StoredOffer | RegionOffer]:
    """All of them, the best one first; of equal ones those of the own region."""
    answers: list[Sequence[StoredOffer | RegionOffer]] = [own, *others]
    offers = merged([_columns(one) for one in answers])
    flat = [one for some in answers for one in some]
    return [flat[row] for row in best_first(offers, np.arange(len(flat)), utility, weight).tolist()]


def without_repeated(
    answers: Mapping[str, RegionAnswer],
) -> tuple[list[Sequence[RegionOffer]], list[str]]:
    """(offers by child, a sentence for each region that is left out of one). answers: by name of the child.

    A region that is reached in two ways answers once: of its offers those that it sent itself count, or else
    those of the first child that has some.
    """
    source: dict[str, str] = {}
    for child, answer in answers.items():
        for one in answer.offers:
            if one.region not in source or one.region == child:
                source[one.region] = child
    kept: list[Sequence[RegionOffer]] = []
    why: list[str] = []
    for child, answer in answers.items():
        kept.append([one for one in answer.offers if source[one.region] == child])
        why += [
            f'{child}: region {name} has answered through {source[name]} too, and counts once'
            for name in sorted({one.region for one in answer.offers if source[one.region] != child})
        ]
    return kept, why


def _columns(offers: Sequence[Priced]) -> Offers:
    count = len(offers)
    nobody = np.full(count, NOBODY, dtype=np.intp)
    return Offers(
        cost=np.array([one.cost for one in offers], dtype=np.int64),
        seconds=np.array([one.seconds for one in offers], dtype=np.float64),
        kind=np.array([int(KIND[one.how]) for one in offers], dtype=np.intp),
        flavor=np.zeros(count, dtype=np.intp),
        count=np.array([one.count for one in offers], dtype=np.intp),
        pe=nobody,
        host=nobody,
        source=np.zeros(count, dtype=np.intp),
    )
