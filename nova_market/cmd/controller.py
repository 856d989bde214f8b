# SPDX-License-Identifier: Apache-2.0
"""nova-market-controller: applications that scale themselves, and what an operator asks of them."""

from collections.abc import Sequence
from contextlib import closing

from oslo_config import cfg
from oslo_log import log

from nova_market.adapters.clock import SystemClock
from nova_market.cmd import program
from nova_market.conf import database as database_options
from nova_market.services.app import status
from nova_market.services.app.closing import abandoned
from nova_market.wiring import controller
from nova_market.wiring.database import awaited, ready, set_aside_of


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0 done, 1 failed, 3 not looked after (status), 78 bad options."""
    return PROGRAM.main(argv)


def _commands(commands: program.Commands) -> None:
    commands.add('run', _run, 'Run the controller in the foreground (the default).')
    commands.add_once(
        _once,
        'Make one pass: decide if there is a new round, and look after all servers; exit status 1 when '
        'another controller leads, or it could not be done.',
    )
    forget = commands.add(
        'forget',
        _forget,
        'Forget an application whose servers or trust cannot be reached any more, without asking the cloud: '
        'its credits go back to its project. Prints which servers and which trust may be left.',
    )
    forget.add_argument('app', metavar='APP', help='id of the application')
    commands.add_status(
        _status,
        'All applications that are looked after, from the database. Exit status '
        f'{program.EXIT_NOT_RUNNING}: rounds go by without a decision on some of them.',
    )


def _run(conf: cfg.ConfigOpts) -> int:
    with closing(controller.build(conf, open_database=awaited)) as parts:
        program.serve_metrics(conf, 'controller', parts.collector.registry, parts.database.boundary)
        settings = parts.settings
        log.getLogger(__name__).info(
            '%s: a look every %g s, policies %s',
            settings.name, settings.interval, ', '.join(sorted(settings.policies)),
        )  # fmt: skip
        program.serve_loop(conf, parts.controller, settings.interval)
    return 0


def _once(conf: cfg.ConfigOpts) -> int:
    with closing(controller.build(conf)) as parts:
        program.one_turn(conf, parts.controller, 'applications are not looked after')
    return 0


def _forget(conf: cfg.ConfigOpts) -> int:
    database = ready(conf)
    stores = controller.stores_of(database, SystemClock())
    left = abandoned(stores, conf.command.app)
    print(f'application {left.app.id} of project {left.app.project_id} is forgotten')
    for what, names in (('server', left.servers), ('trust', left.trusts)):
        for name in names:
            print(f'{what} {name} may be left: delete it')
    return 0


def _status(conf: cfg.ConfigOpts) -> int:
    database = ready(conf)
    stores = controller.stores_of(database, SystemClock())
    document = status.status_document(stores.apps, stores.slots, stores.history)
    aside = set_aside_of('controller', database)
    return program.show_status(conf, document, status.render, aside)


PROGRAM = program.Program(
    name='nova-market-controller',
    noun='controller',
    description='Runs the applications of this cloud: in each round of the market it sets their bids '
    'and the number of their servers by the policy of each, and creates, suspends, resumes and '
    'deletes their servers by trusts of their owners. Any number of controllers may run; one leads.',
    commands=_commands,
    register=database_options.register_opts,
    check=controller.check_options,
    run=_run,
)

if __name__ == '__main__':
    raise SystemExit(main())
