# SPDX-License-Identifier: Apache-2.0
"""Messages as they are written, and back: values of the core on one side, the schema on the other.

The schema (core.exchange.wire_schema) holds the keys, types and bounds. Here are the checks that it cannot
express, and what makes its flat values the messages of the core. A wire format, which is an adapter, turns
the schema into bytes and back; documents on disk are plain values.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from nova_market.core.exchange import wire_schema as wire
from nova_market.core.exchange.allocation_messages import (
    AllocationMessage,
    Confirmation,
    MarketMessage,
)
from nova_market.core.exchange.allocation_schema import (
    read_allocation,
    read_confirmation,
    write_allocation,
    write_confirmation,
)
from nova_market.core.exchange.frame import extension_in, named_rows, written_as
from nova_market.core.exchange.messages import (
    CloudPart,
    Departure,
    HostReport,
    StateUpdate,
    TotalsReply,
    Vectors,
)
from nova_market.core.exchange.packed_sums import Partial, unpacked
from nova_market.core.exchange.quota_tally import Quota, QuotaTally
from nova_market.core.exchange.validation import (
    MAX_AMOUNT,
    MAX_SUM,
    check_names,
    given,
    name,
)
from nova_market.core.resource import HostName, OwnerId
from nova_market.core.text import shown
from nova_market.errors import MalformedReport

HostMessage = HostReport | Departure | StateUpdate | TotalsReply

Message = HostMessage | MarketMessage

Value = TypeVar('Value')

PACKED_SUMS = 2
"""Type of msgpack extension. 1 was that of packed sums with ids, which may be as long: neither version takes
the other's for its own, whatever is under way while hosts change versions."""

WriteSums = Callable[[Mapping[OwnerId, Any]], Any]
"""How a wire format writes a mapping by owner."""


def to_values(message: Message) -> dict[str, Any]:
    """A message as plain values: numbers, text, lists and mappings by text."""
    values: dict[str, Any] = msgspec.to_builtins(to_schema(message, dict), enc_hook=plain_number)
    return values


def plain_number(value: object) -> float:
    """A number of numpy as one of Python, for msgspec, which does not take it for a float."""
    if isinstance(value, float):
        return float(value)
    raise TypeError(f'{type(value).__name__} in a message')


def from_values(values: object) -> Message:
    """The message in plain values that are not trusted.

    :raises MalformedReport: names the field, what was given and the limit.
    """
    if not isinstance(values, dict):
        raise MalformedReport(f'a message is an object, not {given(values)}')
    return from_schema(written_as(values))


def to_schema(message: Message, write_sums: WriteSums) -> wire.WireMessage:
    """A message as it is written."""
    return _WRITE[type(message)](message, write_sums)


def from_schema(written: wire.WireMessage) -> Message:
    """The message in what a peer has written.

    :raises MalformedReport: names the field, what was given and the limit.
    """
    return _READ[type(written)](written)


# -- hosts and aggregators


def _write_report(report: HostReport, write_sums: WriteSums) -> wire.WireReport:
    return wire.WireReport(
        v=wire.WIRE_VERSION,
        host=report.host,
        incarnation=report.incarnation,
        sequence=report.sequence,
        metric=report.metric,
        supply=report.supply,
        load=report.load,
        virtual=report.virtual,
        owners=write_sums(report.owners),
        quotas=write_sums(report.quotas),
        reads_quotas=report.reads_quotas,
    )


def _read_report(written: wire.WireReport) -> HostReport:
    _check_printable(host=written.host, metric=written.metric)
    if extension_in(written.owners) is not None:
        raise MalformedReport(
            'owners: packed sums are for a peer that knows the list they refer to'
        )
    return HostReport(
        host=HostName(written.host),
        incarnation=written.incarnation,
        sequence=written.sequence,
        metric=written.metric,
        supply=written.supply,
        load=written.load,
        virtual=written.virtual,
        owners=_sums(written.owners, wire.PartialSums, MAX_AMOUNT),
        quotas=_quotas(written.quotas),
        reads_quotas=written.reads_quotas,
    )


def _write_departure(message: Departure, write_sums: WriteSums) -> wire.WireDeparture:
    del write_sums
    return wire.WireDeparture(
        v=wire.WIRE_VERSION,
        host=message.host,
        incarnation=message.incarnation,
        sequence=message.sequence,
        gone=True,
    )


def _read_departure(written: wire.WireDeparture) -> Departure:
    _check_printable(host=written.host)
    return Departure(
        host=HostName(written.host), incarnation=written.incarnation, sequence=written.sequence
    )


def _write_update(update: StateUpdate, write_sums: WriteSums) -> wire.WireUpdate:
    vectors = update.vectors
    return wire.WireUpdate(
        v=wire.WIRE_VERSION,
        host=update.host,
        incarnation=update.incarnation,
        sequence=update.sequence,
        metric=update.metric,
        epoch=update.epoch,
        aggregator_set=update.aggregator_set,
        full=update.full,
        acked=UNSET if update.acked is None else update.acked,
        owners=write_sums(update.owners),
        gone_owners=update.gone,
        supply=UNSET if vectors is None else vectors.supply,
        load=UNSET if vectors is None else vectors.load,
        virtual=UNSET if vectors is None else vectors.virtual,
        quotas=UNSET if update.quotas is None else write_sums(update.quotas),
        reads_quotas=update.reads_quotas,
        retransmitted=update.retransmitted,
        reads_numbers=update.reads_numbers,
        copy=update.copy,
        copies=update.copies,
    )


