# SPDX-License-Identifier: Apache-2.0
"""What hosts and aggregators write to each other, and every message as plain values and back.

Implements the heaviness set of IFI-2016.04, section III-E and IV-D, divided among aggregators. Units:
heaviness is dimensionless, resource vectors as in core.quantity.

Differs from the paper: a host states what has changed and is told what others add to its owners, so an
interval costs 2 * N * k entries at most (N hosts with k owners each), not N * V (V VMs). Frames may get
lost or overtake each other: a statement says up to where its host has heard the aggregator, an answer
repeats the version of the statement, and what is not known to have arrived is said again.

Plain values are numbers, text, lists and mappings by text. `kind` tells messages apart; without one it is
a report, as hosts wrote before there were kinds. Unknown keys are ignored and absent ones mean nothing to
say, so that a later version can be read as far as it can be.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nova_market.core.exchange import (
    WIRE_VERSION,
    Departure,
    HostReport,
    departure_from_wire,
    from_wire,
    quotas_from_wire,
    sums_from_wire,
    to_wire,
)
from nova_market.core.owner_table import OwnerTable
from nova_market.core.quantity import RESOURCES, HostName, OwnerId
from nova_market.core.quota_tally import Quota, QuotaTally
from nova_market.core.schema import (
    MAX_AMOUNT,
    MAX_OWNERS,
    MAX_SUM,
    are_plain_rows,
    check_version,
    flag,
    name,
    numbers,
    shown,
    whole_number,
)
from nova_market.errors import MalformedReport

VECTORS = ('supply', 'load', 'virtual')

STATEMENT_FLAGS = ('whole', 'reads_quotas', 'again', 'reads_numbers')
ANSWER_FLAGS = ('whole', 'complete', 'resync', 'reads_numbers')


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """Resource vectors of a host or of several: offered, used, sum of the VMs' VRs."""

    supply: tuple[float, ...]
    load: tuple[float, ...]
    virtual: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A host's say to one aggregator about the owners that this aggregator adds up.

    epoch:   of the configuration; sums of hosts that differ in it can hardly be compared
    roster:  of the aggregators that the host divides the owners among (core.sharding)
    whole:   forget what you knew of me; otherwise only what has changed is here
    heard:   sequence of my statement that the last answer you gave and I took belongs to
    gone:    owners without VMs here any more
    vectors: only to the aggregator this host is homed at, None = as before
    quotas:  of owners of this aggregator, all that the host knows; None = as before
    reads_quotas: may be asked for quotas
    again:   said before, and no answer has come
    reads_numbers: may the answer have an OwnerTable?
    """

    host: HostName
    incarnation: int
    sequence: int
    metric: str
    epoch: str
    roster: str
    whole: bool = False
    heard: int | None = None
    owners: Mapping[OwnerId, tuple[float, ...]] = field(default_factory=dict)
    gone: tuple[OwnerId, ...] = ()
    vectors: Vectors | None = None
    quotas: Mapping[OwnerId, Quota] | None = None
    reads_quotas: bool = False
    again: bool = False
    reads_numbers: bool = True

    @property
    def version(self) -> tuple[int, int]:
        return self.incarnation, self.sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudPart:
    """What an aggregator knows of the cloud: the other hosts homed at it, and all owners it adds up."""

    hosts: int
    owner_count: int
    vectors: Vectors
    tally: QuotaTally


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An aggregator's answer to one statement.

    host, to: the aggregator; the host that made the statement, whose version and roster are repeated
    whole:    nothing of earlier answers counts; otherwise only what has changed is here
    complete: has every host had the time to state its owners to an aggregator of this roster?
    owners:   sums over all hosts but `to`, which adds its newest itself; of its owners only
    quotas:   of these owners, where they are known; an owner without one has none any more
    cloud:    None = as before
    asked:    owners whose quotas `to` shall read
    resync:   I do not know you; send a whole statement
    reads_numbers: may a statement have an OwnerTable?
    """

    host: HostName
    to: HostName
    incarnation: int
    sequence: int
    epoch: str
    roster: str
    whole: bool = False
    complete: bool = False
    owners: Mapping[OwnerId, tuple[float, ...]] = field(default_factory=dict)
    quotas: Mapping[OwnerId, Quota] = field(default_factory=dict)
    cloud: CloudPart | None = None
    asked: tuple[OwnerId, ...] = ()
    resync: bool = False
    reads_numbers: bool = True

    @property
    def version(self) -> tuple[int, int]:
        return self.incarnation, self.sequence


Word = HostReport | Departure | Statement | Answer


def to_values(word: Word) -> dict[str, object]:
    """A message as plain values; what says nothing is left out."""
    if isinstance(word, Statement):
        return _statement_values(word)
    if isinstance(word, Answer):
        return _answer_values(word)
    return to_wire(word)


def from_values(message: object) -> Word:
    """The message in plain values of a peer that is not trusted.

    :raises MalformedReport: names the field and the limit it breaks.
    """
    if not isinstance(message, dict):
        raise MalformedReport(f'a message is an object, not {type(message).__name__}')
    kind = message.get('kind', 'report')
    if kind == 'state':
        return _statement(message)
    if kind == 'answer':
        return _answer(message)
    if kind == 'gone' or message.get('gone') is True:
        return departure_from_wire(message)
    if kind == 'report':
        return from_wire(message)
    raise MalformedReport(f'kind: {shown(kind)} is not report, gone, state or answer')


