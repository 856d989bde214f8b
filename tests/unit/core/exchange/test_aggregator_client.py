# SPDX-License-Identifier: Apache-2.0
"""A host among aggregators: what it says, what it believes, and whom it gives up."""

from dataclasses import replace

import numpy as np
import pytest

from nova_market.core.exchange.aggregator_client import OTHER_EPOCH, OTHER_HOST, UNSOLICITED
from nova_market.core.exchange.aggregator_session import FULL_UPDATE_EVERY
from nova_market.core.exchange.messages import Departure, StateUpdate, TotalsReply
from nova_market.core.exchange.packed_sums import PackedSums
from nova_market.core.exchange.rendezvous import aggregator_of
from nova_market.core.exchange.report_table import STALE
from nova_market.core.exchange.totals import add_up
from tests.support.exchange.correspondence import EPOCH, METRIC, TTL, Post
from tests.support.host_builders import report


def sums(totals):
    return dict(zip(totals.owners, totals.sums[:, 0].tolist(), strict=True))


def cloud(number, hosts='abc', scale=1.0):
    """Host h has owners d and h; quotas come from a only."""
    return [
        report(
            h,
            {'d': (scale * (i + 1.0),), h: (0.5 * scale,)},
            sequence=number,
            supply=(4.0 + i / 2,) * 6,
            load=(0.5 * scale,) * 6,
            quotas={'d': (8, 512), h: (2, -1)} if h == 'a' else {},
        )
        for i, h in enumerate(hosts)
    ]


def updates(post):
    return [message for _, message in post.messages if isinstance(message, StateUpdate)]


def replies(post):
    return [message for _, message in post.messages if isinstance(message, TotalsReply)]


@pytest.mark.parametrize('aggregators', ['a', 'ab', 'abc'])
def test_aggregated_totals_are_those_of_broadcast(aggregators):
    """Of this host's owners the sums, of the cloud everything that the decision needs."""
    post = Post('abc', tuple(aggregators))
    post.round(cloud(1), 10.0)
    post.round(cloud(2), 20.0)
    full = add_up(cloud(2), METRIC)
    for i, host in enumerate('abc'):
        totals = post.totals(host, 20.0)
        assert totals.owners == tuple(sorted(['d', host]))
        assert sums(totals) == pytest.approx({'d': 6.0, host: 0.5})
        for name in ('supply', 'load', 'virtual'):
            np.testing.assert_allclose(getattr(totals, name), getattr(full, name))
        assert (totals.hosts, totals.owner_count) == (3, 4)
        assert totals.quota_tally == full.quota_tally
        assert totals.quotas['d'] == (8, 512)
        assert totals.age == 0.0, i
    assert post.refused == []


def test_own_numbers_count_at_once():
    """Whatever the transport does; what the others sent last stays."""
    post = Post('ab')
    post.round(cloud(1, 'ab'), 10.0)
    post.round(cloud(2, 'ab'), 20.0)
    post.loss = 1.0
    post.publish(report('b', {'d': (7.0,), 'new': (1.0,)}, sequence=3, supply=(5.0,) * 6), 30.0)
    totals = post.totals('b', 30.0)
    assert sums(totals) == {'d': 8.0, 'new': 1.0}
    assert totals.supply[0] == 9.0
    assert (totals.hosts, totals.owner_count) == (2, 4)
    assert totals.age == 10.0


def test_before_the_first_answer_the_host_is_alone_and_its_totals_are_old():
    post = Post('ab', loss=1.0)
    assert post.totals('b', 5.0).age > TTL
    post.round(cloud(1, 'ab'), 10.0)
    totals = post.totals('b', 20.0)
    assert totals.hosts == 1 and sums(totals) == {'b': 0.5, 'd': 2.0}
    assert totals.age > TTL


def test_without_aggregators_the_host_is_alone():
    post = Post('a', ())
    post.round(cloud(1, 'a'), 10.0)
    assert post.messages == [] and post.totals('a', 10.0).hosts == 1


