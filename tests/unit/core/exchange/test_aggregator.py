# SPDX-License-Identifier: Apache-2.0
"""The sums of an aggregator, statement by statement. Answers hold what the others add to the asker's own."""

import itertools

import numpy as np
import pytest

from nova_market.core.exchange.aggregator import TOO_MANY_OWNERS, Aggregator
from nova_market.core.exchange.codec import from_values, to_values
from nova_market.core.exchange.messages import Departure, StateUpdate, TotalsReply, Vectors
from nova_market.core.exchange.packed_sums import NOBODY, PackedSums, owner_list, pack
from nova_market.core.exchange.quota_tally import QuotaTally
from nova_market.core.exchange.report_bounds import CloudSize
from nova_market.core.exchange.report_table import OTHER_METRIC, STALE, TOO_MANY_HOSTS

TTL = 30.0
SIZE = CloudSize(supply=np.zeros(6), load=np.zeros(6), owners=1)


def aggregator(**changes):
    values = {'host': 'x', 'metric': 'greediness', 'ttl': TTL, 'epoch': 'e'}
    return Aggregator(**(values | changes))


def vectors(number):
    return Vectors(supply=(number,) * 6, load=(number / 2,) * 6, virtual=(2 * number,) * 6)


def update(host, sequence=1, owners=None, **changes):
    values = {
        'host': host,
        'incarnation': 1,
        'sequence': sequence,
        'metric': 'greediness',
        'epoch': 'e',
        'aggregator_set': 'r',
        'full': sequence == 1,
        'owners': owners or {},
    }
    return StateUpdate(**(values | changes))


def sums(reply):
    assert isinstance(reply, TotalsReply), reply
    return {owner: total[0] for owner, total in reply.owners.items()}


def test_an_answer_holds_what_the_others_add_to_the_hosts_own_owners():
    one = aggregator()
    one.receive(update('a', owners={'d': (1.0,), 'e': (2.0,)}, vectors=vectors(1.0)), 0.0)
    reply = one.receive(update('b', owners={'d': (0.5,), 'f': (4.0,)}, vectors=vectors(3.0)), 1.0)
    assert (reply.host, reply.to, reply.version) == ('x', 'b', (1, 1))
    assert sums(reply) == {'d': 1.0, 'f': 0.0}
    assert reply.cloud.hosts == 1
    assert reply.cloud.owner_count == 3
    assert reply.cloud.vectors == vectors(1.0)


def test_only_what_the_host_may_not_know_is_sent():
    """A sum is sent until the host has acknowledged it, and again when it has moved by more than 1 %."""
    one = aggregator()
    owners = {'d': (1.0,), 'e': (100.0,)}
    assert set(sums(one.receive(update('a', owners=owners), 0.0))) == {'d', 'e'}
    assert set(sums(one.receive(update('a', 2), 1.0))) == {'d', 'e'}
    assert sums(one.receive(update('a', 3, acked=2), 2.0)) == {}
    one.receive(update('b', owners={'d': (0.5,)}), 3.0)
    assert sums(one.receive(update('a', 4, acked=3), 4.0)) == {'d': 0.5}
    assert sums(one.receive(update('a', 5, acked=3), 5.0)) == {'d': 0.5}
    one.receive(update('b', 2, owners={'d': (0.504,)}), 6.0)
    assert sums(one.receive(update('a', 6, {'d': (9.0,)}, acked=4), 6.0)) == {}
    one.receive(update('b', 3, owners={'d': (0.506,)}), 7.0)
    reply = one.receive(update('a', 7, acked=6), 7.0)
    assert sums(reply) == {'d': pytest.approx(0.506)} and not reply.full


def test_steps_too_small_to_say_add_up():
    """What is compared is what was sent, not what was the last time."""
    one = aggregator()
    one.receive(update('a', owners={'d': (1.0,)}), 0.0)
    one.receive(update('b', owners={'d': (1.0,)}), 0.0)
    sent = []
    for n in range(2, 12):
        one.receive(update('b', n, owners={'d': (1.0 + 0.004 * n,)}), 0.0)
        reply = one.receive(update('a', n, acked=n - 1), 0.0)
        sent.extend(sums(reply).values())
    assert sent == [1.008, 1.02, 1.032, 1.044]


