# SPDX-License-Identifier: Apache-2.0
"""What the engine shows: status, Prometheus, notifications; and the command's options."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import oslo_messaging
import pytest
from oslo_config import cfg
from prometheus_client import generate_latest

from nova_market.adapters.notifications import MessagingNotices
from nova_market.errors import ConfigurationError
from nova_market.services.market import status
from nova_market.services.market.metrics import MarketCollector
from tests.support.exchange.oslo import eventually
from tests.support.market_bed import CREDIT, PERIOD, Market, bidding, host, server
from tests.support.openstack.nova import FakeNova, serving

pytestmark = [pytest.mark.functional, pytest.mark.clock]

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def market(database):
    made = Market(
        database,
        servers=[server('r', 'red', metadata=bidding(3), mib=1024),
                 server('b', 'blue', metadata=bidding(1), mib=1024)],
    )  # fmt: skip
    made.grant('red', 2)
    made.grant('blue', 10)
    return made


def test_status_of_no_round(database):
    market = Market(database)
    document = status.status_document(market.stores.history, market.clock.wall(), PERIOD)
    assert not document['alive']
    assert 'STANDS STILL' in status.render(document)


def test_status_after_a_round(market):
    market.run(2)
    document = status.status_document(market.stores.history, market.clock.wall(), PERIOD)
    text = status.render(document)
    assert document['alive']
    assert 'project:red' in text and 'scaled down' in text
    assert [one['state'] for one in document['rounds']] == ['planned', 'settled']
    json.dumps(document)
    market.clock.advance(5 * PERIOD)
    late = status.status_document(market.stores.history, market.clock.wall(), PERIOD)
    assert not late['alive']


def test_metrics_of_the_last_round(market):
    """Prices in credits; what projects have only when asked for, with the label `project`."""
    collector = MarketCollector(lambda: market.leader.leads, balances=True)
    market.run()
    collector.observe(market.decided[-1])
    shown = generate_latest(collector.registry()).decode()
    price = float(re.search(r'nova_market_price_credits{resource="cpu"} (\S+)', shown)[1])
    assert price == pytest.approx(0.75)
    assert 'nova_market_balance_credits{project="red"} 2.0' in shown
    assert 'nova_market_scaled_payers 1.0' in shown
    assert 'nova_market_leader 1.0' in shown
    assert 'nova_market_price_held{resource="cpu"} 0.0' in shown
    market.leader.leads = False
    assert 'price' not in generate_latest(collector.registry()).decode()


def test_metrics_of_the_economy(market):
    """Where credits are, what the round before charged, the index; of projects only when asked for."""
    shown = {}
    for balances in (False, True):
        shown[balances] = MarketCollector(lambda: True, balances=balances)
    market.run(2)
    for collector in shown.values():
        collector.observe(market.decided[-1])
    plain, whole = (generate_latest(shown[b].registry()).decode() for b in (False, True))
    held = dict(re.findall(r'nova_market_credits{held="(\w+)"} (\S+)', plain))
    assert sum(map(float, held.values())) == pytest.approx(12.0) and len(held) == 4
    charged = float(re.search(r'\nnova_market_charged_credits (\S+)', plain)[1])
    assert charged == pytest.approx(3.0, abs=1e-4)
    assert float(re.search(r'\nnova_market_price_index (\S+)', plain)[1]) > 0
    assert 'project=' not in plain
    spend, part = (
        float(re.search(f'nova_market_{name}{{project="blue"}} (\\S+)', whole)[1])
        for name in ('spend_credits', 'purchasing_power')
    )
    # 11 of 12 credits, of which it has spent 1, and half of the 3 that the bank has, over 61 periods
    assert spend == pytest.approx((9 + 1.5) / 61, rel=1e-4)
    assert 0 < part <= 1


def test_a_held_price_is_logged_shown_and_measured(market, caplog):
    """B4: red's bid grows thirtyfold; in the log, in `status` and in the metrics it is named once a round."""
    market.grant('red', 1000)
    collector = MarketCollector(lambda: True)
    with caplog.at_level('INFO', 'nova_market.services.market.engine'):
        market.run()
        assert 'breaker' not in caplog.text
        assert 'price 1 credits a core' in caplog.text
        market.cloud.put_server(server('r', 'red', metadata=bidding(90), mib=1024))
        market.run()
    assert 'the breaker holds the price of cpu at 2 credits, after 1; it would be' in caplog.text
    collector.observe(market.decided[-1])
    assert 'price_held{resource="cpu"} 1.0' in generate_latest(collector.registry()).decode()
    shown = status.status_document(market.stores.history, market.clock.wall(), PERIOD)
    assert [one['price'] for one in shown['held_prices']] == [2 * CREDIT]
    assert 'the price of cpu is held: without the breaker it would be 22.75' in status.render(shown)
    json.dumps(shown)


def test_notifications():
    """What a project is told goes out by oslo.messaging, with the project's id."""
    conf = cfg.ConfigOpts()
    transport = oslo_messaging.get_notification_transport(conf, 'fake://')
    conf.set_override('driver', ['messaging'], 'oslo_messaging_notifications')
    conf.set_override('transport_url', 'fake://', 'oslo_messaging_notifications')
    received = []

    class Ear:
        def info(self, context, publisher, event, payload, metadata):
            received.append((publisher, event, payload))

    listener = oslo_messaging.get_notification_listener(
        transport, [oslo_messaging.Target(topic='notifications')], [Ear()], executor='threading'
    )
    listener.start()
    notices = MessagingNotices(conf, 'e')
    notices.tell('market.credit.low', 'red', {'balance': 5})
    assert eventually(lambda: bool(received))
    notices.stop()
    listener.stop()
    listener.wait()
    assert received == [('nova-market.e', 'market.credit.low', {'project_id': 'red', 'balance': 5})]


