# SPDX-License-Identifier: Apache-2.0
"""The messages of the market's engine and the hosts as they are written, and back (core.exchange.codec)."""

from typing import Any

from msgspec import UNSET

from nova_market.core.exchange import wire_schema as wire
from nova_market.core.exchange.allocation_messages import AllocationMessage, Confirmation
from nova_market.core.exchange.frame import named_rows
from nova_market.core.exchange.validation import check_names
from nova_market.core.market.inventory import Allocation
from nova_market.core.resource import HostName, OwnerId
from nova_market.core.usage.use import AMOUNTS, Minute, MinuteUse, ServerUse
from nova_market.errors import MalformedReport


def write_allocation(message: AllocationMessage, write_sums: object) -> wire.WireAllocation:
    del write_sums
    servers: Any = {one.server_id: (one.cores, one.memory_mib) for one in message.allocations}
    return wire.WireAllocation(
        v=wire.WIRE_VERSION,
        engine=message.engine,
        host=message.host,
        period=message.period,
        expires=message.expires,
        servers=servers,
    )


def read_allocation(written: wire.WireAllocation) -> AllocationMessage:
    check_names((written.engine,), 'engine')
    check_names((written.host,), 'host')
    names, rows = named_rows(written.servers, 'servers', wire.Servers)
    return AllocationMessage(
        engine=HostName(written.engine),
        host=HostName(written.host),
        period=written.period,
        expires=written.expires,
        allocations=tuple(
            Allocation(server_id=server, cores=cores, memory_mib=memory_mib)
            for server, (cores, memory_mib) in zip(names, rows, strict=True)
        ),
    )


def write_confirmation(message: Confirmation, write_sums: object) -> wire.WireConfirmation:
    del write_sums
    use = message.use
    # mappings are written as they are, and read as wire.Mapped
    heaviness: Any = dict(message.heaviness)
    used: Any = UNSET
    if use is not None:
        used = {name: one.amounts for name, one in use.servers.items()}
    return wire.WireConfirmation(
        v=wire.WIRE_VERSION,
        engine=message.engine,
        host=message.host,
        period=message.period,
        servers=message.servers,
        heaviness=heaviness,
        enforced=UNSET if message.enforced is None else message.enforced,
        used_at=UNSET if use is None else use.at,
        used=used,
        since=UNSET if message.since is None else message.since,
    )


def read_confirmation(written: wire.WireConfirmation) -> Confirmation:
    check_names((written.engine,), 'engine')
    check_names((written.host,), 'host')
    servers = () if written.servers is UNSET else written.servers
    check_names(servers, 'servers')
    enforced = None if written.enforced is UNSET else written.enforced
    check_names(enforced or (), 'enforced')
    since = None if written.since is UNSET else written.since
    if since is not None and len(since) != len(servers):
        raise MalformedReport(
            f'since: {len(since)} seconds for {len(servers)} servers; give one for each'
        )
    names, heaviness = named_rows(written.heaviness, 'heaviness', wire.Heaviness)
    return Confirmation(
        host=HostName(written.host),
        engine=HostName(written.engine),
        period=written.period,
        servers=servers,
        heaviness=dict(zip(map(OwnerId, names), heaviness, strict=True)),
        enforced=enforced,
        use=_use(written),
        since=since,
    )


def _use(written: wire.WireConfirmation) -> MinuteUse | None:
    if written.used_at is UNSET:
        return None
    names, rows = named_rows(written.used, 'used', wire.Uses)
    return MinuteUse(
        at=Minute(written.used_at),
        servers={
            server: ServerUse(**dict(zip(AMOUNTS, amounts, strict=True)))
            for server, amounts in zip(names, rows, strict=True)
        },
    )
