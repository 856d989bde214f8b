# SPDX-License-Identifier: Apache-2.0
"""What the commands of our services share: options, exit codes, the metrics endpoint."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg
from oslo_log import log
from oslo_service import service
from prometheus_client import CollectorRegistry, start_http_server

from nova_market.cmd import command_line
from nova_market.conf import opts
from nova_market.core.set_aside import SetAside
from nova_market.errors import ConfigurationError, NovaMarketError
from nova_market.row_boundary import RowBoundary
from nova_market.services.daemon import STALE_INTERVALS, Daemon
from nova_market.services.leader_loop import LeaderLoop
from nova_market.services.set_aside import SetAsideCollector, aside_document, render_aside
from nova_market.wiring.options import explained
from nova_market.wiring.unknown_options import log_unknown_options

EXIT_FAILED = 1
EXIT_NOT_RUNNING = 3
"""As systemctl's for a service that does not run."""

EXIT_LATE = 4
"""Runs, and its rounds are late."""

EXIT_INTERRUPTED = 130
"""As a shell has it for a program that Ctrl-C has ended."""

EXIT_CONFIGURATION = 78
"""EX_CONFIG of sysexits.h: starting again would not help, so systemd does not."""

RUN = 'run'
"""The command of a service, which is also meant without one."""

Run = Callable[[cfg.ConfigOpts], int]


class Commands:
    """Takes the commands of a program while its options are declared."""

    def __init__(self, subparsers: Any) -> None:
        subparsers.required = False  # no command: run
        self._subparsers = subparsers

    def add(self, name: str, run: Run, text: str) -> argparse.ArgumentParser:
        """A command; run(conf) is its exit code."""
        parser: argparse.ArgumentParser = self._subparsers.add_parser(
            name, help=text, description=text
        )
        parser.set_defaults(run=run)
        return parser

    def add_status(self, run: Run, text: str) -> argparse.ArgumentParser:
        """`status`, for people and programs."""
        parser = self.add('status', run, text)
        parser.add_argument(
            '-f', '--format', choices=('table', 'json'), default='table', help='default: table'
        )
        return parser

    def add_once(self, run: Run, text: str) -> None:
        """`once`, which waits to be the leader."""
        self.add('once', run, text).add_argument(
            '--wait', type=float, default=30.0, metavar='SECONDS', help='for the lead, default: 30'
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A service and its command.

    noun: what runs, for the help
    register: declares options beside those of nova_market.conf
    check: refuses options that can not work
    run: without a command
    """

    name: str
    noun: str
    description: str
    commands: Callable[[Commands], None]
    register: Callable[[cfg.ConfigOpts], None]
    check: Callable[[cfg.ConfigOpts], None]
    run: Run

    def main(self, argv: Sequence[str] | None = None) -> int:
        """The exit code of the command; what failed is one line on stderr."""
        conf = cfg.CONF
        try:
            self._parse(conf, argv)
            log.setup(conf, self.name)
            if conf.command.name in (None, RUN):
                log_unknown_options(conf)
            return int(conf.command.run(conf) if conf.command.name else self.run(conf))
        except (NovaMarketError, cfg.Error, OSError) as error:
            return failed(self.name, explained(conf, error))
        except KeyboardInterrupt:
            return EXIT_INTERRUPTED

    def _parse(self, conf: cfg.ConfigOpts, argv: Sequence[str] | None) -> None:
        log.register_options(conf)
        log.set_defaults(default_log_levels=[*log.get_default_log_levels(), 'alembic=WARN'])
        opts.register_opts(conf)
        self.register(conf)
        command = cfg.SubCommandOpt(
            'command',
            title='commands',
            help=f'Without a command the {self.noun} runs in the foreground until it gets SIGTERM.',
            handler=lambda subparsers: self.commands(Commands(subparsers)),
        )
        conf.register_cli_opts([command])
        command_line.parse(conf, argv, self.name, self.description)
        self.check(conf)


def failed(program: str, error: Exception) -> int:
    """Print what failed as one line on stderr; returns the exit code."""
    print(f'{program}: {error}', file=sys.stderr)
    wrong_options = isinstance(error, ConfigurationError | cfg.Error)
    return EXIT_CONFIGURATION if wrong_options else EXIT_FAILED


def show_status(
    conf: cfg.ConfigOpts,
    document: Mapping[str, Any],
    render: Callable[[Mapping[str, Any]], str],
    aside: Sequence[SetAside],
) -> int:
    """Print a status document in the format asked for; the exit code is 0 when the service is alive.

    aside: what the service has set aside
    """
    whole = {**document, 'set_aside': aside_document(aside)}
    if conf.command.format == 'json':
        print(json.dumps(whole, indent=2))
    else:
        print(render(document), *([render_aside(aside)] if aside else []), sep='\n\n')
    return 0 if document['alive'] else EXIT_NOT_RUNNING


def serve(conf: cfg.ConfigOpts, run: service.ServiceBase) -> None:
    """Run a service in this process until it is stopped."""
    service.launch(conf, run, workers=1, no_fork=True, restart_method='mutate').wait()


def serve_loop(conf: cfg.ConfigOpts, loop: LeaderLoop, interval: float) -> None:
    """Start a service of which one leads, and run it until it is stopped. interval: seconds of its passes"""
    loop.start()
    serve(conf, Daemon(loop, patience=STALE_INTERVALS * interval))


def one_turn(conf: cfg.ConfigOpts, loop: LeaderLoop, lost: str) -> None:
    """One pass, when it leads. lost: what does not work while it cannot be made

    :raises NovaMarketError: another one leads, or it could not be made.
    """
    loop.start()
    try:
        loop.await_lead(conf.command.wait)
        if loop.outage:
            raise NovaMarketError(f'{lost}: {loop.outage}')
    finally:
        loop.stop()


def serve_metrics(
    conf: cfg.ConfigOpts,
    group: str,
    registry: Callable[[], CollectorRegistry],
    boundary: RowBoundary | None = None,
) -> None:
    """The Prometheus endpoint of a service, if there is to be one. boundary: of its database, if it has one

    :raises ConfigurationError: it cannot be opened.
    """
    port, address = conf[group].metrics_port, conf[group].metrics_address
    if not port:
        return
    made = registry()
    if boundary is not None:
        made.register(SetAsideCollector(boundary))
    try:
        start_http_server(port, addr=address, registry=made)
    except OSError as error:
        raise ConfigurationError(
            f'[{group}]metrics_port = {port} at {address}: cannot be opened ({error.strerror}); choose '
            'another or 0 for none'
        ) from None
