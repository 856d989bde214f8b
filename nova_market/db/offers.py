# SPDX-License-Identifier: Apache-2.0
"""Offers in the database.

For rules O1 to O3 of doc/source/specs/tender.rst. Whether an offer can still be honoured is decided by what
was read (core.tender.job_offer); `promised` gives a turn with it, and accepting or holding writes only if
nobody has taken a turn since. So of two that decide at once by the same room one decides again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, func, insert, or_, select, update

from nova_market.core.job.pe_line import Accepted
from nova_market.core.job.record import ENDED, StoredJob
from nova_market.core.job.store_values import JobQuotas, NewJobs
from nova_market.core.lease.limit import LeaseQuota
from nova_market.core.lease.record import LeaseEvent, StoredLease
from nova_market.core.ledger.posting import Posting
from nova_market.core.tender.outlook import ForecastMark, OfferRows
from nova_market.core.tender.stored_offer import (
    How,
    OfferFilter,
    OfferKind,
    OfferState,
    StoredOffer,
)
from nova_market.db.database import Database
from nova_market.db.job_submission import StoredBefore, jobs_by_ids, store_new
from nova_market.db.job_tables import job_attempts, jobs
from nova_market.db.leases import book_in
from nova_market.db.ledger import MAX_PAGE, post_in, slices
from nova_market.db.offer_outlook import read_outlook
from nova_market.db.offer_rows import (
    LIVE,
    SETTLED,
    in_state,
    offer_values,
    promised_since,
    stored_offer,
)
from nova_market.db.offer_tables import offers
from nova_market.db.sound_rows import boundary_of, sound_page, sound_row, sound_rows, unknown_word
from nova_market.db.turns import OFFERS, read_turn, take_turn
from nova_market.errors import Conflict, OfferEnded, TooManyOffers

COUNT_LIVE = select(func.count()).select_from(
    select(offers.c.number)
    .where(
        offers.c.project_id == bindparam('project'),
        offers.c.valid_until > bindparam('now'),
        offers.c.state.in_(LIVE),
    )
    .limit(bindparam('most'))
    .subquery()
)
"""Made once: it is asked for each request."""


class DatabaseOffers:
    """Implements ports.OfferStore."""

    def __init__(self, database: Database, wall: Callable[[], float]) -> None:
        self._database = database
        self._wall = wall

    def create(self, made: Sequence[StoredOffer], most: int) -> Sequence[StoredOffer]:
        """Keep the offers of one request; as they are stored.

        :raises TooManyOffers: their project would have more than `most` that are open or held.
        """
        if not made:
            return ()
        return self._database.write(_create, tuple(made), most, self._wall())

    def check(self, project_id: str, most: int) -> None:
        """:raises TooManyOffers: the project has `most` that are open or held."""
        self._database.read(_check_room, project_id, 1, most, self._wall())

    def offer(self, offer_id: str) -> StoredOffer | None:
        """One offer; None when there is none."""
        return self._database.read(_offer, offer_id)

    def offers(
        self, chosen: OfferFilter, before: int = 0, limit: int = 1000
    ) -> Sequence[StoredOffer]:
        """Newest first; before: number of the last one of a page."""
        return self._database.read(_page, chosen, before, min(limit, MAX_PAGE))

    def promised(self, since: float) -> tuple[int, Sequence[StoredOffer]]:
        """(the turn, offers that are held now or were accepted since, in the order of their numbers)."""
        return self._database.read(_promised, since, self._wall())

    def outlook(self, queue: str, project_id: str, known: ForecastMark) -> OfferRows | None:
        """All that offers of a queue (queue_access.key_of) are made by; None: there is no such queue.

        project_id: to whom; known: the forecast that the caller has
        """
        return self._database.read(read_outlook, queue, project_id, known, self._wall())

    def accept(
        self, offer: StoredOffer, turn: int, new: NewJobs, quotas: JobQuotas
    ) -> tuple[StoredOffer, StoredJob]:
        """Store the one job of an offer as it is honoured, and what is held for it. offer: as it will be.

        :raises PromisesChanged: somebody has taken a turn since it was read; decide again.
        :raises OfferEnded: it, or another one of its request, was accepted; or it has ended otherwise.
        :raises TooManyJobs, QueueClosed, QueueChanged, BalanceTooLow: as JobStore.submit.
        """
        return self._database.write(_accept, offer, turn, new, quotas, self._wall())

    def accept_lease(
        self,
        offer: StoredOffer,
        turn: int,
        lease: StoredLease,
        postings: Sequence[Posting],
        events: Sequence[LeaseEvent],
        quota: LeaseQuota,
    ) -> tuple[StoredOffer, StoredLease]:
        """Book the one lease of an offer as it is honoured. offer: as it will be; else as LeaseStore.book.

        :raises PromisesChanged, OfferEnded: as accept; the turn is that of leases.
        :raises TooManyLeases, LeaseLimitReached, BalanceTooLow, UnknownAccount: as LeaseStore.book.
        """
        booking = turn, lease, tuple(postings), tuple(events), quota
        return self._database.write(_accept_lease, offer, *booking, self._wall())

    def hold(self, offer: StoredOffer, turn: int, fees: Sequence[Posting]) -> StoredOffer:
        """Store an offer as it is held. offer: as it will be.

        :raises PromisesChanged, OfferEnded: as accept.
        :raises BalanceTooLow: the fee cannot be paid.
        """
        return self._database.write(_hold, offer, turn, tuple(fees), self._wall())

    def release(self, offer_id: str) -> StoredOffer | None:
        """Give up an offer that is open or held; what it is then. None: there is none.

        :raises OfferEnded: it was accepted.
        """
        return self._database.write(_release, offer_id, self._wall())

    def accepted(self, queue_ids: Sequence[str]) -> Mapping[str, Accepted]:
        """How the jobs of these queues were accepted, until their offers are closed; by the id of the job."""
        return self._database.read(_accepted, tuple(queue_ids))

    def due(self, limit: int = 1000) -> Sequence[tuple[StoredOffer, StoredJob]]:
        """Accepted offers whose jobs have ended, with these, by number."""
        return self._database.read(_due, limit)

    def close(self, offer_id: str, refunded: int) -> None:
        """Its job has ended, and this much came back."""
        self._database.write(_close, offer_id, refunded)


NO_JOB = tuple(str(kind) for kind in OfferKind if kind is not OfferKind.JOB)


def some_offers(connection: Connection, older_than: float, batch: int) -> int:
    """Delete offers that ended before, those for jobs when these are settled; how many."""
    settled = or_(offers.c.state.in_(SETTLED), offers.c.kind.in_(NO_JOB))
    over = and_(settled, offers.c.valid_until < older_than)
    query = select(offers.c.number).where(over).order_by(offers.c.number).limit(batch)
    found = list(connection.execute(query.with_for_update()).scalars())
    for part in slices(found):
        connection.execute(delete(offers).where(offers.c.number.in_(part)))
    return len(found)


def open_offer(connection: Connection, offer: StoredOffer) -> StoredOffer:
    """Keep an offer in the transaction of something else, whatever its project has."""
    inserted = connection.execute(insert(offers).values(**offer_values(offer)))
    (number,) = inserted.inserted_primary_key or (0,)
    return replace(offer, number=int(number))


def release_offer(connection: Connection, offer_id: str, now: float) -> StoredOffer | None:
    """As DatabaseOffers.release, in the transaction of something else."""
    return _release(connection, offer_id, now)


def _create(
    connection: Connection, made: Sequence[StoredOffer], most: int, now: float
) -> list[StoredOffer]:
    _check_room(connection, made[0].project_id, len(made), most, now)
    if len(made) == 1:
        key = connection.execute(insert(offers), offer_values(made[0])).inserted_primary_key
        assert key is not None, 'one row was inserted'
        return [replace(made[0], number=key[0])]
    connection.execute(insert(offers), [offer_values(one) for one in made])
    query = select(offers.c.id, offers.c.number).where(offers.c.id.in_([one.id for one in made]))
    numbers = {row.id: row.number for row in connection.execute(query)}
    return [replace(one, number=numbers[one.id]) for one in made]


def _check_room(connection: Connection, project_id: str, more: int, most: int, now: float) -> None:
    given = {'project': project_id, 'now': now, 'most': most + 1}
    count = int(connection.execute(COUNT_LIVE, given).scalar() or 0)
    if count + more > most:
        raise TooManyOffers(
            f'the project would have {count + more} offers that are open or held: the limit is {most}: '
            'release some, or wait until they have expired'
        )


def _promised(connection: Connection, since: float, now: float) -> tuple[int, list[StoredOffer]]:
    # the turn first: what is promised after it was read is refused
    turn = read_turn(connection, OFFERS)
    return turn, promised_since(connection, since, now)


def _offer(connection: Connection, offer_id: str) -> StoredOffer | None:
    row = connection.execute(select(offers).where(offers.c.id == offer_id)).first()
    return sound_row(connection, 'offer', row, stored_offer) if row else None


def _page(
    connection: Connection, chosen: OfferFilter, before: int, limit: int
) -> list[StoredOffer]:
    query = select(offers)
    for name in ('project_id', 'queue_id', 'request_id'):
        if (value := getattr(chosen, name)) is not None:
            query = query.where(offers.c[name] == value)
    if chosen.kinds:
        query = query.where(offers.c.kind.in_([str(kind) for kind in chosen.kinds]))
    if chosen.states:
        query = query.where(or_(*(in_state(state, chosen.now) for state in chosen.states)))
    if before:
        query = query.where(offers.c.number < before)
    newest = query.order_by(offers.c.number.desc())
    return sound_page(connection, 'offer', newest, limit, stored_offer)


def _accept(
    connection: Connection,
    offer: StoredOffer,
    turn: int,
    new: NewJobs,
    quotas: JobQuotas,
    now: float,
) -> tuple[StoredOffer, StoredJob]:
    take_turn(connection, OFFERS, turn)
    _check_live(connection, offer, now)
    _check_only(connection, offer, offers.c.job_id != '')
    try:
        (job,) = store_new(connection, new, quotas, now)
    except StoredBefore as error:
        raise OfferEnded(f'offer {offer.id} was accepted before') from error
    _write(connection, offer)
    return offer, job


def _accept_lease(
    connection: Connection,
    offer: StoredOffer,
    turn: int,
    lease: StoredLease,
    postings: Sequence[Posting],
    events: Sequence[LeaseEvent],
    quota: LeaseQuota,
    now: float,
) -> tuple[StoredOffer, StoredLease]:
    # this locks the offer; who accepts another one of its request has taken the turn of leases
    _check_live(connection, offer, now)
    stored = book_in(connection, lease, turn, postings, events, quota, now)
    _check_only(connection, offer, offers.c.lease_id != '')
    _write(connection, offer)
    return offer, stored


def _hold(
    connection: Connection, offer: StoredOffer, turn: int, fees: Sequence[Posting], now: float
) -> StoredOffer:
    take_turn(connection, OFFERS, turn)
    _check_live(connection, offer, now)
    post_in(connection, fees, offer.user_id, now)
    _write(connection, offer)
    return offer


def _release(connection: Connection, offer_id: str, now: float) -> StoredOffer | None:
    query = select(offers).where(offers.c.id == offer_id)
    row = connection.execute(query.with_for_update()).first()
    if row is None:
        return None
    offer = sound_row(connection, 'offer', row, stored_offer)
    state = offer.state_at(now)
    # an expired one is released too: whoever accepts it with a clock that is behind gets nothing
    if offer.state is OfferState.RELEASED:
        return offer
    if state in (OfferState.ACCEPTED, OfferState.CLOSED):
        what = (
            f'cancel its job, {offer.job_id}' if offer.job_id else f'delete lease {offer.lease_id}'
        )
        raise OfferEnded(f'offer {offer_id} was accepted: {what}')
    released = replace(offer, state=OfferState.RELEASED)
    _write(connection, released)
    return released


def _accepted(connection: Connection, queue_ids: Sequence[str]) -> dict[str, Accepted]:
    query = select(offers.c.job_id, offers.c.flavor, offers.c.how).where(
        offers.c.state == str(OfferState.ACCEPTED), offers.c.queue_id.in_(queue_ids)
    )
    return {
        row.job_id: Accepted(flavor=row.flavor, waits=row.how != How.NEW_WORKER)
        for row in connection.execute(query)
    }


def _due(connection: Connection, limit: int) -> list[tuple[StoredOffer, StoredJob]]:
    ended = [str(state) for state in ENDED]
    query = (
        select(offers)
        .join(jobs, jobs.c.id == offers.c.job_id)
        .where(offers.c.state == str(OfferState.ACCEPTED), jobs.c.state.in_(ended))
        .order_by(offers.c.number)
        .limit(limit + boundary_of(connection).count('offer'))
    )
    found = sound_rows(connection, 'offer', connection.execute(query), stored_offer)
    # nobody asks for one whose state is not known
    lost = select(offers).where(unknown_word(offers.c.state, OfferState)).limit(limit)
    sound_rows(connection, 'offer', connection.execute(lost), stored_offer)
    by_id = jobs_by_ids(connection, [one.job_id for one in found])
    ends = _ends(connection, list(by_id.values()))
    by_id |= {
        one.id: replace(one, ended_at=ends[one.id]) for one in by_id.values() if one.id in ends
    }
    return [(one, by_id[one.job_id]) for one in found if one.job_id in by_id]


def _ends(connection: Connection, ended: Sequence[StoredJob]) -> dict[str, float]:
    """When the last attempts ended, as their workers have reported: a pass may notice it much later."""
    found: dict[str, float] = {}
    last = {(one.id, one.attempt) for one in ended}
    for part in slices([one.id for one in ended]):
        query = select(job_attempts.c.job_id, job_attempts.c.number, job_attempts.c.ended_at).where(
            job_attempts.c.job_id.in_(part), job_attempts.c.ended_at > 0
        )
        for job_id, number, ended_at in connection.execute(query):
            if (job_id, number) in last:
                found[job_id] = max(found.get(job_id, 0.0), ended_at)
    return found


def _close(connection: Connection, offer_id: str, refunded: int) -> None:
    own = and_(offers.c.id == offer_id, offers.c.state == str(OfferState.ACCEPTED))
    changed = {'state': str(OfferState.CLOSED), 'refunded': refunded}
    connection.execute(update(offers).where(own).values(**changed))


def _check_live(connection: Connection, offer: StoredOffer, now: float) -> None:
    """:raises OfferEnded: it is neither open nor held any more.
    :raises Conflict: it was held or released meanwhile.
    """
    row = connection.execute(
        select(offers).where(offers.c.id == offer.id).with_for_update()
    ).first()
    found = sound_row(connection, 'offer', row, stored_offer) if row else None
    state = found.state_at(now) if found else OfferState.EXPIRED
    if state not in (OfferState.OPEN, OfferState.HELD):
        raise OfferEnded(f'offer {offer.id} is {state}: ask for new ones')
    if found is not None and found.holds > offer.holds:
        raise Conflict(f'offer {offer.id} was held meanwhile: try again')


def _check_only(connection: Connection, offer: StoredOffer, taken: Any) -> None:
    """:raises OfferEnded: an offer of its request was accepted. taken: what an accepted one has"""
    query = select(offers.c.number).where(offers.c.request_id == offer.request_id, taken)
    if connection.execute(query.limit(1)).first() is not None:
        raise OfferEnded(
            f'another offer of request {offer.request_id} was accepted: ask for new ones'
        )


def _write(connection: Connection, offer: StoredOffer) -> None:
    connection.execute(update(offers).where(offers.c.id == offer.id).values(**offer_values(offer)))
