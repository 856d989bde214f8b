# SPDX-License-Identifier: Apache-2.0
"""A conversation of hosts, an aggregator and a market engine, which is recorded with one version of the code
and replayed with another.

It is recorded with the code of an earlier version by copying this file into a checkout of that version:

    git worktree add ../earlier 5bf6b33
    cp tests/support/exchange/conversation.py ../earlier/
    (cd ../earlier && python conversation.py earlier) > tests/data/exchange-frames.json

A conversation consists of acts. Frames are delivered at once, within the act that causes them.
"""

import base64
import importlib
import json
import sys
from types import SimpleNamespace

TODAY = {
    'AggregateExchange': 'nova_market.services.exchange.aggregate',
    'BroadcastExchange': 'nova_market.services.exchange.broadcast',
    'AllocationSender': 'nova_market.services.exchange.allocation_sender',
    'AllocationReceiver': 'nova_market.services.exchange.allocation_receiver',
    'FORMATS': 'nova_market.adapters.transport.wire_format',
    'ManualClock': 'nova_market.adapters.in_memory.clock',
    'HostReport': 'nova_market.core.exchange.messages',
    'Allocation': 'nova_market.core.market.inventory',
}
EARLIER = {
    'AggregateExchange': 'nova_market.exchange.aggregate',
    'BroadcastExchange': 'nova_market.exchange.broadcast',
    'AllocationSender': 'nova_market.exchange.enforcement:TransportEnforcement',
    'AllocationReceiver': 'nova_market.exchange.market_line:MarketLine',
    'FORMATS': 'nova_market.adapters.wire_format',
    'ManualClock': 'nova_market.adapters.clock',
    'HostReport': 'nova_market.core.exchange',
    'Allocation': 'nova_market.core.cloud_inventory',
}
"""The names of commit 5bf6b33."""

D, E, F = 'd' * 32, 'e' * 32, 'f' * 32
"""Owners whose names are UUIDs; `guest` is one whose name is none."""

ENGINE = 'engine1'
TTL = 3.0


def tick():
    return ('', 'tick', {})


def say(host, owners, *, quotas=None, lose=0):
    """A host publishes a report and reads its totals; the first `lose` frames are lost."""
    return (host, 'say', {'owners': owners, 'quotas': quotas or {}, 'lose': lose})


SCENES = {
    'aggregate': [
        say('a', {D: [1.0], E: [0.5], 'guest': [0.25]}, quotas={D: [4, 8192], E: [-1, -1]}),
        say('b', {D: [2.0], F: [3.0]}),
        say('x', {D: [0.125]}),
        tick(),
        say('a', {D: [1.5], E: [0.5], 'guest': [0.25]}, quotas={D: [4, 8192], E: [-1, -1]}),
        say('b', {D: [2.0], F: [4.0]}),
        say('x', {D: [0.125]}),
        tick(),
        say('a', {D: [1.5], E: [0.5], 'guest': [0.25]}, quotas={D: [4, 8192], E: [-1, -1]}),
        say('b', {D: [3.0], F: [4.0]}),
        say('x', {D: [0.25]}),
        tick(),
        say('a', {D: [1.5], E: [0.5]}, quotas={D: [5, 8192]}),
        say('b', {D: [3.5], F: [4.0]}, lose=1),
        say('x', {D: [0.25], E: [1.0]}),
        tick(),
        ('x', 'restart', {}),
        say('a', {D: [1.75], E: [0.75]}, quotas={D: [5, 8192]}),
        say('b', {D: [3.5], F: [4.0]}),
        say('x', {D: [0.25]}),
        tick(),
        say('a', {D: [1.75], E: [0.75]}, quotas={D: [5, 8192]}),
        say('b', {D: [3.5, 1.0], F: [4.0, 2.0]}),
        tick(),
        say('b', {D: [3.5, 1.0], F: [4.5, 2.0]}),
        ('a', 'stop', {}),
        ('b', 'stop', {}),
    ],
    'broadcast': [
        say('a', {D: [1.0], 'guest': [0.25]}, quotas={D: [4, 8192]}),
        say('b', {D: [2.0, 1.0]}),
        tick(),
        say('a', {D: [1.5]}),
        ('a', 'stop', {}),
        ('b', 'stop', {}),
    ],
    'market': [
        (ENGINE, 'allocate', {'period': 7, 'servers': {'s1': [0.5, 64.0], 's2': [2, 128]}}),
        ('a', 'confirm', {'servers': ['s1', 's2'], 'heaviness': {D: 0.5, 'guest': -0.25}}),
        (ENGINE, 'allocate', {'period': 8, 'servers': {}}),
        ('a', 'confirm', {'servers': [], 'heaviness': {}}),
    ],
}


def code(names):
    """The classes of a version of the code."""
    found = SimpleNamespace()
    for name, where in names.items():
        module, _, other = where.partition(':')
        setattr(found, name, getattr(importlib.import_module(module), other or name))
    return found


class Wire:
    """ports.Transport that hands every frame to its owner."""

    echoes, trouble, dropped = False, '', {}

    def __init__(self, post):
        self.post, self.receive = post, None

    def start(self, receive):
        self.receive = receive

    def send(self, to, frame):
        self.post(to, frame)

    def broadcast(self, frame):
        self.post(None, frame)

    def stop(self):
        pass


