# SPDX-License-Identifier: Apache-2.0
"""The sums of what hosts report.

Implements the heaviness set of IFI-2016.04, section III-E and IV-D. Units: heaviness is dimensionless,
resource vectors as in core.resource.

Differs from the paper: a host sends one partial sum per owner, not one number per VM (the user
heaviness, eq. 4, is a sum, so nothing is lost), the last report of a host wins instead of a FIFO
with a barrier, and a report dies after `ttl` seconds; so neither an empty nor a dead host holds up
the others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from nova_market.core.exchange.messages import HostReport
from nova_market.core.exchange.quota_tally import Quota, QuotaTally, tally
from nova_market.core.resource import RESOURCES, Array, OwnerId


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CloudTotals:
    """Sums over hosts. sums has shape (owners, width); the other arrays (resources,).

    owners: ordered by id, those with at least one VM; with aggregators only those with one here
    age:    seconds since a transport was last known to work; 0 where nothing can fail
    owner_count, quota_tally: of all owners of the cloud with at least one VM, listed or not
    asked:  owners that are not listed, whose quotas this host is asked to read
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


def add_up(reports: Iterable[HostReport], metric: str, age: float = 0.0) -> CloudTotals:
    """Totals of the reports of `metric`. Sums in host order, so hosts agree to the bit."""
    chosen = sorted((r for r in reports if r.metric == metric), key=lambda r: r.host)
    owners = tuple(sorted({owner for report in chosen for owner in report.owners}))
    row = {owner: i for i, owner in enumerate(owners)}
    width = max((len(v) for r in chosen for v in r.owners.values()), default=1)
    sums = np.zeros((len(owners), width))
    supply, load, virtual = np.zeros((3, len(RESOURCES)))
    quotas: dict[OwnerId, Quota] = {}
    for report in chosen:
        supply += report.supply
        load += report.load
        virtual += report.virtual
        quotas.update(report.quotas)
        for owner, partial in report.owners.items():
            sums[row[owner], : len(partial)] += partial
    return CloudTotals(
        owners=owners,
        sums=sums,
        supply=supply,
        load=load,
        virtual=virtual,
        hosts=len(chosen),
        quotas=quotas,
        age=age,
        owner_count=len(owners),
        quota_tally=tally(owners, quotas),
    )
