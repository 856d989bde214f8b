# SPDX-License-Identifier: Apache-2.0
"""Small markets for tests: hosts and servers from lists instead of arrays."""

import numpy as np

from nova_market.core.market.snapshot import MarketSnapshot

PLENTY = 10**15


def snapshot(hosts, servers, *, available=None, answering=None, last=None, **prices):
    """hosts: (cores, mib) each; servers: (host, cpu bid, memory bid, cpu cap, memory cap[, payer]) each."""
    rows = [(*server, 0)[:6] for server in servers]
    columns = list(zip(*rows, strict=True)) or [()] * 6
    count = max(columns[5], default=0) + 1
    caps = np.array(columns[3:5], dtype=float).reshape(2, len(rows))
    return MarketSnapshot(
        capacity=np.array(hosts, dtype=float).reshape(len(hosts), 2).T.copy(),
        answering=np.array(answering or [True] * len(hosts), dtype=bool),
        host=np.array(columns[0], dtype=np.intp),
        payer=np.array(columns[5], dtype=np.intp),
        bids=np.array(columns[1:3], dtype=np.int64).reshape(2, len(rows)),
        caps=caps,
        last=np.zeros_like(caps) if last is None else np.array(last, dtype=float),
        available=np.array([PLENTY] * count if available is None else available, dtype=np.int64),
        **{name: np.array(value, dtype=float) for name, value in prices.items()},
    )


def random_cloud(hosts, servers, seed=1, payers=100, wanted=1.5):
    """48-core hosts, some bigger; four flavors, the caps `wanted` times the capacity; log-normal bids."""
    rng = np.random.default_rng(seed)
    cores = rng.choice([47.0, 63.0, 95.0], hosts)
    size = rng.choice([1.0, 2.0, 4.0, 8.0], servers, p=[0.4, 0.3, 0.2, 0.1])
    size *= wanted * cores.sum() / size.sum()
    caps = np.stack([size, size * rng.choice([2048.0, 4096.0], servers)])
    bids = np.round(rng.lognormal(0.0, 1.0, (2, servers)) * 1e6 * caps / [[1.0], [4096.0]])
    payer = rng.integers(0, payers, servers)
    bids = bids.astype(np.int64)
    spent = np.bincount(payer, bids.sum(axis=0), payers)
    return MarketSnapshot(
        capacity=np.stack([cores, cores * 4096.0]),
        answering=np.ones(hosts, dtype=bool),
        host=rng.integers(0, hosts, servers),
        payer=payer,
        bids=bids,
        caps=caps,
        last=np.zeros_like(caps),
        # a tenth of the payers can pay half
        available=np.where(np.arange(payers) % 10 == 0, spent * 0.5, spent * 3).astype(np.int64),
        reserve=np.array([1000.0, 0.25]),
    )
