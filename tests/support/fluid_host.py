# SPDX-License-Identifier: Apache-2.0
"""A fluid model of a host: each busy VM has its weighted max-min share of the CPU, at once and exactly."""

import numpy as np

from nova_market.core.fairness.round import decide, partial_sums, view_of, weigh
from nova_market.core.host.load import measure, supply_vector
from nova_market.core.host.sample import CPU_SHARES_V1
from nova_market.core.share import fair_shares
from tests.support.host_builders import report, sample, supply


class FluidHost:
    """One core shared by weight; demand is cores wanted per guest."""

    def __init__(self, name, guests, settings, supply_values=None):
        self.name, self.guests, self.settings = name, guests, settings
        self.supply = supply_values or supply()
        self.used = np.zeros(len(guests))
        self.ready = np.zeros(len(guests))
        self.weights = np.full(len(guests), 1024.0)
        self.measurement, self.state, self.plan = None, {}, None

    def run(self, now, demand, interval=10.0):
        wanted = np.array(demand, dtype=float)
        share = fair_shares(self.weights, wanted, self.supply.cores)
        self.used += share * interval
        # whoever gets less than he wants always has something to run
        self.ready += np.where(share < wanted, 1.0, np.minimum(wanted, 1.0)) * interval
        pairs = zip(self.guests, self.used, strict=True)
        seen = sample(now + interval, *pairs, ready=self.ready.tolist())
        self.measurement = measure(self.measurement, seen, self.supply)
        return share

    def report(self, totals):
        view, _ = view_of(totals, 1.0, self.settings)
        self.weighing = weigh(self.measurement, self.supply, view, self.settings)
        return report(
            self.name,
            supply=tuple(self.weighing.supply),
            load=tuple(self.measurement.load.sum(axis=0)),
            virtual=tuple(self.weighing.virtual.sum(axis=0)),
            owners=partial_sums(self.weighing),
        )

    def decide(self, totals):
        limits = {'cpu': CPU_SHARES_V1}
        self.plan = decide(self.weighing, totals, self.state, limits, self.supply, self.settings)
        self.state = self.plan.state
        self.weights = self.plan.wanted['cpu'].astype(float)


def presence(host):
    owners = {g.owner: (0.0,) for g in host.guests}
    return report(host.name, supply=tuple(supply_vector(host.supply)), owners=owners)
