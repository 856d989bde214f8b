# SPDX-License-Identifier: Apache-2.0
"""Options make both ends of enforcement, or one clear error that says what to set."""

import pytest

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.transport.membership import StaticMembers, ToozMembers
from nova_market.adapters.transport.wire_format import CompactFormat, PlainFormat
from nova_market.conf import exchange, fairness, opts
from nova_market.errors import ConfigurationError
from nova_market.services.exchange.allocation_receiver import AllocationReceiver
from nova_market.services.fairness.settings import load_settings
from nova_market.wiring.exchange import build_enforcement, build_exchange, engines_of, wire_format
from tests.support.exchange.oslo import configured
from tests.support.host_builders import report


@pytest.fixture
def conf(tmp_path):
    with configured('fake://') as conf:
        opts.register_opts(conf)
        conf.set_override('zmq_key_path', str(tmp_path), 'exchange')
        yield conf
        for group, options in (('fairness', fairness.OPTIONS), ('exchange', exchange.OPTIONS)):
            for option in options:
                conf.clear_override(option.dest, group)


def choose(conf, engines=('engine1', 'engine2'), members=(), url='', **options):
    conf.set_override('market_engines', list(engines), 'exchange')
    conf.set_override('members', list(members), 'exchange')
    conf.set_override('coordination_url', url, 'exchange')
    for name, value in options.items():
        conf.set_override(name, value, 'fairness')


def test_fairness_hears_no_engine(conf):
    """Whatever engines there are: the policy is the operator's switch."""
    assert engines_of(conf) == ()
    choose(conf)
    assert engines_of(conf) == ()
    assert load_settings(conf).policy == 'fairness'


@pytest.mark.parametrize('policy', ['market', 'combined'])
def test_named_engines_are_heard(conf, policy):
    choose(conf, policy=policy, exchange='oslo')
    assert engines_of(conf) == ('engine1', 'engine2')
    assert load_settings(conf).policy == policy


@pytest.mark.parametrize(
    ('options', 'wanted'),
    [
        ({'exchange': 'local'}, r'\[fairness\]exchange = local: set it to oslo or zmq'),
        ({'engines': ()}, r'\[exchange\]market_engines is empty: name the engines'),
        ({'cpu_control': False}, r'\[fairness\]cpu_control = false: set it to true'),
        ({'priority_mode': 'paper'}, r'\[fairness\]priority_mode = paper: set it to centred'),
    ],
)
def test_what_cannot_work_on_a_host(conf, options, wanted):
    choose(conf, **({'policy': 'market', 'exchange': 'oslo'} | options))
    with pytest.raises(ConfigurationError, match=wanted):
        engines_of(conf)


class Noted:
    """A transport that carries nothing and notes whom it was to send to."""

    def __init__(self):
        self.receivers = []

    def send(self, to, frame):
        self.receivers.append(to)


def test_the_receiver_of_allocations_carries_the_reports_too(conf):
    """It goes between the transport and the topology."""
    choose(conf, policy='market', exchange='oslo', members=['compute2'])
    conf.set_override('aggregators', ['compute2'], 'exchange')
    noted = Noted()
    made = build_exchange(
        conf,
        'compute1',
        load_settings(conf),
        ManualClock(),
        lambda transport, wire: AllocationReceiver(
            host='compute1',
            transport=noted,
            wire=wire,
            clock=ManualClock(),
            engines=['engine1'],
        ),
    )
    made.publish(report('compute1', {'d': (1.0,)}))
    assert noted.receivers == ['compute2']


def test_an_engine_over_oslo(conf):
    """It is written to by name, also where hosts broadcast to each other."""
    choose(conf, exchange='oslo')
    conf.set_override('topology', 'broadcast', 'exchange')
    made = build_enforcement(conf, 'engine1', ManualClock(), 60.0)
    # private: the queue's name shows at the broker only
    assert made.transport._server_name == 'engine1'
    assert isinstance(wire_format(conf), PlainFormat)


def test_an_engine_over_zmq(conf, tmp_path):
    """It knows where hosts are, and takes no part itself."""
    choose(conf, exchange='zmq', members=['compute1=tcp://10.0.0.1:9653'])
    made = build_enforcement(conf, 'engine1', ManualClock(), 60.0)
    assert isinstance(wire_format(conf), CompactFormat)
    assert made.transport.endpoint == 'tcp://127.0.0.1:*'
    with pytest.raises(ConfigurationError, match='/etc/nova_market/engine-keys'):
        made.start()
    # the configuration is that of the whole process: it stays as it was
    assert conf.exchange.zmq_key_path == str(tmp_path)
    assert isinstance(made.membership, StaticMembers)
    assert made.membership.members()['compute1'] == 'tcp://10.0.0.1:9653'
    choose(conf, exchange='zmq', url=f'file://{tmp_path}')
    made = build_enforcement(conf, 'engine1', ManualClock(), 60.0)
    assert isinstance(made.membership, ToozMembers)
    assert made.membership.members() == {}


@pytest.mark.parametrize(
    ('options', 'wanted'),
    [
        ({'exchange': 'local'}, r'\[fairness\]exchange = local: an engine reaches no host'),
        ({'engines': ['other']}, r'market_engines does not name this engine \(engine1\)'),
        ({'exchange': 'zmq'}, r'set \[exchange\]coordination_url or \[exchange\]members'),
        ({'exchange': 'zmq', 'members': ['compute1']}, r"\[exchange\]members: 'compute1'"),
    ],
)
def test_what_cannot_work_on_an_engine(conf, options, wanted):
    choose(conf, **({'exchange': 'oslo'} | options))
    with pytest.raises(ConfigurationError, match=wanted):
        build_enforcement(conf, 'engine1', ManualClock(), 60.0)
