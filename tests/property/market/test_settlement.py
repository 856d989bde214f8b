# SPDX-License-Identifier: Apache-2.0
"""Money under any order of confirmations, in time, late or never: rules M1, M2 and F2."""

from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.ledger.posting import ESCROW, Book, account
from nova_market.core.market.record import AllocationRecord
from nova_market.core.market.settlement import hold_postings, settlement, waiting_payers

PERIOD = 7
PAYERS = ['red', 'blue', 'green']

servers = st.lists(st.tuples(st.sampled_from(PAYERS), st.integers(0, 1000)), max_size=8)
"""Project and what it costs, of each server."""

steps = st.lists(st.sets(st.integers(0, 7)), min_size=1, max_size=4)
"""Which servers are confirmed by the end of each period."""


def record(number, project, due, confirmed):
    return AllocationRecord(
        period=PERIOD, server_id=f's{number}', project_id=project, host='a', ideal_cpu=1.0,
        actual_cpu=1.0, ideal_memory_mib=0.0, actual_memory_mib=0.0, error=0.0,
        charge_cpu=due, charge_memory=0, confirmed=confirmed,
    )  # fmt: skip


@given(servers, steps, st.sets(st.integers(0, 7)), st.booleans())
def test_each_confirmed_server_is_charged_once_and_the_rest_comes_back(
    given_servers, when, unwanted, again
):
    """again: every settlement is posted twice, as by two engines."""
    names = [account('project', project) for project in PAYERS]
    book = Book(dict.fromkeys(names, 10_000))

    def allocated(confirmed):
        return [record(n, *one, n in confirmed) for n, one in enumerate(given_servers)]

    holds = hold_postings(PERIOD, allocated(()), {})
    for hold in holds:
        book.post(hold)
    holding = {one.debit: one.amount for one in holds}
    confirmed, settled = set(), set()
    for number, new in enumerate(when):
        confirmed |= new
        last = number == len(when) - 1
        missing = {n for n in range(len(given_servers)) if n not in confirmed | unwanted}
        rows = allocated(confirmed)
        waiting = waiting_payers(rows, {}, () if last else {f's{n}' for n in missing})
        ready = {p: amount for p, amount in holding.items() if p not in waiting | settled}
        settled |= ready.keys()
        for _ in range(1 + again):
            for _, own in settlement(PERIOD, rows, {}, ready):
                for posting in own:
                    book.post(posting)
        assert sum(book.balances().values()) == 10_000 * len(names)
    for project, name in zip(PAYERS, names, strict=True):
        paid = 10_000 - book.balance(name)
        mine = [(n, due) for n, (owner, due) in enumerate(given_servers) if owner == project]
        # a server that nobody waits for may be confirmed too late
        assert paid <= sum(due for n, due in mine if n in confirmed)
        assert paid >= sum(due for n, due in mine if n in confirmed - unwanted)
    assert book.balance(ESCROW) == 0
