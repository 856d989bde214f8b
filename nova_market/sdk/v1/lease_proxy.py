# SPDX-License-Identifier: Apache-2.0
"""The part of `conn.market` that books and shows leases."""

import uuid
from collections.abc import Iterator
from typing import Any

from openstack import exceptions

from nova_market.sdk.v1.lease import Lease, LeaseCalendar, LeaseEvent, Replan
from nova_market.sdk.v1.limit import Limits
from nova_market.sdk.v1.market_proxy import MarketProxy
from nova_market.sdk.v1.microversion import LEASES, LIMITS


class LeaseProxy(MarketProxy):
    """Leases: rules L1 to L6, and what may be had of them."""

    def limits(self, **query: Any) -> Limits:
        """What the operator allows to a project, and how much of that it has; `project_id` chooses."""
        return self._read(Limits, self.get('/limits', params=query, microversion=LIMITS))

    def leases(self, **query: Any) -> Iterator[Lease]:
        """Leases, newest first; `state`, `host`, `since` and `until` choose."""
        return self._pages(Lease, **query)

    def get_lease(self, lease: str | Lease) -> Lease:
        """One lease."""
        return self._get(Lease, lease)

    def create_lease(self, *, key: str | None = None, **request: Any) -> Lease:
        """Book a lease: `duration`, and `hosts`, `whole` or `cores`, `memory_mib`, `disk_gib`.

        The same `key` books once however often it is sent. What cannot be had is refused with
        market.lease.refused; the error has `faults` and `options`.
        """
        answer = self.post(
            '/leases',
            json=request,
            headers={'Idempotency-Key': key or str(uuid.uuid4())},
            microversion=LEASES,
            connect_retries=3,
        )
        return self._read(Lease, answer)

    def update_lease(self, lease_id: str, **changed: Any) -> Lease:
        """Change `name`, `purpose`, `flexible`."""
        path = f'/leases/{lease_id}'
        return self._read(Lease, self.patch(path, json=changed, microversion=LEASES))

    def delete_lease(self, lease_id: str) -> Lease:
        """Give up a lease; it is shown as it is then."""
        return self._read(Lease, self.delete(f'/leases/{lease_id}', microversion=LEASES))

    def give_lease(self, lease_id: str, project_id: str) -> Lease:
        """Give a lease to another project; who has booked it goes on paying."""
        body = {'project_id': project_id}
        answer = self.post(f'/leases/{lease_id}/give', json=body, microversion=LEASES)
        return self._read(Lease, answer)

    def lease_events(self, lease_id: str, **query: Any) -> Iterator[LeaseEvent]:
        """What happened to a lease and why, newest first."""
        return self._pages(LeaseEvent, lease_id=lease_id, **query)

    def lease_calendar(self, **query: Any) -> LeaseCalendar:
        """What hosts have free from `since` to `until`, and the leases on them."""
        params = {name: value for name, value in query.items() if value is not None}
        answer = self.get('/lease-calendar', params=params, microversion=LEASES)
        exceptions.raise_from_response(answer)
        return LeaseCalendar.existing(connection=self._get_connection(), **answer.json())

    def replan_leases(self, **request: Any) -> Replan:
        """Place future flexible leases anew: `algorithm`, `objective`, `dry_run`."""
        answer = self.post('/lease-replans', json=request, microversion=LEASES)
        return self._read(Replan, answer)
