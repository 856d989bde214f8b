# SPDX-License-Identifier: Apache-2.0
"""Which of several replies counts, and which is wrong: rule H33."""

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.exchange.comparison import LEFT, ROUNDS, Comparison, Part, difference
from nova_market.core.exchange.messages import CloudPart, Vectors
from nova_market.core.exchange.quota_tally import QuotaTally
from nova_market.core.exchange.validation import MAX_OWNERS


def cloud(supply=10.0, **changes):
    values = {
        'hosts': 10,
        'owner_count': 20,
        'vectors': Vectors(supply=(supply,) * 6, load=(5.0,) * 6, virtual=(20.0,) * 6),
        'tally': QuotaTally(known=(2, 2), total=(30, 40), largest=(20, 30)),
    }
    return CloudPart(**(values | changes))


def part(name, total=1.0, **changes):
    values = {
        'others': {'d': (total,)},
        'cloud': cloud(),
        'usable': True,
        'older': 0,
        'carried': 0.0,
    }
    return Part(aggregator=name, **(values | changes))


def after(rounds, *parts, comparison=None, now=0.0):
    made = comparison or Comparison()
    for _ in range(rounds):
        found = made.agreed(parts, now)
    return found, made.verdicts


LIES = [
    {'total': 2.0},
    {'total': -1.0},
    {'others': {}},
    {'others': {'d': (1.0,), 'of this host alone': (9.0,)}},
    {'others': {'d': (1.0, 9.0)}},
    {'quotas': {'d': (1, 1)}},
    {'cloud': None},
    {'cloud': cloud(supply=1e24)},
    {'cloud': cloud(hosts=3)},
    {'cloud': cloud(owner_count=10_000)},
    {'cloud': cloud(tally=QuotaTally(known=(2, 2), total=(2**60, 40), largest=(20, 30)))},
]


@pytest.mark.parametrize('place', [0, 1, 2])
@pytest.mark.parametrize('lie', LIES, ids=lambda lie: next(iter(lie)))
def test_the_one_that_differs_from_two_that_agree_is_left(lie, place):
    """Whatever it lies about. What counts is what the two others reply, from the first round on."""
    parts = [part(name) for name in 'abc']
    parts[place] = part('abc'[place], **lie)
    found, verdicts = after(1, *parts)
    assert difference(found, part('z')) == '' and verdicts == []
    found, verdicts = after(3 * ROUNDS, *parts)
    assert [one.wrong for one in verdicts] == [('abc'[place],)]
    assert difference(found, part('z')) == ''


@given(st.floats(-1e6, 1e6), st.floats(-0.019, 0.019), st.floats(-0.019, 0.019))
def test_a_deadband_is_no_lie(total, one, other):
    """What two aggregators reply of one sum differs by 1 % each way."""
    parts = [part('a', total), part('b', total * (1 + one)), part('c', total * (1 + other))]
    assert after(2 * ROUNDS, *parts)[1] == []


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3))
def test_one_liar_moves_nothing_beyond_what_the_others_reply(totals):
    """The middle of three numbers is between any two of them."""
    found, _ = after(1, *[part(name, total) for name, total in zip('abc', totals, strict=True)])
    (middle,) = found.others['d']
    for odd in range(3):
        rest = [total for place, total in enumerate(totals) if place != odd]
        assert min(rest) <= middle <= max(rest)


@given(st.floats(0.0, 1e6), st.floats(-1e24, 1e24), st.permutations(range(3)))
def test_who_lies_about_what_one_of_the_others_has_not_got_moves_nothing_beyond(total, lie, order):
    parts = [part('a', total), part('b', lie), part('c', others={})]
    found, _ = after(1, *(parts[place] for place in order))
    assert 0.0 <= found.others['d'][0] <= total


def test_who_has_not_replied_in_time_is_not_looked_at():
    """One that never replies in time does not count for ever."""
    parts = [part('a', 9.0, usable=False), part('b'), part('c')]
    found, verdicts = after(2 * ROUNDS, *parts)
    assert found.others == {'d': (1.0,)} and verdicts == []
    assert after(1, part('a', 9.0), part('b', usable=False), part('c', usable=False))[0].others == {
        'd': (9.0,)
    }


