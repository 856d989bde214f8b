# SPDX-License-Identifier: Apache-2.0
"""Where weights settle for what guests were seen to use: the service's own decisions, repeated.

What guests get depends on more than weights: their monitors, the service and the machine take their part. So
an experiment is compared with the model at the use that was measured, of which only the division between
the guests that burn on host a is left open. A host's supply is what its guests used together: on each, one
burns, and the service takes off what the rest of the machine uses.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nova_market.core.exchange.messages import HostReport
from nova_market.core.exchange.totals import add_up
from nova_market.core.fairness.round import (
    FairnessSettings,
    Weighing,
    decide,
    partial_sums,
    view_of,
    weigh,
)
from nova_market.core.host.load import Measurement
from nova_market.core.host.sample import CPU_SHARES_V1, Guest, HostSample, HostSupply
from nova_market.core.resource import GuestId, HostName, OwnerId, vector

ROUNDS = 100
"""Of the controller, which settles in 30."""

MEMORY = 1 << 32
"""Bytes of a host; memory is not in the metric."""


def settled_shares(
    guests: Mapping[str, tuple[str, str]], cores: Mapping[str, float], burning: tuple[str, ...]
) -> dict[str, float]:
    """Parts of each of `burning`, which are all on one host, of what they were seen to use together.

    guests: name -> (host, owner); on each host one burns. cores: what each was seen to use
    """
    settings = FairnessSettings(resources=('cpu',))
    hosts = {
        host: [name for name, (where, _) in guests.items() if where == host]
        for host in sorted({where for where, _ in guests.values()})
    }
    supply = {
        host: HostSupply(cores=sum(cores[n] for n in names), memory_bytes=MEMORY)
        for host, names in hosts.items()
    }
    together = sum(cores[name] for name in burning)
    shares = dict.fromkeys(burning, 1 / len(burning))
    contested = guests[burning[0]][0]
    totals = add_up(
        [
            _report(host, supply[host], {guests[n][1]: (0.0,) for n in names})
            for host, names in hosts.items()
        ],
        settings.metric_name,
    )
    state: Mapping[Any, float] = {}
    for _ in range(ROUNDS):
        used = dict(cores) | {name: together * part for name, part in shares.items()}
        view, _ = view_of(totals, 1.0, settings)
        weighed = {
            host: weigh(_measured(names, guests, used, burning), supply[host], view, settings)
            for host, names in hosts.items()
        }
        totals = add_up(
            [
                _report(host, supply[host], partial_sums(found), found)
                for host, found in weighed.items()
            ],
            settings.metric_name,
        )
        limits = {'cpu': CPU_SHARES_V1}
        plan = decide(weighed[contested], totals, state, limits, supply[contested], settings)
        state = plan.state
        # what the kernel is given: with the least weight, which matters where the supply is small
        weights = dict(zip(hosts[contested], plan.wanted['cpu'].tolist(), strict=True))
        whole = sum(weights[name] for name in burning)
        shares = {name: weights[name] / whole for name in burning}
    return shares


def _measured(
    names: list[str],
    guests: Mapping[str, tuple[str, str]],
    used: Mapping[str, float],
    burning: tuple[str, ...],
) -> Measurement:
    """One that burns is ready all the time, however little it gets."""
    return Measurement(
        time=0.0,
        guests=tuple(
            Guest(
                id=GuestId(name),
                domain_id=1,
                name=name,
                owner=OwnerId(guests[name][1]),
                vcpus=1,
                memory_bytes=1 << 27,
            )
            for name in names
        ),
        load=np.array([vector(cpu=used[name]) for name in names]),
        ready=np.array([float(name in burning) for name in names]),
        seen=np.ones(len(names), dtype=bool),
        sample=HostSample(time=0.0, guests=()),
    )


def _report(
    host: str,
    supply: HostSupply,
    owners: Mapping[Any, tuple[float, ...]],
    weighing: Weighing | None = None,
) -> HostReport:
    nothing = vector()
    return HostReport(
        host=HostName(host),
        incarnation=1,
        sequence=1,
        metric=FairnessSettings().metric_name,
        supply=tuple(vector(cpu=supply.cores)),
        load=tuple(nothing if weighing is None else weighing.measurement.load.sum(axis=0)),
        virtual=tuple(nothing if weighing is None else weighing.virtual.sum(axis=0)),
        owners={OwnerId(owner): sums for owner, sums in owners.items()},
    )
