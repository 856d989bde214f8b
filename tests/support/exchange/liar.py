# SPDX-License-Identifier: Apache-2.0
"""A cloud of hosts in a fluid model, one of which reports what it likes."""

from dataclasses import dataclass, replace
from functools import cache, partial

from nova_market.core.exchange.report_bounds import CloudSize
from nova_market.core.fairness.heaviness import (
    Asset,
    DominantResource,
    Greediness,
    Greediness2016,
)
from nova_market.core.fairness.round import FairnessSettings, most_reported
from tests.support.exchange.correspondence import BroadcastPost, Post
from tests.support.fluid_host import FluidHost, presence
from tests.support.host_builders import guest

LIAR = 'liar'
METRICS = (Greediness(), Greediness2016(), Asset(), DominantResource())
SETTINGS = FairnessSettings(resources=('cpu',))
ROUNDS = 45
"""After which nothing changes any more; the last five are looked at."""


@dataclass(frozen=True)
class Layout:
    """hosts: N, the liar among them; owners: U; guests: of each host; demand: of each guest, in cores.

    Host h has guests of owners h, h + 1, ...; so some are on many hosts and with U >= N some on few.
    """

    hosts: int
    owners: int
    guests: int = 2
    demand: float = 1.0
    settings: FairnessSettings = SETTINGS

    def made(self):
        names = [LIAR, *(f'h{number}' for number in range(1, self.hosts))]
        return [
            FluidHost(
                name,
                tuple(
                    guest(f'{name}-{place}', f'o{(number + place) % self.owners}')
                    for place in range(self.guests)
                ),
                self.settings,
            )
            for number, name in enumerate(names)
        ]


@dataclass(frozen=True)
class Lie:
    """What the liar reports in place of the truth.

    sums:   owner -> partial sum; others as they are
    supply, load, virtual: times the true one
    invented: owners that it does not have, with this sum each
    quotas: owner -> quota
    """

    sums: tuple = ()
    supply: float = 1.0
    load: float = 1.0
    virtual: float = 1.0
    invented: tuple[int, float] = (0, 0.0)
    quotas: tuple = ()

    def told(self, report):
        count, amount = self.invented
        new = {f'new{number}': (amount,) for number in range(count)}
        sums = {owner: (amount,) for owner, amount in self.sums}
        return replace(
            report,
            supply=_times(report.supply, self.supply),
            load=_times(report.load, self.load),
            virtual=_times(report.virtual, self.virtual),
            owners={**report.owners, **sums, **new},
            quotas={**report.quotas, **dict(self.quotas)},
            reads_quotas=bool(self.quotas) or report.reads_quotas,
        )


TRUTH = Lie()


def _times(amounts, factor):
    return tuple(min(amount * factor, 1e24) for amount in amounts)


class Broadcast(BroadcastPost):
    """Everybody adds up everybody's last report."""

    def __init__(self, layout):
        super().__init__(partial(most_reported, settings=layout.settings))


class Aggregated(Post):
    """Aggregators that are hosts too, and learn the size of the cloud as these do."""

    def __init__(self, layout, aggregators):
        bound = partial(most_reported, settings=layout.settings)
        names = [host.name for host in layout.made()]
        super().__init__(names, tuple(names[1 : 1 + aggregators]), bound=bound)

    def totals(self, host, now):
        totals = super().totals(host, now)
        if host in self.aggregators:
            self.aggregators[host].learn(
                CloudSize(supply=totals.supply, load=totals.load, owners=totals.owner_count)
            )
        return totals


def shares(layout, lie, post, quotas=None, readers=()):
    """Owner -> the part of the CPU of the cloud that its guests have on the hosts that do not lie."""
    hosts = layout.made()
    totals = {}

    def publish(report, now):
        if report.host in readers:
            report = replace(report, quotas=quotas, reads_quotas=True)
        post.publish(lie.told(report) if report.host == LIAR else report, now)

    for host in hosts:
        publish(replace(presence(host), sequence=0), 0.0)
    for host in hosts:
        totals[host.name] = post.totals(host.name, 0.0)
    had = {}
    for number in range(ROUNDS):
        now = 10.0 * (number + 1)
        for host in hosts:
            got = host.run(now - 10.0, [layout.demand] * len(host.guests))
            if number >= ROUNDS - 5 and host.name != LIAR:
                for one, cores in zip(host.guests, got, strict=True):
                    had[one.owner] = had.get(one.owner, 0.0) + cores / 5 / layout.hosts
            publish(replace(host.report(totals[host.name]), sequence=number + 1), now)
            totals[host.name] = post.totals(host.name, now)
            host.decide(totals[host.name])
    return had


@cache
def true_shares(layout):
    return shares(layout, TRUTH, Broadcast(layout))


def moved(layout, lie, post=None):
    """By how much of the cloud the liar moves the owner that it moves most."""
    lied = shares(layout, lie, post or Broadcast(layout))
    return difference(true_shares(layout), lied)


def difference(true, lied):
    return max(abs(lied[owner] - true[owner]) for owner in true)


def extremes(layout):
    """The lies that move most, as far as we know."""
    first, last = 'o0', f'o{layout.owners - 1}'
    everybody = [f'o{number}' for number in range(layout.owners)]
    return {
        'heavy': Lie(sums=((first, 1e24),)),
        'light': Lie(sums=((last, -1e24),)),
        'all heavy but one': Lie(sums=tuple((owner, 1e24) for owner in everybody[1:])),
        'huge': Lie(supply=1e24),
        'nothing': Lie(supply=0.0),
        'huge and heavy': Lie(supply=1e24, load=1e24, sums=((first, 1e24),)),
        'huge and full': Lie(supply=1e24, virtual=1e24, load=1e24),
        'a thousand owners': Lie(invented=(1000, 0.0)),
        'a thousand heavy owners': Lie(invented=(1000, 1e20)),
        'all at once': Lie(supply=1e24, sums=((first, 1e24),), invented=(1000, 0.0)),
        'no sums': Lie(sums=tuple((owner, 0.0) for owner in everybody)),
    }
