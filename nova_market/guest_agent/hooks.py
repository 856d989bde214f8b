# SPDX-License-Identifier: Apache-2.0
"""nova-market-hooks: runs the hooks of an image when servers of its application come and go.

Implements rules G1, G4 and G5 of doc/source/specs/market.rst inside a guest. It reports every so many
seconds, and runs what the owner of the image has put into a directory, without a shell:

drain SECONDS: ends the work of this server; exit status 0: it has ended, the server may be deleted
undrain:       the server stays after all; also when the agent starts, as it may have been taken back before
join, leave COMPONENT NUMBER SERVER_ID ADDRESS: another server takes work from now on, or none any more;
               all that take work are on standard input, as a JSON list

Each may be run again. The others that `join` and not yet `leave` was run for are in a file, so that who goes
while no agent runs is not forgotten.

It needs Python 3.8 and report.py beside it; see there for the credential.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

if __package__:
    from nova_market.guest_agent import report
else:  # copied into a guest
    import report  # type: ignore[import-not-found, no-redef]

PROGRAM = 'nova-market-hooks'
NAMES = ('drain', 'undrain', 'join', 'leave')
SOON = 5.0
"""Seconds to the next report after something has happened, and while it drains."""
KILLED = 5.0
"""Seconds for what was killed to be gone."""
SHOWN = 200
"""Characters of what a hook printed last."""


class Hook:
    """One run of an executable, in a session of its own; `text` is the end of what it printed."""

    def __init__(self, path: str, arguments: Sequence[str], given: str = '') -> None:
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (it is read when it has ended)
        self.text = ''
        environment = {**os.environ}
        environment.pop(report.CREDENTIAL_VARIABLE, None)
        with tempfile.TemporaryFile() as source:
            source.write(given.encode())
            source.seek(0)
            self._running = subprocess.Popen(
                [path, *arguments],
                stdin=source,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def status(self, seconds: float = 0.0) -> int | None:
        """Its exit status, waited for so long; None: it runs."""
        try:
            found = self._running.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        self._read()
        return found

    def end(self) -> None:
        """It and what it began."""
        if self._running.poll() is None:
            try:
                os.killpg(self._running.pid, signal.SIGKILL)
                self._running.wait(KILLED)
            except (PermissionError, subprocess.TimeoutExpired):
                self.text = 'it cannot be ended'  # it runs as somebody else, or waits for a disk
                return
        self._read()

    def _read(self) -> None:
        if not self._output.closed:
            size = self._output.seek(0, os.SEEK_END)
            self._output.seek(max(size - SHOWN, 0))
            self.text = self._output.read().decode('utf-8', 'replace').strip()[-SHOWN:]
            self._output.close()


class Directory:
    """The executables of an image. limit: seconds for all but `drain`."""

    def __init__(self, path: str, limit: float) -> None:
        self._path = path
        self.limit = limit

    def has(self, name: str) -> bool:
        return os.access(os.path.join(self._path, name), os.X_OK)

    def begin(self, name: str, arguments: Sequence[str], given: str = '') -> Hook:
        """:raises Refused: it cannot be run."""
        try:
            return Hook(os.path.join(self._path, name), arguments, given)
        except OSError as error:
            raise report.Refused(f'hook {name}: {error}') from None

    def run(self, name: str, arguments: Sequence[str] = (), given: str = '') -> None:
        """One that is not there has nothing to do.

        :raises Refused: it failed, or took too long.
        """
        if not self.has(name):
            return
        hook = self.begin(name, arguments, given)
        status = hook.status(self.limit)
        if status is None:
            hook.end()
            raise report.Refused(f'hook {name}: it took more than {self.limit:g} s')
        if status:
            raise report.Refused(f'hook {name}: exit status {status}: {hook.text}')


class Members:
    """The other servers, as far as `join` and `leave` have acted on them; kept in a file."""

    def __init__(
        self, hooks: Directory, state: str, server_id: str, clock: Callable[[], float]
    ) -> None:
        self.version = ''
        self._hooks = hooks
        self._state = state
        self._own = server_id
        self._clock = clock
        self._known: dict[str, Mapping[str, Any]] = _stored(state)
        self._wanted: Mapping[str, Any] | None = None

    @property
    def watched(self) -> bool:
        return self._hooks.has('join') or self._hooks.has('leave')

    def take(self, listed: Mapping[str, Any] | None) -> bool:
        """Run a hook for each difference; whether there is a new version to acknowledge.

        :raises Refused: one failed, or there is no time for more: they are tried again in the next round.
        """
        self._wanted = listed or self._wanted
        if self._wanted is None:
            return False
        there = {
            one['server_id']: one
            for one in self._wanted['servers']
            if one['state'] == 'present' and one['server_id'] != self._own
        }
        ends, trouble = self._clock() + self._hooks.limit, ''
        gone = [one for name, one in self._known.items() if not _same(one, there.get(name))]
        new = [one for name, one in there.items() if not _same(one, self._known.get(name))]
        for hook, one in [*(('leave', one) for one in gone), *(('join', one) for one in new)]:
            if self._clock() >= ends:
                trouble = trouble or f'hook {hook}: no time is left for {one["address"]}'
                break
            try:
                self._hooks.run(hook, _arguments(one), json.dumps(list(there.values())))
            except report.Refused as error:
                trouble = trouble or str(error)
                continue
            if hook == 'leave':
                del self._known[one['server_id']]
            elif one['server_id'] not in self._known:
                self._known[one['server_id']] = one
            trouble = trouble or _store(self._state, self._known)
        if trouble:
            raise report.Refused(trouble)
        self.version, self._wanted = self._wanted['version'], None
        return True


class Drain:
    """The draining of this server; `done` is what is reported of it."""

    def __init__(self, hooks: Directory, clock: Callable[[], float]) -> None:
        self.done: dict[str, Any] | None = None
        self._hooks = hooks
        self._clock = clock
        self._hook: Hook | None = None
        self._ends = 0.0
        self._id: int | None = None  # not known: an agent before this one may have begun a draining

    @property
    def runs(self) -> bool:
        return self._hook is not None

    def take(self, order: Mapping[str, Any] | None) -> bool:
        """Begin, look after or take back; whether there is something new to report.

        :raises Refused: `undrain` failed; it is tried again.
        """
        given = 0 if order is None else order['id']
        if self._id != given and (self._id or not given):
            self.end()
            self._hooks.run('undrain')
            self._id, self.done = 0, None
        if order is None or (self.done or {}).get('drained'):
            return False
        if (
            not order['begin'] and not self.runs
        ):  # one that has begun is not held up by a new member
            return False
        self._id = order['id']
        if not self._hooks.has('drain'):
            return self._report(True, '')
        if self._hook is None:
            return self._begin(order['seconds'])
        status = self._hook.status()
        if status is None and self._clock() < self._ends:
            return False
        hook, text = self._hook, 'it took too long' if status is None else f'exit status {status}'
        self.end()
        return self._report(status == 0, '' if status == 0 else f'{text}: {hook.text}')

    def end(self) -> None:
        """The hook, if it runs."""
        if self._hook is not None:
            self._hook.end()
        self._hook = None

    def _begin(self, seconds: float) -> bool:
        self._ends = self._clock() + seconds
        try:
            self._hook = self._hooks.begin('drain', [f'{seconds:.0f}'])
        except report.Refused as error:
            return self._report(False, str(error))
        return False

    def _report(self, drained: bool, text: str) -> bool:
        again = self.done is not None and not drained
        self.done = {'id': self._id, 'drained': drained, 'text': text[:SHOWN]}
        return not again


class Agent(report.Reporter):
    """Reports what the hooks did and does what the answer asks for; `report.run` drives it."""

    def __init__(
        self,
        given: argparse.Namespace,
        credential: str,
        app_id: str,
        server_id: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(given, credential, app_id, server_id, clock)
        hooks = Directory(given.hooks, given.hook_timeout)
        self._server_id = server_id
        self._members = Members(hooks, given.state, server_id, clock)
        self._drain = Drain(hooks, clock)
        self._troubles: dict[str, str] = {}
        self._news = False
        self.sleep = self._sleep

    def report(self) -> dict[str, Any]:
        hooks: dict[str, Any] = {}
        if self._members.watched:
            hooks['members'] = self._members.version
        if self._drain.done is not None:
            hooks['drain'] = self._drain.done
        return {**({'server_id': self._server_id} if self._server_id else {}), 'hooks': hooks}

    def send(self, found: Mapping[str, Any]) -> bytes:
        self._news = False  # while there is no answer, the usual pauses count
        answer = super().send(found)
        try:
            orders = json.loads(answer.decode())['hooks']
            drain, members = orders['drain'], orders['members']
        except (ValueError, LookupError, TypeError):
            raise report.Refused(f'the service answers {answer!r:.80}') from None
        done = [self._tried(self._drain.take, drain), self._tried(self._members.take, members)]
        self._news = any(done)
        return answer

    def _tried(self, take: Callable[[Any], bool], orders: Any) -> bool:
        """A hook that fails is tried again in the next round; what it printed is printed once."""
        trouble, news = '', False
        try:
            news = take(orders)
        except report.Refused as error:
            trouble = str(error)
        if trouble and trouble != self._troubles.get(take.__qualname__):
            sys.stderr.write(f'{PROGRAM}: {trouble}\n')
        self._troubles[take.__qualname__] = trouble
        return news

    def _sleep(self, seconds: float) -> None:
        """Shorter where something is to be reported, or to be seen."""
        time.sleep(min(seconds, SOON) if self._news or self._drain.runs else seconds)


def _same(one: Mapping[str, Any], other: Mapping[str, Any] | None) -> bool:
    return other is not None and one['address'] == other['address']


def _stored(path: str) -> dict[str, Mapping[str, Any]]:
    """By server id; what cannot be read is nobody: `join` is then run for all once more."""
    try:
        with open(path, encoding='utf-8') as file:
            return {str(one['server_id']): one for one in json.load(file) if _arguments(one)}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def _store(path: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    """Why they could not be kept; '' when they are."""
    made = path + '.new'
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(made, 'w', encoding='utf-8') as file:
            json.dump(list(known.values()), file)
        os.replace(made, path)
    except OSError as error:
        return f'--state {path}: {error}'
    return ''


def _arguments(one: Mapping[str, Any]) -> list[str]:
    return [str(one[name]) for name in ('component', 'number', 'server_id', 'address')]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog=PROGRAM,
        description='Runs the hooks of an image when servers of its application come and go: '
        f'{", ".join(NAMES)}. The credential is read as by {report.PROGRAM}.',
        epilog='Exit status: 1 failed, 2 wrong usage, 3 the application has ended.',
    )
    report.add_connection(made)
    of = 'the server this runs on; default: from its metadata'
    made.add_argument('--server', metavar='ID', default='auto', help=of)
    made.add_argument(
        '--hooks', metavar='DIRECTORY', default='/etc/nova-market/hooks',
        help='of the executables; default: %(default)s',
    )  # fmt: skip
    made.add_argument(
        '--state', metavar='FILE', default='/var/lib/nova-market-hooks/members.json',
        help='which servers join was run for, kept over a restart; default: %(default)s',
    )  # fmt: skip
    made.add_argument(
        '--hook-timeout', type=report.seconds, default=30.0,
        help='seconds for all but drain, default 30',
    )  # fmt: skip
    return made


def configured(given: argparse.Namespace) -> Agent:
    """:raises Refused: something is missing: says what to give."""
    hooks = Directory(given.hooks, given.hook_timeout)
    if not any(hooks.has(name) for name in NAMES):
        raise report.Refused(f'--hooks {given.hooks}: no executable {" or ".join(NAMES)} is there')
    return Agent(given, *report.identity(given))


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit status."""
    given = parser().parse_args(argv)
    return int(report.served(lambda: configured(given), given.interval, PROGRAM))


if __name__ == '__main__':
    sys.exit(main())