def test_the_cloud_is_sent_again_when_it_changes():
    one = aggregator()
    assert one.receive(update('a', vectors=vectors(1.0)), 0.0).cloud.hosts == 0
    assert one.receive(update('a', 2), 1.0).cloud.hosts == 0  # not heard yet
    assert one.receive(update('a', 3, acked=1), 2.0).cloud is None
    one.receive(update('b', vectors=vectors(1.0)), 3.0)
    assert one.receive(update('a', 4, acked=3), 4.0).cloud.hosts == 1
    assert one.receive(update('a', 5, acked=4), 5.0).cloud is None
    one.receive(update('b', 2, vectors=vectors(1.2)), 6.0)
    assert one.receive(update('a', 6, acked=5), 6.0).cloud.vectors.supply[0] == pytest.approx(1.2)


def test_changes_replace_and_the_gone_go():
    one = aggregator()
    one.receive(update('a', owners={'d': (1.0,), 'e': (1.0,)}), 0.0)
    one.receive(update('b', owners={'d': (1.0,), 'e': (1.0,)}), 0.0)
    one.receive(update('a', 2, owners={'d': (5.0,)}, gone=('e', 'unknown')), 1.0)
    reply = one.receive(update('c', owners={'d': (0.0,), 'e': (0.0,)}), 2.0)
    assert sums(reply) == {'d': 6.0, 'e': 1.0}
    reply = one.receive(update('a', 3, full=True), 3.0)
    assert reply.full and sums(reply) == {}
    reply = one.receive(update('c', 2, full=True, owners={'d': (0.0,), 'z': (1.0,)}), 4.0)
    assert sums(reply) == {'d': 1.0, 'z': 0.0}
    assert sums(one.receive(update('b', 2), 5.0)) == {'d': 0.0, 'e': 0.0}


def test_sums_do_not_drift():
    """What a thousand changes of awkward size leave behind is small beside them, and gone in time."""
    one = aggregator()
    one.receive(update('b', owners={'d': (0.1, 0.3)}, vectors=vectors(0.1)), 0.0)
    one.receive(update('a', owners={'d': (0.0, 0.0)}), 0.0)
    asked = {'owners': {'d': (0.0, 0.0)}, 'full': True}
    for n in range(2, 1000):
        big = 1e6 / n if n % 2 else 1e-3 / n
        numbers = {'d': (big, 3.3 * big)}
        one.receive(update('a', n, owners=numbers, vectors=vectors(big)), 0.0)
    one.receive(update('b', 2), 20.0)
    one.receive(update('a', 1000, owners={'d': (0.0, 0.0)}, vectors=vectors(0.0)), 20.0)
    reply = one.receive(update('c', 1, **asked), 29.9)
    assert reply.owners['d'] == pytest.approx((0.1, 0.3), abs=1000 * 2.0**-52 * 1e6)
    assert reply.owners['d'] != (0.1, 0.3), 'or this test tests nothing'
    reply = one.receive(update('c', 2, **asked), 30.0)
    assert reply.owners['d'] == (0.1, 0.3)
    assert reply.cloud.vectors == vectors(0.1)


def test_who_is_alone_has_nothing_elsewhere():
    """Not a rounding: from 0 everything is a change. Nor is there ever less than nothing in the cloud."""
    rng, sequence, one = np.random.default_rng(1), itertools.count(1), aggregator()

    def tell(host, owners, supply):
        sent = {'owners': {o: (v,) for o, v in owners.items()}, 'vectors': vectors(supply)}
        return one.receive(update(host, next(sequence), full=True, **sent), 0.0)

    for _ in range(100):
        first, second, third = (10.0 ** rng.uniform(-3, 3, size=3)).tolist()
        tell('a', {'d': first, 'e': first}, first)
        tell('b', {'d': second}, second)
        assert sums(tell('a', {'d': third, 'e': third}, third))['e'] == 0.0
        one.leave(departure('b', sequence=next(sequence)), 0.0)
        reply = tell('a', {'d': third}, third)
        assert from_values(to_values(reply)) == reply
        one.leave(departure('a', sequence=next(sequence)), 0.0)
        assert sums(tell('c', {'f': first}, first)) == {'f': 0.0}, 'in the place of another owner'
        one.leave(departure('c', sequence=next(sequence)), 0.0)


