# SPDX-License-Identifier: Apache-2.0
"""Options make an exchange, or one clear error that says what to set."""

import contextlib

import pytest
from oslo_config import cfg
from tooz import coordination

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.transport.membership import GROUP, StaticMembers, ToozMembers
from nova_market.adapters.transport.wire_format import CompactFormat, PlainFormat
from nova_market.adapters.transport.zmq.keys import KeyDirectory
from nova_market.conf import exchange, fairness, opts
from nova_market.core.fairness.round import FairnessSettings
from nova_market.errors import ConfigurationError
from nova_market.services.exchange.aggregate import AggregateExchange
from nova_market.services.exchange.broadcast import BroadcastExchange
from nova_market.wiring.exchange import build_exchange, epoch_of
from tests.support.exchange.oslo import configured, eventually
from tests.support.host_builders import report

SETTINGS = FairnessSettings()


@pytest.fixture
def conf():
    with configured('fake://') as conf:
        opts.register_opts(conf)
        yield conf
        for group, options in (('fairness', fairness.OPTIONS), ('exchange', exchange.OPTIONS)):
            for option in options:
                conf.clear_override(option.dest, group)


def built(conf, transport, **options):
    return built_with_wire(conf, transport, **options)[0]


def built_with_wire(conf, transport, **options):
    """The exchange, and the format that its messages have."""
    formats = []
    conf.set_override('exchange', transport, 'fairness')
    for name, value in options.items():
        conf.set_override(name, value, 'exchange')

    def unchanged(carrier, wire):
        formats.append(wire)
        return carrier

    made = build_exchange(conf, 'compute1', SETTINGS, ManualClock(), unchanged)
    return made, formats[0]


def test_the_default_is_this_host_alone(conf):
    made = build_exchange(conf, 'compute1', SETTINGS, ManualClock())
    assert isinstance(made, BroadcastExchange)
    assert made.membership.members() == {'compute1': ''}


def test_over_oslo(conf):
    """Aggregators by default, and plain text, since oslo.messaging carries JSON."""
    made, wire = built_with_wire(conf, 'oslo', aggregators=['compute2', 'compute3'])
    assert isinstance(made, AggregateExchange)
    assert isinstance(wire, PlainFormat)
    assert set(made.membership.members()) == {'compute1', 'compute2', 'compute3'}


def test_broadcast_over_oslo_needs_no_more(conf):
    made = built(conf, 'oslo', topology='broadcast')
    assert isinstance(made, BroadcastExchange)


def test_over_zmq(conf, tmp_path):
    members = ['compute1=tcp://10.0.0.1:9653', 'compute2 = tcp://[fd00::2]:9653']
    made, wire = built_with_wire(conf, 'zmq', members=members, zmq_key_path=str(tmp_path))
    assert isinstance(wire, CompactFormat)
    assert made.membership.members() == {
        'compute1': 'tcp://10.0.0.1:9653',
        'compute2': 'tcp://[fd00::2]:9653',
    }


@pytest.mark.parametrize(
    ('options', 'address'),
    [
        ({}, 'tcp://compute1:9653'),
        ({'zmq_bind': 'tcp://10.0.0.1:7000'}, 'tcp://10.0.0.1:7000'),
        ({'zmq_bind': 'tcp://0.0.0.0:7000'}, 'tcp://compute1:7000'),
        ({'zmq_address': 'tcp://nat:1', 'zmq_bind': 'tcp://*:7000'}, 'tcp://nat:1'),
    ],
)
def test_what_a_host_says_of_where_it_listens(conf, tmp_path, options, address):
    made = built(
        conf,
        'zmq',
        coordination_url=f'file://{tmp_path}',
        zmq_key_path=str(tmp_path),
        **options,
    )
    assert isinstance(made.membership, ToozMembers)
    assert made.membership.members() == {'compute1': address}


