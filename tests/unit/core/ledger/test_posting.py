# SPDX-License-Identifier: Apache-2.0
"""Money: whole micro-credits, double entry, each posting once (M1, M2)."""

from decimal import Decimal

import pytest

from nova_market.core.ledger.money import MAX_AMOUNT, credit_text, micro_credits, split
from nova_market.core.ledger.posting import BANK, MINT, Book, Posting, Reason, account, kind_of
from nova_market.errors import BadAmount, BalanceTooLow, KeyReused

ALICE, BOB = account('project', 'alice'), account('project', 'bob')


def posting(key, debit, credit, amount):
    return Posting(key=key, reason=Reason.TRANSFER, debit=debit, credit=credit, amount=amount)


def funded(amount=100):
    book = Book()
    book.post(posting('grant', MINT, ALICE, amount))
    return book


@pytest.mark.parametrize(
    ('value', 'amount'),
    [(1, 10**6), ('0.000001', 1), (0, 0), (' 2.5 ', 2_500_000), (Decimal('1e3'), 10**9)],
)
def test_credits_become_micro_credits(value, amount):
    assert micro_credits(value, 'bid') == amount


@pytest.mark.parametrize(
    'value',
    [-1, 'NaN', float('inf'), '1e-7', 0.1234567, 2**53, 'x', '', None, True, [1], '1e999999'],
)
def test_bad_credits_are_refused_by_name(value):
    with pytest.raises(BadAmount, match='the bid is '):
        micro_credits(value, 'the bid')


def test_text_is_exact():
    for amount in (0, 1, 1_500_000, MAX_AMOUNT, 10**6):
        assert micro_credits(credit_text(amount), 'x') == amount
    assert credit_text(-1_500_000) == '-1.5'


def test_split_adds_up_and_goes_by_remainder_then_id():
    assert split(100, {'c': 1, 'a': 1, 'b': 1, 'd': 0}) == {'a': 34, 'b': 33, 'c': 33}
    assert split(10, {'a': 1, 'b': 2}) == {'a': 3, 'b': 7}
    assert split(10, {'a': 0}) == {}


def test_a_posting_moves_and_the_sum_stays():
    book = funded()
    assert book.post(posting('t', ALICE, BOB, 30))
    assert (book.balance(ALICE), book.balance(BOB), book.issued) == (70, 30, 100)
    assert sum(book.balances().values()) == 0


def test_the_same_posting_twice_changes_nothing():
    book = funded()
    assert book.post(posting('t', ALICE, BOB, 30))
    assert not book.post(posting('t', ALICE, BOB, 30))
    assert book.balance(ALICE) == 70


def test_a_key_is_not_reused_for_another_posting():
    book = funded()
    book.post(posting('t', ALICE, BOB, 30))
    with pytest.raises(KeyReused, match='key t was used for'):
        book.post(posting('t', ALICE, BOB, 31))
    assert book.balance(ALICE) == 70


def test_nobody_but_the_mint_goes_below_zero():
    book = funded(2_000_000)
    with pytest.raises(
        BalanceTooLow, match=r'project:alice has 2 credits left, 2\.000001 are needed'
    ):
        book.post(posting('t', ALICE, BOB, 2_000_001))
    assert book.balance(ALICE) == 2_000_000


def test_all_or_none():
    book = funded()
    with pytest.raises(BalanceTooLow):
        book.post_all([posting('a', ALICE, BOB, 60), posting('b', ALICE, BOB, 60)])
    assert book.balance(ALICE) == 100
    assert book.post_all([posting('a', ALICE, BOB, 60), posting('a', ALICE, BOB, 60)]) == 1


@pytest.mark.parametrize('amount', [0, -5, MAX_AMOUNT + 1])
def test_amounts_out_of_range(amount):
    with pytest.raises(BadAmount, match=f'{amount} micro-credits'):
        posting('t', ALICE, BOB, amount)


def test_to_itself():
    with pytest.raises(BadAmount, match='to itself'):
        posting('t', ALICE, ALICE, 1)


def test_account_names():
    assert account('bank') == BANK
    assert kind_of(ALICE) == 'project'
    for kind, name in (('bank', 'x'), ('project', ''), ('purse', 'x'), ('project', 'x' * 256)):
        with pytest.raises(BadAmount):
            account(kind, name)
