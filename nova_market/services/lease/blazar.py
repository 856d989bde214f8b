# SPDX-License-Identifier: Apache-2.0
"""What Blazar asks and reports of its leases, written in our ledger.

Implements rules L9 and L10 of doc/source/specs/leases.rst around core.lease.blazar. Each call is one
transaction of rows, postings and events, and what it does depends on the rows: a call that is repeated, or
whose answer got lost, moves nothing twice. Seconds since the epoch.
"""

import logging
from collections.abc import Callable
from typing import TypeVar

from nova_market.core.lease.billing import hold
from nova_market.core.lease.blazar import (
    BlazarLease,
    changed,
    ended,
    named,
    new_row,
    price_of,
    row_of,
)
from nova_market.core.lease.life import event
from nova_market.core.lease.limit import LeaseLimits, LeaseQuota
from nova_market.core.lease.record import (
    OVER,
    LeaseAction,
    LeaseFilter,
    LeaseState,
    LeaseStep,
    StoredLease,
)
from nova_market.core.timestamp import stamp
from nova_market.errors import (
    BadLease,
    BalanceTooLow,
    Conflict,
    KeyReused,
    LeaseChanged,
    PromisesChanged,
    TooManyLeases,
    UnknownAccount,
)
from nova_market.services.lease.asking import LeaseStores, check_worth
from nova_market.services.lease.settings import LeaseSettings

LOG = logging.getLogger(__name__)

Found = TypeVar('Found')

TRIES = 100
"""While others book or change leases."""

MOST = 10_000
"""Rows of a project that are looked at."""

LIVE = tuple(one for one in LeaseState if one not in OVER)


class BlazarCalls:
    """The calls of Blazar's filter. by: whose token it has"""

    def __init__(self, stores: LeaseStores, settings: LeaseSettings, by: str) -> None:
        self._stores = stores
        self._settings = settings
        self._by = by

    def create(self, lease: BlazarLease) -> StoredLease:
        """Hold what it costs, before Blazar makes it or, with an id, after that.

        :raises BalanceTooLow, UnknownAccount, TooManyLeases, LeasesOff, BadLease: nothing is held.
        """
        return self._again(lambda: self._create(lease))

    def change(self, current: BlazarLease, lease: BlazarLease) -> StoredLease:
        """Hold more, or give back what is too much.

        :raises BalanceTooLow, UnknownAccount, TooManyLeases, LeasesOff, BadLease: nothing is changed.
        """
        return self._again(lambda: self._change(current, lease))

    def end(self, lease: BlazarLease) -> None:
        """Charge what has passed; a part of the rest comes back.

        Of one that nobody has checked, what has passed is charged if the account has it.
        """
        self._again(lambda: self._end(lease))

    def _create(self, lease: BlazarLease) -> StoredLease:
        row = row_of(lease, self._rows(lease)) if lease.id else None
        if row is not None and (row.purpose or not row.over):
            step = named(row, lease, self._stores.wall())
            return self._written(step) if step is not None else row
        return self._book(lease, lease.start)

    def _change(self, current: BlazarLease, lease: BlazarLease) -> StoredLease:
        now = self._stores.wall()
        row = row_of(current, self._rows(current))
        if row is None:
            return self._book(lease, now)
        turn = self._stores.leases.turn()
        step = None if row.over else changed(row, lease, now, self._settings.prices)
        if step is None:
            return row
        if any(lease.amounts):
            check_worth(step.after.cost, self._settings)
        (stored,) = self._stores.leases.change([step], turn, self._by, self._quota(now))
        return stored

    def _end(self, lease: BlazarLease) -> StoredLease | None:
        now = self._stores.wall()
        row = row_of(lease, self._rows(lease))
        if row is None:
            if now <= lease.start:
                return None
            try:
                # it has had what it had, whatever limits there are
                row = self._book(lease, lease.start, LeaseLimits(leases=MOST))
            except (BalanceTooLow, UnknownAccount, TooManyLeases, BadLease, KeyReused) as error:
                LOG.error('lease %s of Blazar is over and not charged: %s', lease.id, error)
                return None
        # what Blazar has failed to change has the times that it reports now
        step = None if row.over else changed(row, lease, now, self._settings.prices)
        row = row if step is None else self._written(step)
        if row.over and row.state is LeaseState.ENDED and row.ended_at < min(now, lease.end):
            LOG.error(
                'lease %s of Blazar went on for %.0f s after it was ended here: they are not charged',
                lease.id,
                min(now, lease.end) - row.ended_at,
            )
        step = ended(row, lease, now, self._settings.life)
        return self._written(step) if step is not None else row

    def _book(
        self, lease: BlazarLease, since: float, limits: LeaseLimits | None = None
    ) -> StoredLease:
        """A new row; of a lease with an id, the one that is there. since: what it costs is from then on.

        limits: in place of the operator's

        Blazar repeats no call: a check without an id is one of a lease of its own.
        """
        now = self._stores.wall()
        turn = self._stores.leases.turn()
        number = 0
        while True:
            lease_id = lease.row_id(number)
            before = self._stores.leases.lease(lease_id)
            if before is None:
                break
            if lease.id:
                return before
            number += 1
        row = new_row(lease, number, price_of(lease, since, self._settings.prices), now, since)
        if limits is None and any(lease.amounts):
            check_worth(row.cost, self._settings)
        told = event(row, now, LeaseAction.BOOKED, f'by Blazar, from {stamp(row.start)} on')
        quota = self._quota(now) if limits is None else LeaseQuota(limits=limits, now=now)
        return self._stores.leases.book(row, turn, hold(row), [told], quota)

    def _quota(self, now: float) -> LeaseQuota:
        """By cores alone: Blazar's hosts are its own."""
        return LeaseQuota(limits=self._settings.limits, now=now)

    def _rows(self, lease: BlazarLease) -> list[StoredLease]:
        """Of the project: those that are not over, and those that were at its time."""
        read = self._stores.leases.leases
        live = LeaseFilter(project_id=lease.project_id, states=LIVE)
        over = LeaseFilter(
            project_id=lease.project_id, states=OVER, since=lease.start, until=lease.end
        )
        found = [*read(live, 0, MOST), *read(over, 0, MOST)]
        return [one for one in found if one.of_blazar]

    def _written(self, step: LeaseStep) -> StoredLease:
        (stored,) = self._stores.leases.change([step], by=self._by)
        return stored

    def _again(self, call: Callable[[], Found]) -> Found:
        for _ in range(TRIES):
            try:
                return call()
            except (LeaseChanged, PromisesChanged):
                continue
        raise Conflict('others change leases all the time: try again')
