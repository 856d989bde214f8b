# SPDX-License-Identifier: Apache-2.0
"""nova-market-controller: applications that scale themselves, and what an operator asks of them."""

import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence

# futurist, which oslo.service uses, imports eventlet where it finds it; we never do
warnings.filterwarnings('ignore', message=r'\s*Eventlet is deprecated')

from oslo_service import backend  # noqa: E402

backend.init_backend(backend.BackendType.THREADING)  # before anything imports oslo_service.service

from oslo_config import cfg  # noqa: E402
from oslo_log import log  # noqa: E402
from oslo_service import service  # noqa: E402

from nova_market.adapters.clock import SystemClock  # noqa: E402
from nova_market.cmd import controller_wiring, manage_db  # noqa: E402
from nova_market.conf import opts  # noqa: E402
from nova_market.db import schema  # noqa: E402
from nova_market.errors import ConfigurationError, NovaMarketError  # noqa: E402
from nova_market.market.service import TICK, MarketService  # noqa: E402
from nova_market.scaling import status  # noqa: E402
from nova_market.scaling.closing import abandoned  # noqa: E402

PROGRAM = 'nova-market-controller'
EXIT_FAILED = 1
EXIT_NOT_RUNNING = 3
"""As systemctl's for a service that does not run."""

EXIT_CONFIGURATION = 78
"""EX_CONFIG of sysexits.h: starting again would not help, so systemd does not."""

Run = Callable[[cfg.ConfigOpts], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0 done, 1 failed, 3 not looked after (status), 78 bad options.

    What failed is said in one line on stderr.
    """
    conf = cfg.CONF
    try:
        _parse(conf, argv)
        log.setup(conf, PROGRAM)
        return int(conf.command.run(conf) if conf.command.name else _run(conf))
    except (NovaMarketError, cfg.Error, OSError) as error:
        print(f'{PROGRAM}: {error}', file=sys.stderr)
        wrong_options = isinstance(error, (ConfigurationError, cfg.Error))
        return EXIT_CONFIGURATION if wrong_options else EXIT_FAILED


def _parse(conf: cfg.ConfigOpts, argv: Sequence[str] | None) -> None:
    log.register_options(conf)
    log.set_defaults(default_log_levels=[*log.get_default_log_levels(), 'alembic=WARN'])
    opts.register_opts(conf)
    manage_db.register_opts(conf)
    conf.register_cli_opts(
        [
            cfg.SubCommandOpt(
                'command',
                title='commands',
                help='Without a command the controller runs in the foreground until it gets SIGTERM.',
                handler=_add_commands,
            ),
        ]
    )
    conf(
        sys.argv[1:] if argv is None else argv,
        project='nova_market',
        prog=PROGRAM,
        description='Runs the applications of this cloud: in each round of the market it sets their bids '
        'and the number of their servers by the policy of each, and makes, suspends, resumes and '
        'deletes their servers with the trusts that their owners gave. Any number may run; one leads.',
        default_config_files=cfg.find_config_files('nova_market', 'nova_market'),
    )
    controller_wiring.check_options(conf)


def _add_commands(subparsers: object) -> None:
    def add(name: str, run: Run, text: str) -> object:
        parser = subparsers.add_parser(name, help=text, description=text)  # type: ignore[attr-defined]
        parser.set_defaults(run=run)
        return parser

    subparsers.required = False  # type: ignore[attr-defined]  # no command: run
    add('run', _run, 'Run the controller in the foreground (the default).')
    once = add(
        'once',
        _once,
        'Make one pass: decide if there is a new round, and look after all servers; exit status 1 when '
        'another controller leads, or it could not be done.',
    )
    once.add_argument(  # type: ignore[attr-defined]
        '--wait', type=float, default=30.0, metavar='SECONDS',
        help='for the lead, default: 30',
    )  # fmt: skip
    forget = add(
        'forget',
        _forget,
        'Forget an application whose servers or trust nobody can reach any more, without asking the cloud: '
        'its credits go back to its project. Says which servers and which trust may be left.',
    )
    forget.add_argument('app', metavar='APP', help='id of the application')  # type: ignore[attr-defined]
    shown = add(
        'status',
        _status,
        f'All applications that are looked after, from the database. Exit status {EXIT_NOT_RUNNING}: '
        'rounds go by and nobody decides on them.',
    )
    shown.add_argument(  # type: ignore[attr-defined]
        '-f', '--format', choices=('table', 'json'), default='table', help='default: table'
    )


def _run(conf: cfg.ConfigOpts) -> int:
    parts = controller_wiring.build(conf)
    try:
        controller_wiring.start_metrics(conf, parts.collector)
        settings = parts.settings
        log.getLogger(__name__).info(
            '%s: a look every %g s, policies %s',
            settings.name, settings.interval, ', '.join(sorted(settings.policies)),
        )  # fmt: skip
        run = MarketService(parts.controller)
        service.launch(conf, run, workers=1, no_fork=True, restart_method='mutate').wait()
    finally:
        parts.close()
    return 0


def _once(conf: cfg.ConfigOpts) -> int:
    parts = controller_wiring.build(conf)
    made = parts.controller
    made.start()
    try:
        began = time.monotonic()
        while True:
            made.tick()
            if made.leads:
                break
            if time.monotonic() - began > conf.command.wait:
                raise NovaMarketError('another controller leads, or nobody can: see the log')
            time.sleep(min(TICK, conf.command.wait))
        if made.outage:
            raise NovaMarketError(f'applications are not looked after: {made.outage}')
    finally:
        made.stop()
        parts.close()
    return 0


def _forget(conf: cfg.ConfigOpts) -> int:
    database = manage_db.connect(conf)
    schema.check(database)
    stores = controller_wiring.stores_of(database, SystemClock())
    left = abandoned(stores, conf.command.app)
    print(f'application {left.app.id} of project {left.app.project_id} is forgotten')
    for what, names in (('server', left.servers), ('trust', left.trusts)):
        for name in names:
            print(f'{what} {name} may be left: delete it')
    return 0


def _status(conf: cfg.ConfigOpts) -> int:
    database = manage_db.connect(conf)
    schema.check(database)
    stores = controller_wiring.stores_of(database, SystemClock())
    document = status.status_document(stores.apps, stores.slots, stores.history)
    if conf.command.format == 'json':
        print(json.dumps(document, indent=2))
    else:
        print(status.render(document))
    return 0 if document['alive'] else EXIT_NOT_RUNNING


if __name__ == '__main__':
    sys.exit(main())
