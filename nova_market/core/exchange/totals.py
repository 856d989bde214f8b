# SPDX-License-Identifier: Apache-2.0
"""The sums of what hosts report.

Implements the heaviness set of IFI-2016.04, section III-E and IV-D. Units: heaviness is dimensionless,
resource vectors as in core.resource.

Differs from the paper: a host sends one partial sum per owner, not one number per VM (the user
heaviness, eq. 4, is a sum, so nothing is lost), the last report of a host wins instead of a FIFO
with a barrier, and a report dies after `ttl` seconds; so neither an empty nor a dead host holds up
the others. What one host reports counts as far as a host can have it (core.exchange.report_bounds).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nova_market.core.exchange.messages import HostReport
from nova_market.core.exchange.quota_tally import Quota, QuotaTally, tally
from nova_market.core.exchange.quota_votes import agreed_of_all
from nova_market.core.exchange.report_bounds import (
    CloudSize,
    ReportBound,
    counted_owners,
    cut,
    listed_owners,
    room,
    unbounded,
    within,
)
from nova_market.core.resource import RESOURCES, Array, OwnerId


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CloudTotals:
    """Sums over hosts. sums has shape (owners, width); the other arrays (resources,).

    owners: ordered by id, those with at least one VM; with aggregators only those with one here
    age:    seconds since a transport was last known to work; 0 where nothing can fail
    owner_count, quota_tally: of all owners of the cloud with at least one VM, listed or not
    asked:  owners whose quotas a host that reads quotas shall read, besides its own
    """

    owners: tuple[OwnerId, ...]
    sums: Array
    supply: Array
    load: Array
    virtual: Array
    hosts: int
    quotas: Mapping[OwnerId, Quota]
    age: float
    owner_count: int
    quota_tally: QuotaTally
    asked: tuple[OwnerId, ...] = ()


def add_up(
    reports: Iterable[HostReport], metric: str, age: float = 0.0, bound: ReportBound = unbounded
) -> CloudTotals:
    """Totals of the reports of `metric`. Sums in host order, so hosts agree to the bit.

    bound: of the sums that a host may report, by the metric; nothing is cut of the reports of two hosts
    """
    chosen = sorted((r for r in reports if r.metric == metric), key=lambda r: r.host)
    held = Counter(owner for report in chosen for owner in report.owners)
    owners = tuple(sorted(held))
    alone = [[owner for owner in report.owners if held[owner] == 1] for report in chosen]
    count = counted_owners(len(owners), np.array(list(map(len, alone)), dtype=float), len(chosen))
    vectors = np.array([(r.supply, r.load, r.virtual) for r in chosen])
    vectors = vectors.reshape(-1, 3, len(RESOURCES))
    most = room(vectors[:, 0])
    supply, load, virtual = within(vectors, most).sum(axis=0)
    limit = None
    if np.isfinite(most).all():
        limit = bound(most, CloudSize(supply=supply, load=load, owners=count))
    quotas = agreed_of_all(report.quotas for report in chosen)
    return CloudTotals(
        owners=owners,
        sums=_sums(chosen, owners, limit),
        supply=supply,
        load=load,
        virtual=virtual,
        hosts=len(chosen),
        quotas=quotas,
        age=age,
        owner_count=count,
        quota_tally=tally(owners, quotas),
        asked=listed_owners((o for o in owners if held[o] > 1), alone, len(chosen)),
    )


def _sums(reports: Sequence[HostReport], owners: Sequence[OwnerId], limit: Array | None) -> Array:
    """The partial sums of all hosts by owner, shape (owners, width), as far as those of each host count."""
    row = {owner: i for i, owner in enumerate(owners)}
    width = max((len(v) for r in reports for v in r.owners.values()), default=1)
    sums = np.zeros((len(owners), width))
    for report in reports:
        partials = np.zeros((len(report.owners), width))
        for partial, stated in zip(partials, report.owners.values(), strict=True):
            partial[: len(stated)] = stated
        counted = partials if limit is None else cut(partials, limit)
        sums[[row[owner] for owner in report.owners]] += counted
    return sums
