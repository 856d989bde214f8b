# SPDX-License-Identifier: Apache-2.0
"""R1 to R4: what goes wrong with a row stays within its boundary; an outage does not."""

import logging

import pytest

from nova_market.errors import (
    AccessLost,
    BadAmount,
    CloudUnavailable,
    Conflict,
    DatabaseUnavailable,
)
from nova_market.row_boundary import FORGOTTEN, MOST, PROBE, TRIES, RowBoundary, reason_of

pytestmark = pytest.mark.usefixtures('defects')


@pytest.fixture(name='boundary')
def _boundary(caplog):
    caplog.set_level(logging.DEBUG)
    return RowBoundary()


def lines(caplog, least=logging.INFO):
    return [(one.levelname, one.getMessage()) for one in caplog.records if one.levelno >= least]


def fail(boundary, error, row_id='a', stage='read'):
    with boundary.row('job', row_id, stage):
        raise error


def test_a_row_that_fails_is_set_aside_and_its_block_ends(boundary):
    done = []
    for name in 'abc':
        with boundary.row('job', name, 'read', 'blue'):
            if name == 'b':
                raise BadAmount('it is 7: give at most 5')
            done.append(name)
    assert done == ['a', 'c']
    (aside,) = boundary.listed()
    assert (aside.kind, aside.id, aside.stage, aside.project_id) == ('job', 'b', 'read', 'blue')
    assert aside.reason == 'it is 7: give at most 5'
    assert boundary.unread('job') == {'b'} and boundary.counted() == {'job': 1}


@pytest.mark.parametrize('outage', [DatabaseUnavailable, CloudUnavailable, AccessLost])
def test_an_outage_is_raised(boundary, outage):
    """It concerns all rows, or all of an owner."""
    with pytest.raises(outage):
        fail(boundary, outage('away'))
    assert boundary.listed() == ()


def test_who_was_slower_is_no_bad_row(boundary, caplog):
    fail(boundary, Conflict('it was changed meanwhile'))
    assert boundary.listed() == () and lines(caplog) == []


def test_it_is_logged_once_and_once_more_when_it_is_handled_again(boundary, caplog):
    """A defect with its traceback; numbers and ids in it are no news."""
    for number in range(3):
        fail(boundary, ValueError(f'no {number} in 00000000-0000-4000-8000-00000000000{number}'))
        boundary.turn()
    (one,) = [one for one in caplog.records if one.levelno >= logging.INFO]
    assert one.levelno == logging.ERROR and one.exc_info
    assert one.getMessage() == 'job a is set aside (read), all others go on'
    assert [one.reason[:16] for one in boundary.listed()] == ['ValueError: no 0']
    with boundary.row('job', 'a', 'read'):
        pass
    assert lines(caplog)[1:] == [('INFO', 'job a is handled again (read)')]
    assert boundary.listed() == () and boundary.counted() == {'job': 1}


def test_another_trouble_is_news(boundary, caplog):
    fail(boundary, BadAmount('too much'))
    fail(boundary, BadAmount('too little'))
    assert [level for level, _ in lines(caplog)] == ['WARNING', 'WARNING']
    assert [one.reason for one in boundary.listed()] == ['too little']


def test_each_stage_is_by_itself(boundary):
    """That a row can be read does not show that it can be paid."""
    fail(boundary, BadAmount('x'), stage='pay')
    with boundary.row('job', 'a', 'read'):
        pass
    assert [one.stage for one in boundary.listed()] == ['pay']
    assert boundary.at('pay') and not boundary.at('read')
    boundary.works('job', 'a', 'read', 'pay')
    assert boundary.listed() == ()


def test_one_bad_item_of_a_batch_does_not_keep_the_others_from_being_written(boundary):
    """Which is written whole while nothing fails."""
    calls = []

    def write(items):
        calls.append(list(items))
        if 3 in items:
            raise OverflowError('3')
        return [2 * one for one in items]

    assert boundary.batch('job', [1, 2], str, 'write', write) == [2, 4]
    assert boundary.batch('job', [1, 3, 2], str, 'write', write) == [2, 4]
    assert calls == [[1, 2], [1, 3, 2], [1], [3], [2]]
    assert [one.id for one in boundary.listed()] == ['3']
    assert boundary.batch('job', [], str, 'write', write) == []


