# SPDX-License-Identifier: Apache-2.0
"""Offers for jobs in the database.

For rules O1 to O3 of doc/source/specs/tender.rst. Whether an offer can still be honoured is decided by what
was read (core.tender.job_offer); `promised` gives a turn with it, and accepting or holding writes only if
nobody has taken a turn since. So of two that decide at once by the same room one decides again.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, Row, and_, delete, func, insert, or_, select, update

from nova_market.core.job.record import ENDED, StoredJob
from nova_market.core.job.store_values import JobQuotas, NewJobs
from nova_market.core.ledger.posting import Posting
from nova_market.core.tender.stored_offer import How, OfferFilter, OfferState, StoredOffer
from nova_market.db.apps import packed
from nova_market.db.database import Database
from nova_market.db.job_rows import JOB_COLUMNS, stored_job
from nova_market.db.job_submission import StoredBefore, store_new
from nova_market.db.job_tables import jobs
from nova_market.db.ledger import MAX_PAGE, post_in, slices
from nova_market.db.offer_tables import offer_turns, offers
from nova_market.errors import Conflict, OfferEnded, PromisesChanged, TooManyOffers

TURN = 'turn'
LIVE = (str(OfferState.OPEN), str(OfferState.HELD))
PLAIN = tuple(
    field.name
    for field in fields(StoredOffer)
    if field.name not in {'flavors', 'how', 'state', 'number'}
)


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

    def accept(
        self, offer: StoredOffer, turn: int, new: NewJobs, quotas: JobQuotas
    ) -> tuple[StoredOffer, StoredJob]:
        """Store the one job of an offer as it is honoured, and what is held for it. offer: as it will be.

        :raises PromisesChanged: somebody has taken a turn since it was read; decide again.
        :raises OfferEnded: it, or another one of its request, was accepted; or it has ended otherwise.
        :raises TooManyJobs, QueueClosed, QueueChanged, BalanceTooLow: as JobStore.submit.
        """
        return self._database.write(_accept, offer, turn, new, quotas, self._wall())

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

    def due(self, limit: int = 1000) -> Sequence[tuple[StoredOffer, StoredJob]]:
        """Accepted offers whose jobs have ended, with these, by number."""
        return self._database.read(_due, limit)

    def close(self, offer_id: str, refunded: int) -> None:
        """Its job has ended, and this much came back."""
        self._database.write(_close, offer_id, refunded)


def some_offers(connection: Connection, older_than: float, batch: int) -> int:
    """Delete offers that ended before, accepted ones when their jobs are settled; how many."""
    over = and_(offers.c.state != str(OfferState.ACCEPTED), offers.c.valid_until < older_than)
    query = select(offers.c.number).where(over).order_by(offers.c.number).limit(batch)
    found = list(connection.execute(query.with_for_update()).scalars())
    for part in slices(found):
        connection.execute(delete(offers).where(offers.c.number.in_(part)))
    return len(found)


def _create(
    connection: Connection, made: Sequence[StoredOffer], most: int, now: float
) -> list[StoredOffer]:
    own = and_(
        offers.c.project_id == made[0].project_id,
        offers.c.state.in_(LIVE),
        offers.c.valid_until > now,
    )
    some = select(offers.c.number).where(own).limit(most + 1).subquery()
    count = int(connection.execute(select(func.count()).select_from(some)).scalar() or 0)
    if count + len(made) > most:
        raise TooManyOffers(
            f'the project would have {count + len(made)} offers that are open or held: the limit is {most}: '
            'release some, or wait until they have expired'
        )
    connection.execute(insert(offers), [_values(one) for one in made])
    own = offers.c.id.in_([one.id for one in made])
    rows = connection.execute(select(offers).where(own).order_by(offers.c.number))
    return [_stored(row) for row in rows]


def _offer(connection: Connection, offer_id: str) -> StoredOffer | None:
    row = connection.execute(select(offers).where(offers.c.id == offer_id)).first()
    return _stored(row) if row else None


def _page(
    connection: Connection, chosen: OfferFilter, before: int, limit: int
) -> list[StoredOffer]:
    query = select(offers)
    for name in ('project_id', 'queue_id', 'request_id'):
        if (value := getattr(chosen, name)) is not None:
            query = query.where(offers.c[name] == value)
    if chosen.states:
        query = query.where(or_(*(_is(state, chosen.now) for state in chosen.states)))
    if before:
        query = query.where(offers.c.number < before)
    rows = connection.execute(query.order_by(offers.c.number.desc()).limit(limit))
    return [_stored(row) for row in rows]


def _is(state: OfferState, now: float) -> Any:
    """StoredOffer.state_at as a condition."""
    if state is OfferState.EXPIRED:
        return and_(offers.c.state.in_(LIVE), offers.c.valid_until <= now)
    same = offers.c.state == str(state)
    return and_(same, offers.c.valid_until > now) if str(state) in LIVE else same


def _promised(connection: Connection, since: float, now: float) -> tuple[int, list[StoredOffer]]:
    # the turn first: what is promised after it was read is refused
    turn = connection.execute(select(offer_turns.c.turn)).scalar() or 0
    held = _is(OfferState.HELD, now)
    accepted = and_(offers.c.state == str(OfferState.ACCEPTED), offers.c.accepted_at >= since)
    rows = connection.execute(select(offers).where(or_(held, accepted)).order_by(offers.c.number))
    return int(turn), [_stored(row) for row in rows]


def _accept(
    connection: Connection,
    offer: StoredOffer,
    turn: int,
    new: NewJobs,
    quotas: JobQuotas,
    now: float,
) -> tuple[StoredOffer, StoredJob]:
    _take_turn(connection, turn)
    _check_live(connection, offer, now)
    taken = and_(offers.c.request_id == offer.request_id, offers.c.job_id != '')
    if connection.execute(select(offers.c.number).where(taken).limit(1)).first() is not None:
        raise OfferEnded(
            f'another offer of request {offer.request_id} was accepted: ask for new ones'
        )
    try:
        (job,) = store_new(connection, new, quotas, now)
    except StoredBefore as error:
        raise OfferEnded(f'offer {offer.id} was accepted before') from error
    _write(connection, offer)
    return offer, job


def _hold(
    connection: Connection, offer: StoredOffer, turn: int, fees: Sequence[Posting], now: float
) -> StoredOffer:
    _take_turn(connection, turn)
    _check_live(connection, offer, now)
    post_in(connection, fees, offer.user_id, now)
    _write(connection, offer)
    return offer


def _release(connection: Connection, offer_id: str, now: float) -> StoredOffer | None:
    query = select(offers).where(offers.c.id == offer_id)
    row = connection.execute(query.with_for_update()).first()
    if row is None:
        return None
    offer = _stored(row)
    state = offer.state_at(now)
    if state in (OfferState.RELEASED, OfferState.EXPIRED):
        return offer
    if state in (OfferState.ACCEPTED, OfferState.CLOSED):
        raise OfferEnded(f'offer {offer_id} was accepted: cancel its job, {offer.job_id}')
    released = replace(offer, state=OfferState.RELEASED)
    _write(connection, released)
    return released


def _due(connection: Connection, limit: int) -> list[tuple[StoredOffer, StoredJob]]:
    ended = [str(state) for state in ENDED]
    query = (
        select(offers)
        .join(jobs, jobs.c.id == offers.c.job_id)
        .where(offers.c.state == str(OfferState.ACCEPTED), jobs.c.state.in_(ended))
        .order_by(offers.c.number)
        .limit(limit)
    )
    found = [_stored(row) for row in connection.execute(query)]
    by_id: dict[str, StoredJob] = {}
    for part in slices([one.job_id for one in found]):
        rows = connection.execute(select(*JOB_COLUMNS).where(jobs.c.id.in_(part)))
        by_id |= {row.id: stored_job(row) for row in rows}
    return [(one, by_id[one.job_id]) for one in found if one.job_id in by_id]


def _close(connection: Connection, offer_id: str, refunded: int) -> None:
    own = and_(offers.c.id == offer_id, offers.c.state == str(OfferState.ACCEPTED))
    changed = {'state': str(OfferState.CLOSED), 'refunded': refunded}
    connection.execute(update(offers).where(own).values(**changed))


def _take_turn(connection: Connection, turn: int) -> None:
    """Nobody else takes one until this transaction ends."""
    own = offer_turns.c.name == TURN
    found = connection.execute(select(offer_turns.c.turn).where(own).with_for_update()).scalar()
    if int(found or 0) != turn:
        raise PromisesChanged('room was promised to others meanwhile: try again')
    if found is not None:
        connection.execute(update(offer_turns).where(own).values(turn=turn + 1))
        return
    try:
        connection.execute(insert(offer_turns).values(name=TURN, turn=turn + 1))
    except DBDuplicateEntry as error:
        raise RetryRequest(error) from error


def _check_live(connection: Connection, offer: StoredOffer, now: float) -> None:
    """:raises OfferEnded: it is neither open nor held any more.
    :raises Conflict: it was held or released meanwhile.
    """
    row = connection.execute(
        select(offers).where(offers.c.id == offer.id).with_for_update()
    ).first()
    state = _stored(row).state_at(now) if row else OfferState.EXPIRED
    if state not in (OfferState.OPEN, OfferState.HELD):
        raise OfferEnded(f'offer {offer.id} is {state}: ask for new ones')
    if row is not None and _stored(row).holds > offer.holds:
        raise Conflict(f'offer {offer.id} was held meanwhile: try again')


def _write(connection: Connection, offer: StoredOffer) -> None:
    connection.execute(update(offers).where(offers.c.id == offer.id).values(**_values(offer)))


def _values(offer: StoredOffer) -> dict[str, Any]:
    values = {name: getattr(offer, name) for name in PLAIN}
    document: Mapping[str, object] = {
        'flavors': [[name, *size] for name, size in offer.flavors.items()]
    }
    return {
        **values,
        'flavors': packed(document),
        'how': str(offer.how),
        'state': str(offer.state),
    }


def _stored(row: Row[Any]) -> StoredOffer:
    found = row._mapping
    sizes: Iterable[Any] = json.loads(found['flavors'])['flavors']
    return StoredOffer(
        **{name: found[name] for name in PLAIN},
        flavors={name: (cores, memory, disk) for name, cores, memory, disk in sizes},
        how=How(found['how']),
        state=OfferState(found['state']),
        number=found['number'],
    )
