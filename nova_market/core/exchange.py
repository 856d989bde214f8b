# SPDX-License-Identifier: Apache-2.0
"""What hosts tell each other, and its sums.

Implements the heaviness set of IFI-2016.04, section III-E and IV-D. Units: heaviness is dimensionless,
resource vectors as in core.quantity.

Differs from the paper: a host sends one partial sum per owner, not one number per VM (the user
heaviness, eq. 4, is a sum, so nothing is lost), the last report of a host wins instead of a FIFO
with a barrier, and a report dies after `ttl` seconds; so neither an empty nor a dead host holds up
the others.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from nova_market.core.quantity import RESOURCES, Array, HostName, OwnerId
from nova_market.errors import MalformedReport

WIRE_VERSION = 1
MAX_OWNERS = 10_000
MAX_WIDTH = len(RESOURCES)
MAX_NAME = 255
MAX_AMOUNT = 1e24
"""Bound of every number on the wire; far above any real cloud, far below overflow of a sum."""


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


def to_wire(report: HostReport) -> dict[str, object]:
    """A report as plain JSON values."""
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
    version = message.get('v')
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise MalformedReport(f'v: {version!r:.40} is not a version number')
    owners = _mapping(message, 'owners')
    partials = {
        OwnerId(_name(k, 'owners')): _numbers(v, 'owners', 1, MAX_WIDTH) for k, v in owners.items()
    }
    if len({len(p) for p in partials.values()}) > 1:
        raise MalformedReport('owners: partial sums of different width')
    quotas: dict[OwnerId, tuple[int, int]] = {}
    for owner, quota in _mapping(message, 'quotas').items():
        cores, ram = _numbers(quota, 'quotas', 2, 2, minimum=-1.0)
        quotas[OwnerId(_name(owner, 'quotas'))] = (int(cores), int(ram))
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


def _name(value: object, where: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME:
        raise MalformedReport(f'{where}: {value!r:.40} is not a name of 1 to {MAX_NAME} characters')
    return value


def _whole(message: Mapping[str, object], key: str) -> int:
    value = message.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise MalformedReport(f'{key}: {value!r:.40} is not a whole number from 0 to 2^63 - 1')
    return value


def _mapping(message: Mapping[str, object], key: str) -> Mapping[object, object]:
    value = message.get(key, {})
    if not isinstance(value, dict):
        raise MalformedReport(f'{key}: not an object')
    if len(value) > MAX_OWNERS:
        raise MalformedReport(f'{key}: {len(value)} entries, at most {MAX_OWNERS}')
    return value


def _numbers(
    value: object, where: str, least: int, most: int, minimum: float = -MAX_AMOUNT
) -> tuple[float, ...]:
    if not isinstance(value, (list, tuple)) or not least <= len(value) <= most:
        raise MalformedReport(f'{where}: not a list of {least} to {most} numbers')
    for number in value:
        if (
            isinstance(number, bool)
            or not isinstance(number, (int, float))
            or not minimum <= number <= MAX_AMOUNT
            or not math.isfinite(number)
        ):
            raise MalformedReport(
                f'{where}: {number!r:.40} is not a number in [{minimum:g}, {MAX_AMOUNT:g}]'
            )
    return tuple(float(number) for number in value)
