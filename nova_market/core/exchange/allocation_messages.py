# SPDX-License-Identifier: Apache-2.0
"""What the market's engine and the hosts write to each other: allocations, and what was applied.

Implements rules A5 and F2 of doc/source/specs/market.rst. Units: cores, MiB, seconds since the epoch.

These letters travel among those of core.exchange.messages, on the same transport, and are told apart by
`kind`. Each side names itself; a transport that proves who has sent a frame shows whether that is true. A
server that a letter does not name has no allocation. Unknown keys are ignored.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nova_market.core.exchange.codec import WIRE_VERSION
from nova_market.core.exchange.validation import check_version, mapping, name, numbers, whole_number
from nova_market.core.market.inventory import Allocation
from nova_market.core.resource import HostName, OwnerId
from nova_market.core.text import shown
from nova_market.errors import MalformedReport

PREFIX = b'market.'
"""Occurs in every frame that holds a letter of the market, whatever its format, and in few others."""

ALLOCATE = 'market.allocate'
APPLIED = 'market.applied'

MAX_SERVERS = 10_000
"""On one host; kernels end before that."""

MAX_CORES = 1e6
MAX_MEMORY_MIB = 2.0**43
"""What Linux can address is 2^32 MiB."""

MAX_TIME = 2.0**53


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationLetter:
    """An engine's say on what the servers of one host get in one period.

    engine, host: who says it; whom to
    expires:      when it no longer counts if no newer one has come
    """

    engine: HostName
    host: HostName
    period: int
    expires: float
    allocations: tuple[Allocation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A host's answer: the allocations of these servers are in force on it, written or there already.

    heaviness: of the owners that have VMs on the host, in the whole cloud
    """

    host: HostName
    engine: HostName
    period: int
    servers: tuple[str, ...]
    heaviness: Mapping[OwnerId, float] = field(default_factory=dict)


MarketLetter = AllocationLetter | Confirmation


def market_values(letter: MarketLetter) -> dict[str, object]:
    """A letter as plain values."""
    if isinstance(letter, AllocationLetter):
        return {
            'v': WIRE_VERSION,
            'kind': ALLOCATE,
            'engine': letter.engine,
            'host': letter.host,
            'period': letter.period,
            'expires': letter.expires,
            'servers': {one.server_id: [one.cores, one.memory_mib] for one in letter.allocations},
        }
    return {
        'v': WIRE_VERSION,
        'kind': APPLIED,
        'host': letter.host,
        'engine': letter.engine,
        'period': letter.period,
        'servers': list(letter.servers),
        'heaviness': dict(letter.heaviness),
    }


def is_market(message: object) -> bool:
    """Is this plain value a letter of the market, well-formed or not?"""
    return isinstance(message, dict) and message.get('kind') in (ALLOCATE, APPLIED)


def is_allocation(message: object) -> bool:
    """Is this plain value an engine's message to a host, well-formed or not?"""
    return isinstance(message, dict) and message.get('kind') == ALLOCATE


def market_letter(message: object) -> MarketLetter:
    """The letter in plain values of a peer that is not trusted.

    :raises MalformedReport: names the field and the limit it breaks.
    """
    if not isinstance(message, dict) or not is_market(message):
        raise MalformedReport(f'not an object of kind {ALLOCATE} or {APPLIED}')
    check_version(message)
    engine, host = (HostName(name(message.get(key), key)) for key in ('engine', 'host'))
    period = whole_number(message, 'period')
    if message['kind'] == APPLIED:
        return Confirmation(
            host=host,
            engine=engine,
            period=period,
            servers=_servers(message),
            heaviness=_heaviness(message),
        )
    return AllocationLetter(
        engine=engine,
        host=host,
        period=period,
        expires=numbers([message.get('expires')], 'expires', 1, 1, 0.0, MAX_TIME)[0],
        allocations=_allocations(message),
    )


def _allocations(message: Mapping[str, object]) -> tuple[Allocation, ...]:
    found = []
    for server, amounts in mapping(message, 'servers').items():
        cores, memory_mib = numbers(amounts, 'servers', 2, 2, 0.0, MAX_MEMORY_MIB)
        if cores > MAX_CORES:
            raise MalformedReport(f'servers: {cores:g} cores, at most {MAX_CORES:g}')
        found.append(
            Allocation(server_id=name(server, 'servers'), cores=cores, memory_mib=memory_mib)
        )
    return tuple(found)


def _heaviness(message: Mapping[str, object]) -> dict[OwnerId, float]:
    found = mapping(message, 'heaviness')
    values = numbers([*found.values()], 'heaviness', 0, len(found))
    owners = (OwnerId(name(owner, 'heaviness')) for owner in found)
    return dict(zip(owners, values, strict=True))


def _servers(message: Mapping[str, object]) -> tuple[str, ...]:
    value = message.get('servers', ())
    if not isinstance(value, (list, tuple)):
        raise MalformedReport(f'servers: {shown(value)} is not a list')
    if len(value) > MAX_SERVERS:
        raise MalformedReport(f'servers: {len(value)} entries, at most {MAX_SERVERS}')
    return tuple(name(server, 'servers') for server in value)