class Members:
    """ports.Membership."""

    def start(self):
        pass

    def members(self):
        return dict.fromkeys('abx', '')

    def stop(self):
        pass


class Participant:
    """One host, or the engine, on the code of one version."""

    def __init__(self, version, scene, name, wire, post):
        self.version, self.scene, self.name = version, scene, name
        self.clock = version.ManualClock()
        self.wire = version.FORMATS[wire]()
        self.post = post
        self.sequence = 0
        self.restart()

    def restart(self):
        self.transport = Wire(self.post)
        parts = {'transport': self.transport, 'wire': self.wire, 'clock': self.clock}
        self.subject = getattr(self, f'_{self.scene}')(parts)

    def _aggregate(self, parts):
        more = {'host': self.name, 'metric': 'greediness', 'ttl': TTL, 'membership': Members()}
        made = self.version.AggregateExchange(**parts, **more, epoch='e', named=('x',))
        made.start()
        return made

    def _broadcast(self, parts):
        more = {'host': self.name, 'metric': 'greediness', 'ttl': TTL, 'membership': Members()}
        made = self.version.BroadcastExchange(**parts, **more)
        made.start()
        return made

    def _market(self, parts):
        if self.name == ENGINE:
            made = self.version.AllocationSender(name=self.name, membership=Members(), **parts)
            made.start()
        else:
            made = self.version.AllocationReceiver(host=self.name, engines=[ENGINE], **parts)
            made.start(lambda sender, frame: None)
        return made

    def say(self, owners, quotas, lose):
        self.sequence += 1
        size = 6
        self.subject.publish(
            self.version.HostReport(
                host=self.name,
                incarnation=1,
                sequence=self.sequence,
                metric='greediness',
                supply=(4.0,) * size,
                load=(0.5 * self.sequence,) * size,
                virtual=(2.0,) * size,
                owners={owner: tuple(row) for owner, row in owners.items()},
                quotas={owner: tuple(pair) for owner, pair in quotas.items()},
                reads_quotas=self.name == 'a',
            )
        )
        self.subject.totals()

    def allocate(self, period, servers):
        given = [
            self.version.Allocation(server_id=server, cores=cores, memory_mib=memory)
            for server, (cores, memory) in servers.items()
        ]
        self.subject.send(period, self.clock.wall() + 180.0, {'a': given})

    def confirm(self, servers, heaviness):
        self.subject.confirm(self.subject.look(), servers, heaviness)

    def stop(self):
        self.subject.stop()


def names_in(scene):
    return sorted({who for who, _, _ in SCENES[scene] if who})


def hold(version, scene, wire):
    """The frames of a scene in order; `act` is the number of the act that causes them."""
    record = []
    everybody = {}
    now = {'act': 0, 'lose': 0}

    def post(sender, to, frame):
        lost, now['lose'] = now['lose'] > 0, max(now['lose'] - 1, 0)
        event = {'act': now['act'], 'from': sender, 'to': to, 'lost': lost}
        record.append(event | {'frame': base64.b64encode(frame).decode()})
        for name, one in everybody.items():
            if name != sender and to in (name, None) and not lost:
                one.transport.receive(sender, frame)

    for name in names_in(scene):
        sends = lambda to, frame, name=name: post(name, to, frame)  # noqa: E731
        everybody[name] = Participant(version, scene, name, wire, sends)
    for number, (who, what, more) in enumerate(SCENES[scene]):
        now['act'], now['lose'] = number, more.get('lose', 0)
        if what == 'tick':
            for one in everybody.values():
                one.clock.advance(1.0)
        else:
            getattr(everybody[who], what)(**more)
    return record


class Replay:
    """One participant of a recorded scene on the code of another version; the record plays the others."""

    def __init__(self, version, scene, wire, name, record):
        self.name = name
        self.sent = []  # (what was sent, what was sent in the record)
        self._scene = scene
        self._events = [e for e in record if e['from'] == name or e['to'] in (name, None)]
        self._at = 0
        self._act = 0
        self.participant = Participant(version, scene, name, wire, self._post)

    def run(self):
        for number, (who, what, more) in enumerate(SCENES[self._scene]):
            self._act = number
            if what == 'tick':
                self.participant.clock.advance(1.0)
            elif who == self.name:
                getattr(self.participant, what)(**more)
            self._deliver()
        assert self._at == len(self._events), f'{self._events[self._at]} was not sent'

    def _next(self):
        event = self._events[self._at] if self._at < len(self._events) else None
        return event if event and event['act'] == self._act else None

    def _post(self, to, frame):
        event = self._next()
        assert event and (event['from'], event['to']) == (self.name, to), (event, to, frame)
        self.sent.append((frame, base64.b64decode(event['frame'])))
        self._at += 1
        self._deliver()

    def _deliver(self):
        while (event := self._next()) and event['from'] != self.name:
            self._at += 1
            if not event['lost']:
                self.participant.transport.receive(event['from'], base64.b64decode(event['frame']))


def main(version):
    formats = sorted(version.FORMATS)
    records = {s: {wire: hold(version, s, wire) for wire in formats} for s in SCENES}
    # a frame a line, so that a difference can be read
    sys.stdout.write(json.dumps(records, indent=0).replace(',\n"', ', "') + '\n')


if __name__ == '__main__':
    main(code(EARLIER if sys.argv[1:] == ['earlier'] else TODAY))