@pytest.mark.clock
@pytest.mark.parametrize('listed', [True, False])
def test_members_of_a_group_are_those_that_the_operator_knows(conf, tmp_path, listed):
    """Those of the list, or else those whose keys there are."""
    url, path = f'file://{tmp_path}/group', str(tmp_path / 'keys')
    keys = KeyDirectory(path, 'compute1')
    keys.create()
    keys.add('compute2', [bytes(range(32))])
    options = {'members': ['compute2=tcp://10.0.0.2:9653']} if listed else {}
    made = built(conf, 'zmq', coordination_url=url, zmq_key_path=path, **options)
    with contextlib.ExitStack() as stack:
        for host in ('compute2', 'stranger'):
            other = coordination.get_coordinator(url, host.encode())
            other.start()
            stack.callback(other.stop)
            other.join_group_create(GROUP, {'address': 'tcp://10.0.0.9:9653'})
        made.membership.start()
        stack.callback(made.membership.stop)
        assert eventually(lambda: set(made.membership.members()) == {'compute1', 'compute2'})
        address = 'tcp://10.0.0.2:9653' if listed else 'tcp://10.0.0.9:9653'
        assert made.membership.members()['compute2'] == address


def test_each_owner_has_three_aggregators_by_default(conf):
    """As far as there are hosts; the option has one for what it was before."""
    members = ['compute1', 'compute2', 'compute3', 'compute4']
    for copies in ({}, {'copies': 1}):
        made = built(conf, 'oslo', members=members, **copies)
        made.publish(report('compute1', {'d': (1.0,)}))
        assert len(made.aggregators) == copies.get('copies', 3)


def test_a_list_without_this_host_still_has_it(conf):
    made = built(conf, 'oslo', members=['compute2'])
    assert isinstance(made.membership, StaticMembers)
    assert made.membership.members() == {'compute1': '', 'compute2': ''}


@pytest.mark.parametrize(
    ('transport', 'options', 'wanted'),
    [
        ('oslo', {}, r'\[exchange\]coordination_url, \[exchange\]members'),
        ('zmq', {}, r'\[exchange\]coordination_url'),
        ('zmq', {'topology': 'broadcast'}, r'\[exchange\]coordination_url'),
        ('zmq', {'aggregators': ['x']}, r'\[exchange\]coordination_url'),
        ('zmq', {'members': ['compute2']}, r"\[exchange\]members: 'compute2'"),
        ('zmq', {'members': ['compute2=tcp://*:1']}, r'\[exchange\]members'),
        ('zmq', {'members': ['compute2=10.0.0.2:1']}, r'\[exchange\]members'),
        ('oslo', {'members': ['=tcp://10.0.0.2:1']}, r'\[exchange\]members'),
        ('oslo', {'members': ['a'], 'aggregators': ['b']}, r'\[exchange\]aggregators names b'),
        ('oslo', {'coordination_url': 'nonsense://u:geheim@h'}, r"tooz driver for 'nonsense'"),
        ('zmq', {'members': ['a=tcp://h:1'], 'zmq_address': 'h:1'}, r'\[exchange\]zmq_address'),
        ('pigeon', {}, 'pigeon.*local, oslo, zmq'),
    ],
)
def test_what_cannot_work_is_a_clear_error(conf, tmp_path, transport, options, wanted):
    """It names the option and what to do, and no password."""
    with pytest.raises(ConfigurationError, match=wanted) as caught:
        built(conf, transport, zmq_key_path=str(tmp_path), **options)
    assert 'geheim' not in str(caught.value)


def test_epochs_differ_where_sums_cannot_be_compared():
    """By metric, interval and resources; not by what only matters here."""
    same = epoch_of(FairnessSettings(resources=tuple(reversed(SETTINGS.resources)), idle=0.5))
    others = {
        epoch_of(FairnessSettings(metric_name='drf')),
        epoch_of(FairnessSettings(interval=5.0)),
        epoch_of(FairnessSettings(resources=('cpu',))),
    }
    assert epoch_of(SETTINGS) == same
    assert len(others | {same}) == 4


def test_the_url_of_the_backend_is_a_secret():
    """A secret in the URL of the backend is not written to the log with the other options."""
    (url,) = [option for option in exchange.OPTIONS if option.dest == 'coordination_url']
    assert isinstance(url, cfg.StrOpt)
    assert url.secret