def test_a_liar_is_left_for_an_hour():
    comparison = Comparison()
    parts = [part('a', 9.0), part('b', usable=False), part('c')]
    after(ROUNDS, part('a', 9.0), part('b'), part('c'), comparison=comparison)
    assert comparison.agreed(parts, LEFT - 1.0).others == {'d': (1.0,)}
    assert comparison.agreed(parts, LEFT).others == {'d': (9.0,)}


@pytest.mark.parametrize('late', [1, 2])
def test_a_round_in_which_another_one_is_late_does_not_save_a_liar(late):
    """Of two nobody can tell which one is wrong; the three are compared again in the next round."""
    comparison = Comparison()
    parts = [part('a', 9.0), part('b'), part('c')]
    after(ROUNDS - 1, *parts, comparison=comparison)
    two = [replace(one, usable=place != late) for place, one in enumerate(parts)]
    assert after(1, *two, comparison=comparison)[1] == []
    _, verdicts = after(1, *parts, comparison=comparison)
    assert [one.wrong for one in verdicts] == [('a',)]


def test_a_liar_that_is_left_does_not_count_either_when_the_others_are_late():
    """What the first of them has replied before does."""
    comparison = Comparison()
    after(ROUNDS, part('a', 9.0), part('b'), part('c'), comparison=comparison)
    late = [part('a', 9.0), part('b', usable=False), part('c', usable=False)]
    assert comparison.agreed(late, 0.0).others == {'d': (1.0,)}


def test_two_that_differ_are_both_named():
    """And the first one counts: nobody can tell."""
    found, verdicts = after(5 * ROUNDS, part('a'), part('b', 5.0))
    assert [one.wrong for one in verdicts] == [('a', 'b')]
    assert verdicts[0].where == 'owner d: 1 and 5'
    assert found.others == {'d': (1.0,)}


def test_three_that_all_differ_accuse_nobody():
    found, verdicts = after(5 * ROUNDS, part('a', 1.0), part('b', 5.0), part('c', 50.0))
    assert verdicts == [] and found.others == {'d': (5.0,)}


@pytest.mark.parametrize('older', [None, 1])
def test_an_aggregator_with_hosts_of_an_earlier_version_is_believed(older):
    """The others do not have what these hosts report."""
    parts = [part('a', 9.0, older=older), part('b'), part('c')]
    found, verdicts = after(2 * ROUNDS, *parts)
    assert found.others == {'d': (9.0,)} and verdicts == []


def test_who_is_left_cannot_say_that_it_has_hosts_of_an_earlier_version():
    """That would make it believed again."""
    comparison = Comparison()
    after(ROUNDS, part('a', 9.0), part('b'), part('c'), comparison=comparison)
    found = comparison.agreed([part('a', 9.0, older=1), part('b'), part('c')], 0.0)
    assert found.others == {'d': (1.0,)}


def test_what_others_reply_counts_where_the_first_has_replied_nothing():
    silent = Part(aggregator='a')
    assert after(1, silent, part('b'), part('c'))[0].others == {'d': (1.0,)}


def test_of_two_the_newer_reply_counts():
    """One that has gone back to what is not complete still shows what it replied before."""
    parts = [part('a', 9.0, carried=1.0), part('b', carried=2.0)]
    assert after(1, *parts)[0].aggregator == 'b'


def test_as_many_owners_as_a_reply_can_ask_for_are_compared_at_once():
    """Whoever asks most: an aggregator must not keep a host busy."""
    many = tuple(f'o{number}' for number in range(MAX_OWNERS))
    parts = [part('a', asked=many), part('b', asked=many[::-1]), part('c', asked=many[:2])]
    begun = time.thread_time()
    found, _ = after(1, *parts)
    assert time.thread_time() - begun < 1.0
    assert found.asked == many


def test_who_lies_in_one_place_only_is_left_too():
    """Where aggregators are named, the same ones are at each place, and each place is compared by itself."""
    comparison = Comparison()
    lies = [part('a'), part('b', 9.0), part('c')]
    true = [part('b'), part('c'), part('a')]
    for _ in range(ROUNDS):
        assert comparison.verdicts == []
        comparison.agreed(lies, 0.0)
        comparison.agreed(true, 0.0)
    assert [one.wrong for one in comparison.verdicts] == [('b',)]
