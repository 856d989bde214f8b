# SPDX-License-Identifier: Apache-2.0
"""Where the bid of a server comes from (rule B1), and who pays it."""

from nova_market.core.ledger.account import Account
from nova_market.core.ledger.posting import AccountId
from nova_market.core.market.bid import ABSENT, BidSource, StoredBid, first_set
from nova_market.core.market.bid_sources import bids_of, stated_bids
from nova_market.core.market.inventory import CloudServer
from nova_market.core.resource import HostName


def server(**more):
    return CloudServer(id='s', project_id='p', host=HostName('h'), vcpus=4, memory_mib=1024, **more)


def test_the_first_bid_that_is_set_wins_for_each_resource():
    """A bid of nothing is a bid."""
    assert first_set((ABSENT, 0), (5, 6), (7, ABSENT)) == (5, 0)
    assert first_set((ABSENT,), (ABSENT,)) == (ABSENT,)


def test_metadata_comes_before_hints_and_both_before_the_flavor():
    """Metadata can be changed later; the hints are those the server was made with."""
    stated = stated_bids(
        metadata={'market:bid_cpu': '1'},
        hints={'market:bid_cpu': '2', 'market:bid_memory': '3'},
        extra_specs={'market:bid_memory': '4'},
    )
    assert stated.server == (1_000_000, 3_000_000)
    assert stated.flavor == (ABSENT, 4_000_000)


def test_all_problems_of_a_servers_texts_are_named():
    """None of them stops the round, and none hides another."""
    found = bids_of(
        [server(metadata={'market:bid_cpu': 'x'}, extra_specs={'market:max_cpu': 'y'})],
        {},
        {},
    )
    assert 'metadata: market:bid_cpu' in found.notes['s']
    assert 'market:max_cpu is' in found.notes['s']
    assert found.caps[:, 0].tolist() == [4.0, 1024.0]


def test_the_stored_bid_wins_and_limits_the_server():
    """Its payer counts while it is open and of the same project."""
    own = StoredBid(
        server_id='s', project_id='p', payer=AccountId('budget:b'), cpu=9, memory=0, max_cpu=2.0
    )
    accounts = {AccountId('budget:b'): Account(id=AccountId('budget:b'), project_id='p')}
    found = bids_of(
        [server(extra_specs={'market:bid_cpu': '1', 'market:max_cpu': '3'})],
        {'s': own},
        accounts,
    )
    assert found.bids[:, 0].tolist() == [9, 0]
    assert found.source[:, 0].tolist() == [BidSource.TENANT, BidSource.TENANT]
    assert found.caps[:, 0].tolist() == [2.0, 1024.0]
    assert found.payers == ('budget:b',)


def test_a_stored_bid_leaves_to_others_what_it_does_not_set():
    """B1 is for each resource by itself: its CPU counts, and the memory is the flavor's."""
    own = StoredBid(server_id='s', project_id='p', payer=AccountId('project:p'), cpu=9, memory=None)
    found = bids_of([server(extra_specs={'market:bid_memory': '1'})], {'s': own}, {})
    assert found.bids[:, 0].tolist() == [9, 10**6]
    assert found.source[:, 0].tolist() == [BidSource.TENANT, BidSource.FLAVOR]