def test_the_order_of_arrival_hardly_matters():
    """Aggregators that took over from each other say the same but for rounding."""
    for order in ('abc', 'cba', 'bac'):
        one = aggregator()
        values = {'a': 1e6, 'b': -1e6, 'c': 0.1}
        for host in order:
            one.receive(update(host, owners={'d': (values[host],)}), 0.0)
        found = one.receive(update('z', owners={'d': (0.0,)}), 1.0).owners['d']
        assert found == pytest.approx((0.1,), abs=3 * 2.0**-52 * 1e6)


def test_what_no_answer_brought_is_told_until_one_comes():
    """However many answers are lost; an owner that has not changed again is told by the first that comes."""
    one = aggregator()
    one.receive(update('b', owners=dict.fromkeys('de', (1.0,))), 0.0)
    one.receive(update('a', owners=dict.fromkeys('de', (0.0,))), 0.0)
    for n in range(2, 40):
        one.receive(update('b', n, owners={'d': (float(n),)}), 0.0)
        assert sums(one.receive(update('a', n, acked=-1), 0.0)) == {'d': float(n), 'e': 1.0}
    assert sums(one.receive(update('a', 40, acked=38), 0.0)) == {'d': 39.0}
    assert sums(one.receive(update('a', 41, acked=40), 0.0)) == {}


def test_who_is_not_known_is_asked_for_everything():
    """After a restart of the aggregator, of the host, or when the aggregators have changed."""
    one = aggregator()
    assert one.receive(update('a', 7), 0.0).resync
    one.receive(update('a', 8, owners={'d': (1.0,)}, full=True), 1.0)
    assert not one.receive(update('a', 9), 2.0).resync
    assert one.receive(update('a', 10, aggregator_set='other'), 3.0).resync
    assert one.receive(update('a', 1, incarnation=2, full=False), 4.0).resync
    assert sums(one.receive(update('b', owners={'d': (5.0,)}), 5.0)) == {'d': 1.0}


def test_a_late_whole_statement_is_no_ground_for_changes_to_a_newer_one():
    """It came to an aggregator that has started anew; the host knows that more has arrived since."""
    one = aggregator()
    one.receive(update('a', owners={'d': (1.0,)}), 0.0)
    assert one.receive(update('a', 3, acked=2), 1.0).resync
    assert not one.receive(update('a', 4, {'e': (2.0,)}, full=True, acked=2), 2.0).resync
    assert not one.receive(update('a', 5, acked=4), 3.0).resync
    assert sums(one.receive(update('b', owners={'d': (0.0,), 'e': (0.0,)}), 4.0)) == {
        'd': 0.0,
        'e': 2.0,
    }


def test_a_silent_host_dies_after_its_time_and_no_sooner():
    one = aggregator()
    one.receive(update('a', owners={'d': (1.0,)}, vectors=vectors(1.0)), 0.0)
    reply = one.receive(update('b', owners={'d': (1.0,)}, vectors=vectors(1.0)), 29.9)
    assert sums(reply) == {'d': 1.0} and reply.cloud.hosts == 1
    reply = one.receive(update('b', 2, acked=1), 30.0)
    assert sums(reply) == {'d': 0.0} and reply.cloud.hosts == 0
    assert one.receive(update('a', 2), 31.0).resync


@pytest.mark.parametrize(
    ('second', 'kept'),
    [((1, 2), True), ((1, 1), False), ((1, 0), False), ((2, 0), True), ((0, 9), False)],
)
def test_versions_order_by_incarnation_then_sequence(second, kept):
    one = aggregator()
    one.receive(update('a', owners={'d': (1.0,)}), 0.0)
    incarnation, sequence = second
    late = update('a', sequence, {'d': (2.0,)}, incarnation=incarnation, full=True)
    reply = one.receive(late, 29.0)
    assert isinstance(reply, TotalsReply) if kept else reply == STALE
    there = one.receive(update('b', owners={'d': (0.0,)}), 29.0)
    assert sums(there) == {'d': 2.0 if kept else 1.0}


def test_a_refused_statement_does_not_prolong_a_life():
    """Or else a replayed one would keep a dead host alive; after that an older incarnation is taken."""
    one = aggregator()
    one.receive(update('a', incarnation=9), 0.0)
    assert one.receive(update('a', incarnation=9), 29.0) == STALE
    assert isinstance(one.receive(update('a', incarnation=3), 30.0), TotalsReply)


