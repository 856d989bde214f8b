# SPDX-License-Identifier: Apache-2.0
"""Layouts for tests of the search, without limits of their own."""

import numpy as np

from nova_market.core.rebalancing.layout import NOWHERE, Layout


def unconstrained(host, bids, caps, ideal, capacity):
    """A placement where anything may move anywhere."""
    servers, hosts = len(host), capacity.shape[1]
    return Layout(
        host=host,
        bids=bids,
        caps=caps,
        ideal=ideal,
        capacity=capacity,
        size=np.zeros((1, servers)),
        room=np.ones((1, hosts)),
        movable=np.ones(servers, dtype=np.bool_),
        open=np.ones(hosts, dtype=np.bool_),
        zone=np.full(servers, NOWHERE),
        host_zone=np.zeros(hosts, dtype=np.intp),
        apart=np.full(servers, NOWHERE),
    )