def test_old_answers_are_forgotten():
    """After `ttl` seconds the host is alone again, as with broadcast."""
    post = Post('ab')
    for n in (1, 2):
        post.round(cloud(n, 'ab'), 10.0 * n)
    post.loss = 1.0
    assert post.totals('b', 50.0).hosts == 2 and post.totals('b', 50.0).age == 30.0
    totals = post.totals('b', 50.1)
    assert totals.hosts == 1 and totals.owner_count == 2 and totals.age > TTL


def test_age_counts_from_when_the_statement_was_published():
    post = Post('ab', delay=2)
    for n in range(1, 6):
        post.round(cloud(n, 'ab'), 10.0 * n)
    # there and back take 20 s: the answer at 50 is to what was sent at 30
    assert post.totals('b', 50.0).age == 20.0


def test_what_is_unchanged_is_not_sent():
    """Neither by hosts nor by aggregators; a heartbeat is sent in every interval."""
    post = Post('abc')
    for n in range(1, 5):
        post.round(cloud(n), 10.0 * n)
    post.messages.clear()
    post.round(cloud(5, scale=1.005), 50.0)
    assert len(updates(post)) == len(replies(post)) == 3
    for message in updates(post) + replies(post):
        assert message.owners == {}
        assert not message.quotas
    assert all(message.vectors is None for message in updates(post))
    assert all(message.cloud is None for message in replies(post))
    post.round(cloud(6, scale=1.02), 60.0)
    assert all(len(message.owners) == 2 for message in updates(post)[3:])


def test_a_whole_statement_every_tenth():
    post = Post('a')
    for n in range(1, 3 * FULL_UPDATE_EVERY + 1):
        post.round(cloud(n, 'a'), 10.0 * n)
    full = [message.sequence for message in updates(post) if message.full]
    assert full == [1, 11, 21]
    assert [message.sequence for message in replies(post) if message.full] == full


def test_an_owner_that_leaves_and_returns():
    post = Post('ab')
    for n in (1, 2):
        post.round(cloud(n, 'ab'), 10.0 * n)
    post.round([report('b', {'d': (2.0,)}, sequence=3), *cloud(3, 'a')], 30.0)
    assert updates(post)[-2].gone == ('b',)
    assert post.totals('a', 30.0).owner_count == 2
    post.round(cloud(4, 'ab'), 40.0)
    post.round(cloud(5, 'ab'), 50.0)
    assert sums(post.totals('b', 50.0)) == {'b': 0.5, 'd': 3.0}
    assert post.totals('b', 50.0).owner_count == 3


@pytest.mark.parametrize('delay', [0, 1, 2])
@pytest.mark.parametrize('loss', [0.0, 0.3])
def test_what_is_lost_is_sent_again(delay, loss):
    """Whatever was lost before, once a statement and its answer get through the host knows all."""
    post = Post('abc', ('a', 'b'), delay, loss)
    for n in range(1, 30):
        # numbers jump about, owners come and go
        rows = cloud(n, scale=1.0 + n % 5)
        rows[n % 3] = report('abc'[n % 3], {'d': (float(n),)}, sequence=n)
        post.round(rows, 10.0 * n)
    post.loss = 0.0
    for n in range(30, 32 + delay):
        post.round(cloud(n), 10.0 * n)
    full = add_up(cloud(1), METRIC)
    for host in 'abc':
        totals = post.totals(host, 10.0 * n)
        assert sums(totals) == pytest.approx({'d': 6.0, host: 0.5}, rel=0.02)
        np.testing.assert_allclose(totals.supply, full.supply, rtol=0.02)
        assert (totals.hosts, totals.owner_count) == (3, 4)


def test_delay_does_not_defeat_suppression():
    """Answers two intervals late: steady hosts still say nothing but heartbeats."""
    post = Post('abc', delay=2)
    for n in range(1, 9):
        post.round(cloud(n), 10.0 * n)
    post.messages.clear()
    post.round(cloud(9), 90.0)
    post.round(cloud(10), 100.0)
    assert len(updates(post)) == len(replies(post)) == 6
    assert all(message.owners == {} for message in updates(post) + replies(post))


