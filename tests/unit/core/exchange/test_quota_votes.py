# SPDX-License-Identifier: Apache-2.0
"""Which quotas of those that hosts have read are believed: rule H28."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.exchange.quota_tally import MAX_TOTAL, tally
from nova_market.core.exchange.quota_votes import READERS, QuotaVotes, agreed, agreed_of_all

TRUE = {'d': (10, 512), 'e': (4, -1)}
LIE = {'d': (0, 0), 'e': (-1, -1), 'new': (2**53, 2**53)}


@pytest.fixture
def changed():
    return []


@pytest.fixture
def votes(changed):
    return QuotaVotes(changed.append)


@pytest.mark.parametrize('liar', ['a', 'b', 'z'])
def test_one_of_three_that_lies_is_outvoted(votes, liar):
    """Whatever its name is, and though it alone reports some owner."""
    honest = {'a', 'b', 'z'} - {liar}
    for host in 'abz':
        votes.report(host, TRUE if host in honest else LIE)
    assert votes.believed == TRUE


def test_one_or_two_readers_are_believed(votes):
    votes.report('b', TRUE)
    assert votes.believed == TRUE
    votes.report('a', LIE)
    assert votes.believed == {'d': (0, 0), 'e': (4, -1), 'new': LIE['new']}


def test_a_liar_may_read_owners_that_nobody_else_reads(votes):
    """It is not believed of these from the third reader on, and is again when one of the three is gone."""
    for host in 'ab':
        votes.report(host, {'d': (10, 512)})
    votes.report('liar', LIE)
    assert votes.believed == {'d': (10, 512)}
    votes.forget('a')
    assert votes.believed.keys() == LIE.keys()


quotas = st.dictionaries(
    st.sampled_from('def'),
    st.tuples(st.integers(-1, 5), st.integers(-1, 5)),
)


@given(st.lists(st.tuples(st.sampled_from('abcd'), quotas), max_size=20))
def test_what_is_believed_is_what_broadcast_believes(reports):
    """After any history; each owner whose quota changes is announced."""
    announced = []
    votes, last = QuotaVotes(announced.append), {}
    for host, stated in reports:
        before = dict(votes.believed)
        announced.clear()
        votes.report(host, stated)
        last[host] = stated
        assert votes.believed == agreed_of_all(last.values())
        names = before.keys() | votes.believed.keys()
        moved = {name for name in names if before.get(name) != votes.believed.get(name)}
        assert set(announced) == moved
    for host in list(last):
        votes.forget(host)
    assert votes.believed == {}


@given(st.lists(st.tuples(st.integers(-1, 50), st.integers(-1, 50)), min_size=2), st.data())
def test_one_liar_of_three_or_more_moves_a_quota_within_what_others_read(honest, data):
    lie = data.draw(st.tuples(st.integers(-1, 2**53), st.integers(-1, 2**53)))
    found = agreed([*honest, lie], len(honest) + 1)
    for amount, read in zip(found, zip(*honest, strict=True), strict=True):
        finite = [2**60 if one < 0 else one for one in read]
        assert min(finite) <= (2**60 if amount < 0 else amount) <= max(finite)


def test_three_are_asked_and_first_those_that_have_read_something(votes):
    for host in 'abcde':
        votes.reads(host, reads=True)
    assert [host for host in 'abcde' if votes.is_asked(host)] == list('abc')
    votes.report('e', TRUE)
    assert [host for host in 'abcde' if votes.is_asked(host)] == list('abe')
    votes.reads('b', reads=False)
    assert [host for host in 'abcde' if votes.is_asked(host)] == list('ace')


def test_what_enough_have_read_is_not_asked_for(votes):
    for number in range(READERS):
        votes.report(f'h{number}', {'d': (1, 1)})
    assert votes.asked('new', (), ['d', 'e']) == ('e',)
    assert votes.asked('h0', ('e',), ['d', 'e']) == ('d',), 'it goes on, and reads its own unasked'


def test_a_tally_fits_into_every_format():
    """2,100 quotas of 2^53 did not."""
    owners = [f'o{number}' for number in range(2100)]
    found = tally(owners, dict.fromkeys(owners, (2**53, 2**53)))
    assert found.total == (MAX_TOTAL, MAX_TOTAL)