def test_a_value_that_cannot_be_made_is_another_one(boundary):
    assert boundary.value('job', 'a', 'weigh', lambda: 1 // 0, 7) == 7
    assert boundary.value('job', 'a', 'weigh', lambda: 3, 7) == 3
    assert boundary.listed() == ()


class Decision:
    """Fails with any of these rows."""

    def __init__(self, *bad):
        self.bad, self.calls = set(bad), 0

    def __call__(self, ids):
        self.calls += 1
        if self.bad & set(ids):
            raise ZeroDivisionError
        return sorted(ids)


def test_a_decision_on_all_is_made_without_those_with_which_it_fails(boundary):
    """Found by halves, and left out at once afterwards."""
    ids, decide = [f'{number:03}' for number in range(100)], Decision('017', '080')
    boundary.turn()
    rest = [one for one in ids if one not in decide.bad]
    assert boundary.largest('job', ids, 'choose', decide) == rest
    assert decide.calls < 40
    assert [one.id for one in boundary.listed()] == ['017', '080']
    decide.calls = 0
    boundary.turn()
    assert boundary.largest('job', ids, 'choose', decide) == rest and decide.calls == 1


def test_who_was_left_out_of_a_decision_takes_part_again_when_that_works(boundary):
    decide = Decision('b')
    boundary.turn()
    boundary.largest('job', 'abc', 'choose', decide)
    decide.bad = set()
    found = []
    for _ in range(PROBE):
        boundary.turn()
        found.append(boundary.largest('job', 'abc', 'choose', decide))
    assert found[0] == ['a', 'c'] and found[-1] == ['a', 'b', 'c']
    assert boundary.listed() == ()


@pytest.mark.parametrize('number', [0, 2, 10_000])
def test_a_decision_that_fails_without_any_row_is_no_row_s_fault(boundary, number):
    """And that is found out soon."""
    tries = []

    def decide(ids):
        tries.append(len(ids))
        raise ValueError('no prices')

    with pytest.raises(ValueError, match='no prices'):
        boundary.largest('job', list(map(str, range(number))), 'choose', decide)
    assert len(tries) <= TRIES + 1 and boundary.listed() == ()


def test_a_decision_that_fails_with_each_of_many_rows_is_a_defect(boundary):
    """Not a decision for nobody."""

    def decide(ids):
        if ids:
            raise ValueError('no prices')
        return []

    with pytest.raises(ValueError, match='no prices'):
        boundary.largest('job', list(map(str, range(1000))), 'choose', decide)
    assert boundary.listed() == ()
    assert boundary.largest('job', ['a'], 'choose', decide) == []
    assert [one.id for one in boundary.listed()] == ['a']


def test_any_number_of_bad_rows_takes_so_many_decisions_and_no_more(boundary, caplog):
    """In each turn; who could not be tried waits for the next one, and the others are decided on."""
    ids = [f'{number:03}' for number in range(400)]
    decide = Decision(*ids[::2])
    for _ in range(PROBE - 1):
        boundary.turn()
        decide.calls = 0
        chosen = boundary.largest('job', ids, 'choose', decide)
        assert decide.calls <= TRIES and not decide.bad & set(chosen)
    assert chosen == ids[1::2] and boundary.count('job') == 200
    boundary.turn()
    decide.calls = 0
    assert boundary.largest('job', ids, 'choose', decide) == ids[1::2], (
        'the bad ones are tried last'
    )
    assert decide.calls <= TRIES
    assert any('could not be tried' in line for _, line in lines(caplog))


def test_what_is_gone_is_forgotten(boundary):
    """But not what cannot be read, which nobody has seen to be gone."""
    fail(boundary, BadAmount('x'), 'a', 'read')
    fail(boundary, BadAmount('x'), 'b', 'pay')
    fail(boundary, BadAmount('x'), 'c', 'pay')
    boundary.keep('job', ['c'])
    assert [one.id for one in boundary.listed()] == ['a', 'c']
    for _ in range(FORGOTTEN):
        boundary.turn()
        fail(boundary, BadAmount('x'), 'c', 'pay')
    assert boundary.count('job') == 2
    boundary.turn()
    assert [one.id for one in boundary.listed()] == ['c']


def test_so_many_are_listed_and_no_more(boundary, caplog):
    """In what is kept and logged; of none it is forgotten that it is there."""
    for number in range(MOST + 5):
        fail(boundary, BadAmount('x'), str(number))
    assert len(boundary.listed()) == MOST == len(lines(caplog))
    assert boundary.count('job') == len(boundary.unread('job')) == MOST + 5


def test_what_is_shown_of_a_row_is_text_that_everybody_can_take(boundary):
    """Whatever its name and its error are; it is found by its own name."""
    name = 'a\x00\ud800\u202e' + 'x' * 1000
    with boundary.row('server', name, 'read', 'blue\n'):
        raise ValueError('\x00\u202e')
    (one,) = boundary.listed()
    assert one.id.startswith('a   x') and len(one.id) == 255
    assert (one.reason, one.project_id) == ('ValueError:   ', 'blue ')
    assert boundary.unread('server') == {name}
    boundary.works('server', name, 'read')
    assert boundary.listed() == ()


def test_a_reason_is_one_line(boundary):
    """Of a defect with its class."""
    assert reason_of(KeyError('state')) == "KeyError: 'state'"
    assert reason_of(BadAmount('one\ntwo')) == 'one'
    assert reason_of(ValueError()) == 'ValueError: '
    assert len(reason_of(ValueError('x' * 10_000))) <= 300