def test_an_owner_that_leaves_and_returns_unheard():
    """The aggregator never knew, so it does not send again what it has sent: the host must not forget it."""
    post = Post('ab')
    for n in (1, 2):
        post.round(cloud(n, 'ab'), 10.0 * n)
    post.loss = 1.0
    post.round([report('b', {'b': (0.5,)}, sequence=3)], 30.0)
    post.loss = 0.0
    post.round(cloud(4, 'ab'), 40.0)
    assert sums(post.totals('b', 40.0)) == {'b': 0.5, 'd': 3.0}


def test_who_may_have_been_forgotten_says_everything_at_once():
    """The first statement that gets through after an outage is whole; nobody has to ask for it."""
    post = Post('ab')
    for n in (1, 2):
        post.round(cloud(n, 'ab'), 10.0 * n)
    post.loss = 1.0
    for n in range(3, 8):
        post.round(cloud(n, 'ab'), 10.0 * n)
    post.loss = 0.0
    post.round(cloud(8, 'ab'), 80.0)
    assert all(message.full for message in updates(post)[-2:])
    assert not any(message.resync for message in replies(post))
    assert post.totals('b', 80.0).hosts == 2 and post.totals('b', 80.0).age == 0.0


def test_a_request_that_crosses_its_fulfilment_is_not_obeyed_twice():
    """With answers two intervals late the aggregator asks twice before it gets what it asked for."""
    post = Post('b', ('x',), delay=2)
    for n in range(1, 5):
        post.round(cloud(n, 'b'), 10.0 * n)
    post.aggregators = dict(Post('', ('x',)).aggregators)
    post.messages.clear()
    for n in range(5, 12):
        post.round(cloud(n, 'b'), 10.0 * n)
    asked = [message.sequence for message in replies(post) if message.resync]
    assert len(asked) > 1
    first = asked[0] + 2
    assert [w.sequence for w in updates(post) if w.full] == [first, first + 1]


def test_an_aggregator_that_restarts_asks_for_everything():
    """Meanwhile what it sent before is used, not the sums that it is only beginning to collect."""
    post = Post('abc', ('x',))
    for n in (1, 2, 3):
        post.round(cloud(n), 10.0 * n)
    post.aggregators = dict(Post('', ('x',)).aggregators)
    for n in (4, 5):
        post.round(cloud(n), 10.0 * n)
        assert sums(post.totals('a', 10.0 * n))['d'] == 6.0
        assert post.totals('a', 10.0 * n).hosts == 3
    assert post.totals('a', 50.0).age == 20.0
    for n in (6, 7):
        post.round(cloud(n), 10.0 * n)
    assert sums(post.totals('a', 70.0))['d'] == 6.0
    assert post.totals('a', 70.0).age == 0.0
    assert post.refused == []


def test_a_shard_moves_without_a_dip():
    """The old aggregators' sums are used until the new ones' are complete: three intervals at most."""
    post = Post('abc', ('x', 'y'))
    for n in (1, 2, 3):
        post.round(cloud(n), 10.0 * n)
    del post.aggregators['y']
    post.chosen = ('x',)
    ages = []
    for n in range(4, 8):
        post.round(cloud(n), 10.0 * n)
        totals = post.totals('a', 10.0 * n)
        assert sums(totals) == pytest.approx({'a': 0.5, 'd': 6.0})
        assert (totals.hosts, totals.owner_count) == (3, 4)
        assert totals.age <= TTL
        ages.append(totals.age)
    assert ages == [10.0, 20.0, 0.0, 0.0]


def test_sums_of_a_dead_aggregator_outlive_it_until_others_are_complete():
    """They are as old as they are, so weights decay; but the host does not fall back to itself."""
    post = Post('ab', ('x', 'y'))
    for n in (1, 2, 3):
        post.round(cloud(n, 'ab'), 10.0 * n)
    del post.aggregators['x'], post.aggregators['y']
    post.round(cloud(4, 'ab'), 40.0)
    post.round(cloud(5, 'ab'), 50.0)
    post.chosen = ('z',)
    post.round(cloud(6, 'ab'), 60.0)
    before = post.totals('b', 65.0)
    assert before.hosts == 2 and before.age == 35.0 > TTL
    assert post.totals('b', 90.0).hosts == 2
    assert post.totals('b', 90.1).hosts == 1


