# SPDX-License-Identifier: Apache-2.0
"""The scheduler's reader against the real API over HTTP, and against one that is down, slow or lying."""

import json
import logging
import socket
import threading
import time
import types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from oslo_config import cfg

from nova_market.conf import scheduler as options
from nova_market.core.lease.reservation import reservation
from nova_market.core.scheduler.snapshot import document_of
from nova_market.errors import BadSnapshot, CloudUnavailable, ConfigurationError
from nova_market.scheduler import api_client as reader
from nova_market.scheduler.api_client import MarketApi
from nova_market.services.lease.observing import publish_reserved
from tests.support.job_records import id_of
from tests.support.lease_records import NOW, lease
from tests.support.market.api_server import PASSWORD
from tests.support.market.rounds import PERIOD, add_round
from tests.support.scheduler_builders import quiet

pytestmark = [pytest.mark.functional, pytest.mark.clock]


def nova_conf(tmp_path, text):
    """A configuration as Nova has it, from a file."""
    path = tmp_path / 'nova.conf'
    path.write_text(f'[nova_market]\n{text}\n')
    conf = cfg.ConfigOpts()
    options.register_opts(conf)
    conf([], default_config_files=[str(path)])
    return conf


def login(url, user='root', password=PASSWORD):
    project = {'root': 'operations', 'alice': 'astronomy'}[user]
    return (
        f'auth_type = password\nauth_url = {url}/identity/v3\nusername = {user}\n'
        f'password = {password}\nproject_name = {project}\nuser_domain_name = Default\n'
        'project_domain_name = Default\nregion_name = RegionOne\nvalid_interfaces = public\n'
    )


def test_the_published_round_is_read(market_service, tmp_path):
    """With the account of nova.conf, through the catalog; the same round is not read again."""
    api = MarketApi(nova_conf(tmp_path, login(market_service.url)))
    with pytest.raises(CloudUnavailable, match='404'):
        api.read(None)
    add_round(market_service.market)
    found, _ = api.read(None)
    assert found.period == PERIOD
    assert found.hosts == {'host0': 0, 'host1': 1}
    assert api.read(found)[0] is None
    add_round(market_service.market, PERIOD + 1)
    assert api.read(found)[0].period == PERIOD + 1


def test_what_leases_reserve_is_read_beside_the_round(market_service, tmp_path):
    """Anew when it has changed, also between two rounds; else only until when it is true."""
    api = MarketApi(nova_conf(tmp_path, login(market_service.url)))
    add_round(market_service.market)
    states = market_service.market.stores.states
    first, _ = api.read(None)
    assert first.reserved is None
    publish_reserved(states, reservation([lease('a')], (), now=NOW, ahead=1e9))
    second, _ = api.read(first)
    assert second.period == first.period and second.reserved.leases == (id_of('a'),)
    assert api.read(second)[0] is None
    publish_reserved(states, reservation([lease('a')], (), now=NOW + 10, ahead=1e9))
    third, _ = api.read(second)
    assert third.reserved.at == NOW + 10 and third.reserved.calendar is second.reserved.calendar
    publish_reserved(states, reservation([], (), now=NOW + 20, ahead=1e9))
    assert api.read(third)[0].reserved.leases == ()
    add_round(market_service.market, PERIOD + 1)
    newer, _ = api.read(third)
    assert (newer.period, newer.reserved.leases) == (PERIOD + 1, ())
    again, _ = api.read(newer)
    assert again is None
    add_round(market_service.market, PERIOD + 2)
    assert api.read(newer)[0].reserved is newer.reserved


@pytest.mark.parametrize(('user', 'password'), [('alice', PASSWORD), ('root', 'wrong')])
def test_who_may_not_read_is_refused(market_service, tmp_path, user, password):
    """A tenant's account, or a wrong password: an error that says so, without the password."""
    add_round(market_service.market)
    api = MarketApi(nova_conf(tmp_path, login(market_service.url, user, password)))
    with pytest.raises(CloudUnavailable) as caught:
        api.read(None)
    assert '403' in str(caught.value) or '401' in str(caught.value)
    assert 'wrong' not in str(caught.value)


