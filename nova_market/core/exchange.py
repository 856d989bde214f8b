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

import numpy as np

from nova_market.core.quantity import RESOURCES, Array, HostName, OwnerId
from nova_market.errors import MalformedReport, OversizedReport

WIRE_VERSION = 1
MAX_OWNERS = 10_000
MAX_WIDTH = len(RESOURCES)
MAX_NAME = 255
MAX_AMOUNT = 1e24
"""Bound of every number on the wire; far above any real cloud, far below overflow of a sum."""
MAX_QUOTA = 2**53
"""Bound of cores and MiB, so that every JSON library reads them exactly."""
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
    """

    host: HostName
    incarnation: int
    sequence: int
    metric: str
    supply: tuple[float, ...]
    load: tuple[float, ...]
    virtual: tuple[float, ...]
    owners: Mapping[OwnerId, tuple[float, ...]] = field(default_factory=dict)
    quotas: Mapping[OwnerId, tuple[int, int]] = field(default_factory=dict)

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

    owners: ordered by id, those with at least one VM
    age:    seconds since a transport was last known to work; 0 where nothing can fail
    """

    owners: tuple[OwnerId, ...]
    sums: Array
    supply: Array
    load: Array
    virtual: Array
    hosts: int
    quotas: Mapping[OwnerId, tuple[int, int]]
    age: float


def add_up(reports: Iterable[HostReport], metric: str, age: float = 0.0) -> CloudTotals:
    """Totals of the reports that speak of `metric`. Sums in host order, so hosts agree to the bit."""
    chosen = sorted((r for r in reports if r.metric == metric), key=lambda r: r.host)
    owners = tuple(sorted({owner for report in chosen for owner in report.owners}))
    row = {owner: i for i, owner in enumerate(owners)}
    width = max((len(v) for r in chosen for v in r.owners.values()), default=1)
    sums = np.zeros((len(owners), width))
    supply, load, virtual = np.zeros((3, len(RESOURCES)))
    quotas: dict[OwnerId, tuple[int, int]] = {}
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
        _check_version(message)
        return Departure(
            host=HostName(_name(message.get('host'), 'host')),
            incarnation=_whole(message, 'incarnation'),
            sequence=_whole(message, 'sequence'),
        )
    return from_wire(message)


def to_wire(word: HostReport | Departure) -> dict[str, object]:
    """A report or a departure as plain JSON values."""
    if isinstance(word, Departure):
        return {
            'v': WIRE_VERSION,
            'host': word.host,
            'incarnation': word.incarnation,
            'sequence': word.sequence,
            'gone': True,
        }
    report = word
    return {
        'v': WIRE_VERSION,
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
    _check_version(message)
    owners = _mapping(message, 'owners')
    partials = {
        OwnerId(_name(k, 'owners')): _numbers(v, 'owners', 1, MAX_WIDTH) for k, v in owners.items()
    }
    if len({len(p) for p in partials.values()}) > 1:
        raise MalformedReport('owners: partial sums of different width')
    quotas: dict[OwnerId, tuple[int, int]] = {}
    for owner, quota in _mapping(message, 'quotas').items():
        quotas[OwnerId(_name(owner, 'quotas'))] = _quota(quota)
    size = len(RESOURCES)
    return HostReport(
        host=HostName(_name(message.get('host'), 'host')),
        incarnation=_whole(message, 'incarnation'),
        sequence=_whole(message, 'sequence'),
        metric=_name(message.get('metric'), 'metric'),
        supply=_numbers(message.get('supply'), 'supply', size, size, minimum=0.0),
        load=_numbers(message.get('load'), 'load', size, size, minimum=0.0),
        virtual=_numbers(message.get('virtual'), 'virtual', size, size, minimum=0.0),
        owners=partials,
        quotas=quotas,
    )


def _check_version(message: Mapping[str, object]) -> None:
    version = message.get('v')
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version < 2**31:
        raise MalformedReport(f'v: {_shown(version)} is not a version number')


def _name(value: object, where: str) -> str:
    # printable: names reach logs, metrics and the status document
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME or not value.isprintable():
        raise MalformedReport(
            f'{where}: {_shown(value)} is not a printable name of 1 to {MAX_NAME} characters'
        )
    return value


def _whole(message: Mapping[str, object], key: str) -> int:
    value = message.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise MalformedReport(f'{key}: {_shown(value)} is not a whole number from 0 to 2^63 - 1')
    return value


def _mapping(message: Mapping[str, object], key: str) -> Mapping[object, object]:
    value = message.get(key, {})
    if not isinstance(value, dict):
        raise MalformedReport(f'{key}: not an object')
    if len(value) > MAX_OWNERS:
        raise MalformedReport(f'{key}: {len(value)} entries, at most {MAX_OWNERS}')
    return value


def _quota(value: object) -> tuple[int, int]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise MalformedReport('quotas: not a list of cores and MiB')
    for number in value:
        whole = isinstance(number, int) and not isinstance(number, bool)
        if not whole or not -1 <= number <= MAX_QUOTA:
            raise MalformedReport(
                f'quotas: {_shown(number)} is not a whole number from -1 to {MAX_QUOTA}'
            )
    cores, ram = value
    return cores, ram


def _numbers(
    value: object, where: str, least: int, most: int, minimum: float = -MAX_AMOUNT
) -> tuple[float, ...]:
    if not isinstance(value, (list, tuple)) or not least <= len(value) <= most:
        raise MalformedReport(f'{where}: not a list of {least} to {most} numbers')
    for number in value:
        if (
            isinstance(number, bool)
            or not isinstance(number, (int, float))
            or not minimum <= number <= MAX_AMOUNT  # false for NaN and infinity too
        ):
            raise MalformedReport(
                f'{where}: {_shown(number)} is not a number in [{minimum:g}, {MAX_AMOUNT:g}]'
            )
    return tuple(float(number) for number in value)


def _shown(value: object) -> str:
    """A refused value for a log line: short, printable, and never an error of its own."""
    if isinstance(value, str):
        return repr(value[:40])
    if isinstance(value, int) and abs(value) >= 2**64:
        return 'a huge whole number'
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    return f'a value of type {type(value).__name__}'
