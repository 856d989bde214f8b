# SPDX-License-Identifier: Apache-2.0
"""nova-fairness: the service of a compute host, and what an operator asks of it."""

import json
import os
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

from nova_market.adapters.calibration import calibrate  # noqa: E402
from nova_market.adapters.state_file import JsonFile  # noqa: E402
from nova_market.cmd import wiring  # noqa: E402
from nova_market.conf import opts  # noqa: E402
from nova_market.errors import ConfigurationError, NovaMarketError  # noqa: E402
from nova_market.fairness import status  # noqa: E402
from nova_market.fairness.service import FairnessService  # noqa: E402
from nova_market.fairness.settings import load_settings  # noqa: E402

PROGRAM = 'nova-fairness'
EXIT_FAILED = 1
EXIT_NOT_RUNNING = 3
"""As systemctl's for a service that does not run."""

EXIT_CONFIGURATION = 78
"""EX_CONFIG of sysexits.h: starting again would not help, so systemd does not."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0 done, 1 failed, 3 not running (status), 78 options that can not work.

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
    opts.register_opts(conf)
    conf.register_cli_opts(
        [
            cfg.BoolOpt(
                'dry-run',
                default=False,
                help='Decide and log, write nothing; as [fairness]dry_run.',
            ),
            cfg.SubCommandOpt(
                'command',
                title='commands',
                help='Without a command the service runs in the foreground until it gets SIGTERM.',
                handler=_add_commands,
            ),
        ]
    )
    conf(
        sys.argv[1:] if argv is None else argv,
        project='nova_market',
        prog=PROGRAM,
        description='Fairness between the users of this compute host: measures what their VMs use, '
        'exchanges heaviness with the other hosts and sets CPU, disk, memory and network weights.',
        default_config_files=cfg.find_config_files('nova_market', 'nova_market'),
    )
    wiring.check_options(conf)
    if conf.dry_run:
        conf.set_override('dry_run', True, 'fairness')


def _add_commands(subparsers: object) -> None:
    def add(name: str, run: Callable[[cfg.ConfigOpts], int], text: str) -> object:
        parser = subparsers.add_parser(name, help=text, description=text)  # type: ignore[attr-defined]
        parser.set_defaults(run=run)
        return parser

    subparsers.required = False  # type: ignore[attr-defined]  # no command: run
    add('run', _run, 'Run the service in the foreground (the default).')
    shown = add(
        'status', _status, "This host's VMs: load, heaviness, weights asked and set, and why."
    )
    shown.add_argument(  # type: ignore[attr-defined]
        '-f', '--format', choices=('table', 'json'), default='table', help='default: table'
    )
    add('restore', _restore, 'Put back the values that guests had before the service touched them.')
    add('calibrate', _calibrate, 'Measure the speed of a core (3 s of one CPU) and keep the score.')


def _run(conf: cfg.ConfigOpts) -> int:
    settings = load_settings(conf)
    with wiring.state_lock(conf):
        parts = wiring.build(conf, settings)
        try:
            wiring.start_background(conf, parts)
            parts.agent.start()
        except BaseException:
            parts.driver.close()
            raise
        log.getLogger(__name__).info(
            '%s: policy %s, interval %g s, metric %s, controls %s, exchange %s%s',
            parts.host,
            settings.policy,
            settings.interval,
            settings.metric_name,
            ', '.join(parts.controls) or 'none',
            conf.fairness.exchange,
            ', DRY RUN' if conf.fairness.dry_run else '',
        )
        run = FairnessService(parts.agent, settings.interval, parts.observe, parts.collector.failed)
        parts.driver.subscribe(run.wake)
        if parts.market is not None:
            parts.market.subscribe(run.wake)
        service.launch(conf, run, workers=1, no_fork=True, restart_method='mutate').wait()
    return 0


def _status(conf: cfg.ConfigOpts) -> int:
    path = wiring.status_path(conf)
    document = JsonFile(path).load()
    if document is None or document.get('format') != status.FORMAT:
        raise NovaMarketError(
            f'no status in {path}: nova-fairness has not run a round here, or you may not read it'
        )
    alive = wiring.is_running(conf)
    if conf.command.format == 'json':
        print(json.dumps(document | {'running': alive}, indent=2))  # type: ignore[operator]
    else:
        print(status.render(document, time.time(), alive))
    return 0 if alive else EXIT_NOT_RUNNING


def _restore(conf: cfg.ConfigOpts) -> int:
    with wiring.state_lock(conf):
        parts = wiring.build(conf, load_settings(conf))
        try:
            restored, refused = parts.agent.restore()
            for actuator in parts.actuators:
                actuator.close()
        finally:
            parts.driver.close()
    print(f'{restored} guests have their original values')
    if refused:
        raise NovaMarketError(
            f'{refused} guests refused theirs; the log says why, and they are kept for the next try'
        )
    return 0


def _calibrate(conf: cfg.ConfigOpts) -> int:
    path = wiring.calibration_path(conf)
    os.makedirs(os.path.dirname(path), mode=0o750, exist_ok=True)
    print(f'score {calibrate(path):.3f}, kept in {path}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