def test_a_broker_that_cannot_be_used():
    """The URL may hold a password: it is not told."""
    conf = cfg.ConfigOpts()
    oslo_messaging.get_notification_transport(conf, 'fake://')  # registers the options
    conf.set_override('transport_url', 'nosuch://u:geheim@x', 'oslo_messaging_notifications')
    with pytest.raises(ConfigurationError, match='transport_url') as caught:
        MessagingNotices(conf, 'e')
    assert 'geheim' not in str(caught.value)


def command(*arguments):
    return subprocess.run(
        [sys.executable, '-m', 'nova_market.cmd.engine', *arguments],
        capture_output=True, text=True, cwd=ROOT, timeout=90, check=False,
        env=os.environ | {'PYTHONPATH': str(ROOT)},
    )  # fmt: skip


@pytest.fixture
def configured(tmp_path, url):
    """write(market, **account) -> path of a configuration."""

    def write(lines='', account='', exchange='oslo', keys=''):
        path = tmp_path / 'nova_market.conf'
        path.write_text(
            f'[database]\nconnection = {url}\n'
            f'[market]\nname = e\nperiod = 5\ncoordination_url = file://{tmp_path}\n{lines}\n'
            f'[fairness]\nexchange = {exchange}\n[exchange]\nmarket_engines = e\n{keys}\n'
            f'[DEFAULT]\ntransport_url = fake://\n[openstack]\n{account}\n'
        )
        return f'--config-file={path}'

    return write


def account_at(url):
    return (
        f'auth_type = password\nauth_url = {url}/v3\nusername = m\npassword = geheim\n'
        'project_name = service\nuser_domain_id = default\nproject_domain_id = default'
    )


@pytest.mark.parametrize(
    ('lines', 'expected'),
    [
        ('reserve_price_cpu = -1', 'reserve_price_cpu'),
        ('pricing = guess', 'guess'),
        ('host_reserve_cores = nan', 'host_reserve_cores'),
        ('return_delay = soon', 'return_delay'),
    ],
)
def test_options_that_cannot_work(configured, database, lines, expected):
    """One line that names the option and its value; exit status 78."""
    done = command(configured(lines), 'once')
    assert done.returncode == 78, done.stderr
    assert expected in done.stderr.splitlines()[-1]
    assert 'Traceback' not in done.stderr


def test_a_round_of_the_real_command(configured, market, database):
    """Keystone, Nova and Placement over HTTP, a database, no host that confirms: nobody is charged."""
    with serving(FakeNova(market.cloud)) as nova:
        market.cloud.put_host(host('a', 4.0, 8192.0))
        path = configured('host_reserve_cores = 0', account_at(nova.url))
        done = command(path, 'once')
    assert done.returncode == 0, done.stderr
    assert 'geheim' not in done.stderr
    record = market.stores.history.rounds()[0]
    assert (record.state, record.leader) == ('settled', 'e')
    prices = {p.resource: p for p in market.stores.history.prices(record.period, record.period)}
    assert prices['cpu'].price == pytest.approx(0.75e6)
    assert market.balance('red') == 2_000_000
    shown = command(path, 'status', '-f', 'json')
    assert json.loads(shown.stdout)['rounds'][0]['state'] == 'settled'


def test_an_exchange_that_cannot_be_opened_ends_the_engine(configured, database, tmp_path):
    """Keys are read when the exchange is opened: one line and exit status 78, as for every option."""
    keys = f'members = a=tcp://127.0.0.1:9\nzmq_engine_key_path = {tmp_path}/none'
    done = command(configured('', account_at('http://127.0.0.1:9'), 'zmq', keys), 'run')
    assert done.returncode == 78, done.stderr
    assert f'{tmp_path}/none' in done.stderr.splitlines()[-1]
    assert 'Traceback' not in done.stderr


def test_the_service_runs_until_it_is_stopped(configured, market, tmp_path):
    """SIGHUP changes nothing; SIGTERM ends it after the turn under way, and another engine may lead."""
    log = tmp_path / 'log'
    with serving(FakeNova(market.cloud)) as nova, log.open('wb') as stream:
        running = subprocess.Popen(
            [sys.executable, '-m', 'nova_market.cmd.engine',
             configured('host_reserve_cores = 0', account_at(nova.url)), 'run'],
            stdout=stream, stderr=stream, cwd=ROOT, env=os.environ | {'PYTHONPATH': str(ROOT)},
        )  # fmt: skip
        try:
            assert eventually(market.stores.history.rounds, 60.0)
            running.send_signal(signal.SIGHUP)
            assert eventually(lambda: 'SIGHUP is ignored' in log.read_text(), 10.0)
            running.send_signal(signal.SIGTERM)
            assert running.wait(30) == 0
        finally:
            running.kill()
            running.wait()
    lines = log.read_text()
    assert '] e leads\n' in lines and '] stopped\n' in lines
    assert 'Traceback' not in lines
