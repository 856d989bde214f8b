# SPDX-License-Identifier: Apache-2.0
"""nova-market-report against the real API over HTTP, as it runs in a guest."""

import ast
import json
import os
import shutil
import socketserver
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nova_market.core.app.record import AppState
from nova_market.guest_agent import report as agent
from tests.support.market.api import OF_ALICE
from tests.support.market.applications import APP, CREDENTIAL, add_app

pytestmark = [pytest.mark.functional, pytest.mark.clock]

FILE = Path(agent.__file__)


@pytest.fixture
def guest(market_service, tmp_path):
    """A directory with the agent's one file and nothing else, and an application to report of."""
    add_app(market_service.market)
    shutil.copy(FILE, tmp_path / 'nova-market-report')
    (tmp_path / 'credential').write_text(f'{CREDENTIAL}\n')
    return tmp_path


def options(service, guest, **given):
    """As argparse makes them."""
    words = ['--url', f'{service.url}/market', '--app', APP]
    words += ['--credential-file', str(guest / 'credential'), '--timeout', '5']
    for name, value in given.items():
        words += [f'--{name.replace("_", "-")}', str(value)]
    return agent.parser().parse_args(words)


def reported(service):
    """What the service has of the application, by server."""
    found = service.market.stores.app_events.reports([APP]).get(APP, ())
    return {one.server_id: one for one in found}


def test_one_file_reports_without_the_package(market_service, guest):
    """Copied alone into a guest, with the environment's credential; nothing of ours is imported."""
    (guest / 'latency').write_text('0.25\n')
    done = subprocess.run(
        [
            sys.executable, '-I', str(guest / 'nova-market-report'), '--once', '--app', APP,
            '--url', f'{market_service.url}/market', '--metric-file', str(guest / 'latency'),
            '--queue-command', 'printf "3 1"', '--server', OF_ALICE,
        ],
        env={'NOVA_MARKET_CREDENTIAL': CREDENTIAL, 'PATH': os.environ['PATH']},
        capture_output=True, text=True, timeout=60, check=False, cwd=guest,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, '', '')
    kept = reported(market_service)[OF_ALICE]
    assert (kept.metric, kept.waiting, kept.busy) == (0.25, 3, 1)


def test_it_runs_on_the_pythons_of_older_guests():
    """The syntax is that of Python 3.8."""
    ast.parse(FILE.read_text(), feature_version=(3, 8))


def test_the_time_of_an_iteration_is_measured_between_reports(market_service, guest):
    """Where the application says no more than how far it is."""
    now, path = [100.0], guest / 'progress'
    reporter = agent.Reporter(
        options(market_service, guest, progress_file=path), CREDENTIAL, APP, '', lambda: now[0]
    )
    found = []
    for at, done in ((100, 0), (130, 10), (160, 25), (200, 25), (1000, 25), (1010, 0), (1030, 1)):
        now[0] = at
        path.write_text(f'{done}/100\n')
        found.append(reporter.report()['progress'].get('seconds_each'))
    # 30 s for 10, 30 s for 15, then one that takes ever longer, then it begins anew
    assert found == [None, 3.0, 2.0, 40.0, 840.0, None, 20.0]


@pytest.mark.parametrize(
    ('text', 'progress'),
    [
        ('5 10', {'done': 5, 'total': 10}),
        ('5/10 2.5', {'done': 5, 'total': 10, 'seconds_each': 2.5}),
        (
            '{"total": 10, "done": 5, "seconds_each": 1}',
            {'done': 5, 'total': 10, 'seconds_each': 1},
        ),
    ],
)
def test_progress_is_words_or_json(text, progress):
    """In either form."""
    assert agent.progress_of(text, agent.Pace(), 0.0) == progress


@pytest.mark.parametrize(
    'text', ['', '5', '5 10 1 1', 'a b', '-1 2', 'nan 1', '1 inf', '11 10', '{"done": 1}', '{"x"']
)
def test_progress_of_nonsense_is_refused(text):
    """The words that were found are named."""
    with pytest.raises(agent.Refused):
        agent.progress_of(text, agent.Pace(), 0.0)


