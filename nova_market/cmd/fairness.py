# SPDX-License-Identifier: Apache-2.0
"""nova-fairness: the service of a compute host, and what an operator asks of it."""

import json
import os
import time
from collections.abc import Sequence

from oslo_config import cfg
from oslo_log import log

from nova_market.adapters.hypervisor.calibration import calibrate
from nova_market.adapters.state_file import JsonFile
from nova_market.cmd import program
from nova_market.errors import NovaMarketError
from nova_market.services.daemon import STALE_INTERVALS, Daemon
from nova_market.services.fairness import status
from nova_market.services.fairness.rounds import FairnessRounds
from nova_market.services.fairness.settings import load_settings
from nova_market.wiring import agent

ELSEWHERE = (
    'When it runs in a container or another mount namespace, give its process id: '
    'nova-fairness status --pid PID'
)
LINKED = (
    'Where a part of [fairness]state_path is a symbolic link in there, run "nova-fairness status" inside: '
    'from here an absolute link leads to a directory of this machine'
)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0 done, 1 failed, 78 bad options; of status also 3 not running, 4 late."""
    return PROGRAM.main(argv)


def _register(conf: cfg.ConfigOpts) -> None:
    conf.register_cli_opts(
        [
            cfg.BoolOpt(
                'dry-run',
                default=False,
                help='Decide and log, but write nothing, as with [fairness]dry_run.',
            )
        ]
    )


def _commands(commands: program.Commands) -> None:
    commands.add('run', _run, 'Run the service in the foreground (the default).')
    shown = commands.add_status(
        _status,
        "Show this host's VMs: load, heaviness, weights wanted and set, and the reasons. Exit status 0: the "
        f'service runs, and its rounds end in time; {program.EXIT_NOT_RUNNING}: it does not run; '
        f'{program.EXIT_LATE}: it runs, and has finished no round for {STALE_INTERVALS} intervals (at least '
        f'{status.SOONEST:g} s); {program.EXIT_FAILED}: there is no status of it.',
    )
    shown.add_argument(
        '--pid', type=int, metavar='PID',
        help='of the service, when it runs in a container or another mount namespace: its '
        '[fairness]state_path is looked for in there',
    )  # fmt: skip
    commands.add(
        'restore', _restore, 'Restore the values that guests had before the service changed them.'
    )
    commands.add(
        'calibrate', _calibrate, 'Measure the speed of a core (3 s of one CPU) and keep the score.'
    )


def _run(conf: cfg.ConfigOpts) -> int:
    settings = load_settings(conf)
    dry_run = conf.dry_run or conf.fairness.dry_run
    with agent.state_lock(conf):
        parts = agent.build(conf, settings, dry_run=dry_run)
        program.serve_metrics(conf, 'fairness', parts.collector.registry)
        parts.start()
        log.getLogger(__name__).info(
            '%s: policy %s, interval %g s, metric %s, controls %s, exchange %s%s',
            parts.host,
            settings.policy,
            settings.interval,
            settings.metric_name,
            ', '.join(parts.controls) or 'none',
            conf.fairness.exchange,
            ', DRY RUN' if dry_run else '',
        )
        rounds = FairnessRounds(
            parts.agent, parts.observe, parts.collector.failed, parts.show_under_way
        )
        run = Daemon(rounds, settings.interval, patience=status.patience(settings.interval))
        parts.subscribe(run.wake)
        program.serve(conf, run)
    return 0


def _status(conf: cfg.ConfigOpts) -> int:
    if conf.command.pid is not None:
        _look_into(conf, conf.command.pid)
    path = agent.status_path(conf)
    found, under_way = JsonFile(path).load(), JsonFile(agent.under_way_path(conf)).load()
    alive, now = agent.is_running(conf), time.time()
    if found is None or found.get('format') != status.FORMAT:
        if alive and under_way:
            raise NovaMarketError(
                f'no round has ended yet: {status.under_way_text(under_way, now)}'
            )
        raise NovaMarketError(
            f'no status in {path}: nova-fairness has not run a round here, or you may not read it. '
            + (ELSEWHERE if conf.command.pid is None else LINKED)
        )
    under_way = status.still_under_way(found, under_way) if alive else None
    late = status.is_late(found, now)
    if conf.command.format == 'json':
        print(
            json.dumps({**found, 'running': alive, 'late': late, 'under_way': under_way}, indent=2)
        )
    else:
        print(status.render(found, now, alive, under_way))
    if not alive:
        return program.EXIT_NOT_RUNNING
    return program.EXIT_LATE if late else 0


def _look_into(conf: cfg.ConfigOpts, pid: int) -> None:
    """Take state_path as the process with this id sees it.

    :raises NovaMarketError: there is none, or it belongs to somebody else.
    """
    root = f'/proc/{pid}/root'
    if not os.access(f'{root}/', os.R_OK | os.X_OK):
        raise NovaMarketError(
            f'--pid {pid}: there is no such process, or you may not look into it; "pgrep -f nova-fairness" '
            'lists processes, and root may look into all of them'
        )
    conf.set_override('state_path', root + conf.fairness.state_path, 'fairness')


def _restore(conf: cfg.ConfigOpts) -> int:
    with agent.state_lock(conf):
        restored, refused = agent.build(conf, load_settings(conf), dry_run=False).restore()
    print(f'{restored} guests have their original values')
    if refused:
        raise NovaMarketError(
            f'{refused} guests refused theirs; the log says why, and they are kept for the next try'
        )
    return 0


def _calibrate(conf: cfg.ConfigOpts) -> int:
    path = agent.calibration_path(conf)
    os.makedirs(os.path.dirname(path), mode=0o750, exist_ok=True)
    print(f'score {calibrate(path):.3f}, kept in {path}')
    return 0


PROGRAM = program.Program(
    name='nova-fairness',
    noun='service',
    description='Fairness between the users of this compute host: measures what their VMs use, '
    'exchanges heaviness with the other hosts and sets CPU, disk, memory and network weights.',
    commands=_commands,
    register=_register,
    check=agent.check_options,
    run=_run,
)

if __name__ == '__main__':
    raise SystemExit(main())
