# SPDX-License-Identifier: Apache-2.0
"""Hosts and aggregators of one process on one clock, and a post between them that can be late or lose.

Used by the tests of the aggregators; everything of ours in it is the real thing.
"""

import numpy as np

from nova_market.core.exchange.aggregator import Aggregator
from nova_market.core.exchange.aggregator_client import AggregatorClient
from nova_market.core.exchange.codec import from_values, to_values
from nova_market.core.exchange.messages import StateUpdate
from nova_market.core.exchange.report_bounds import unbounded
from nova_market.core.exchange.totals import add_up

METRIC = 'greediness'
TTL = 30.0
EPOCH = 'e'


class Post:
    """delay: intervals of 10 s there and back; loss: part of the messages that vanish; retransmitted: is an
    update retransmitted when no reply has come at once?"""

    def __init__(
        self,
        hosts,
        aggregators=('a',),
        delay=0,
        loss=0.0,
        seed=1,
        retransmitted=False,
        bound=unbounded,
    ):
        self.clients = {h: AggregatorClient(h, METRIC, TTL, EPOCH) for h in hosts}
        self.aggregators = {a: Aggregator(a, METRIC, TTL, EPOCH, bound=bound) for a in aggregators}
        self.chosen = tuple(aggregators)
        self.delay, self.loss, self.retransmitted = delay, loss, retransmitted
        self.messages, self.refused = [], []
        self.under_way = []
        self.rng = np.random.default_rng(seed)

    def send(self, to, message, now):
        if self.rng.random() >= self.loss:
            # through the wire's plain values, as between real hosts
            self.messages.append((to, message))
            due = now + 10.0 * self.delay / 2
            self.under_way.append((due, len(self.messages), to, to_values(message)))

    def deliver(self, now):
        """Everything that is due by now, each message at its own time."""
        while self.under_way and min(self.under_way)[0] <= now:
            when, number, to, values = min(self.under_way)
            self.under_way.remove((when, number, to, values))
            self._take(to, from_values(values), when)

    def publish(self, report, now):
        self.deliver(now)
        updates = self.clients[report.host].updates(report, self.chosen, now)
        for to, update in updates.items():
            self.send(to, update, now)
        self.deliver(now)
        if self.retransmitted:
            retransmitted = self.clients[report.host].retransmit(self.chosen)
            for to, update in retransmitted.items():
                self.send(to, update, now)
            self.deliver(now)

    def round(self, reports, now):
        """Each host publishes; what those before it could not know yet they hear in the next round."""
        for report in reports:
            self.publish(report, now)

    def totals(self, host, now):
        return self.clients[host].totals(now)

    def _take(self, to, message, now):
        if isinstance(message, StateUpdate):
            if to not in self.aggregators:
                return
            reply = self.aggregators[to].receive(message, now)
            if isinstance(reply, str):
                self.refused.append(reply)
            else:
                self.send(message.host, reply, now)
        else:
            reason = self.clients[to].receive(message, now)
            if reason:
                self.refused.append(reason)


class BroadcastPost:
    """What Post does, by add_up over everybody's last report."""

    def __init__(self, bound=unbounded):
        self.bound = bound
        self.reports = {}

    def publish(self, report, now):
        del now
        self.reports[report.host] = report

    def totals(self, host, now):
        del host, now
        return add_up(self.reports.values(), METRIC, bound=self.bound)
