# SPDX-License-Identifier: Apache-2.0
"""nova-market-report: tells the market how an application fares, from inside its servers.

Implements the application monitor of Merkat (INRIA RR-8648), section 2.3.1: a metric, progress in iterations
(section 3.2.1), or the queue of a batch framework (section 3.3), every so many seconds.

This one file needs Python 3.8 and nothing besides, so it can be copied into any guest. Proxies come from the
environment, the credential from there or from a file: not from a command line, which all users may see.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import math
import os
import shlex
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from typing import Any

PROGRAM = 'nova-market-report'
VERSION, HOOKS_VERSION = 'market 1.2', 'market 1.3'
CREDENTIAL_VARIABLE = 'NOVA_MARKET_CREDENTIAL'
METADATA = 'http://169.254.169.254/openstack/latest/meta_data.json'
APP_KEY = 'market:app'

LONGEST = 65536
"""Bytes that are read of a file, an answer or the metadata."""
SLOWEST = 10
"""While the service does not answer, reports go out up to so many times less often."""
TRIES = 3  # with --once
UNANSWERED = (OSError, ValueError, http.client.HTTPException)
"""No connection, TLS or time; no JSON; no HTTP, or less of it than was promised."""

EXIT_FAILED, EXIT_USAGE, EXIT_ENDED = 1, 2, 3


class Refused(Exception):
    """The service, or a source, gave something that is no report: printed, and tried again."""


class Ended(Exception):
    """The application has ended: nobody needs reports of it any more."""


class Pace:
    """Measures seconds for one iteration between reports, where the application does not say them."""

    def __init__(self) -> None:
        self._done: float | None = None
        self._at = 0.0
        self._each: float | None = None

    def measured(self, done: float, now: float) -> float | None:
        """Seconds for each of the latest iterations; None before there were two reports."""
        if self._done is None or done < self._done:  # the first one, or it began anew
            self._done, self._at, self._each = done, now, None
        elif done > self._done:
            self._each = (now - self._at) / (done - self._done)
            self._done, self._at = done, now
        elif self._each is not None:
            # one that takes longer than the last ones is as slow as it has been so far
            return max(self._each, now - self._at)
        return self._each


def numbers(text: str, least: int, most: int, what: str) -> list[float]:
    """So many finite numbers, 0 or more; blanks, commas and slashes part them.

    :raises Refused: names what was found.
    """
    parts = text.replace('/', ' ').replace(',', ' ').split()
    try:
        found = [float(part) for part in parts]
    except ValueError:
        found = []
    if not least <= len(found) <= most or not all(0 <= one <= 1e15 for one in found):
        raise Refused('{}: {!r:.80}: give {}'.format('a source', text.strip(), what))
    return found


def progress_of(text: str, pace: Pace, now: float) -> dict[str, float]:
    """`done total [seconds_each]`, or the same as a JSON object."""
    if text.lstrip().startswith('{'):
        try:
            given = json.loads(text)
            names = [name for name in ('done', 'total', 'seconds_each') if name in given]
            text = ' '.join(str(given[name]) for name in names)
        except (ValueError, TypeError):
            raise Refused(f'progress is no JSON: {text!r:.80}') from None
    found = numbers(text, 2, 3, '"done total" or "done total seconds_each"')
    if found[0] > found[1]:
        raise Refused('{:g} of {:g} are done: give done, then total'.format(*found[:2]))
    progress = {'done': found[0], 'total': found[1]}
    measured = pace.measured(found[0], now)
    each = found[2] if len(found) == 3 else measured
    if each is not None:
        progress['seconds_each'] = each
    return progress


def file_text(path: str) -> str:
    """:raises Refused: it can't be read."""
    try:
        with open(path, encoding='utf-8') as file:
            return file.read(LONGEST)
    except (OSError, ValueError) as error:
        raise Refused(f'{path}: {error}') from None


