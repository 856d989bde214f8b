# SPDX-License-Identifier: Apache-2.0
"""nova-market-leases: leases start and end on time, and what an operator asks of the service."""

from collections.abc import Sequence
from contextlib import closing

from oslo_config import cfg
from oslo_log import log

from nova_market.adapters.clock import SystemClock
from nova_market.cmd import program
from nova_market.conf import database as database_options
from nova_market.db.job_states import DatabaseJobStates
from nova_market.db.leases import DatabaseLeases
from nova_market.services.lease import status
from nova_market.wiring import leases
from nova_market.wiring.database import awaited, ready, set_aside_of


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0 done, 1 failed, 3 passes are overdue (status), 78 bad options."""
    return PROGRAM.main(argv)


def _commands(commands: program.Commands) -> None:
    commands.add('run', _run, 'Run the service in the foreground (the default).')
    commands.add_once(
        _once,
        'Make one pass: read the hosts, start, charge and end what is due; exit status 1 when another '
        'service leads, or it could not be done.',
    )
    commands.add_status(
        _status,
        'Leases by state, hosts that can be leased, and when the last pass was, from the database. Exit '
        f'status {program.EXIT_NOT_RUNNING}: passes are overdue.',
    )


def _run(conf: cfg.ConfigOpts) -> int:
    with closing(leases.build(conf, open_database=awaited)) as parts:
        program.serve_metrics(conf, 'leases', parts.registry, parts.database.boundary)
        settings = parts.settings
        log.getLogger(__name__).info('%s: a pass every %g s', settings.name, settings.interval)
        program.serve_loop(conf, parts.leases, settings.interval)
    return 0


def _once(conf: cfg.ConfigOpts) -> int:
    with closing(leases.build(conf)) as parts:
        program.one_turn(conf, parts.leases, 'leases are not looked after')
    return 0


def _status(conf: cfg.ConfigOpts) -> int:
    clock, database = SystemClock(), ready(conf)
    document = status.status_document(
        DatabaseLeases(database, clock.wall), DatabaseJobStates(database), clock.wall
    )
    aside = set_aside_of('leases', database)
    return program.show_status(conf, document, status.render, aside)


PROGRAM = program.Program(
    name='nova-market-leases',
    noun='service of leases',
    description='Starts, charges and ends leases of hosts, moves them where a host is lost, and publishes '
    'which hosts can be leased. Any number of services may run; one leads.',
    commands=_commands,
    register=database_options.register_opts,
    check=leases.check_options,
    run=_run,
)

if __name__ == '__main__':
    raise SystemExit(main())
