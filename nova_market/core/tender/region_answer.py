# SPDX-License-Identifier: Apache-2.0
"""What another region answers to a request for offers: read within bounds, and checked against the request.

Implements rule O5 of doc/source/specs/tender.rst. Another machine wrote it, and may be wrong: names, numbers
and lengths are bounded while the document is parsed, and an offer that is not for what was asked refuses the
whole answer. Units: micro-credits, seconds, cores. Times are text in ISO 8601.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from nova_market.core.ledger.money import MAX_AMOUNT
from nova_market.core.tender.offer import LONGEST
from nova_market.core.tender.stored_offer import How
from nova_market.core.text import one_line, shown
from nova_market.core.timestamp import seconds
from nova_market.errors import BadRegionAnswer, BadTime

MAX_ANSWER = 2**20
"""Bytes: an offer takes about 900."""

MAX_OFFERS = 500
"""In one answer: of all regions behind the one that is asked."""

MAX_REASONS = 100
REASON_LENGTH = 500
"""Characters; each level of regions puts its name before it."""

NAME = r'^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'
"""Of a region."""

Id = Annotated[str, Meta(pattern=r'^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$')]
Region = Annotated[str, Meta(pattern=NAME)]
Text = Annotated[str, Meta(max_length=255)]
Moment = Annotated[str, Meta(max_length=40)]
Amount = Annotated[int, Meta(ge=0, le=MAX_AMOUNT)]
Count = Annotated[int, Meta(ge=1, le=10**9)]
Duration = Annotated[float, Meta(gt=0.0, le=LONGEST)]


Price = Amount | Annotated[float, Meta(ge=0.0, le=float(MAX_AMOUNT))]


class Prices(Struct, frozen=True, kw_only=True):
    """Micro-credits for an hour; of memory and disk in queues of policy tender."""

    core_hour: Price
    mib_hour: Price | UnsetType = UNSET
    gib_hour: Price | UnsetType = UNSET


class RegionOffer(Struct, frozen=True, kw_only=True):
    """An offer of another region, as the API shows it."""

    id: Id
    number: Annotated[int, Meta(ge=0, le=2**53)]
    request_id: Id
    project_id: Text
    user_id: Text
    region: Region
    queue_id: Id
    queue: Text
    state: Annotated[str, Meta(pattern='^open$')]
    flavor: Text
    servers: Count
    time_limit: Count
    how: How
    count: Count
    cost: Amount
    prices: Prices
    seconds: Duration
    start: Moment
    finish: Moment
    utility: Text
    weight: Annotated[float, Meta(ge=0.0, le=1.0)]
    deadline: Moment | None
    created_at: Moment
    valid_until: Moment
    fees: Annotated[int, Meta(ge=0, le=0)]
    accepted_at: None
    job_id: None
    refunded: Annotated[int, Meta(ge=0, le=0)]


class RegionAnswer(Struct, frozen=True, kw_only=True):
    """offers: of the region itself and of those behind it; why: a sentence for what has none"""

    request_id: Id
    offers: Annotated[list[RegionOffer], Meta(max_length=MAX_OFFERS)]
    why: Annotated[list[str], Meta(max_length=MAX_REASONS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What an answer has to agree with.

    flavor: '': any; deadline: seconds since the epoch, inf: none
    visited: regions that were asked before, which make no offers through others
    """

    request_id: str
    project_id: str
    user_id: str
    servers: int
    time_limit: int
    flavor: str = ''
    deadline: float = math.inf
    visited: Collection[str] = ()


ANSWER = msgspec.json.Decoder(RegionAnswer)


def read_answer(raw: bytes, expected: Expected) -> RegionAnswer:
    """The answer of a region.

    :raises BadRegionAnswer: it is no JSON, breaks a bound, or is not for what was asked.
    """
    try:
        found = ANSWER.decode(raw)
    except msgspec.ValidationError as error:
        raise BadRegionAnswer(f'{error!s:.200}') from None
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise BadRegionAnswer(f'no JSON: {error!s:.100}') from None
    _same('request_id', found.request_id, expected.request_id)
    ids = {one.id for one in found.offers}
    if len(ids) < len(found.offers):
        raise BadRegionAnswer('two offers have the same id')
    for one in found.offers:
        _check(one, expected)
    return found


def document_of(offer: RegionOffer) -> dict[str, Any]:
    """As the API shows it."""
    found: dict[str, Any] = msgspec.to_builtins(offer)
    return found


def reason(text: str) -> str:
    """Of a foreign answer, as it is handed on: one line, printable, not too long."""
    return one_line(text[:REASON_LENGTH])


def _check(offer: RegionOffer, expected: Expected) -> None:
    for name in ('request_id', 'project_id', 'user_id', 'servers', 'time_limit'):
        _same(name, getattr(offer, name), getattr(expected, name))
    if expected.flavor:
        _same('flavor', offer.flavor, expected.flavor)
    if offer.how is How.RESERVED_HOSTS:
        raise BadRegionAnswer('an offer of hosts, and a job was asked for')
    if offer.region in expected.visited:
        raise BadRegionAnswer(f'an offer of region {offer.region}, which was asked already')
    try:
        for text in (offer.start, offer.finish, offer.created_at, offer.valid_until):
            seconds(text)
        late = seconds(offer.finish) > expected.deadline
    except BadTime as error:
        raise BadRegionAnswer(str(error)) from None
    if late:
        raise BadRegionAnswer(f'an offer that is done at {offer.finish}, after the deadline')


def _same(name: str, given: Any, wanted: Any) -> None:
    if given != wanted:
        raise BadRegionAnswer(f'{name} is {shown(given)}, and {shown(wanted)} was asked for')