def _statement_values(word: Statement) -> dict[str, object]:
    values: dict[str, object] = {
        'v': WIRE_VERSION,
        'kind': 'state',
        'host': word.host,
        'incarnation': word.incarnation,
        'sequence': word.sequence,
        'metric': word.metric,
        'epoch': word.epoch,
        'roster': word.roster,
        'owners': _as_carried(word.owners),
    }
    if word.heard is not None:
        values['heard'] = word.heard
    if word.gone:
        values['left'] = list(word.gone)  # `gone` is what a departure says
    if word.vectors is not None:
        values |= _vector_values(word.vectors)
    if word.quotas is not None:
        values['quotas'] = {owner: list(quota) for owner, quota in word.quotas.items()}
    return values | {key: True for key in STATEMENT_FLAGS if getattr(word, key)}


def _statement(message: dict[str, object]) -> Statement:
    check_version(message)
    return Statement(
        host=HostName(name(message.get('host'), 'host')),
        incarnation=whole_number(message, 'incarnation'),
        sequence=whole_number(message, 'sequence'),
        metric=name(message.get('metric'), 'metric'),
        epoch=name(message.get('epoch'), 'epoch'),
        roster=name(message.get('roster'), 'roster'),
        whole=flag(message, 'whole'),
        heard=whole_number(message, 'heard') if 'heard' in message else None,
        owners=sums_from_wire(message),
        gone=_owner_list(message, 'left'),
        vectors=_vectors(message) if 'supply' in message else None,
        quotas=quotas_from_wire(message) if 'quotas' in message else None,
        reads_quotas=flag(message, 'reads_quotas'),
        again=flag(message, 'again'),
        reads_numbers=flag(message, 'reads_numbers'),
    )


def _answer_values(word: Answer) -> dict[str, object]:
    values: dict[str, object] = {
        'v': WIRE_VERSION,
        'kind': 'answer',
        'host': word.host,
        'to': word.to,
        'incarnation': word.incarnation,
        'sequence': word.sequence,
        'epoch': word.epoch,
        'roster': word.roster,
        'owners': _as_carried(word.owners),
    }
    if word.quotas:
        values['quotas'] = {owner: list(quota) for owner, quota in word.quotas.items()}
    if word.asked:
        values['asked'] = list(word.asked)
    if word.cloud is not None:
        cloud = word.cloud
        values |= _vector_values(cloud.vectors)
        values |= {'hosts': cloud.hosts, 'owner_count': cloud.owner_count}
        values['tally'] = [*cloud.tally.known, *cloud.tally.total, *cloud.tally.largest]
    return values | {key: True for key in ANSWER_FLAGS if getattr(word, key)}


def _answer(message: dict[str, object]) -> Answer:
    check_version(message)
    return Answer(
        host=HostName(name(message.get('host'), 'host')),
        to=HostName(name(message.get('to'), 'to')),
        incarnation=whole_number(message, 'incarnation'),
        sequence=whole_number(message, 'sequence'),
        epoch=name(message.get('epoch'), 'epoch'),
        roster=name(message.get('roster'), 'roster'),
        whole=flag(message, 'whole'),
        complete=flag(message, 'complete'),
        owners=sums_from_wire(message, MAX_SUM),
        quotas=quotas_from_wire(message),
        cloud=_cloud_part(message) if 'supply' in message else None,
        asked=_owner_list(message, 'asked'),
        resync=flag(message, 'resync'),
        reads_numbers=flag(message, 'reads_numbers'),
    )


def _vector_values(vectors: Vectors) -> dict[str, object]:
    return {
        'supply': list(vectors.supply),
        'load': list(vectors.load),
        'virtual': list(vectors.virtual),
    }


def _as_carried(owners: Mapping[OwnerId, tuple[float, ...]]) -> Mapping[OwnerId, tuple[float, ...]]:
    """A table stays one: a wire format writes it as it is, or by name."""
    return owners if isinstance(owners, OwnerTable) else dict(owners)


def _vectors(message: Mapping[str, object], maximum: float = MAX_AMOUNT) -> Vectors:
    size = len(RESOURCES)
    rows: list[Any] = [message.get(key) for key in VECTORS]
    if not are_plain_rows(rows, size, size, 0.0, maximum):
        pairs = zip(rows, VECTORS, strict=True)
        rows = [numbers(row, key, size, size, 0.0, maximum) for row, key in pairs]
    supply, load, virtual = rows
    return Vectors(supply=tuple(supply), load=tuple(load), virtual=tuple(virtual))


def _cloud_part(message: Mapping[str, object]) -> CloudPart:
    return CloudPart(
        hosts=whole_number(message, 'hosts'),
        owner_count=whole_number(message, 'owner_count'),
        vectors=_vectors(message, MAX_SUM),
        tally=_tally(message.get('tally')),
    )


def _tally(value: object) -> QuotaTally:
    if not isinstance(value, (list, tuple)) or len(value) != 6:
        raise MalformedReport('tally: not a list of 6 whole numbers')
    for number in value:
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 2**64:
            raise MalformedReport(f'tally: {shown(number)} is not a whole number below 2^64')
    a, b, c, d, e, f = value
    return QuotaTally(known=(a, b), total=(c, d), largest=(e, f))


def _owner_list(message: Mapping[str, object], key: str) -> tuple[OwnerId, ...]:
    value = message.get(key, ())
    if not isinstance(value, (list, tuple)):
        raise MalformedReport(f'{key}: not a list')
    if len(value) > MAX_OWNERS:
        raise MalformedReport(f'{key}: {len(value)} entries, at most {MAX_OWNERS}')
    return tuple(OwnerId(name(owner, key)) for owner in value)
