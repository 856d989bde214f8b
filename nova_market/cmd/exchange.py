# SPDX-License-Identifier: Apache-2.0
"""Puts the exchange of a host together from options: transport, membership, wire format, topology."""

import hashlib
import re
from collections.abc import Callable

from oslo_config import cfg

from nova_market.adapters.membership import StaticMembers, ToozMembers
from nova_market.adapters.wire_format import FORMATS
from nova_market.core.fairness import FairnessSettings
from nova_market.core.quantity import HostName
from nova_market.errors import ConfigurationError
from nova_market.exchange.aggregate import AggregateExchange
from nova_market.exchange.broadcast import BroadcastExchange
from nova_market.fairness.settings import load_plugin
from nova_market.ports import Clock, Exchange, Membership, Transport

Plugin = Callable[..., Transport]
"""plugin(conf=, host=, ttl=, addresses=): addresses() -> host -> address of the members."""

ADDRESS = re.compile(r'tcp://(?P<host>\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+|\*):(?P<port>[0-9]{1,5})')
EVERYWHERE = ('*', '0.0.0.0', '[::]')


def build_exchange(
    conf: cfg.ConfigOpts, host: HostName, settings: FairnessSettings, clock: Clock
) -> Exchange:
    """The exchange of this host, not started.

    :raises ConfigurationError: an option that can not work.
    """
    name = conf.fairness.exchange
    ttl = settings.totals_ttl
    plugin: Plugin = load_plugin('nova_market.exchange', name, '[fairness]exchange')
    broadcast = conf.exchange.topology == 'broadcast' or name == 'local'
    membership = _membership(conf, host, settings.interval, broadcast=broadcast)
    transport = plugin(conf=conf, host=host, ttl=ttl, addresses=membership.members)
    wire_format = conf.exchange.wire_format
    if wire_format == 'auto':
        wire_format = 'compact' if name == 'zmq' else 'plain'
    parts = {
        'host': host,
        'metric': settings.metric_name,
        'ttl': ttl,
        'clock': clock,
        'transport': transport,
        'wire': FORMATS[wire_format](),
        'membership': membership,
    }
    if broadcast:
        return BroadcastExchange(**parts)
    return AggregateExchange(
        epoch=epoch_of(settings),
        named=tuple(HostName(one) for one in conf.exchange.aggregators),
        count=conf.exchange.aggregator_count,
        **parts,
    )


def epoch_of(settings: FairnessSettings) -> str:
    """Short text that differs where sums of two hosts can't be compared."""
    said = (settings.metric_name, f'{settings.interval:g}', *sorted(settings.resources))
    return hashlib.blake2b('\n'.join(said).encode(), digest_size=6).hexdigest()


def _membership(
    conf: cfg.ConfigOpts, host: HostName, interval: float, *, broadcast: bool
) -> Membership:
    options, transport = conf.exchange, conf.fairness.exchange
    if transport == 'local':
        return StaticMembers(host, '', {})
    listed = _listed(options.members, need_address=transport == 'zmq')
    address = listed.get(host) or (_own_address(conf, host) if transport == 'zmq' else '')
    if options.coordination_url:
        return ToozMembers(host, address, options.coordination_url, interval)
    if not listed and transport != 'zmq':
        listed = {HostName(one): '' for one in options.aggregators}
    if not listed and not (broadcast and transport == 'oslo'):
        raise ConfigurationError(
            f'[exchange]topology = {options.topology} with [fairness]exchange = {transport} must know other '
            'hosts: set [exchange]coordination_url, [exchange]members or, over oslo, '
            '[exchange]aggregators; over oslo topology = broadcast needs none of them'
        )
    missing = [one for one in options.aggregators if one not in listed and one != host]
    if missing and not broadcast:
        raise ConfigurationError(
            f'[exchange]aggregators names {", ".join(missing)}, not in [exchange]members; add them there'
        )
    return StaticMembers(host, address, listed)


def _listed(items: list[str], *, need_address: bool) -> dict[HostName, str]:
    found: dict[HostName, str] = {}
    for item in items:
        name, _, address = (part.strip() for part in item.partition('='))
        match = ADDRESS.fullmatch(address)
        wrong = not name or not name.isprintable() or (address and not match)
        if wrong or (need_address and not match) or (match and match['host'] == '*'):
            raise ConfigurationError(
                f'[exchange]members: {item[:80]!r} is not HOST=tcp://ADDRESS:PORT'
                + ('' if need_address else ' or HOST')
            )
        found[HostName(name)] = address
    return found


def _own_address(conf: cfg.ConfigOpts, host: HostName) -> str:
    """Where others reach this host over ZeroMQ."""
    options = conf.exchange
    for option, value in (('zmq_address', options.zmq_address), ('zmq_bind', options.zmq_bind)):
        match = ADDRESS.fullmatch(value)
        if not match and (value or option == 'zmq_bind'):
            raise ConfigurationError(
                f'[exchange]{option} = {value[:80]}: not of the form tcp://ADDRESS:PORT'
            )
        if match and match['host'] not in EVERYWHERE:
            return str(value)
    return f'tcp://{host}:{match["port"]}' if match else ''
