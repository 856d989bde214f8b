# SPDX-License-Identifier: Apache-2.0
"""Leases of Blazar: what they cost, and what becomes of their rows.

Implements rule L9 of doc/source/specs/leases.rst. The protocol is that of Blazar's ExternalServiceFilter
(blazar.enforcement.filters.external_service_filter, release 18). Units: seconds since the epoch, cores, MiB,
GiB, micro-credits.

A lease of Blazar is a row without nodes: its hosts are Blazar's and take nothing of the calendar. It starts,
is charged and ends as other leases (core.lease.life). Blazar checks a lease before it has an id. So the row
gets the id later, from the first call that has one; rows of one project with the same start and end differ
in their name, which Blazar can change without a call.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from nova_market.core.lease.billing import (
    LeasePrices,
    changed_cost,
    lease_cost,
    settled,
    used_part,
)
from nova_market.core.lease.life import LifeSettings, booked_lately, event
from nova_market.core.lease.record import (
    BLAZAR,
    LeaseAction,
    LeaseNode,
    LeaseState,
    LeaseStep,
    StoredLease,
)
from nova_market.core.ledger.money import credit_text
from nova_market.core.text import one_line
from nova_market.core.timestamp import seconds
from nova_market.errors import BadLease

Amounts = tuple[float, float, float]
Sizes = Callable[[str], Amounts | None]
"""(cores, MiB, GiB) of a flavor by its id; None: there is none."""

NOTHING: Amounts = (0.0, 0.0, 0.0)
PURPOSE = 'Blazar lease '
HOSTS = 'physical:host'


@dataclass(frozen=True, slots=True, kw_only=True)
class BlazarLease:
    """As Blazar describes it. id: '' while it has none; amounts: of all its reservations together"""

    id: str
    name: str
    project_id: str
    user_id: str
    region: str
    start: float
    end: float
    amounts: Amounts

    @property
    def purpose(self) -> str:
        """Names it in its row; '' while it has no id."""
        return f'{PURPOSE}{self.id}' if self.id else ''

    def row_id(self, number: int) -> str:
        """Of its row: by its id, or by its content and how many rows with that content were before."""
        content = (self.name, self.start, self.end, *self.amounts, number)
        name = self.id or '/'.join(str(one) for one in content)
        return str(uuid5(NAMESPACE_URL, f'market:blazar:{self.region}:{self.project_id}:{name}'))


def blazar_lease(context: Mapping[str, Any], lease: Mapping[str, Any], sizes: Sizes) -> BlazarLease:
    """From the documents of a call.

    :raises BadTime, BadLease: names what is wrong.
    """
    start, end = seconds(lease['start_date']), seconds(lease['end_date'])
    if end <= start:
        raise BadLease(f'end_date: {lease["end_date"]} is not after start_date')
    reservations = lease.get('reservations') or ()
    if sum(one['resource_type'] == HOSTS for one in reservations) > 1:
        # Blazar lists the same hosts in each of them
        raise BadLease(f'reservations: give one of {HOSTS}; with more their hosts are not known')
    each = [reserved(one, sizes) for one in reservations]
    cores, memory, disk = (sum(one[axis] for one in each) for axis in range(3))
    return BlazarLease(
        id=lease.get('id') or '',
        name=one_line(lease.get('name') or ''),
        project_id=context['project_id'],
        user_id=context.get('user_id') or '',
        region=context.get('region_name') or '',
        start=start,
        end=end,
        amounts=(float(cores), float(memory), float(disk)),
    )


def with_changes(current: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The lease as it will be: a change has only some of its entries, and of its reservations."""
    changed = {one.get('id'): one for one in new.get('reservations') or ()}
    kept = [{**one, **changed.get(one.get('id'), {})} for one in current.get('reservations') or ()]
    return {**current, **new, 'id': current.get('id'), 'reservations': kept}


def reserved(reservation: Mapping[str, Any], sizes: Sizes) -> Amounts:
    """What one reservation takes: hosts whole, servers by their size, other resources nothing.

    :raises BadLease: a flavor that is not known.
    """
    hosts = reservation.get('allocations') or ()
    if reservation['resource_type'] == HOSTS:
        least = int(_number(reservation.get('min')))
        count = max(least, min(int(_number(reservation.get('max')) or len(hosts)), len(hosts)))
        if count and not hosts:
            raise BadLease(f'min: {least} hosts are reserved, and none of them is in allocations')
        cores, memory, disk = (
            _of_hosts([_number(one.get(name)) for one in hosts], count)
            for name in ('vcpus', 'memory_mb', 'local_gb')
        )
        return cores, memory, disk
    if reservation.get('vcpus') is not None:
        size = (
            _number(reservation['vcpus']),
            _number(reservation.get('memory_mb')),
            _number(reservation.get('disk_gb')),
        )
    elif reservation.get('flavor_id'):
        found = sizes(str(reservation['flavor_id']))
        if found is None:
            raise BadLease(f'flavor_id: there is no flavor {reservation["flavor_id"]!s:.80}')
        size = found
    else:
        return NOTHING
    amount = _number(reservation.get('amount'))
    return size[0] * amount, size[1] * amount, size[2] * amount


