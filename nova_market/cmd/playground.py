# SPDX-License-Identifier: Apache-2.0
"""nova-market-playground: a market to try, on a cloud in memory, in the foreground of a terminal."""

import argparse
import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING

from nova_market.cmd import command_line, program
from nova_market.errors import NovaMarketError
from nova_market.playground.folder import ADDRESS, Folder
from nova_market.playground.people import LOGINS

if TYPE_CHECKING:
    from nova_market.playground.playground import Playground

PROGRAM = 'nova-market-playground'
PORT = 8790
LEAST_SPEED, MOST_SPEED = 0.1, 600.0
"""Beyond it one step of everybody takes longer than the time that it is for."""

ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

LOG_BYTES = 5_000_000
"""Of the log, and of the one before."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0 ended by Ctrl-C or SIGTERM, 1 it could not run, 2 wrong options."""
    arguments = _parser().parse_args(argv)
    stopping = threading.Event()
    # for its owner only, also in a directory that others may look into
    mask = os.umask(0o077)
    before = {one: signal.signal(one, lambda *_: stopping.set()) for one in ENDS}
    try:
        _play(arguments, stopping)
    except (NovaMarketError, OSError) as error:
        return program.failed(PROGRAM, error)
    finally:
        os.umask(mask)
        for one, handler in before.items():
            signal.signal(one, handler)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description='A market to try: API, engine, controller, jobs, leases and notices on a cloud in '
        'memory, whose servers come and go. It prints its address and logins, and runs until Ctrl-C. The '
        'next start goes on where it was. Needs neither root nor a cloud, and writes nothing outside its '
        'directory.',
    )
    parser.add_argument('--version', action='version', version=command_line.version())
    parser.add_argument(
        '--directory', type=Path, default=Path('playground'), metavar='DIR',
        help='everything that it keeps; new, empty, or that of an earlier start (default: %(default)s)',
    )  # fmt: skip
    parser.add_argument(
        '--speed', type=_speed, default=10.0, metavar='N',
        help=f'how fast the clock of the cloud runs, {LEAST_SPEED:g} to {MOST_SPEED:g} times as fast as '
        'that of this machine; 60: an hour in a minute (default: %(default)g)',
    )  # fmt: skip
    parser.add_argument(
        '--port', type=_port, default=PORT, metavar='PORT',
        help=f'of {ADDRESS}; 0: any that is free (default: %(default)s)',
    )  # fmt: skip
    return parser


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not LEAST_SPEED <= speed <= MOST_SPEED:
        raise argparse.ArgumentTypeError(
            f'{text!r:.40}: give a number from {LEAST_SPEED:g} to {MOST_SPEED:g}'
        )
    return speed


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f'{text!r:.40}: give a number from 0 to 65535')
    return int(text)


def _play(arguments: argparse.Namespace, stopping: threading.Event) -> None:
    folder = Folder(arguments.directory)
    folder.open(command_line.version())
    try:
        print(f'{PROGRAM}: it starts, which takes some seconds', file=sys.stderr)
        # all services: Ctrl-C is heard meanwhile, and who is refused needs none of them
        from nova_market.playground.playground import Playground

        with _logged(folder.path / 'log'):
            made = Playground(folder, arguments.port)
            try:
                made.start()
                _greet(made, folder, arguments.speed)
                made.run(arguments.speed, stopping)
            finally:
                made.stop()
    finally:
        folder.close()
    print(f'saved in {folder.path}; the same command goes on from there', file=sys.stderr)


@contextmanager
def _logged(path: Path) -> Iterator[None]:
    """What services and libraries log goes to a file."""
    handler = RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1, encoding='utf-8')
    handler.setFormatter(logging.Formatter('%(asctime)s %(levelname)s %(name)s %(message)s'))
    root = logging.getLogger()
    before = root.handlers[:], root.level
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.handlers[:], level = before[0], before[1]
        root.setLevel(level)
        handler.close()


def _greet(
    made: 'Playground', folder: Folder, speed: float, write: Callable[[str], object] = print
) -> None:
    """Where it is, who may log in, and what to type."""
    passwords = folder.passwords()
    shell = os.path.relpath(folder.path / 'shell')
    now = time.strftime('%Y-%m-%d %H:%M', time.gmtime(made.clock.wall()))
    lines = [
        f'The market is at {made.url}/market, its Keystone at {made.url}/identity/v3.',
        f'In the cloud it is {now} UTC, and its clock runs {speed:g} times as fast as this one.',
        '',
        *(
            f'    {one.name:<10}{passwords[one.name]:<24}{one.role} of project {one.project}'
            for one in LOGINS
        ),
        '',
        'In another terminal:',
        '',
        f'    {shell}             # a shell in which "openstack market ..." works, as alice',
        f'    {shell} operator    # the same as somebody else',
        '',
        'Ctrl-C ends it; the next start goes on from there.',
    ]
    write('\n'.join(lines))
    sys.stdout.flush()


if __name__ == '__main__':
    raise SystemExit(main())
