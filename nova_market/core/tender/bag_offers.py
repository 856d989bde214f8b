# SPDX-License-Identifier: Apache-2.0
"""Answers to the requests of a bag as offers that core.tender.negotiation chooses from.

For rule T5 of doc/source/specs/tender.rst. `source` of an offer is its row in the answer, so that the terms
of a choice lead back to it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nova_market.core.tender.negotiation import NoDeal
from nova_market.core.tender.offer import Offers
from nova_market.core.tender.place import NOBODY
from nova_market.core.tender.stored_offer import HOW, How, StoredOffer

KIND = {how: kind for kind, how in HOW.items()}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Answer:
    """What tasks of one kind can have. made: the offers, in the order of `offers.source`

    why: sentences, of flavors and queues without one
    """

    offers: Offers
    made: tuple[StoredOffer, ...]
    why: tuple[str, ...] = ()


def answer(made: Sequence[StoredOffer], free: Collection[str] = (), *, before: int = 0) -> Offers:
    """Offers as columns. free: ids of queues whose jobs cost the bag's project nothing

    before: so many offers came before these: their sources begin there
    """
    count = len(made)
    nobody = np.full(count, NOBODY, dtype=np.intp)
    cost = [0 if one.queue_id in free else one.cost for one in made]
    return Offers(
        cost=np.array(cost, dtype=np.int64),
        seconds=np.array([one.seconds for one in made], dtype=np.float64),
        kind=np.array([int(KIND[How(one.how)]) for one in made], dtype=np.intp),
        flavor=np.zeros(count, dtype=np.intp),
        count=np.array([one.count for one in made], dtype=np.intp),
        pe=nobody,
        host=nobody,
        source=np.arange(before, before + count, dtype=np.intp),
    )


def taken(found: Answer, source: int) -> Answer | None:
    """After one of equal places was taken; None: another request is due."""
    left = found.offers.count - (found.offers.source == source)
    if not (left > 0).any():
        return None
    return replace(found, offers=replace(found.offers, count=left).take(left > 0))


def refuses_all(found: Offers, budget: int) -> NoDeal | None:
    """Why no task at all, whatever its deadline, has a suitable offer; None: some may have."""
    if not len(found):
        return NoDeal.NO_OFFER
    return None if (found.cost <= budget).any() else NoDeal.BUDGET