def test_what_fails_is_printed_once_and_tried_more_seldom(market_service, guest):
    """A source that is away, a service that refuses, then all is well: three lines, growing pauses."""
    path, printed, slept = guest / 'latency', [], []
    reporter = agent.Reporter(options(market_service, guest, metric_file=path), 'wrong', APP, '')

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 2:
            path.write_text('1')
        if len(slept) == 6:
            reporter.credential = CREDENTIAL

    agent.run(reporter, 10.0, printed.append, sleep, rounds=7)
    assert [line.split()[-1] for line in printed] == [
        f"'{path}'",
        '(market.app.credential)',
        'again',
    ]
    assert slept == [20, 40, 80, 100, 100, 100, 10]
    assert reported(market_service)[''].metric == 1


def test_it_ends_when_its_application_has(market_service, guest):
    """Exit status 3, and the service's words."""
    market_service.market.stores.apps.decide(
        APP, AppState.WAITING, {'state': AppState.FINISHED, 'closed': True}, []
    )
    reporter = agent.Reporter(
        options(market_service, guest, metric_command='echo 1'), CREDENTIAL, APP, ''
    )
    with pytest.raises(agent.Ended, match='has ended'):
        agent.run(reporter, 10.0, pytest.fail, pytest.fail)


def test_one_report_is_tried_three_times(market_service, guest):
    """And then said to have failed."""
    slept = []
    reporter = agent.Reporter(
        options(market_service, guest, metric_command='false'), CREDENTIAL, APP, ''
    )
    with pytest.raises(agent.Refused, match='false: exit status 1'):
        agent.once(reporter, 30.0, slept.append)
    assert slept == [5.0, 5.0]


def test_a_command_that_prints_no_text_is_refused():
    """And the agent goes on."""
    with pytest.raises(agent.Refused, match='utf-8'):
        agent.command_text("printf '\\377'", 5.0)


def test_a_command_that_hangs_is_ended_with_what_it_began(tmp_path):
    """Nothing is left running."""
    pids = tmp_path / 'pid'
    with pytest.raises(agent.Refused, match='timed out'):
        agent.command_text(f'sh -c "sleep 60 & echo $! > {pids}; wait"', 1.0)
    with pytest.raises(ProcessLookupError):
        _gone(int(pids.read_text()))


def _gone(pid):
    """Signals a process until it is reaped, for ten seconds at most."""
    for _ in range(1000):
        os.kill(pid, 0)
        stat = Path(f'/proc/{pid}/stat').read_text()
        if stat.rpartition(')')[2].split()[0] == 'Z':
            raise ProcessLookupError
        threading.Event().wait(0.01)


@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        ({}, 'nothing to report'),
        ({'metric_file': 'x', 'metric_command': 'y'}, 'give a file or a command'),
        ({'metric_file': 'x', 'url': 'ftp://x'}, 'give http:// or https://'),
        ({'metric_file': 'x', 'credential_file': '/no/such'}, '/no/such'),
        ({'metric_file': 'x', 'credential_file': '/dev/null'}, 'no credential'),
        ({'metric_file': 'x', 'cacert': '/no/such'}, '--cacert /no/such'),
    ],
    ids=str,
)
def test_options_that_cannot_work(market_service, guest, capsys, given, expected):
    """One line, exit status 2."""
    given = vars(options(market_service, guest)) | given
    words = [f'--{name.replace("_", "-")}={v}' for name, v in given.items() if v and v is not True]
    assert agent.main(words) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize('interval', ['0', '-1', 'nan', 'inf', 'x'])
def test_an_interval_has_bounds(interval, capsys):
    """A loop without a pause is refused."""
    with pytest.raises(SystemExit):
        agent.parser().parse_args([f'--interval={interval}'])
    assert 'give seconds, 1 to 86400' in capsys.readouterr().err


class Elsewhere(BaseHTTPRequestHandler):
    """Sends everybody elsewhere, and notes what it was told."""

    requests: list = []  # noqa: RUF012 (the handler is made anew for each request)

    def do_POST(self):
        self.requests.append((self.path, self.headers.get('X-App-Credential')))
        self.send_response(302)
        self.send_header('Location', f'http://127.0.0.1:{self.server.server_port}/elsewhere')
        self.send_header('Content-Length', '0')
        self.end_headers()

    def do_GET(self):
        self.do_POST()

    def log_message(self, *_):
        """Requests are not printed."""


