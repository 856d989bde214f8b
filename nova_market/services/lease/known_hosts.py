# SPDX-License-Identifier: Apache-2.0
"""The hosts with all leases on them, kept from request to request: only what has changed is read and booked.

For rules L2 and L3 of doc/source/specs/leases.rst, and Q2 of doc/source/specs/market.rst. The service
publishes the hosts once a pass; leases change one by one. Twenty leases of 1,000 nodes take a third of a
second to read and to book, which each request would take, of whatever project. Taking a booking out of a
calendar is the inverse of booking it to the last bit (core.calendar), so what is kept is what reading
everything would give.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nova_market.core.calendar.booking import Bookings, joined
from nova_market.core.calendar.calendar import Calendar, booked, released
from nova_market.core.lease.cluster import Cluster
from nova_market.core.lease.host_view import HostView, cluster_with, lease_bookings
from nova_market.core.lease.record import StoredLease
from nova_market.ports import JobStateStore, LeaseStore
from nova_market.services.lease.observing import checked_view, newer_view
from nova_market.services.lease.settings import LeaseSettings


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Booked:
    """A lease, and what it takes of the hosts: nothing once its time has passed."""

    lease: StoredLease
    bookings: Bookings


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Known:
    """What the last request has seen. leases: that are not over, by id; calendar: of the view, with them"""

    version: int
    view: HostView
    leases: Mapping[str, _Booked]
    calendar: Calendar


class KnownHosts:
    """For many threads: what is kept is replaced as a whole, and each works on what it has read itself."""

    def __init__(self) -> None:
        self._known: _Known | None = None

    def read(
        self, leases: LeaseStore, states: JobStateStore, settings: LeaseSettings, now: float
    ) -> tuple[int, Cluster]:
        """(the turn, the hosts with all leases on them).

        :raises LeaseRefused: the hosts are not known.
        """
        turn, known = self._newest(leases, states, settings, now)
        return turn, cluster_with(known.view, known.calendar, settings.prices)

    def listed(
        self, leases: LeaseStore, states: JobStateStore, settings: LeaseSettings, now: float
    ) -> tuple[HostView, Sequence[StoredLease]]:
        """(the hosts without leases, the leases that are not over, by number).

        :raises LeaseRefused: the hosts are not known.
        """
        _, known = self._newest(leases, states, settings, now)
        found = [one.lease for one in known.leases.values()]
        return known.view, sorted(found, key=lambda one: one.number)

    def _newest(
        self, leases: LeaseStore, states: JobStateStore, settings: LeaseSettings, now: float
    ) -> tuple[int, _Known]:
        known = self._known
        version, view = (
            newer_view(states, known.version, known.view) if known else newer_view(states)
        )
        view = checked_view(view, now, settings.view_age)
        before = known.leases if known else {}
        changes = leases.changes({name: one.lease.mark for name, one in before.items()})
        live = {name: one.lease for name, one in before.items() if name not in changes.gone}
        live |= {one.id: one for one in changes.leases}
        if known is not None and view.names != known.view.names:
            before = {}  # bookings have rows of hosts
        after = {name: _booked(view, one, before.get(name), now) for name, one in live.items()}
        calendar = _calendar(known, view, after)
        newest = _Known(version=version, view=view, leases=after, calendar=calendar)
        self._known = newest
        return changes.turn, newest


def _booked(view: HostView, lease: StoredLease, before: _Booked | None, now: float) -> _Booked:
    """before: as it was known on the same hosts: what takes the same keeps its bookings"""
    if before is not None and lease.end > now and _room(before.lease) == _room(lease):
        return _Booked(lease=lease, bookings=before.bookings)
    return _Booked(lease=lease, bookings=lease_bookings(view, (lease,), now))


def _room(lease: StoredLease) -> tuple[object, ...]:
    return lease.nodes, lease.start, lease.end


def _calendar(known: _Known | None, view: HostView, leases: Mapping[str, _Booked]) -> Calendar:
    """Of the view with these leases; where the view is the same, from the calendar that is known."""
    if known is None or view is not known.view:
        return booked(view.calendar, joined([one.bookings for one in leases.values()]))
    kept = {
        name
        for name, one in known.leases.items()
        if name in leases and leases[name].bookings is one.bookings
    }
    gone = [one.bookings for name, one in known.leases.items() if name not in kept]
    new = [one.bookings for name, one in leases.items() if name not in kept]
    return booked(released(known.calendar, joined(gone)), joined(new))
