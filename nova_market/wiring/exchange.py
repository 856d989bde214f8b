# SPDX-License-Identifier: Apache-2.0
"""Puts the exchange of a host together from options: transport, membership, wire format, topology."""

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from oslo_config import cfg

from nova_market.adapters.transport.membership import StaticMembers, ToozMembers
from nova_market.adapters.transport.wire_format import FORMATS
from nova_market.adapters.transport.zmq.keys import KeyDirectory
from nova_market.core.fairness.host_division import FAIRNESS
from nova_market.core.fairness.round import FairnessSettings, most_reported
from nova_market.core.resource import HostName
from nova_market.core.usage.use import MinuteUse
from nova_market.errors import ConfigurationError
from nova_market.plugins import load_plugin
from nova_market.ports import Clock, Exchange, Membership, Transport, WireFormat
from nova_market.services.exchange.aggregate import AggregateExchange
from nova_market.services.exchange.allocation_sender import AllocationSender
from nova_market.services.exchange.broadcast import BroadcastExchange

Plugin = Callable[..., Transport]
"""plugin(conf=, host=, ttl=, addresses=, engine=): addresses() -> host -> address of the members.

engine: True for the end of a market engine, and only given there.
"""

ADDRESS = re.compile(r'tcp://(?P<host>\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+|\*):(?P<port>[0-9]{1,5})')
OBSERVE = 10.0
"""Seconds between two looks of an engine at the group of hosts."""

EVERYWHERE = ('*', '0.0.0.0', '[::]')


def build_exchange(
    conf: cfg.ConfigOpts,
    host: HostName,
    settings: FairnessSettings,
    clock: Clock,
    receiver: Callable[[Transport, WireFormat], Transport] | None = None,
) -> Exchange:
    """The exchange of this host, not started.

    receiver: makes what takes the messages of the market out of the frames of the transport.

    :raises ConfigurationError: an option that cannot work.
    """
    name = conf.fairness.exchange
    ttl = settings.totals_ttl
    plugin: Plugin = load_plugin('nova_market.exchange', name, '[fairness]exchange')
    broadcast = conf.exchange.topology == 'broadcast' or name == 'local'
    membership = _membership(conf, host, settings.interval, broadcast=broadcast)
    transport = plugin(conf=conf, host=host, ttl=ttl, addresses=membership.members)
    wire = wire_format(conf)
    if receiver is not None:
        transport = receiver(transport, wire)
    parts: dict[str, Any] = {
        'host': host,
        'metric': settings.metric_name,
        'ttl': ttl,
        'clock': clock,
        'transport': transport,
        'wire': wire,
        'membership': membership,
        'bound': partial(most_reported, settings=settings),
    }
    if broadcast:
        return BroadcastExchange(**parts)
    return AggregateExchange(
        epoch=epoch_of(settings),
        named=tuple(HostName(one) for one in conf.exchange.aggregators),
        count=conf.exchange.aggregator_count,
        copies=conf.exchange.copies,
        **parts,
    )


def engines_of(conf: cfg.ConfigOpts) -> tuple[HostName, ...]:
    """Who may allocate what guests get.

    :raises ConfigurationError: the policy needs engines, and there are none or no way to reach them.
    """
    policy, exchange = conf.fairness.policy, conf.fairness.exchange
    engines = tuple(HostName(one) for one in conf.exchange.market_engines)
    if policy == FAIRNESS:
        return ()
    for option, wrong, remedy in (
        ('[fairness]exchange = local', exchange == 'local', 'set it to oslo or zmq'),
        ('[exchange]market_engines is empty', not engines, 'name the engines of the market'),
        ('[fairness]cpu_control = false', not conf.fairness.cpu_control, 'set it to true'),
        (
            '[fairness]priority_mode = paper',
            conf.fairness.priority_mode == 'paper',
            'set it to centred',
        ),
    ):
        if wrong:
            raise ConfigurationError(f'[fairness]policy = {policy}, but {option}: {remedy}')
    return engines


def build_enforcement(
    conf: cfg.ConfigOpts,
    name: HostName,
    clock: Clock,
    period: float,
    used: Callable[[HostName, MinuteUse], None] = lambda host, use: None,
) -> AllocationSender:
    """The engine's end of the exchange, not started.

    name:   of the engine; period: seconds of a round of the market
    used:   takes what hosts report of their servers

    :raises ConfigurationError: an option that cannot work.
    """
    transport = conf.fairness.exchange
    if transport == 'local':
        raise ConfigurationError(
            '[fairness]exchange = local: an engine reaches no host over it; set it to oslo or zmq, as on '
            'the hosts'
        )
    if name not in conf.exchange.market_engines:
        raise ConfigurationError(
            f'[exchange]market_engines does not name this engine ({name}), so no host would believe it; '
            'add it there, on the hosts too'
        )
    plugin: Plugin = load_plugin('nova_market.exchange', transport, '[fairness]exchange')
    membership = _observed(conf, name)
    return AllocationSender(
        name=name,
        transport=plugin(
            conf=conf, host=name, ttl=period, addresses=membership.members, engine=True
        ),
        wire=wire_format(conf),
        clock=clock,
        membership=membership,
        used=used,
    )


def wire_format(conf: cfg.ConfigOpts) -> WireFormat:
    """The format of the messages that this host sends."""
    chosen = conf.exchange.wire_format
    if chosen == 'auto':
        chosen = 'compact' if conf.fairness.exchange == 'zmq' else 'plain'
    return FORMATS[chosen]()


def epoch_of(settings: FairnessSettings) -> str:
    """A short text that differs between hosts whose sums cannot be compared."""
    parts = (settings.metric_name, f'{settings.interval:g}', *sorted(settings.resources))
    return hashlib.blake2b('\n'.join(parts).encode(), digest_size=6).hexdigest()


def _observed(conf: cfg.ConfigOpts, name: HostName) -> Membership:
    """The hosts, for an engine, which is not one of them. Over a broker it needs no list of them."""
    options = conf.exchange
    if conf.fairness.exchange != 'zmq':
        return StaticMembers(name, '', {})
    listed = _listed(options.members, need_address=True)
    if options.coordination_url:
        known = _known(listed, KeyDirectory(options.zmq_engine_key_path, name))
        url = options.coordination_url
        return ToozMembers(name, '', url, OBSERVE, observer=True, known=known)
    if not listed:
        raise ConfigurationError(
            '[fairness]exchange = zmq must know the hosts: set [exchange]coordination_url or '
            '[exchange]members'
        )
    return StaticMembers(name, listed.get(name, ''), listed)


def _known(
    listed: Mapping[HostName, str], keys: KeyDirectory | None
) -> Callable[[], Mapping[HostName, str] | None]:
    """The hosts that may be members of a group: those that the operator lists, else those with a key."""
    if listed:
        return lambda: listed
    return (lambda: dict.fromkeys(keys.names(), '')) if keys is not None else lambda: None


def _membership(
    conf: cfg.ConfigOpts, host: HostName, interval: float, *, broadcast: bool
) -> Membership:
    options, transport = conf.exchange, conf.fairness.exchange
    if transport == 'local':
        return StaticMembers(host, '', {})
    listed = _listed(options.members, need_address=transport == 'zmq')
    address = listed.get(host) or (_own_address(conf, host) if transport == 'zmq' else '')
    if options.coordination_url:
        keys = KeyDirectory(options.zmq_key_path, host) if transport == 'zmq' else None
        known = _known(listed, keys)
        return ToozMembers(host, address, options.coordination_url, interval, known=known)
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