def test_without_an_account_it_says_what_to_set(tmp_path):
    """The option, and what the account needs."""
    with pytest.raises(ConfigurationError, match=r'\[nova_market\]auth_type is not set'):
        MarketApi(nova_conf(tmp_path, '')).read(None)


@pytest.fixture
def liar():
    """A service without Keystone that answers with `status`, `more` headers and `body`, in parts or whole."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            parts = [self.server.body] if isinstance(self.server.body, bytes) else self.server.body
            self.send_response(self.server.status)
            for name, value in self.server.more.items():
                self.send_header(name, value)
            self.end_headers()
            for part in parts:
                try:
                    self.wfile.write(part)
                    self.wfile.flush()
                except OSError:
                    return

        def log_message(self, *_):
            """Nothing is printed."""

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.status, server.more = 200, {}
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def api_of(liar, tmp_path, more=''):
    url = f'http://127.0.0.1:{liar.server_port}'
    return MarketApi(nova_conf(tmp_path, f'auth_type = none\nendpoint_override = {url}\n{more}'))


def answer(content):
    return json.dumps({'scheduler_snapshot': content}).encode()


@pytest.mark.parametrize(
    'body',
    [
        b'',
        b'<html>login</html>',
        b'[]',
        b'{"scheduler_snapshot": 1}',
        b'[' * 100_000,
        b'\xff\xfe',
        answer({}),
        answer({**document_of(quiet()), 'price': [1e30, 1]}),
        answer(document_of(quiet())).replace(b'1.0', b'NaN'),
        answer({**document_of(quiet()), 'age': 10**400}),
    ],
    ids=['nothing', 'html', 'list', 'number', 'deep', 'bytes', 'empty', 'huge', 'nan', 'digits'],
)
def test_what_is_no_snapshot_is_refused(liar, tmp_path, body):
    """Whatever answers there, nothing but a sound snapshot comes out."""
    liar.body = body
    with pytest.raises(BadSnapshot):
        api_of(liar, tmp_path).read(None)


def test_another_round_without_tables_is_refused(liar, tmp_path):
    """`known` is answered by that round or by a whole one."""
    liar.body = answer({'period': 8, 'age': 1.0})
    with pytest.raises(BadSnapshot):
        api_of(liar, tmp_path).read(quiet())


def test_an_endless_answer_is_cut_off(liar, tmp_path):
    """More than [nova_market]max_snapshot_mib is not kept."""
    liar.body = (b' ' * 65536 for _ in range(1000))
    with pytest.raises(BadSnapshot, match='max_snapshot_mib'):
        api_of(liar, tmp_path, 'max_snapshot_mib = 1').read(None)


def test_an_answer_of_many_lists_is_not_parsed(liar, tmp_path):
    """Parsing holds up all threads of the process: what can be no snapshot is refused before."""
    liar.body = b'[' + b'[],' * 300_000 + b'1]'
    with pytest.raises(BadSnapshot, match='300001 lists and objects'):
        api_of(liar, tmp_path).read(None)


@pytest.mark.parametrize('level', [logging.WARNING, logging.DEBUG])
def test_the_body_of_an_error_is_not_read(liar, tmp_path, level, caplog):
    """However long it is, and also where keystoneauth logs what it reads."""
    caplog.set_level(level, 'keystoneauth')
    sent = []

    def long():
        for _ in range(1600):
            sent.append(1)
            yield b' ' * 65536

    liar.status, liar.more, liar.body = 500, {'Content-Type': 'application/json'}, long()
    with pytest.raises(CloudUnavailable, match='HTTP 500'):
        api_of(liar, tmp_path).read(None)
    # the connection is closed; what was under way fits into the buffers of two sockets
    assert len(sent) < 400


@pytest.mark.parametrize(
    ('more', 'part'),
    [
        ({'Content-Length': '1000000'}, b' '),
        ({}, b' '),
        ({'Transfer-Encoding': 'chunked'}, b'0'),
        ({'Content-Encoding': 'gzip'}, b'\x1f\x8b\x08\x08\0\0\0\0\0\3nnnnnnnnnnn'),
    ],
    ids=['length', 'until it closes', 'chunks', 'packed'],
)
def test_an_answer_that_trickles_in_is_given_up(liar, tmp_path, monkeypatch, more, part):
    """Each byte in time, the whole of it too late."""
    monkeypatch.setattr(reader, 'READING_SECONDS', 1.0)
    closed = threading.Event()

    def slowly():
        yield part
        for _ in range(200):
            closed.wait(0.1)
            yield part[-1:]

    liar.more, liar.body = more, slowly()
    began = time.monotonic()
    with pytest.raises(CloudUnavailable, match='takes longer than 1 s'):
        api_of(liar, tmp_path, 'timeout = 5').read(None)
    closed.set()
    assert time.monotonic() - began < 10.0


@pytest.fixture
def dripping():
    """A plain server that sends `lead` at once and then `drop` again and again."""
    server = socket.create_server(('127.0.0.1', 0))
    closed = threading.Event()
    server_of = types.SimpleNamespace(
        server_port=server.getsockname()[1], lead=b'', drop=b'a', closed=closed
    )

    def answer_one():
        with server, server.accept()[0] as connection:
            connection.sendall(server_of.lead)
            while not closed.wait(0.1):
                try:
                    connection.sendall(server_of.drop)
                except OSError:
                    return

    thread = threading.Thread(target=answer_one)
    thread.start()
    yield server_of
    closed.set()
    thread.join()


@pytest.mark.parametrize(
    ('lead', 'drop'),
    [
        (b'', b'H'),
        (b'HTTP/1.1 200 OK\r\nX-Long: ', b'a'),
        (b'HTTP/1.1 200 OK\r\n', b'A: b\r\n'),
        (b'HTTP/1.1 100 Continue\r\n\r\n', b'HTTP/1.1 100 Continue\r\n\r\n'),
    ],
    ids=['status line', 'one header', 'many headers', 'interim answers'],
)
def test_headers_that_trickle_in_are_given_up(dripping, tmp_path, monkeypatch, lead, drop):
    """The one deadline holds before the body, too."""
    monkeypatch.setattr(reader, 'READING_SECONDS', 1.0)
    dripping.lead, dripping.drop = lead, drop
    began = time.monotonic()
    with pytest.raises(CloudUnavailable, match='takes longer than 1 s'):
        api_of(dripping, tmp_path, 'timeout = 5').read(None)
    assert time.monotonic() - began < 4.0


def test_each_request_has_a_deadline_of_its_own(liar, tmp_path, monkeypatch):
    """One that was too late does not end the next one."""
    liar.body = answer(document_of(quiet()))
    api = api_of(liar, tmp_path)
    monkeypatch.setattr(reader, 'READING_SECONDS', 0.0)
    with pytest.raises(CloudUnavailable, match='takes longer than 0 s'):
        api.read(None)
    monkeypatch.setattr(reader, 'READING_SECONDS', 60.0)
    assert api.read(None)[0] is not None


def test_an_answer_without_a_body_is_refused(liar, tmp_path):
    """Nothing is waited for then."""
    liar.more, liar.body = {'Content-Length': '0'}, b''
    with pytest.raises(BadSnapshot, match='no JSON'):
        api_of(liar, tmp_path).read(None)


def test_a_service_that_is_down_is_unavailable(liar, tmp_path):
    """No connection, no answer within the time limit."""
    api = api_of(liar, tmp_path, 'timeout = 1')

    def late():
        threading.Event().wait(3)
        yield b'{}'

    liar.body = late()
    with pytest.raises(CloudUnavailable):
        api.read(None)