def command_text(command: str, seconds: float) -> str:
    """What a command prints; it and what it began are ended after so many seconds.

    :raises Refused: it can't be run, fails, or takes too long.
    """
    try:
        running = subprocess.Popen(
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            universal_newlines=True,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise Refused(f'{command}: {error}') from None
    with running:
        try:
            text, _ = running.communicate(timeout=seconds)
        except (subprocess.TimeoutExpired, ValueError) as error:
            if running.returncode is None:  # else it ended, with what is no text
                os.killpg(running.pid, signal.SIGKILL)
            raise Refused(f'{command}: {error}') from None
    if running.returncode:
        raise Refused(f'{command}: exit status {running.returncode}')
    return text[:LONGEST]


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The credential goes to nobody else."""

    def redirect_request(self, *_: Any) -> None:
        return None


def metadata(seconds: float) -> dict[str, Any]:
    """What Nova tells a server of itself; an empty one where it tells nothing."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(METADATA, timeout=seconds) as answer:
            found = json.loads(answer.read(10 * LONGEST).decode())
    except UNANSWERED:
        return {}
    return found if isinstance(found, dict) else {}


class Reporter:
    """Reads the sources and sends what they say."""

    def __init__(
        self,
        given: argparse.Namespace,
        credential: str,
        app_id: str,
        server_id: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        base = given.url.rstrip('/')
        self._url = f'{base}/v1/apps/{app_id}/reports'
        self._given = given
        self.credential = credential
        self._server_id = server_id
        self._clock = clock
        self._pace = Pace()
        try:
            context = ssl.create_default_context(cafile=given.cacert)
        except OSError as error:
            raise Refused(f'--cacert {given.cacert}: {error}') from None
        https = urllib.request.HTTPSHandler(context=context)
        self._opener = urllib.request.build_opener(NoRedirect(), https)
        self.sleep: Callable[[float], None] = time.sleep

    def report(self) -> dict[str, Any]:
        """What there is to say now.

        :raises Refused: a source can't be read.
        """
        given = self._given
        found: dict[str, Any] = {'server_id': self._server_id} if self._server_id else {}
        text = self._text(given.metric_file, given.metric_command)
        if text is not None:
            found['metric'] = numbers(text, 1, 1, 'one number, 0 or more')[0]
        text = self._text(given.progress_file, given.progress_command)
        if text is not None:
            found['progress'] = progress_of(text, self._pace, self._clock())
        text = self._text(None, given.queue_command)
        if text is not None:
            waiting, busy = numbers(text, 2, 2, '"waiting busy", two whole numbers')
            found['queue'] = {'waiting': int(waiting), 'busy': int(busy)}
        return found

    def send(self, found: Mapping[str, Any]) -> bytes:
        """The answer. :raises Refused: the reply of the service, or why there was no answer. Ended."""
        request = urllib.request.Request(
            self._url,
            data=json.dumps(found).encode(),
            headers={
                'Content-Type': 'application/json',
                'OpenStack-API-Version': HOOKS_VERSION if 'hooks' in found else VERSION,
                'User-Agent': PROGRAM,
                'X-App-Credential': self.credential,
            },
            method='POST',
        )
        try:
            with self._opener.open(request, timeout=self._given.timeout) as answer:
                return bytes(answer.read(10 * LONGEST))
        except urllib.error.HTTPError as error:
            with error:
                detail, code = _refusal(error)
            if code == 'market.app.ended':
                raise Ended(detail) from None
            raise Refused(f'{self._url}: {error.code} {detail}') from None
        except UNANSWERED as error:
            raise Refused(f'{self._url}: {error}') from None

    def _text(self, path: str | None, command: str | None) -> str | None:
        if path:
            return file_text(path)
        return command_text(command, self._given.timeout) if command else None


def _refusal(error: urllib.error.HTTPError) -> tuple[str, str]:
    """The service's own words and its stable code."""
    try:
        first = json.loads(error.read(LONGEST).decode())['errors'][0]
        return '{} ({})'.format(first['detail'], first['code']), first['code']
    except (*UNANSWERED, LookupError, TypeError):
        return str(error.reason), ''


def run(
    reporter: Reporter,
    interval: float,
    say: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
    rounds: float = math.inf,
) -> None:
    """Report every `interval` seconds; more seldom while it fails. What went wrong is printed once.

    :raises Ended: there is nothing to report of any more.
    """
    pause, trouble, done = interval, '', 0
    while done < rounds:
        done += 1
        try:
            reporter.send(reporter.report())
            if trouble:
                say('reports are taken again')
            pause, trouble = interval, ''
        except Refused as error:
            if str(error) != trouble:
                say(str(error))
            pause, trouble = min(2 * pause, SLOWEST * interval), str(error)
        sleep(pause)


def once(reporter: Reporter, interval: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """One report, tried a few times.

    :raises Refused: it was not.
    """
    for left in reversed(range(TRIES)):
        try:
            reporter.send(reporter.report())
            return
        except Refused:
            if not left:
                raise
        sleep(min(interval, 5.0))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog=PROGRAM,
        description='Reports the state of an application to the market: a metric, its progress, its queue. '
        f'The credential is read from --credential-file or from {CREDENTIAL_VARIABLE}.',
        epilog='Exit status: 1 failed, 2 wrong usage, 3 the application has ended.',
    )
    add_connection(made)
    of = 'report of this server ("auto": this one); default: of the application'
    made.add_argument('--server', metavar='ID', default='', help=of)
    made.add_argument('--metric-file', metavar='FILE', help='holds one number')
    made.add_argument('--metric-command', metavar='COMMAND', help='prints one number')
    holds = 'holds "done total [seconds_each]", or these names as JSON'
    made.add_argument('--progress-file', metavar='FILE', help=holds)
    made.add_argument('--progress-command', metavar='COMMAND', help='prints the same')
    made.add_argument('--queue-command', metavar='COMMAND', help='prints "waiting busy"')
    made.add_argument('--once', action='store_true', help='report once and end')
    return made


class Version(argparse.Action):
    """Prints the version of the package; a file that was copied into a guest has none."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        known = 'version unknown: a copy outside of its package'
        if __package__:
            from importlib import metadata

            with contextlib.suppress(metadata.PackageNotFoundError):
                known = metadata.version('nova-market')
        sys.stdout.write(f'nova-market {known}\n')
        parser.exit()


def add_connection(made: argparse.ArgumentParser) -> None:
    """Options of all agents."""
    made.add_argument('--version', action=Version, nargs=0, help='print the version and end')
    made.add_argument('--url', required=True, help='the market API, as the catalog has it')
    made.add_argument('--app', help="application's id; default: from the server's metadata")
    made.add_argument('--credential-file', metavar='FILE', help='readable for its owner only')
    made.add_argument('--interval', type=seconds, default=30.0, help='seconds, default 30')
    made.add_argument('--timeout', type=seconds, default=10.0, help='seconds, default 10')
    made.add_argument('--cacert', metavar='FILE', help='certificates to trust instead of the usual')


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 1 <= value <= 86400:
        raise argparse.ArgumentTypeError(f'{text!r:.40}: give seconds, 1 to 86400')
    return value


def configured(given: argparse.Namespace) -> Reporter:
    """The reporter that the options stand for.

    :raises Refused: something is missing: says what to give.
    """
    sources = (given.metric_file, given.metric_command, given.progress_file)
    if not any((*sources, given.progress_command, given.queue_command)):
        raise Refused('nothing to report: give --metric-file, --progress-file or a command')
    for one, other in (
        (given.metric_file, given.metric_command), (given.progress_file, given.progress_command)
    ):  # fmt: skip
        if one and other:
            raise Refused(f'{one} and {other!r}: give a file or a command')
    return Reporter(given, *identity(given))


def identity(given: argparse.Namespace) -> tuple[str, str, str]:
    """(credential, id of the application, id of the server or '').

    :raises Refused: something is missing: says what to give.
    """
    if not given.url.startswith(('https://', 'http://')):
        raise Refused(f'--url {given.url}: give http:// or https://')
    if given.credential_file:
        credential = file_text(given.credential_file).strip()
    else:
        credential = os.environ.get(CREDENTIAL_VARIABLE, '').strip()
    if not credential or not credential.isascii() or not credential.isprintable():
        raise Refused(f'no credential: give --credential-file or {CREDENTIAL_VARIABLE}')
    own = metadata(given.timeout) if not given.app or given.server == 'auto' else {}
    app_id = given.app or (own.get('meta') or {}).get(APP_KEY)
    server_id = own.get('uuid') if given.server == 'auto' else given.server
    if not app_id or server_id is None:
        raise Refused('the metadata do not tell which it is: give --app and --server')
    return credential, app_id, server_id


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit status."""
    given = parser().parse_args(argv)
    return served(lambda: configured(given), given.interval, PROGRAM, given.once)


def served(made: Callable[[], Reporter], interval: float, program: str, only: bool = False) -> int:
    """Reports until the end; the exit status. only: once."""

    def say(text: object) -> None:
        sys.stderr.write(f'{program}: {text}\n')

    try:
        reporter = made()
    except Refused as error:
        say(error)
        return EXIT_USAGE
    try:
        once(reporter, interval) if only else run(reporter, interval, say, reporter.sleep)
    except Refused as error:
        say(error)
        return EXIT_FAILED
    except Ended as error:
        say(error)
        return EXIT_ENDED
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == '__main__':
    sys.exit(main())