def test_what_is_sent_again_is_answered_again_once_and_changes_nothing():
    """Each answer may be the first that arrives, so they are the same whatever others have sent meanwhile."""
    one = aggregator()
    one.receive(update('b', owners={'d': (1.0,)}), 0.0)
    first = one.receive(update('a', owners={'d': (1.0,)}), 1.0)
    one.receive(update('b', 2, owners={'d': (5.0,)}), 2.0)
    retransmitted = update('a', owners={'d': (7.0,)}, retransmitted=True)
    assert one.receive(retransmitted, 3.0) == first
    assert one.receive(retransmitted, 4.0) == STALE
    assert sums(one.receive(update('b', 3), 5.0)) == {'d': 1.0}
    assert sums(one.receive(update('a', 2, acked=1), 6.0)) == {'d': 5.0}
    assert one.receive(retransmitted, 7.0) == STALE
    one.receive(update('a', 3), 8.0)
    one.receive(update('c', retransmitted=True), 8.0)
    one.receive(update('a', 3, retransmitted=True), 37.9)
    assert one.receive(update('a', 4), 38.0).resync, 'what is sent again prolongs no life'


def test_what_is_sent_again_counts_where_the_first_was_lost():
    one = aggregator()
    reply = one.receive(update('a', owners={'d': (1.0,)}, retransmitted=True), 0.0)
    assert sums(reply) == {'d': 0.0}
    assert sums(one.receive(update('b', owners={'d': (2.0,)}), 0.0)) == {'d': 1.0}


def test_owners_come_and_go_and_widths_grow():
    """Places of owners that are gone are used by others; a wider metric widens everything, once."""
    one = aggregator()
    for turn in range(3):
        names = [f'{turn}{n}' for n in range(5)]
        one.receive(update('a', owners=dict.fromkeys(names, (1.0,)), full=True, sequence=turn), 0.0)
        reply = one.receive(
            update('b', owners=dict.fromkeys(names, (1.0,)), full=True, sequence=turn), 0.0
        )
        assert sums(reply) == dict.fromkeys(names, 1.0)
    one.receive(update('a', 9, {'20': (1.0, 2.0), 'z': (3.0, 4.0)}), 1.0)
    reply = one.receive(update('b', 9, {'z': (0.5,)}, acked=2), 2.0)
    assert reply.owners == {
        '20': (1.0, 2.0),
        '21': (1.0, 0.0),
        '22': (1.0, 0.0),
        '23': (1.0, 0.0),
        '24': (1.0, 0.0),
        'z': (3.0, 4.0),
    }
    one.leave(departure('a', sequence=10), 3.0)
    reply = one.receive(update('b', 10, acked=9), 3.0)
    assert reply.owners == {
        '20': (0.0, 0.0),
        '21': (0.0, 0.0),
        '22': (0.0, 0.0),
        '23': (0.0, 0.0),
        '24': (0.0, 0.0),
        'z': (0.0, 0.0),
    }


def departure(host, incarnation=1, sequence=2):
    return Departure(host=host, incarnation=incarnation, sequence=sequence)


def test_a_departed_host_is_out_and_its_late_statements_stay_out():
    one = aggregator(limit=3)
    one.receive(update('a', owners={'d': (1.0,)}, vectors=vectors(1.0)), 0.0)
    assert one.leave(departure('a', sequence=1), 1.0) == STALE
    assert one.leave(departure('a'), 1.0) == ''
    assert one.receive(update('a', 2), 2.0) == STALE
    reply = one.receive(update('b', owners={'d': (1.0,)}, vectors=vectors(1.0)), 3.0)
    assert sums(reply) == {'d': 0.0} and reply.cloud.hosts == 0
    assert one.receive(update('a', 3), 4.0).resync
    assert sums(one.receive(update('a', 4, {'d': (7.0,)}, full=True), 5.0)) == {'d': 1.0}


def test_another_metric_is_refused_and_another_configuration_is_told():
    """Who differs in its configuration gets no sums, and learns why."""
    one = aggregator()
    assert one.receive(update('a', metric='asset'), 0.0) == OTHER_METRIC
    reply = one.receive(update('a', owners={'d': (1.0,)}, epoch='f'), 0.0)
    assert reply.epoch == 'e' and reply.owners == {} and not reply.resync
    assert sums(one.receive(update('b', owners={'d': (1.0,)}), 1.0)) == {'d': 0.0}


