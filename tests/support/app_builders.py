# SPDX-License-Identifier: Apache-2.0
"""Applications for tests of scaling policies: one or several, with everything that a test does not name."""

import numpy as np

from nova_market.core.app.policies.policy_interface import (
    Backlog,
    Band,
    Deadlines,
    MarketState,
    PolicyInput,
    PolicyState,
)


def row(values, count):
    """A number for all, or a number each."""
    return np.broadcast_to(np.asarray(values, dtype=float), (count,)).copy()


def pair(cpu, memory, count):
    return np.stack([row(cpu, count), row(memory, count)])


def market(price=(10.0, 0.0), capacity=(100.0, 1000.0), idle=(0.0, 1000.0), reserve=(0.0, 0.0)):
    return MarketState(**{k: np.array(v, dtype=float) for k, v in locals().items()})


def applications(rows=1, **given):
    """CPU only by default: memory has neither a price nor a bid."""
    known = {
        'market': market(),
        'state': PolicyState.RUNNING,
        'count': 1,
        'least_count': 1,
        'most_count': 100,
        'bid': (100.0, 0.0),
        'allocation': (10.0, 0.0),
        'least': (1.0, 0.0),
        'most': (20.0, 0.0),
        'change': (0.0, 0.0),
        'budget': 1e6,
        'performance': 0.9,
        'reference': 0.9,
        'low': 0.75,
        'high': 1.0,
    } | given
    whole = {
        n: row(known.pop(n), rows).astype(np.int64)
        for n in ('state', 'count', 'least_count', 'most_count')
    }
    pairs = {n: pair(*known.pop(n), rows) for n in ('bid', 'allocation', 'least', 'most', 'change')}
    band = Band(**{n: row(known.pop(n), rows) for n in ('performance', 'reference', 'low', 'high')})
    if 'deadlines' in known:
        remaining, left = known.pop('deadlines')
        known['deadlines'] = Deadlines(remaining=row(remaining, rows), left=row(left, rows))
    if 'backlog' in known:
        waiting, busy, lost = known.pop('backlog')
        known['backlog'] = Backlog(
            waiting=row(waiting, rows).astype(np.int64),
            busy=row(busy, rows).astype(np.int64),
            lost=row(lost, rows).astype(bool),
        )
    known['budget'] = row(known['budget'], rows)
    return PolicyInput(**whole, **pairs, band=band, **known)
