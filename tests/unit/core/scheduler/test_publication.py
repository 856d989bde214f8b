# SPDX-License-Identifier: Apache-2.0
"""The picture of a round: a cloud without servers has one too, and it can be read back."""

import json
from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import account
from nova_market.core.market.bid import StoredBid
from nova_market.core.market.inputs import inventory_of, round_inputs
from nova_market.core.market.inventory import CloudHost, CloudServer
from nova_market.core.market.past import Past
from nova_market.core.market.round import decide
from nova_market.core.market.settings import MarketSettings
from nova_market.core.resource import HostName
from nova_market.core.scheduler.filters import costs
from nova_market.core.scheduler.publication import scheduler_document
from nova_market.core.scheduler.snapshot import document_of, round_snapshot, snapshot_from
from tests.support.market_builders import snapshot
from tests.support.scheduler_builders import ask


def picture(world, **more):
    return round_snapshot(
        7, world, decide(world), hosts={'a': 0, 'b': 1}, vcpus=np.zeros(2), projects=['red'],
        available=np.array([5.0]), **more,
    )  # fmt: skip


def test_a_cloud_without_servers_has_a_picture():
    """Nothing is bid, in numbers of the right kind, and nobody owes anything."""
    found = picture(snapshot([(4.0, 8192.0)] * 2, []))
    assert found.bids.dtype == np.float64 and not found.bids.any()
    assert found.due.tolist() == [0.0] and found.used.shape == (2, 1)


def test_bids_add_up_on_their_host():
    """And the picture is the same after it was written and read."""
    world = snapshot([(4.0, 8192.0)] * 2, [(1, 30, 5, 4.0, 512.0), (1, 10, 0, 4.0, 512.0)])
    found = picture(world, due=np.array([9.0]), used=np.ones((2, 1)))
    assert found.bids.tolist() == [[0.0, 40.0], [0.0, 5.0]]
    again = snapshot_from(document_of(found))
    assert np.array_equal(again.demand, found.demand) and again.due.tolist() == [9.0]


def test_what_hosts_do_not_sell_is_in_the_picture():
    """B5: a server costs nothing for it, and its owner is asked for nothing there."""
    sold = np.array([[True, True], [True, False]])
    world = snapshot([(4.0, 8192.0), (4.0, 0.0)], [(0, 40, 50, 2.0, 512.0)], reserve=(1.0, 1.0))
    found = picture(replace(world, sold=sold))
    assert found.sold.tolist() == sold.tolist()
    assert costs(found, ask(), np.arange(2)).tolist() == [2.0 + 1024.0, 2.0]
    assert picture(world).sold is None


@pytest.mark.parametrize('least', [1e-303, 5e-324, 1.0])
def test_a_limit_next_to_nothing_leaves_the_picture_readable(least):
    """Whatever has let it through: one server with it would keep Nova's scheduler from reading any."""
    red, name = account('project', 'red'), HostName('h')
    bid = StoredBid(server_id='s', project_id='red', payer=red, cpu=9, memory=9, max_cpu=least)
    one = CloudServer(id='s', project_id='red', host=name, vcpus=8, memory_mib=64)
    cloud = inventory_of([CloudHost(name=name, cores=4.0, memory_mib=64.0)], [one])
    inputs = round_inputs(
        7, cloud, {'s': bid}, {red: Account(id=red, project_id='red', balance=1000)}, Past(),
        MarketSettings(host_reserve=(0.0, 0.0)), bank=0, enforced={name: ('cpu', 'memory')},
    )  # fmt: skip
    document = scheduler_document(inputs, decide(inputs.snapshot), {})
    found = snapshot_from({**json.loads(json.dumps(document, allow_nan=False)), 'age': 0.0})
    assert np.isfinite(found.demand).all()