def test_who_does_not_answer_twice_is_silent_until_it_is_back():
    """It is asked now and then with an empty statement, and comes back by answering."""
    post = Post('ab', ('x', 'y'))
    post.round(cloud(1, 'ab'), 10.0)
    y = post.aggregators.pop('y')
    for n in (2, 3):
        post.round(cloud(n, 'ab'), 10.0 * n)
        assert post.clients['b'].silent(10.0 * n) == frozenset()
    assert post.clients['b'].silent(40.0) == {'y'}
    assert post.clients['b'].unacked() == {'y'}
    post.chosen = ('x',)
    post.messages.clear()
    for n in range(4, 12):
        post.round(cloud(n, 'ab'), 10.0 * n)
        assert post.clients['b'].silent(10.0 * n) == {'y'}
    probes = [w for to, w in post.messages if to == 'y' and w.host == 'b']
    assert [message.sequence for message in probes] == [4, 7, 10]
    assert all(not message.owners and not message.full for message in probes)
    post.aggregators['y'] = y
    for n in (12, 13):
        post.round(cloud(n, 'ab'), 10.0 * n)
    assert post.clients['b'].silent(130.0) == frozenset()


def test_who_is_no_aggregator_any_more_owes_no_answer():
    post = Post('ab', ('x', 'y'))
    post.round(cloud(1, 'ab'), 10.0)
    del post.aggregators['y']
    post.round(cloud(2, 'ab'), 20.0)
    post.chosen = ('x',)
    for n in range(3, 9):
        post.round(cloud(n, 'ab'), 10.0 * n)
    assert post.clients['b'].silent(80.0) == frozenset()


def test_a_host_that_restarts_begins_anew():
    """Also when its clock has jumped back, once the aggregator has forgotten it."""
    post = Post('ab')
    for n in (1, 2):
        post.round(cloud(n, 'ab'), 10.0 * n)
    post.publish(report('b', {'z': (1.0,)}, incarnation=2, sequence=0), 30.0)
    assert updates(post)[-1].full and post.totals('b', 30.0).owner_count == 3
    post.round(cloud(3, 'a'), 40.0)
    post.publish(report('b', {'z': (3.0,)}, incarnation=1, sequence=9), 40.0)
    assert post.refused == [STALE]
    post.round(cloud(4, 'a'), 50.0)
    post.publish(report('b', {'z': (4.0,)}, incarnation=1, sequence=10), 60.0)
    assert post.refused == [STALE] and post.totals('b', 60.0).age == 0.0


def test_a_departed_host_is_out_at_the_others_next_answer():
    post = Post('ab')
    for n in (1, 2):
        post.round(cloud(n, 'ab'), 10.0 * n)
    post.aggregators['a'].leave(Departure(host='b', incarnation=1, sequence=3), 25.0)
    post.round(cloud(3, 'a'), 30.0)
    assert post.totals('a', 30.0).hosts == 1
    assert sums(post.totals('a', 30.0)) == {'a': 0.5, 'd': 1.0}


def test_answers_that_are_of_no_use():
    post = Post('ab')
    for n in (1, 2):
        post.round(cloud(n, 'ab'), 10.0 * n)
    host = post.clients['b']

    def reply(**changes):
        values = {'host': 'a', 'to': 'b', 'incarnation': 1, 'sequence': 2, 'epoch': EPOCH}
        return TotalsReply(
            **(values | {'aggregator_set': updates(post)[-1].aggregator_set} | changes)
        )

    assert host.receive(reply(), 20.0) == STALE  # heard already
    assert host.receive(reply(to='c'), 20.0) == OTHER_HOST
    assert host.receive(reply(sequence=3), 20.0) == UNSOLICITED
    assert host.receive(reply(host='c'), 20.0) == STALE
    assert host.receive(reply(epoch='f'), 20.0) == OTHER_EPOCH
    post.loss = 1.0
    post.round(cloud(3, 'ab'), 30.0)
    assert host.receive(reply(sequence=3, aggregator_set='other'), 30.0) == STALE
    assert host.receive(reply(sequence=3, owners={'d': (99.0,)}), 30.0) == ''
    assert sums(post.totals('b', 30.0))['d'] == 101.0  # and its own 2