def test_invented_names_fill_no_memory():
    one = aggregator(limit=2)
    for host in 'ab':
        one.receive(update(host), 0.0)
    assert one.receive(update('c'), 0.0) == TOO_MANY_HOSTS
    assert one.leave(departure('c'), 0.0) == TOO_MANY_HOSTS
    assert isinstance(one.receive(update('a', 2), 20.0), TotalsReply)
    assert isinstance(one.receive(update('c'), 30.0), TotalsReply)


def test_owners_are_bounded_too():
    """In all, and a host that shrinks makes room."""
    one = aggregator(entries=4)
    one.receive(update('a', owners=dict.fromkeys('def', (1.0,))), 0.0)
    assert one.receive(update('b', owners=dict.fromkeys('de', (1.0,))), 0.0) == TOO_MANY_OWNERS
    assert one.receive(update('a', 2, dict.fromkeys('gh', (1.0,))), 0.0) == TOO_MANY_OWNERS
    assert one.receive(update('a', 3, quotas=dict.fromkeys('gh', (1, 1))), 0.0) == TOO_MANY_OWNERS
    one.receive(update('a', 4, {'f': (1.0,)}, gone=('d', 'e')), 0.0)
    assert sums(one.receive(update('b', 2, {'d': (1.0,), 'f': (1.0,)}, full=True), 0.0)) == {
        'd': 0.0,
        'f': 1.0,
    }
    one.leave(departure('a', sequence=9), 1.0)
    one.leave(departure('b', sequence=9), 1.0)
    names = dict.fromkeys('wxyz', (1.0,))
    assert len(sums(one.receive(update('c', owners=names), 2.0))) == 4


def test_owners_of_one_host_are_bounded():
    one = aggregator()
    many = {f'o{n}': (1.0,) for n in range(10_000)}
    one.receive(update('a', owners=many), 0.0)
    assert one.receive(update('a', 2, {'one more': (1.0,)}), 0.0) == TOO_MANY_OWNERS


def test_an_aggregator_is_complete_when_every_host_has_had_its_turn():
    """And anew for another set of aggregators, though not for the same one again at once."""
    one = aggregator()
    assert not one.receive(update('a'), 0.0).complete
    assert not one.receive(update('b'), 11.0).complete
    assert one.receive(update('a', 2), 12.0).complete
    assert not one.receive(update('a', 3, aggregator_set='s', full=True), 13.0).complete
    assert one.receive(update('a', 4, aggregator_set='r', full=True), 14.0).complete
    one.receive(update('a', 5, aggregator_set='s', full=True), 30.0)
    assert not one.receive(update('a', 6, aggregator_set='r', full=True), 60.0).complete


def test_quotas_and_their_tally():
    """Of active owners; of two hosts that differ the lower quota counts, as with broadcast."""
    one = aggregator()
    one.receive(update('a', owners={'d': (1.0,)}, quotas={'d': (10, -1), 'e': (7, 7)}), 0.0)
    reply = one.receive(update('b', owners={'d': (1.0,)}, quotas={'d': (20, 512)}), 0.0)
    assert reply.quotas == {'d': (10, 512)}
    assert reply.cloud.tally == QuotaTally(known=(1, 1), total=(10, 512), largest=(10, 512))
    reply = one.receive(update('a', 2, owners={'e': (1.0,)}), 1.0)
    assert reply.quotas == {'d': (10, 512), 'e': (7, 7)}
    assert reply.cloud.tally == QuotaTally(known=(2, 2), total=(17, 519), largest=(10, 512))
    one.leave(departure('b'), 2.0)
    reply = one.receive(update('a', 3, acked=2), 3.0)
    assert reply.quotas == {'d': (10, -1)} and set(reply.owners) == {'d'}
    reply = one.receive(update('a', 4, acked=3, quotas={}), 4.0)
    assert set(reply.owners) == {'d', 'e'} and reply.quotas == {}
    assert reply.cloud.tally == QuotaTally()


