# SPDX-License-Identifier: Apache-2.0
"""What hosts tell each other, and its sums.

Implements the heaviness set of IFI-2016.04, section III-E and IV-D. Units: heaviness is dimensionless,
resource vectors as in core.quantity.

Differs from the paper: a host sends one partial sum per owner, not one number per VM (the user
heaviness, eq. 4, is a sum, so nothing is lost), the last report of a host wins instead of a FIFO
with a barrier, and a report dies after `ttl` seconds; so neither an empty nor a dead host holds up
the others.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from nova_market.core.owner_table import OwnerTable
from nova_market.core.quantity import RESOURCES, Array, HostName, OwnerId
from nova_market.core.quota_tally import Quota, QuotaTally, tally
from nova_market.core.schema import (
    MAX_AMOUNT,
    MAX_WIDTH,
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
from nova_market.errors import MalformedReport, OversizedReport

WIRE_VERSION = 1
MAX_TEXT = 4 * 1024 * 1024
"""Characters of an encoded message. 10,000 owners with six numbers each and a quota take 2.5 million."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReport:
    """One host's say about one interval.

    incarnation: grows when the service is restarted; with `sequence` it orders reports of a host
    metric:      name of the heaviness metric, reports of another metric can't be added up
    supply, load, virtual: resource vectors of the host (offered, used, sum of its VMs' VRs)
    owners:      per owner the partial sum of its VMs on this host, `width` numbers each
    quotas:      per owner (cores, ram_mib), -1 = unlimited; only from hosts that read quotas
    reads_quotas: does this host read quotas? It may then be asked for those of other owners too
    """

    host: HostName
    incarnation: int
    sequence: int
    metric: str
    supply: tuple[float, ...]
    load: tuple[float, ...]
    virtual: tuple[float, ...]
    owners: Mapping[OwnerId, tuple[float, ...]] = field(default_factory=dict)
    quotas: Mapping[OwnerId, Quota] = field(default_factory=dict)
    reads_quotas: bool = False

    @property
    def version(self) -> tuple[int, int]:
        return self.incarnation, self.sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """A host's last word: do not count me any more. Its sequence follows that of the last report."""

    host: HostName
    incarnation: int
    sequence: int

    @property
    def version(self) -> tuple[int, int]:
        return self.incarnation, self.sequence


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CloudTotals:
    """Sums over hosts. sums has shape (owners, width); the other arrays (resources,).

    owners: ordered by id, those with at least one VM; with aggregators only those with one here
    age:    seconds since a transport was last known to work; 0 where nothing can fail
    owner_count, quota_tally: of all owners of the cloud with at least one VM, listed or not
    asked:  owners that are not listed, whose quotas this host is asked to read
    """

    owners: tuple[OwnerId, ...]
    sums: Array
    supply: Array
    load: Array
    virtual: Array
    hosts: int
    quotas: Mapping[OwnerId, Quota]
    age: float
    owner_count: int
    quota_tally: QuotaTally
    asked: tuple[OwnerId, ...] = ()


def add_up(reports: Iterable[HostReport], metric: str, age: float = 0.0) -> CloudTotals:
    """Totals of the reports that speak of `metric`. Sums in host order, so hosts agree to the bit."""
    chosen = sorted((r for r in reports if r.metric == metric), key=lambda r: r.host)
    owners = tuple(sorted({owner for report in chosen for owner in report.owners}))
    row = {owner: i for i, owner in enumerate(owners)}
    width = max((len(v) for r in chosen for v in r.owners.values()), default=1)
    sums = np.zeros((len(owners), width))
    supply, load, virtual = np.zeros((3, len(RESOURCES)))
    quotas: dict[OwnerId, Quota] = {}
    for report in chosen:
        supply += report.supply
        load += report.load
        virtual += report.virtual
        quotas.update(report.quotas)
        for owner, partial in report.owners.items():
            sums[row[owner], : len(partial)] += partial
    return CloudTotals(
        owners=owners,
        sums=sums,
        supply=supply,
        load=load,
        virtual=virtual,
        hosts=len(chosen),
        quotas=quotas,
        age=age,
        owner_count=len(owners),
        quota_tally=tally(owners, quotas),
    )


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
