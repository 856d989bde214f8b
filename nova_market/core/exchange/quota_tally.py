# SPDX-License-Identifier: Apache-2.0
"""What eq. (3) of IFI-2016.04 needs to know of the quotas of owners that are not listed one by one.

Implements the denominators of section III-C.2: with aggregators a host receives its own owners only,
but the actual quota of each depends on the quotas of all. Units: cores, MiB; each field is a pair.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nova_market.core.resource import OwnerId

Quota = tuple[int, int]
"""(cores, ram_mib), -1 = unlimited."""

MAX_TOTAL = 2**63 - 1
"""Of the quotas of the owners of one aggregator, so that every format can hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaTally:
    """known: number of owners with a finite quota; total and largest: of these quotas."""

    known: tuple[int, int] = (0, 0)
    total: tuple[int, int] = (0, 0)
    largest: tuple[int, int] = (0, 0)

    def __add__(self, other: 'QuotaTally') -> 'QuotaTally':
        """The tally of two disjoint sets of owners."""
        (k0, k1), (l0, l1) = self.known, other.known
        (t0, t1), (u0, u1) = self.total, other.total
        (m0, m1), (n0, n1) = self.largest, other.largest
        return QuotaTally(
            known=(k0 + l0, k1 + l1), total=(t0 + u0, t1 + u1), largest=(max(m0, n0), max(m1, n1))
        )


def tally(owners: Iterable[OwnerId], quotas: Mapping[OwnerId, Quota]) -> QuotaTally:
    """The tally of the owners that have a quota."""
    found = [quotas[owner] for owner in owners if owner in quotas]
    cores = [cores for cores, _ in found if cores >= 0]
    ram = [ram for _, ram in found if ram >= 0]
    return QuotaTally(
        known=(len(cores), len(ram)),
        total=(min(sum(cores), MAX_TOTAL), min(sum(ram), MAX_TOTAL)),
        largest=(max(cores, default=0), max(ram, default=0)),
    )
