# SPDX-License-Identifier: Apache-2.0
"""Messages of the exchange as plain values, and back.

Plain values are numbers, text, lists and mappings by text. `kind` tells messages apart; without one it is
a report, as hosts wrote before there were kinds. Unknown keys are ignored and absent ones mean nothing to
say, so that a later version can be read as far as it can be.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from nova_market.core.exchange.messages import (
    Answer,
    CloudPart,
    Departure,
    HostReport,
    Statement,
    Vectors,
    Word,
)
from nova_market.core.exchange.packed_sums import OwnerTable
from nova_market.core.exchange.quota_tally import Quota, QuotaTally
from nova_market.core.exchange.validation import (
    MAX_AMOUNT,
    MAX_OWNERS,
    MAX_SUM,
    MAX_WIDTH,
    are_plain_rows,
    check_table,
    check_version,
    flag,
    mapping,
    name,
    names,
    number_rows,
    numbers,
    quota_pair,
    whole_number,
)
from nova_market.core.resource import RESOURCES, HostName, OwnerId
from nova_market.core.text import shown
from nova_market.errors import MalformedReport, OversizedReport

WIRE_VERSION = 1
MAX_TEXT = 4 * 1024 * 1024
"""Characters of an encoded message. 10,000 owners with six numbers each and a quota take 2.5 million."""


def encode(word: HostReport | Departure) -> str:
    """A message as JSON text.

    :raises MalformedReport: a receiver would refuse it (not a finite number, too large).
    """
    try:
        text = json.dumps(to_wire(word), allow_nan=False, separators=(',', ':'))
    except ValueError as error:
        raise MalformedReport(f'own report: {error}') from None
    if len(text) > MAX_TEXT:
        raise MalformedReport(f'own report: {len(text)} characters, at most {MAX_TEXT}')
    return text


def decode(text: object) -> HostReport | Departure:
    """The message in a peer's text; its length is looked at before it is parsed.

    :raises MalformedReport: names the field and the limit it breaks.
    """
    if not isinstance(text, str):
        raise MalformedReport(f'a message is text, not {type(text).__name__}')
    if len(text) > MAX_TEXT:
        raise OversizedReport(f'{len(text)} characters, at most {MAX_TEXT}')
    try:
        message = json.loads(text)
    except RecursionError:
        raise MalformedReport('nested too deeply') from None
    except ValueError as error:
        raise MalformedReport(f'not JSON: {error!s:.80}') from None
    if isinstance(message, dict) and message.get('gone') is True:
        return departure_from_wire(message)
    return from_wire(message)


def to_wire(word: HostReport | Departure) -> dict[str, object]:
    """A report or a departure as plain JSON values."""
    if isinstance(word, Departure):
        return {
            'v': WIRE_VERSION,
            'kind': 'gone',
            'host': word.host,
            'incarnation': word.incarnation,
            'sequence': word.sequence,
            'gone': True,
        }
    report = word
    reads: dict[str, object] = {'reads_quotas': True} if report.reads_quotas else {}
    return reads | {
        'v': WIRE_VERSION,
        'kind': 'report',
        'host': report.host,
        'incarnation': report.incarnation,
        'sequence': report.sequence,
        'metric': report.metric,
        'supply': list(report.supply),
        'load': list(report.load),
        'virtual': list(report.virtual),
        'owners': {owner: list(partial) for owner, partial in report.owners.items()},
        'quotas': {owner: list(quota) for owner, quota in report.quotas.items()},
    }


def from_wire(message: object) -> HostReport:
    """The report in a message from a peer that is not trusted; unknown keys are ignored.

    :raises MalformedReport: names the field and the limit it breaks.
    """
    if not isinstance(message, dict):
        raise MalformedReport(f'a report is an object, not {type(message).__name__}')
    check_version(message)
    if isinstance(message.get('owners'), OwnerTable):
        raise MalformedReport('owners: a table is for who knows what list it means')
    size = len(RESOURCES)
    return HostReport(
        host=HostName(name(message.get('host'), 'host')),
        incarnation=whole_number(message, 'incarnation'),
        sequence=whole_number(message, 'sequence'),
        metric=name(message.get('metric'), 'metric'),
        supply=numbers(message.get('supply'), 'supply', size, size, minimum=0.0),
        load=numbers(message.get('load'), 'load', size, size, minimum=0.0),
        virtual=numbers(message.get('virtual'), 'virtual', size, size, minimum=0.0),
        owners=sums_from_wire(message),
        quotas=quotas_from_wire(message),
        reads_quotas=flag(message, 'reads_quotas'),
    )


def departure_from_wire(message: Mapping[str, object]) -> Departure:
    """
    :raises MalformedReport: names the field and the limit it breaks.
    """
    check_version(message)
    return Departure(
        host=HostName(name(message.get('host'), 'host')),
        incarnation=whole_number(message, 'incarnation'),
        sequence=whole_number(message, 'sequence'),
    )


def sums_from_wire(
    message: Mapping[str, object], maximum: float = MAX_AMOUNT
) -> Mapping[OwnerId, tuple[float, ...]]:
    """Sums per owner, all of one width, no number beyond +-maximum."""
    table = message.get('owners')
    if isinstance(table, OwnerTable):
        check_table(table, 'owners', maximum)
        return table
    found = mapping(message, 'owners')
    if not found:
        return {}
    names(found.keys(), 'owners')
    partials = number_rows(found.values(), 'owners', MAX_WIDTH, maximum)
    return dict(zip(cast('Iterable[OwnerId]', found), partials, strict=True))


def quotas_from_wire(message: Mapping[str, object]) -> dict[OwnerId, Quota]:
    """Quotas per owner."""
    found = mapping(message, 'quotas').items()
    return {OwnerId(name(owner, 'quotas')): quota_pair(quota) for owner, quota in found}


VECTORS = ('supply', 'load', 'virtual')


STATEMENT_FLAGS = ('whole', 'reads_quotas', 'again', 'reads_numbers')


ANSWER_FLAGS = ('whole', 'complete', 'resync', 'reads_numbers')


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
