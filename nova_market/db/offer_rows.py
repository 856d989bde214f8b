# SPDX-License-Identifier: Apache-2.0
"""Offers as rows, and those for jobs that are promised.

Units as in core.tender.stored_offer.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, or_, select

from nova_market.core.row_check import checked
from nova_market.core.tender.offered_lease import offered_document, offered_lease
from nova_market.core.tender.stored_offer import (
    OFFER_BOUNDS,
    How,
    OfferKind,
    OfferState,
    StoredOffer,
)
from nova_market.db.apps import packed
from nova_market.db.offer_tables import offers
from nova_market.db.sound_rows import sound_rows
from nova_market.errors import BadRow

LIVE = (str(OfferState.OPEN), str(OfferState.HELD))
SETTLED = tuple(str(state) for state in OfferState if state is not OfferState.ACCEPTED)
"""Nothing of what was paid is owed any more; of a state that is not known nobody can say that."""

PLAIN = tuple(
    field.name
    for field in fields(StoredOffer)
    if field.name not in {'flavors', 'prices', 'how', 'state', 'kind', 'lease', 'number'}
)


def in_state(state: OfferState, now: Any) -> Any:
    """StoredOffer.state_at as a condition. now: seconds, or a parameter of the query."""
    if state is OfferState.EXPIRED:
        return and_(offers.c.state.in_(LIVE), offers.c.valid_until <= now)
    same = offers.c.state == str(state)
    return and_(same, offers.c.valid_until > now) if str(state) in LIVE else same


PROMISED = (
    select(offers)
    .where(
        or_(
            in_state(OfferState.HELD, bindparam('now')),
            and_(
                offers.c.state == str(OfferState.ACCEPTED),
                offers.c.kind == str(OfferKind.JOB),
                offers.c.accepted_at >= bindparam('since'),
            ),
        )
    )
    .order_by(offers.c.number)
)
"""Made once: it is asked for each request."""


def promised_since(connection: Connection, since: float, now: float) -> list[StoredOffer]:
    """Offers that are held now or were accepted since, in the order of their numbers."""
    rows = connection.execute(PROMISED, {'since': since, 'now': now})
    return sound_rows(connection, 'offer', rows, stored_offer)


def offer_values(offer: StoredOffer) -> dict[str, Any]:
    """The row of an offer, without its number."""
    values = {name: getattr(offer, name) for name in PLAIN}
    document: Mapping[str, object] = {
        'flavors': [[name, *size] for name, size in offer.flavors.items()],
        **({'prices': list(offer.prices)} if offer.prices else {}),
        **({'lease': offered_document(offer.lease)} if offer.lease else {}),
    }
    return {
        **values,
        'flavors': packed(document),
        'how': str(offer.how),
        'state': str(offer.state),
        'kind': str(offer.kind),
    }


def stored_offer(row: Row[Any]) -> StoredOffer:
    """The inverse."""
    found = row._mapping
    document = json.loads(found['flavors'])
    sizes: Iterable[Any] = document['flavors']
    made = StoredOffer(
        **{name: found[name] for name in PLAIN},
        flavors={name: (cores, memory, disk) for name, cores, memory, disk in sizes},
        prices=tuple(document.get('prices', ())),
        how=How(found['how']),
        state=OfferState(found['state']),
        kind=OfferKind(found['kind']),
        lease=offered_lease(document['lease']) if 'lease' in document else None,
        number=found['number'],
    )
    if made.kind is OfferKind.JOB and made.flavor not in made.flavors:
        raise BadRow(f'flavor is {made.flavor!r:.80}: it must be one of its flavors')
    return checked(made, OFFER_BOUNDS)