def test_the_reader_of_quotas_serves_all():
    """One host with credentials is enough: it is asked for owners that it has no VMs of."""
    post = Post('abc', ('x', 'y'))
    for n in range(1, 5):
        asked = post.totals('c', 10.0 * n).asked
        read = dict.fromkeys((*asked, 'c'), (5, 5))
        reports = [
            report('a', {'a': (0.5,), 'd': (1.0,)}, sequence=n),
            report('b', {'b': (0.5,), 'd': (1.0,)}, sequence=n),
            report('c', {'c': (1.0,)}, sequence=n, reads_quotas=True, quotas=read),
        ]
        post.round(reports, 10.0 * n)
    assert sorted(post.totals('c', 40.0).asked) == ['a', 'b', 'd']
    assert post.totals('b', 40.0).quotas == {'b': (5, 5), 'd': (5, 5)}
    assert post.totals('b', 40.0).quota_tally.known == (4, 4)


def test_quotas_that_are_no_longer_read_are_taken_back():
    """Also when the statement that first says so is lost."""
    post = Post('ab')
    for n in (1, 2):
        post.round(cloud(n, 'ab'), 10.0 * n)
    post.loss = 1.0
    bare = report('a', {'d': (1.0,), 'a': (0.5,)}, sequence=3, load=(0.5,) * 6)
    post.round([bare], 30.0)
    post.loss = 0.0
    post.round([replace(bare, sequence=4)], 40.0)
    post.round(cloud(4, 'b'), 40.0)
    assert post.totals('b', 40.0).quotas == {}
    assert post.totals('b', 40.0).quota_tally.known == (0, 0)


def test_each_owner_is_sent_to_its_own_aggregator_only():
    post = Post('abc', ('x', 'y'))
    post.round(cloud(1), 10.0)
    for to, message in post.messages:
        if isinstance(message, StateUpdate):
            assert all(aggregator_of(owner, 'xy') == to for owner in message.owners)
            assert (message.vectors is not None) == (aggregator_of(message.host, 'xy') == to)


def test_tables_are_for_those_who_have_reported_that_they_read_them():
    """The first statement goes by name, and all to who does not answer: it may be an older version."""
    post = Post('b', ('x',))
    form = []
    for number in range(1, 12):
        owners = {digit * 32: (number + 1.0,) for digit in 'de'}
        post.publish(report('b', owners, sequence=number), 10.0 * number)
        form.append(isinstance(updates(post)[-1].owners, PackedSums))
        if number == 4:
            kept, post.aggregators = post.aggregators, {}
        elif number == 9:
            post.aggregators = kept
    assert form == [False, *[True] * 6, False, False, False, True]
    old = replace(replies(post)[-1], sequence=11, reads_numbers=False)
    session = post.clients['b']
    session.updates(report('b', {'d' * 32: (1.0,)}, sequence=12), ('x',), 120.0)
    assert session.receive(replace(old, sequence=12), 120.0) == ''
    (last,) = session.updates(report('b', {'d' * 32: (9.0,)}, sequence=13), ('x',), 130.0).values()
    assert isinstance(last.owners, dict) and last.owners == {'d' * 32: (9.0,)}


def test_quotas_that_an_aggregator_invents_are_not_kept():
    """New ones in each reply would fill the memory of the host."""
    post = Post('ab')
    post.round(cloud(1, 'ab'), 10.0)
    invented = {f'o{number}': (1, 1) for number in range(1000)}
    reply = replace(replies(post)[-1], to='b', full=False)
    post.loss = 1.0
    for number in range(2, 5):
        post.publish(cloud(number, 'ab')[1], 10.0 * number)
        told = replace(reply, sequence=number, quotas={**invented, 'd': (8, 512)})
        post.clients['b'].receive(told, 10.0 * number)
        assert post.totals('b', 10.0 * number).quotas.keys() <= {'b', 'd'}