@pytest.fixture
def elsewhere():
    Elsewhere.requests = []
    with ThreadingHTTPServer(('127.0.0.1', 0), Elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_the_credential_follows_no_redirect(market_service, guest, elsewhere):
    """Whoever answers instead of the service learns it for the address it was meant for, and no more."""
    given = options(market_service, guest, metric_command='echo 1')
    given.url = f'http://127.0.0.1:{elsewhere.server_port}'
    with pytest.raises(agent.Refused, match='302'):
        agent.Reporter(given, CREDENTIAL, APP, '').send({'metric': 1})
    assert [path for path, _ in Elsewhere.requests] == [f'/v1/apps/{APP}/reports']


def test_a_service_that_is_away_is_no_end(market_service, guest):
    """No connection, no TLS: refused, to be tried again."""
    given = options(market_service, guest, metric_command='echo 1')
    for url in ('http://127.0.0.1:1', market_service.url.replace('http:', 'https:')):
        given.url = url
        with pytest.raises(agent.Refused, match=r'127\.0\.0\.1'):
            agent.Reporter(given, CREDENTIAL, APP, '').send({'metric': 1})


@pytest.mark.parametrize(
    'answer',
    [
        b'SSH-2.0-OpenSSH_9.2\r\n\r\n',
        b'HTTP/1.1 204 ' + b'x' * 70_000 + b'\r\n\r\n',
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"errors": [',
        b'HTTP/1.1 503 Away\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"errors": [',
    ],
    ids=['no HTTP', 'a line without end', 'a cut answer', 'a cut refusal'],
)
def test_what_is_no_answer_is_no_end(market_service, guest, monkeypatch, answer):
    """A proxy that answers nonsense, a connection that is cut: said, and tried again; no metadata either."""

    class Garbage(socketserver.StreamRequestHandler):
        def handle(self):
            length = 0
            while (line := self.rfile.readline().strip()) != b'':
                name, _, value = line.partition(b':')
                length = int(value) if name.lower() == b'content-length' else length
            self.rfile.read(length)
            self.wfile.write(answer)

    with socketserver.TCPServer(('127.0.0.1', 0), Garbage) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            given = options(market_service, guest, metric_command='echo 1')
            given.url = f'http://127.0.0.1:{server.server_address[1]}'
            with pytest.raises(agent.Refused, match=r'127\.0\.0\.1'):
                agent.Reporter(given, CREDENTIAL, APP, '').send({'metric': 1})
            monkeypatch.setattr(agent, 'METADATA', f'{given.url}/x')
            assert agent.metadata(5.0) == {}
        finally:
            server.shutdown()
            thread.join()


def test_certificates_are_checked(market_service, guest):
    """By default as any program does."""
    reporter = agent.Reporter(options(market_service, guest), CREDENTIAL, APP, '')
    # private: what Python would accept shows in nothing but its context
    (https,) = [one for one in reporter._opener.handlers if type(one).__name__ == 'HTTPSHandler']
    context = https._context  # private: of Python, as above
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_who_it_is_comes_from_the_metadata(market_service, guest, monkeypatch):
    """As Nova serves them: the application's mark, and the server's own id."""
    document = {'uuid': OF_ALICE, 'meta': {'market:app': APP, 'market:slot': 'worker-1'}}

    class Metadata(BaseHTTPRequestHandler):
        def do_GET(self):
            text = json.dumps(document).encode()
            self.send_response(200)
            self.send_header('Content-Length', str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            """Requests are not printed."""

    with ThreadingHTTPServer(('127.0.0.1', 0), Metadata) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        monkeypatch.setattr(agent, 'METADATA', f'http://127.0.0.1:{server.server_port}/x')
        given = options(market_service, guest, metric_command='echo 2', server='auto')
        given.app = None
        reporter = agent.configured(given)
        server.shutdown()
        thread.join()
    agent.once(reporter, 30.0, pytest.fail)
    assert reported(market_service)[OF_ALICE].metric == 2
    with pytest.raises(agent.Refused, match='the metadata do not tell'):
        agent.configured(given)