def price_of(lease: BlazarLease, since: float, prices: LeasePrices) -> int:
    """What it costs from its start, or from `since` where that is later, to its end.

    :raises BadLease: more than an account can have.
    """
    node = LeaseNode(host='', amounts=lease.amounts)
    return lease_cost([node], max(lease.end - max(lease.start, since), 0.0), prices)


def new_row(lease: BlazarLease, number: int, cost: int, now: float, since: float) -> StoredLease:
    """As it is booked. since: what it costs is from then on"""
    return StoredLease(
        id=lease.row_id(number),
        project_id=lease.project_id,
        payer_id=lease.project_id,
        user_id=lease.user_id[:64],
        name=lease.name[:255],
        purpose=lease.purpose,
        amounts=lease.amounts,
        count=1,
        whole=False,
        duration=lease.end - lease.start,
        earliest=lease.start,
        finish=lease.end,
        start=lease.start,
        end=lease.end,
        cost=cost,
        priced_since=since,
        algorithm=BLAZAR,
        created_at=now,
    )


def row_of(lease: BlazarLease, rows: Sequence[StoredLease]) -> StoredLease | None:
    """Its row: the one with its id, else one without an id of the same time, by its name first."""
    for one in rows:
        if lease.id and one.purpose == lease.purpose:
            return one
    time = (lease.start, lease.end)
    same = [one for one in rows if not one.purpose and (one.start, one.end) == time]
    same.sort(
        key=lambda one: (one.over, one.name != lease.name, one.amounts != lease.amounts, one.number)
    )
    return same[0] if same else None


def named(row: StoredLease, lease: BlazarLease, now: float) -> LeaseStep | None:
    """Blazar has made it, and it has an id now; None: the row has it already."""
    if row.purpose:
        return None
    after = replace(row, purpose=lease.purpose, name=lease.name[:255])
    told = event(row, now, LeaseAction.CHANGED, f'it is lease {lease.id} of Blazar')
    return LeaseStep(before=row, after=after, events=(told,))


def changed(
    row: StoredLease, lease: BlazarLease, now: float, prices: LeasePrices
) -> LeaseStep | None:
    """It gets another time or size; what has passed of it stays as it was. None: nothing changes."""
    end_and_size = (lease.start, lease.end, lease.amounts, lease.purpose)
    if (row.start, row.end, row.amounts, row.purpose) == end_and_size:
        return None
    used = used_part(row, now)
    cost = used + price_of(lease, now, prices)
    moved = replace(
        row, priced_since=now, priced_before=used,
        start=lease.start, end=lease.end, earliest=lease.start, finish=lease.end,
        duration=lease.end - lease.start, amounts=lease.amounts, purpose=lease.purpose,
        name=lease.name[:255],
    )  # fmt: skip
    after, postings = changed_cost(moved, cost)
    why = f'by Blazar; it costs {credit_text(after.cost)} credits now'
    told = event(row, now, LeaseAction.CHANGED, why, cost=after.cost)
    return LeaseStep(before=row, after=after, postings=postings, events=(told,))


def ended(
    row: StoredLease, lease: BlazarLease, now: float, settings: LifeSettings
) -> LeaseStep | None:
    """Blazar has ended it: what has passed is charged, and a part of the rest comes back.

    That part is the one of a lease that is deleted. None: it was over before.
    """
    if row.over:
        return None
    whole = now < row.start and booked_lately(row, now, settings)
    part = 1.0 if whole else settings.refund
    after = replace(row, state=LeaseState.ENDED, ended_at=now, purpose=lease.purpose)
    after, postings = settled(after, now, part)
    back = after.refunded - row.refunded
    why = f'by Blazar; {credit_text(back)} credits came back'
    told = event(row, now, LeaseAction.ENDED, why, refunded=back)
    return LeaseStep(before=row, after=after, postings=postings, events=(told,))


def _of_hosts(each: Sequence[float], count: int) -> float:
    """Of so many hosts; those that are not listed are as large as the largest that is."""
    return sum(each[:count]) + max(each, default=0.0) * max(count - len(each), 0)


def _number(value: object) -> float:
    return float(str(value)) if value is not None else 0.0
