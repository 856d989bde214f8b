# SPDX-License-Identifier: Apache-2.0
"""nova-market-engine: the market's rounds, and what an operator asks of them."""

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
from nova_market.cmd import engine_wiring, manage_db  # noqa: E402
from nova_market.conf import opts  # noqa: E402
from nova_market.db import schema  # noqa: E402
from nova_market.errors import ConfigurationError, NovaMarketError  # noqa: E402
from nova_market.market import status  # noqa: E402
from nova_market.market.service import TICK, MarketService  # noqa: E402

PROGRAM = 'nova-market-engine'
EXIT_FAILED = 1
EXIT_NOT_RUNNING = 3
"""As systemctl's for a service that does not run."""

EXIT_CONFIGURATION = 78
"""EX_CONFIG of sysexits.h: starting again would not help, so systemd does not."""

Run = Callable[[cfg.ConfigOpts], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0 done, 1 failed, 3 no rounds (status), 78 options that can not work.

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
                help='Without a command the engine runs in the foreground until it gets SIGTERM.',
                handler=_add_commands,
            ),
        ]
    )
    conf(
        sys.argv[1:] if argv is None else argv,
        project='nova_market',
        prog=PROGRAM,
        description='The market of this cloud: in each period it reads hosts, servers and bids, makes '
        'prices, tells the hosts what their servers get, and charges what they confirm. Any number '
        'may run; one leads. It never stops or deletes a server.',
        default_config_files=cfg.find_config_files('nova_market', 'nova_market'),
    )
    engine_wiring.check_options(conf)


def _add_commands(subparsers: object) -> None:
    def add(name: str, run: Run, text: str) -> object:
        parser = subparsers.add_parser(name, help=text, description=text)  # type: ignore[attr-defined]
        parser.set_defaults(run=run)
        return parser

    subparsers.required = False  # type: ignore[attr-defined]  # no command: run
    add('run', _run, 'Run the engine in the foreground (the default).')
    once = add(
        'once',
        _once,
        'Lead one round to the end of its period, and settle it; exit status 1 when another engine '
        'leads, or it could not be run.',
    )
    once.add_argument(  # type: ignore[attr-defined]
        '--wait', type=float, default=30.0, metavar='SECONDS',
        help='for the lead, default: 30',
    )  # fmt: skip
    shown = add(
        'status',
        _status,
        f'The last rounds, prices and payers, from the database. Exit status {EXIT_NOT_RUNNING}: no '
        'engine has run a round lately.',
    )
    shown.add_argument(  # type: ignore[attr-defined]
        '-f', '--format', choices=('table', 'json'), default='table', help='default: table'
    )


def _run(conf: cfg.ConfigOpts) -> int:
    parts = engine_wiring.build(conf)
    try:
        engine_wiring.start_metrics(conf, parts.collector)
        settings = parts.settings
        log.getLogger(__name__).info(
            '%s: period %d s, pricing %s, currency %s, rebalancing %s, exchange %s',
            settings.name, settings.period, settings.options['pricing'],
            settings.options['currency'], conf.rebalancing.mode, conf.fairness.exchange,
        )  # fmt: skip
        run = MarketService(parts.engine)
        service.launch(conf, run, workers=1, no_fork=True, restart_method='mutate').wait()
    finally:
        parts.close()
    return 0


def _once(conf: cfg.ConfigOpts) -> int:
    parts = engine_wiring.build(conf)
    engine = parts.engine
    engine.start()
    try:
        began = time.monotonic()
        while not engine.leads:
            if time.monotonic() - began > conf.command.wait:
                raise NovaMarketError('another engine leads, or nobody can: see the log')
            engine.tick()
            time.sleep(min(TICK, conf.command.wait))
        period = engine.period()
        while engine.period() == period:
            engine.tick()
            if engine.outage:
                raise NovaMarketError(f'no round: {engine.outage}')
            time.sleep(TICK)
        engine.settle()
    finally:
        engine.stop()
        parts.close()
    return 0


def _status(conf: cfg.ConfigOpts) -> int:
    database = manage_db.connect(conf)
    schema.check(database)
    stores = engine_wiring.stores_of(database, SystemClock())
    document = status.status_document(stores.history, time.time(), conf.market.period)
    if conf.command.format == 'json':
        print(json.dumps(document, indent=2))
    else:
        print(status.render(document))
    return 0 if document['alive'] else EXIT_NOT_RUNNING


if __name__ == '__main__':
    sys.exit(main())