def test_three_readers_are_asked_for_the_quotas_that_fewer_read():
    """One that lies is outvoted then; a fourth is not asked while three of the others have read something."""
    one = aggregator()
    one.receive(update('a', owners={'d': (1.0,), 'e': (1.0,)}), 0.0)
    for host in 'bcz':
        assert one.receive(update(host, reads_quotas=True), 0.0).asked == ('d', 'e')
    quotas = {'d': (1, 1), 'e': (2, 2)}
    for host in 'bcz':
        reply = one.receive(update(host, 2, reads_quotas=True, quotas=quotas), 1.0)
        assert reply.asked == ('d', 'e')  # it goes on with what it has read
    assert one.receive(update('d', reads_quotas=True), 1.0).asked == ()
    # what a host with its own VMs reads unasked is one of the three
    one.receive(update('f', owners={'g': (1.0,)}), 2.0)
    own = update('e', reads_quotas=True, owners={'g': (1.0,)}, quotas={'g': (2, 2)})
    assert one.receive(own, 2.0).asked == ()
    assert 'g' in one.receive(update('b', 3, reads_quotas=True), 3.0).asked


def test_a_reader_that_has_read_nothing_gives_way():
    """It may have no right to read them."""
    one = aggregator()
    one.receive(update('a', owners={'d': (1.0,)}), 0.0)
    for host in 'bcef':
        one.receive(update(host, reads_quotas=True), 0.0)
    assert one.receive(update('f', 2, reads_quotas=True), 1.0).asked == ()
    one.receive(update('f', 3, reads_quotas=True, quotas={'x': (1, 1)}), 2.0)
    assert one.receive(update('f', 4, reads_quotas=True), 3.0).asked == ('d',)
    assert one.receive(update('e', 2, reads_quotas=True), 3.0).asked == ()


def test_owners_that_several_hosts_have_are_asked_for_first():
    """Those that one host alone has may be invented, and a reader takes so many at most."""
    one = aggregator()
    one.receive(update('a', owners={'z': (1.0,), 'alone': (1.0,)}), 0.0)
    one.receive(update('b', owners={'z': (1.0,)}), 0.0)
    assert one.receive(update('c', reads_quotas=True), 0.0).asked == ('z', 'alone')


def test_a_host_that_invents_owners_pushes_no_others_out():
    """Each name is a request to Nova: of what one host alone has, as many are asked for as may count."""
    one, few = aggregator(), aggregator()
    invented = {f'0{number}': (0.0,) for number in range(5000)}
    for number in range(4):
        own = {f'own-{number}-{place}': (1.0,) for place in range(40)}
        one.receive(update(f'h{number}', owners=own), 0.0)
    for exchange in (one, few):
        exchange.receive(update('liar', owners=invented), 0.0)
    asked = one.receive(update('reader', reads_quotas=True), 0.0).asked
    assert sum(owner.startswith('own-') for owner in asked) == 160
    assert len(asked) == 160 + 2 * 160 // 5
    assert len(few.receive(update('reader', reads_quotas=True), 0.0).asked) == 5000, 'of two hosts'


def test_another_reader_is_asked_when_one_is_gone():
    one = aggregator()
    one.receive(update('a', owners={'d': (1.0,)}), 0.0)
    for host in 'bcef':
        one.receive(update(host, reads_quotas=True), 0.0)
    one.leave(departure('b'), 1.0)
    assert one.receive(update('f', 2, reads_quotas=True), 2.0).asked == ('d',)
    one.receive(update('c', 3), 3.0)
    assert one.receive(update('g', reads_quotas=True), 4.0).asked == ('d',)


def test_what_one_host_may_report_follows_from_the_others():
    """It counts as a host of their size, and so do its owners; when it is gone, nothing of it is left."""
    one = aggregator(bound=lambda supply, size: 2.0 * supply[:1])
    for host in 'abc':
        one.receive(update(host, owners={'d': (1.0,), host: (1.0,)}, vectors=vectors(4.0)), 0.0)
    liar = {'d': (1e24,), 'liar': (1e24,)}
    one.receive(update('liar', owners=liar, vectors=vectors(1e24)), 0.0)
    one.learn(SIZE)
    reply = one.receive(update('a', 2), 1.0)
    # 1 each of b and c, of the liar half of 2 * 1.25 * 4
    assert reply.owners['d'] == pytest.approx((7.0,))
    assert reply.cloud.vectors.supply[0] == 13.0
    one.leave(departure('liar'), 2.0)
    one.learn(SIZE)
    reply = one.receive(update('a', 3, acked=2), 3.0)
    assert reply.owners['d'] == (2.0,) and reply.cloud.vectors.supply[0] == 8.0


