# SPDX-License-Identifier: Apache-2.0
"""nova-market-jobs: jobs in servers that are made for them, and what an operator asks of the service."""

from collections.abc import Sequence
from contextlib import closing

from oslo_config import cfg
from oslo_log import log

from nova_market.adapters.clock import SystemClock
from nova_market.cmd import program
from nova_market.conf import database as database_options
from nova_market.services.job import status
from nova_market.services.job.closing import forgotten
from nova_market.wiring import jobs
from nova_market.wiring.database import awaited, ready, set_aside_of


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0 done, 1 failed, 3 passes are overdue (status), 78 bad options."""
    return PROGRAM.main(argv)


def _commands(commands: program.Commands) -> None:
    commands.add('run', _run, 'Run the service in the foreground (the default).')
    commands.add_once(
        _once,
        'Make one pass: start jobs, and look after all that are active; exit status 1 when another service '
        'leads, or it could not be done.',
    )
    forget = commands.add(
        'forget',
        _forget,
        'Forget a queue that is being deleted and whose servers or trust cannot be reached any more, '
        'without asking the cloud. Prints which servers and which trusts may be left.',
    )
    forget.add_argument('queue', metavar='QUEUE', help='name or id of the queue')
    commands.add_status(
        _status,
        'All queues with their jobs and workers, and when the last pass was, from the database. Exit status '
        f'{program.EXIT_NOT_RUNNING}: passes are overdue.',
    )


def _run(conf: cfg.ConfigOpts) -> int:
    with closing(jobs.build(conf, open_database=awaited)) as parts:
        program.serve_metrics(conf, 'jobs', parts.collector.registry, parts.database.boundary)
        settings = parts.settings
        log.getLogger(__name__).info(
            '%s: a pass every %g s, policies %s',
            settings.name, settings.interval, ', '.join(sorted(settings.policies)),
        )  # fmt: skip
        program.serve_loop(conf, parts.jobs, settings.interval)
    return 0


def _once(conf: cfg.ConfigOpts) -> int:
    with closing(jobs.build(conf)) as parts:
        program.one_turn(conf, parts.jobs, 'jobs are not looked after')
    return 0


def _forget(conf: cfg.ConfigOpts) -> int:
    stores = jobs.stores_of(ready(conf), SystemClock())
    left = forgotten(stores.queues, stores.attempts, conf.command.queue)
    print(f'queue {left.queue.name} of project {left.queue.project_id} is forgotten')
    for what, names in (('server', left.servers), ('trust', left.trusts)):
        for name in names:
            print(f'{what} {name} may be left: delete it')
    return 0


def _status(conf: cfg.ConfigOpts) -> int:
    clock, database = SystemClock(), ready(conf)
    document = status.status_document(jobs.stores_of(database, clock), clock.wall)
    aside = set_aside_of('jobs', database)
    return program.show_status(conf, document, status.render, aside)


PROGRAM = program.Program(
    name='nova-market-jobs',
    noun='service of jobs',
    description='Runs jobs of queues in servers that it makes for them: it chooses which jobs start, makes '
    'and deletes their servers by trusts of the owners of queues, and preempts best-effort jobs. Any number '
    'of services may run; one leads.',
    commands=_commands,
    register=database_options.register_opts,
    check=jobs.check_options,
    run=_run,
)

if __name__ == '__main__':
    raise SystemExit(main())
