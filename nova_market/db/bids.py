# SPDX-License-Identifier: Apache-2.0
"""Bids, one for each server, that stay until they are changed.

Implements rule B1 of doc/source/specs/market.rst. Units: micro-credits per period, cores, MiB.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from oslo_db.exception import DBDuplicateEntry, RetryRequest
from sqlalchemy import Connection, Row, delete, insert, select, update

from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.ledger.posting import AccountId
from nova_market.core.market.bid import BID_BOUNDS, StoredBid
from nova_market.core.row_check import checked
from nova_market.db.database import Database
from nova_market.db.ledger import MAX_PAGE, lock_accounts, slices
from nova_market.db.market_tables import bids
from nova_market.db.sound_rows import sound_page, sound_row, sound_rows
from nova_market.errors import BadAmount, Conflict, UnknownAccount

COLUMNS = tuple(field.name for field in fields(StoredBid))


class DatabaseBids:
    """Implements ports.BidStore."""

    def __init__(self, database: Database, wall: Callable[[], float]) -> None:
        self._database = database
        self._wall = wall

    def put(self, bid: StoredBid) -> StoredBid:
        """Set a server's bid; what is stored now, with its new generation.

        bid.generation is that of the bid it replaces: 0 for none.

        :raises Conflict: the bid was changed since it was read.
        :raises UnknownAccount: the account that should pay does not exist or is closed.
        :raises BadAmount: a value out of range.
        """
        _check(bid)
        return self._database.write(_put, bid, self._wall())

    def bid(self, server_id: str) -> StoredBid | None:
        """A server's bid; None when there is none."""
        return self._database.read(_bid, server_id)

    def of(self, server_ids: Sequence[str]) -> Mapping[str, StoredBid]:
        """The bids of these servers; a server without one is left out."""
        return self._database.read(_of, tuple(server_ids))

    def list(
        self, project_id: str | None = None, after: str = '', limit: int = MAX_PAGE
    ) -> Sequence[StoredBid]:
        """Bids by server id, those of one project or all; `after`: last server of a page."""
        return self._database.read(_list, project_id, after, min(limit, MAX_PAGE))

    def remove(self, server_ids: Sequence[str]) -> int:
        """Forget the bids of servers that are gone, or that fall back to defaults; how many there were."""
        return self._database.write(_remove, tuple(server_ids))


def _check(bid: StoredBid) -> None:
    for name, amount in (('cpu', bid.cpu), ('memory', bid.memory)):
        if amount is not None and not (isinstance(amount, int) and 0 <= amount <= MAX_AMOUNT):
            raise BadAmount(f'{name} bid {amount!r:.80}: give 0 to {MAX_AMOUNT} micro-credits')
    for name, limit in (('max_cpu', bid.max_cpu), ('max_memory_mib', bid.max_memory_mib)):
        least, most = BID_BOUNDS[name]
        if limit is not None and not least <= limit <= most:
            raise BadAmount(f'{name} {limit!r:.80}: give {least:g} to {most:g}')


def _put(connection: Connection, bid: StoredBid, now: float) -> StoredBid:
    if lock_accounts(connection, [bid.payer])[bid.payer].closed:
        raise UnknownAccount(f'account {bid.payer} is closed: name one that can pay')
    stored = replace(bid, generation=bid.generation + 1)
    values = {**{name: getattr(stored, name) for name in COLUMNS}, 'changed_at': now}
    try:
        if bid.generation == 0 and _bid(connection, bid.server_id) is None:
            connection.execute(insert(bids), values)
            return stored
    except DBDuplicateEntry as error:
        raise RetryRequest(error) from error
    change = update(bids).where(
        bids.c.server_id == bid.server_id, bids.c.generation == bid.generation
    )
    if connection.execute(change.values(**values)).rowcount != 1:
        found = _bid(connection, bid.server_id)
        if found != stored:  # ours, when the answer to an earlier try got lost
            raise Conflict(
                f'the bid for {bid.server_id} is at generation {found.generation if found else 0}, '
                f'not {bid.generation}: read it again'
            )
    return stored


def _bid(connection: Connection, server_id: str) -> StoredBid | None:
    row = connection.execute(select(bids).where(bids.c.server_id == server_id)).first()
    return sound_row(connection, 'bid', row, _stored, _server_of) if row else None


def _of(connection: Connection, server_ids: Sequence[str]) -> dict[str, StoredBid]:
    found: dict[str, StoredBid] = {}
    for part in slices(sorted(set(server_ids))):
        query = select(bids).where(bids.c.server_id.in_(part))
        rows = connection.execute(query)
        own = sound_rows(connection, 'bid', rows, _stored, _server_of)
        found |= {one.server_id: one for one in own}
    return found


def _list(
    connection: Connection, project_id: str | None, after: str, limit: int
) -> list[StoredBid]:
    query = select(bids).where(bids.c.server_id > after)
    if project_id is not None:
        query = query.where(bids.c.project_id == project_id)
    query = query.order_by(bids.c.server_id)
    return sound_page(connection, 'bid', query, limit, _stored, _server_of)


def _remove(connection: Connection, server_ids: Sequence[str]) -> int:
    gone = (delete(bids).where(bids.c.server_id == server) for server in sorted(server_ids))
    return sum(int(connection.execute(one).rowcount) for one in gone)


def _stored(row: Row[Any]) -> StoredBid:
    values = {name: getattr(row, name) for name in COLUMNS}
    return checked(StoredBid(**{**values, 'payer': AccountId(row.payer)}), BID_BOUNDS)


def _server_of(row: Row[Any]) -> str:
    return str(row.server_id)
