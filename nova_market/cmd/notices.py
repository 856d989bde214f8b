# SPDX-License-Identifier: Apache-2.0
"""nova-market-notices: events by mail and to webhooks, and what an operator asks of the service."""

import sys
import uuid
from collections.abc import Sequence
from contextlib import closing

from oslo_config import cfg
from oslo_log import log

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.notice.mail import SmtpMail
from nova_market.cmd import program
from nova_market.conf import database as database_options
from nova_market.core.notice.preference import check_mail
from nova_market.db.job_states import DatabaseJobStates
from nova_market.db.notice_outbox import DatabaseOutbox
from nova_market.errors import BadNotice
from nova_market.services.notice import status
from nova_market.wiring import notices
from nova_market.wiring.database import awaited, ready, set_aside_of


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0 done, 1 failed, 3 passes are overdue (status), 78 bad options."""
    return PROGRAM.main(argv)


def _commands(commands: program.Commands) -> None:
    commands.add('run', _run, 'Run the service in the foreground (the default).')
    commands.add_once(
        _once,
        'Make one pass: send what is due; exit status 1 when another service leads, or it could not be '
        'done.',
    )
    test = commands.add(
        'test-mail', _test_mail, 'Send one mail, to see whether the mail server takes it.'
    )
    test.add_argument('address', metavar='ADDRESS', help='where to')
    commands.add_status(
        _status,
        'How many events wait, were sent and were given up in the last day, and when the last pass was, '
        f'from the database. Exit status {program.EXIT_NOT_RUNNING}: passes are overdue.',
    )


def _run(conf: cfg.ConfigOpts) -> int:
    with closing(notices.build(conf, open_database=awaited)) as parts:
        settings = parts.settings
        log.getLogger(__name__).info('%s: a pass every %g s', settings.name, settings.interval)
        program.serve_loop(conf, parts.delivery, settings.interval)
    return 0


def _once(conf: cfg.ConfigOpts) -> int:
    with closing(notices.build(conf)) as parts:
        program.one_turn(conf, parts.delivery, 'notices are not sent')
    return 0


def _test_mail(conf: cfg.ConfigOpts) -> int:
    mail, settings = SmtpMail(notices.mail_settings(conf)), notices.delivery_settings(conf)
    subject = f'{settings.prefix} test'.strip()
    address = conf.command.address
    try:
        check_mail(address, conf.notices.mail_domains)
    except BadNotice as error:
        print(f'{PROGRAM.name}: {error} ([notices]mail_domains)', file=sys.stderr)
    mail.send(address, str(uuid.uuid4()), subject, f'{settings.name} can send mail.\n')
    print(f'the mail server has taken a mail to {address}')
    return 0


def _status(conf: cfg.ConfigOpts) -> int:
    database = ready(conf)
    document = status.status_document(
        DatabaseOutbox(database), DatabaseJobStates(database), SystemClock().wall
    )
    aside = set_aside_of('notices', database)
    return program.show_status(conf, document, status.render, aside)


PROGRAM = program.Program(
    name='nova-market-notices',
    noun='service of notices',
    description='Sends events of jobs, leases, credits and plans by mail and to webhooks, to the users who '
    'have asked for them. Any number of services may run; one leads.',
    commands=_commands,
    register=database_options.register_opts,
    check=notices.check_options,
    run=_run,
)

if __name__ == '__main__':
    raise SystemExit(main())