def _read_update(written: wire.WireUpdate) -> StateUpdate:
    _check_printable(
        host=written.host,
        metric=written.metric,
        epoch=written.epoch,
        roster=written.aggregator_set,
    )
    if written.gone_owners:
        check_names(written.gone_owners, 'left')
    return StateUpdate(
        host=HostName(written.host),
        incarnation=written.incarnation,
        sequence=written.sequence,
        metric=written.metric,
        epoch=written.epoch,
        aggregator_set=written.aggregator_set,
        full=written.full,
        acked=None if written.acked is UNSET else written.acked,
        owners=_sums(written.owners, wire.PartialSums, MAX_AMOUNT),
        gone=tuple(map(OwnerId, written.gone_owners)),
        vectors=_vectors(written),
        quotas=None if written.quotas is UNSET else _quotas(written.quotas),
        reads_quotas=written.reads_quotas,
        retransmitted=written.retransmitted,
        reads_numbers=written.reads_numbers,
        copy=written.copy,
        copies=written.copies,
    )


def _write_reply(reply: TotalsReply, write_sums: WriteSums) -> wire.WireReply:
    written = wire.WireReply(
        v=wire.WIRE_VERSION,
        host=reply.host,
        to=reply.to,
        incarnation=reply.incarnation,
        sequence=reply.sequence,
        epoch=reply.epoch,
        aggregator_set=reply.aggregator_set,
        full=reply.full,
        complete=reply.complete,
        owners=write_sums(reply.owners),
        quotas=write_sums(reply.quotas) if reply.quotas else UNSET,
        asked=reply.asked,
        resync=reply.resync,
        reads_numbers=reply.reads_numbers,
        copy=reply.copy,
        older=UNSET if reply.older is None else reply.older,
    )
    cloud = reply.cloud
    if cloud is None:
        return written
    return msgspec.structs.replace(
        written,
        supply=cloud.vectors.supply,
        load=cloud.vectors.load,
        virtual=cloud.vectors.virtual,
        hosts=cloud.hosts,
        owner_count=cloud.owner_count,
        tally=(*cloud.tally.known, *cloud.tally.total, *cloud.tally.largest),
    )


def _read_reply(written: wire.WireReply) -> TotalsReply:
    _check_printable(
        host=written.host, to=written.to, epoch=written.epoch, roster=written.aggregator_set
    )
    if written.asked:
        check_names(written.asked, 'asked')
    return TotalsReply(
        host=HostName(written.host),
        to=HostName(written.to),
        incarnation=written.incarnation,
        sequence=written.sequence,
        epoch=written.epoch,
        aggregator_set=written.aggregator_set,
        full=written.full,
        complete=written.complete,
        owners=_sums(written.owners, wire.TotalSums, MAX_SUM),
        quotas=_quotas(written.quotas),
        cloud=_cloud_part(written),
        asked=tuple(map(OwnerId, written.asked)),
        resync=written.resync,
        reads_numbers=written.reads_numbers,
        copy=written.copy,
        older=None if written.older is UNSET else written.older,
    )


def _check_printable(**names: str) -> None:
    """Check the names under these keys; their lengths have been checked by the schema."""
    if not ''.join(names.values()).isprintable():
        for key, value in names.items():
            name(value, key)


def _vectors(written: wire.WireUpdate | wire.WireReply) -> Vectors | None:
    if written.supply is UNSET:
        return None
    return Vectors(
        supply=written.supply,
        load=_present(written.load, 'load'),
        virtual=_present(written.virtual, 'virtual'),
    )


def _cloud_part(written: wire.WireReply) -> CloudPart | None:
    vectors = _vectors(written)
    if vectors is None:
        return None
    a, b, c, d, e, f = tally = _present(written.tally, 'tally')
    if max(tally) >= 2**64:
        raise MalformedReport(f'tally: {shown(max(tally))} is not a whole number below 2^64')
    return CloudPart(
        hosts=_present(written.hosts, 'hosts'),
        owner_count=_present(written.owner_count, 'owner_count'),
        vectors=vectors,
        tally=QuotaTally(known=(a, b), total=(c, d), largest=(e, f)),
    )


def _present(value: Value | UnsetType, where: str) -> Value:
    if value is UNSET:
        raise MalformedReport(f'{where}: it is absent, though there is a supply')
    return value


def _sums(written: wire.Mapped, rows: object, maximum: float) -> Mapping[OwnerId, Partial]:
    """Sums by owner, all of one width; packed sums stay packed. rows: wire.PartialSums or TotalSums."""
    packed = extension_in(written)
    if packed is not None:
        if packed.code != PACKED_SUMS:
            raise MalformedReport(f'owners: extension {packed.code} is not {PACKED_SUMS}')
        return unpacked(bytes(packed.data), 'owners', maximum)
    names, sums = named_rows(written, 'owners', rows)
    if len(set(map(len, sums))) > 1:
        raise MalformedReport('owners: partial sums of different width')
    return dict(zip(map(OwnerId, names), sums, strict=True))


def _quotas(written: wire.Mapped) -> dict[OwnerId, Quota]:
    names, quotas = named_rows(written, 'quotas', wire.Quotas)
    return dict(zip(map(OwnerId, names), quotas, strict=True))


_WRITE: Mapping[type, Callable[[Any, WriteSums], wire.WireMessage]] = {
    HostReport: _write_report,
    Departure: _write_departure,
    StateUpdate: _write_update,
    TotalsReply: _write_reply,
    AllocationMessage: write_allocation,
    Confirmation: write_confirmation,
}

_READ: Mapping[type, Callable[[Any], Message]] = {
    wire.WireReport: _read_report,
    wire.WireDeparture: _read_departure,
    wire.WireUpdate: _read_update,
    wire.WireReply: _read_reply,
    wire.WireAllocation: read_allocation,
    wire.WireConfirmation: read_confirmation,
}
