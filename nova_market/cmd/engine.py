# SPDX-License-Identifier: Apache-2.0
"""nova-market-engine: the market's rounds, and what an operator asks of them."""

import time
from collections.abc import Sequence

from oslo_config import cfg
from oslo_log import log

from nova_market.adapters.clock import SystemClock
from nova_market.cmd import program
from nova_market.conf import database as database_options
from nova_market.errors import NovaMarketError
from nova_market.services.daemon import TICK, Daemon
from nova_market.services.market import status
from nova_market.wiring import engine as engine_wiring
from nova_market.wiring.database import awaited, ready, set_aside_of

BEGINS = '%s: period'
"""How the log begins when the database was found; %s is the name of the engine."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0 done, 1 failed, 3 no rounds (status), 78 options that cannot work."""
    return PROGRAM.main(argv)


def _commands(commands: program.Commands) -> None:
    commands.add('run', _run, 'Run the engine in the foreground (the default).')
    commands.add_once(
        _once,
        'Lead one round to the end of its period, and settle it; exit status 1 when another engine '
        'leads, or it could not be run.',
    )
    commands.add_status(
        _status,
        f'The last rounds, prices and payers, from the database. Exit status {program.EXIT_NOT_RUNNING}: '
        'no engine has run a round lately.',
    )


def _run(conf: cfg.ConfigOpts) -> int:
    parts = engine_wiring.build(conf, open_database=awaited)
    try:
        program.serve_metrics(conf, 'market', parts.collector.registry, parts.database.boundary)
        settings = parts.settings
        log.getLogger(__name__).info(
            BEGINS + ' %d s, pricing %s, currency %s, rebalancing %s, exchange %s',
            settings.name, settings.period, settings.options['pricing'],
            settings.options['currency'], conf.rebalancing.mode, conf.fairness.exchange,
        )  # fmt: skip
        parts.usage.start()
        parts.engine.start()
        program.serve(conf, Daemon(parts.engine, patience=settings.period))
    finally:
        parts.close()
    return 0


def _once(conf: cfg.ConfigOpts) -> int:
    parts = engine_wiring.build(conf)
    engine = parts.engine
    engine.start()
    try:
        engine.await_lead(conf.command.wait)
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
    database = ready(conf)
    stores = engine_wiring.stores_of(database, SystemClock())
    document = status.status_document(stores.history, time.time(), conf.market.period)
    aside = set_aside_of('engine', database)
    return program.show_status(conf, document, status.render, aside)


PROGRAM = program.Program(
    name='nova-market-engine',
    noun='engine',
    description='The market of this cloud: in each period it reads hosts, servers and bids, computes '
    'prices, sends allocations to the hosts, and charges what they confirm. Any number of engines '
    'may run; one leads. It never stops or deletes a server.',
    commands=_commands,
    register=database_options.register_opts,
    check=engine_wiring.check_options,
    run=_run,
)

if __name__ == '__main__':
    raise SystemExit(main())
