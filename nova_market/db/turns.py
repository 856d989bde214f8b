# SPDX-License-Identifier: Apache-2.0
"""Turns: who decides by what was promised writes only if nobody has promised anything since.

For rule O2 of doc/source/specs/tender.rst and rule L2 of doc/source/specs/leases.rst. A turn is a number that
grows with each promise of one kind. Its row is locked from `take_turn` to the end of the transaction.
"""

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, insert, select, update

from nova_market.db.offer_tables import offer_turns
from nova_market.errors import PromisesChanged

OFFERS = 'turn'
LEASES = 'leases'


def read_turn(connection: Connection, name: str) -> int:
    """The turn now. Read it before what was promised: what is promised later is refused then."""
    query = select(offer_turns.c.turn).where(offer_turns.c.name == name)
    return int(connection.execute(query).scalar() or 0)


def take_turn(connection: Connection, name: str, turn: int) -> None:
    """Nobody else takes one until this transaction ends.

    :raises PromisesChanged: it is not the turn any more.
    """
    own = offer_turns.c.name == name
    found = connection.execute(select(offer_turns.c.turn).where(own).with_for_update()).scalar()
    if int(found or 0) != turn:
        raise PromisesChanged('room was promised to others meanwhile: try again')
    if found is not None:
        connection.execute(update(offer_turns).where(own).values(turn=turn + 1))
        return
    try:
        connection.execute(insert(offer_turns).values(name=name, turn=turn + 1))
    except DBDuplicateEntry as error:
        raise RetryRequest(error) from error