def test_a_host_that_reports_wider_sums_than_the_metric_has_is_bounded_too():
    """What the metric does not have counts as nothing, and the others' sums stay what they are."""
    one = aggregator(bound=lambda supply, size: supply[:1])
    for host in 'abc':
        one.receive(update(host, owners={'d': (1.0,), host: (1.0,)}, vectors=vectors(4.0)), 0.0)
    one.receive(update('liar', owners={'d': (1.0, 1e24)}, vectors=vectors(4.0)), 0.0)
    one.learn(SIZE)
    assert one.receive(update('a', 2), 1.0).owners['d'] == (3.0, 0.0)


def test_of_two_hosts_nobody_can_tell_which_one_is_wrong():
    one = aggregator(bound=lambda supply, size: supply[:1])
    one.receive(update('a', owners={'d': (1.0,)}, vectors=vectors(1.0)), 0.0)
    one.receive(update('b', owners={'d': (9.0,)}, vectors=vectors(9.0)), 0.0)
    one.learn(SIZE)
    reply = one.receive(update('a', 2), 1.0)
    assert reply.owners == {'d': (9.0,)} and reply.cloud.vectors.supply[0] == 9.0


def test_tables_and_names_give_the_same_sums():
    """Owners in the order of the last whole statement, in another one, and some of them; narrow and wide."""
    rng = np.random.default_rng(1)
    owners = [f'{number:032x}' for number in range(12)]
    by_name, by_table = aggregator(), aggregator()
    known = {}
    for sequence in range(1, 60):
        host = 'abc'[sequence % 3]
        count = 12 if sequence % 4 else 5
        chosen = owners[:count] if sequence % 5 else [*rng.permutation(owners[:count]).tolist()]
        width = 1 if sequence < 20 else 1 + sequence % 3
        sent = {owner: tuple(rng.normal(size=width).tolist()) for owner in chosen}
        gone = tuple(owner for owner in owners[10:] if owner not in chosen)
        more = {'full': sequence <= 3 or sequence % 11 == 0, 'gone': gone, 'acked': sequence - 6}
        more |= {'vectors': vectors(sequence % 3 + 1.0)} if sequence % 2 else {}
        one = by_name.receive(update(host, sequence, sent, reads_numbers=False, **more), 0.0)
        listed = known.get(host, NOBODY)
        if sent.keys() <= set(listed.owners):
            sent = pack(sent, listed)
        before = () if more['full'] else listed.owners
        known[host] = owner_list({*before, *chosen}.difference(gone))
        other = by_table.receive(update(host, sequence, sent, **more), 0.0)
        assert isinstance(one.owners, dict) and one.owners == other.owners
        assert isinstance(other.owners, PackedSums) or not other.owners
        assert one.cloud == other.cloud


def test_a_table_of_all_owners_with_wild_places_is_not_taken():
    """Whatever is wider than it by then: it neither ends the aggregator's work nor changes a sum."""
    one = aggregator()
    known = owner_list('de')
    one.receive(update('b', owners={'d': (1.0,), 'e': (1.0,)}), 0.0)
    one.receive(update('c', owners={'d': (1.0, 2.0)}), 0.0)
    wild = PackedSums(known.digest, np.array([0, 65535]), np.full((2, 1), 9.0))
    assert one.receive(update('b', 2, wild), 1.0).resync
    assert one.receive(update('c', 2, {'d': (0.0, 0.0)}), 2.0).owners == {'d': (1.0, 0.0)}


@pytest.mark.parametrize('full', [True, False])
def test_a_table_about_another_list_is_asked_for_by_name(full):
    """Nothing of it is taken: another list, a place that the list has not, a host that is not known."""
    one = aggregator()
    known, other = owner_list('de'), owner_list('df')
    assert one.receive(update('b', 1, pack({'d': (1.0,)}, known)), 0.0).resync
    one.receive(update('b', 1, {'d': (1.0,), 'e': (1.0,)}), 0.0)
    wild = PackedSums(known.digest, np.array([2]), np.array([[9.0]]))
    for sequence, table in enumerate([pack({'d': (9.0,)}, other), wild], start=2):
        assert one.receive(update('b', sequence, table, full=full), 1.0).resync
    assert one.receive(update('c', owners={'d': (0.0,)}), 2.0).owners == {'d': (1.0,)}
    taken = one.receive(update('b', 4, pack({'d': (3.0,)}, known), full=False), 3.0)
    assert not taken.resync
    assert one.receive(update('c', 2, {'d': (0.0,)}), 4.0).owners == {'d': (3.0,)}
