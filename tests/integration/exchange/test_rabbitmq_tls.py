# SPDX-License-Identifier: Apache-2.0
"""The exchange over a RabbitMQ that speaks TLS only, and asks hosts for their certificates."""

import contextlib
import shutil
import subprocess

import oslo_messaging
import pytest

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.transport.oslo import OsloTransport
from nova_market.testbed.broker import Broker, free_ports
from tests.support.exchange.exchanges import Roll, put_together, sums
from tests.support.exchange.oslo import configured, eventually
from tests.support.host_builders import report

pytestmark = [
    pytest.mark.integration('rabbitmq-server', 'epmd', 'openssl'),
]


def openssl(directory, *arguments):
    subprocess.run(['openssl', *arguments], cwd=directory, check=True, capture_output=True)


def authority(directory, name):
    key = ('-newkey', 'rsa:2048', '-nodes', '-keyout', f'{name}.key')
    openssl(
        directory,
        *('req', '-x509', *key, '-out', f'{name}.pem', '-days', '2', '-subj', f'/CN={name}'),
        *('-addext', 'basicConstraints=critical,CA:TRUE'),
    )


def certificate(directory, name):
    """Signed by `ca`, for loopback."""
    key = ('-newkey', 'rsa:2048', '-nodes', '-keyout', f'{name}.key')
    openssl(directory, 'req', *key, '-out', f'{name}.csr', '-subj', f'/CN={name}')
    (directory / 'ext').write_text('subjectAltName=IP:127.0.0.1,DNS:localhost\n')
    openssl(
        directory,
        *('x509', '-req', '-in', f'{name}.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key'),
        *('-CAcreateserial', '-out', f'{name}.pem', '-days', '2', '-extfile', 'ext'),
    )


@pytest.fixture(scope='module')
def broker(tmp_path_factory):
    directory = tmp_path_factory.mktemp('tls')
    for name in ('ca', 'stranger'):
        authority(directory, name)
    for name in ('server', 'client'):
        certificate(directory, name)
    made = Broker(directory / 'rabbitmq')
    (made.tls_port,) = free_ports(1)
    options = {
        'cacertfile': directory / 'ca.pem',
        'certfile': directory / 'server.pem',
        'keyfile': directory / 'server.key',
        'verify': 'verify_peer',
        'fail_if_no_peer_cert': 'true',
    }
    with (made.directory / 'rabbitmq.conf').open('a') as stream:
        stream.write(f'listeners.ssl.1 = 127.0.0.1:{made.tls_port}\n')
        for name, value in options.items():
            stream.write(f'ssl_options.{name} = {value}\n')
    try:
        made.start()
        yield made
    finally:
        made.close()
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def over_tls(broker, **options):
    """The global configuration with [oslo_messaging_rabbit] as an operator would write it."""
    url = broker.url.replace(f':{broker.port}/', f':{broker.tls_port}/')
    directory = broker.directory.parent
    wanted = {
        'ssl': True,
        'ssl_ca_file': str(directory / 'ca.pem'),
        'ssl_cert_file': str(directory / 'client.pem'),
        'ssl_key_file': str(directory / 'client.key'),
    } | options
    with configured(url) as conf:
        oslo_messaging.get_rpc_transport(conf).cleanup()  # registers the group
        for name, value in wanted.items():
            conf.set_override(name, value, 'oslo_messaging_rabbit')
        try:
            yield conf
        finally:
            for name in wanted:
                conf.clear_override(name, 'oslo_messaging_rabbit')


def host(conf, name, transport=None):
    return put_together(
        'aggregate',
        host=name,
        metric='greediness',
        ttl=3.0,
        clock=SystemClock(),
        transport=transport or OsloTransport(conf=conf, host=name, ttl=3.0),
        membership=Roll('a', 'b'),
    )


def test_sums_over_tls(broker):
    """Two hosts, each with a certificate, hear each other."""
    with over_tls(broker) as conf:
        hosts = {name: host(conf, name) for name in 'ab'}
        numbers = iter(range(1000))

        def added_up():
            number = next(numbers)
            for name, one in hosts.items():
                one.publish(report(name, {'d': (1.0,)}, sequence=number))
            return eventually(lambda: all(sums(one) == {'d': 2.0} for one in hosts.values()), 0.5)

        for one in hosts.values():
            one.start()
        try:
            assert eventually(added_up, 60.0)
        finally:
            for one in hosts.values():
                one.stop()


# alone: a thread of oslo.messaging tries to connect until the process ends, and logs it
@pytest.mark.alone
@pytest.mark.parametrize(
    'wrong', [{'ssl_ca_file': 'stranger.pem'}, {'ssl_cert_file': '', 'ssl_key_file': ''}]
)
def test_a_broker_or_a_host_that_is_not_believed(broker, wrong):
    """A broker with a certificate of somebody else, a host without one: nothing is sent; it is known why."""
    directory = broker.directory.parent
    options = {name: str(directory / value) if value else '' for name, value in wrong.items()}
    with over_tls(broker, **options) as conf:
        transport = OsloTransport(conf=conf, host='a', ttl=3.0)
        one = host(conf, 'a', transport)
        one.start()
        numbers = iter(range(1000))

        def refused():
            one.publish(report('a', {'d': (1.0,)}, sequence=next(numbers)))
            return transport.trouble

        try:
            assert eventually(refused, 60.0)
            assert broker.password not in transport.trouble
        finally:
            one.stop()
