# SPDX-License-Identifier: Apache-2.0
"""Who adds up what: the same answer in every process, and little moves when hosts come and go."""

import subprocess
import sys
from collections import Counter

import pytest

from nova_market.core.exchange.rendezvous import aggregator_of, copies_of, elect, set_digest

HOSTS = tuple(f'host{n}' for n in range(10))
KEYS = tuple(f'{n:032x}' for n in range(2000))


def test_shares_are_even():
    """2,000 owners over 10 aggregators: 200 each, give or take four standard deviations."""
    counts = Counter(aggregator_of(key, HOSTS) for key in KEYS)
    assert len(counts) == 10
    assert all(abs(count - 200) < 4 * 13.5 for count in counts.values())


def test_only_the_keys_of_a_lost_aggregator_move():
    rest = tuple(host for host in HOSTS if host != 'host3')
    for key in KEYS[:500]:
        before = aggregator_of(key, HOSTS)
        assert before == 'host3' or aggregator_of(key, rest) == before


def test_the_order_of_the_list_does_not_matter():
    assert [aggregator_of(k, HOSTS) for k in KEYS[:50]] == [
        aggregator_of(k, HOSTS[::-1]) for k in KEYS[:50]
    ]
    assert set_digest(HOSTS) == set_digest(HOSTS[::-1]) != set_digest(HOSTS[1:])


@pytest.mark.clock
def test_another_process_agrees():
    """Python's own hash differs from process to process; this must not."""
    code = (
        'from nova_market.core.exchange.rendezvous import aggregator_of, elect, set_digest\n'
        f'h = {HOSTS!r}\nprint([aggregator_of(str(n), h) for n in range(20)], elect(h, 3), set_digest(h))'
    )
    printed = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=True
    ).stdout
    here = [aggregator_of(str(n), HOSTS) for n in range(20)]
    assert printed.strip() == f'{here} {elect(HOSTS, 3)} {set_digest(HOSTS)}'


def test_names_do_not_run_together():
    assert set_digest(['ab', 'c']) != set_digest(['a', 'bc'])


def test_election():
    """Named members, else as many as asked for; the loss of one that is not elected changes nothing."""
    chosen = elect(HOSTS, 3)
    assert len(chosen) == 3 and set(chosen) <= set(HOSTS)
    assert chosen == tuple(sorted(chosen))
    loser = next(host for host in HOSTS if host not in chosen)
    assert elect([host for host in HOSTS if host != loser], 3) == chosen
    survivors = set(elect([host for host in HOSTS if host != chosen[0]], 3))
    assert survivors > set(chosen[1:])
    assert elect(HOSTS, 3, ['host7', 'elsewhere']) == ('host7',)
    assert elect(HOSTS, 3, ['elsewhere']) == chosen
    assert elect(HOSTS[:2], 5) == ('host0', 'host1')
    assert elect([], 1) == ()


def test_no_aggregator_is_an_error():
    with pytest.raises(ValueError):
        aggregator_of('a', ())


@pytest.mark.parametrize(('count', 'wanted'), [(1, 3), (1, 2), (2, 3), (3, 3)])
def test_each_owner_has_several_aggregators(count, wanted):
    """All different at one place; the first are those that there were with one copy."""
    first = elect(HOSTS, count)
    copies = copies_of(first, HOSTS, wanted)
    assert copies[0] == first and len(copies) == wanted
    for place in zip(*copies, strict=True):
        assert len(set(place)) == wanted


def test_there_are_fewer_copies_where_there_are_few_hosts():
    assert copies_of(('a',), 'ab', 3) == (('a',), ('b',))
    assert copies_of(('a',), 'a', 3) == (('a',),)
    assert copies_of((), HOSTS, 3) == ((),)
    assert len(copies_of(elect(HOSTS, 4), HOSTS, 3)) == 2


def test_named_aggregators_are_copies_of_each_other():
    named = ('x', 'y', 'z')
    assert copies_of(named, HOSTS, 3, named) == (named, ('y', 'z', 'x'), ('z', 'x', 'y'))
    assert copies_of(('x', 'y'), HOSTS, 3, named) == (('x', 'y'), ('y', 'x'))
    assert copies_of(named, HOSTS, 1, named) == (named,)
