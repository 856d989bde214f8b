# SPDX-License-Identifier: Apache-2.0
"""The power actuator `script`: the operator's own program, as SuspendProgram and ResumeProgram of Slurm.

Called as `PROGRAM ACTION HOST` with ACTION state, on, off or force-off, without a shell and with an
environment of its own, so that it gets no passwords of this service. It must exit with 0, and for `state`
write on, off or unknown. What it writes to standard error is in the message of a failure.
"""

import os
import re
import selectors
import signal
import stat
import subprocess
import time
from dataclasses import dataclass
from typing import IO, cast

from oslo_config import cfg

from nova_market.core.power.host_step import PowerState
from nova_market.core.resource import HostName
from nova_market.errors import ConfigurationError, PowerRefused, PowerUnavailable

BUSY = 75
"""Exit status for "not now": EX_TEMPFAIL of sysexits.h."""

MAX_OUTPUT = 64 * 1024
"""Bytes that are read of each output; the rest is thrown away."""

SHOWN = 200
"""Characters of its standard error that a message has."""

LOOK = 0.1
"""Seconds between two looks whether it has ended: something it started may keep its outputs open."""

HOST = re.compile(r'[A-Za-z0-9][A-Za-z0-9._-]{0,254}')
PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """status: of the program; out, error: the first of what it wrote"""

    status: int
    out: str
    error: str


class ScriptPower:
    """Implements ports.PowerActuator."""

    acts = True

    def __init__(self, program: str, timeout: float) -> None:
        """timeout: seconds of one call. :raises ConfigurationError: it cannot be run."""
        self._program = program
        self._timeout = timeout
        _check(program)

    def state(self, host: HostName) -> PowerState:
        word = self._run('state', host).out.strip().lower()
        try:
            return PowerState(word)
        except ValueError:
            raise PowerRefused(
                f'{host}: {self._program} state wrote "{_printable(word)}"; it must write on, off or unknown'
            ) from None

    def power_on(self, host: HostName) -> None:
        self._run('on', host)

    def power_off(self, host: HostName, *, force: bool = False) -> None:
        self._run('force-off' if force else 'off', host)

    def _run(self, action: str, host: HostName) -> Ended:
        if not HOST.fullmatch(host):
            raise PowerRefused(
                f'{_printable(host)}: not a name that {self._program} can be given; letters, digits, dots, '
                'underscores and hyphens are, of which the first is a letter or a digit'
            )
        call = f'{host}: {self._program} {action}'
        try:
            ended = _ended([self._program, action, host], self._timeout)
        except OSError as error:
            raise PowerRefused(f'{call} cannot be run: {error.strerror}') from None
        if ended is None:
            raise PowerUnavailable(
                f'{call} did not end within {self._timeout:g} s and was killed; make it faster, or raise '
                '[power]script_timeout'
            )
        if ended.status == 0:
            return ended
        why = _printable(ended.error) or 'nothing on standard error'
        text = f'{call} ended with {ended.status}: {why}'
        raise (PowerUnavailable if ended.status == BUSY else PowerRefused)(text)


def script(conf: cfg.ConfigOpts) -> ScriptPower:
    """Plug-in `script`. :raises ConfigurationError: the program cannot be run."""
    return ScriptPower(conf.power.script, conf.power.script_timeout)


def _check(program: str) -> None:
    """:raises ConfigurationError: not an absolute path of a program that only its owner may change."""
    if not os.path.isabs(program):
        raise ConfigurationError(
            f'[power]script = {program}: give the absolute path of the program that switches hosts'
        )
    try:
        about = os.stat(program)
    except OSError as error:
        raise ConfigurationError(f'[power]script = {program}: {error.strerror}') from None
    if not stat.S_ISREG(about.st_mode) or not os.access(program, os.X_OK):
        raise ConfigurationError(
            f'[power]script = {program}: not a program that may be run; "chmod 755 {program}"'
        )
    if about.st_mode & 0o022:
        raise ConfigurationError(
            f'[power]script = {program}: mode {stat.S_IMODE(about.st_mode):04o} lets others change it; '
            f'"chmod go-w {program}"'
        )


def _ended(command: list[str], timeout: float) -> Ended | None:
    """What became of it; None: it did not end in time, and was killed with all that it started.

    :raises OSError: it cannot be started.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={'PATH': PATH, 'LANG': 'C.UTF-8'},
        cwd='/',
        start_new_session=True,
    )
    out, error = cast(IO[bytes], process.stdout), cast(IO[bytes], process.stderr)
    with out, error:
        kept = _read(process, (out, error), time.monotonic() + timeout)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None
    texts = [one.decode('utf-8', 'replace') for one in kept]
    return Ended(status=process.returncode, out=texts[0], error=texts[1])


def _read(
    process: subprocess.Popen[bytes], pipes: tuple[IO[bytes], ...], until: float
) -> list[bytearray]:
    """The first bytes of each pipe, until the process has ended or it is too late."""
    kept = [bytearray() for _ in pipes]
    with selectors.DefaultSelector() as selector:
        for number, pipe in enumerate(pipes):
            selector.register(pipe, selectors.EVENT_READ, number)
        while (left := until - time.monotonic()) > 0:
            over = process.poll() is not None
            # after its end only what is in the pipes already
            ready = selector.select(0 if over else min(LOOK, left))
            for key, _ in ready:
                found = os.read(key.fd, 4096)
                if not found:
                    selector.unregister(key.fileobj)
                kept[key.data] += found[: MAX_OUTPUT - len(kept[key.data])]
            if over and not ready:
                break
    return kept


def _printable(text: str) -> str:
    """One line of it, without control characters."""
    line = ' '.join(text.split())
    return ''.join(one for one in line if one.isprintable())[:SHOWN]
