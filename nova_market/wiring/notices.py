# SPDX-License-Identifier: Apache-2.0
"""Puts the service of notices together from options."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path

from oslo_config import cfg

from nova_market.adapters.clock import SystemClock
from nova_market.adapters.notice.mail import MailSettings, SmtpMail
from nova_market.adapters.notice.webhook import HttpsWebhook, WebhookSettings
from nova_market.conf import market, notices
from nova_market.conf import roles as role_options
from nova_market.core.notice.address import Network
from nova_market.core.notice.preference import ADDRESS
from nova_market.db.database import Database
from nova_market.db.job_states import DatabaseJobStates
from nova_market.db.notice_outbox import DatabaseOutbox
from nova_market.db.notices import DatabaseNotices
from nova_market.errors import ConfigurationError
from nova_market.ports import Clock, MailSender, UserRoles
from nova_market.services.notice.delivery import Delivery
from nova_market.services.notice.settings import DeliverySettings
from nova_market.wiring.database import ready, set_aside_report
from nova_market.wiring.leadership import NOTICES, leadership
from nova_market.wiring.names import service_name
from nova_market.wiring.options import check_values
from nova_market.wiring.standing import standings

SERVICE = 'nova-market-notices'


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A service of notices and what its owner must close."""

    delivery: Delivery
    settings: DeliverySettings
    database: Database

    def close(self) -> None:
        self.database.close()


def build(
    conf: cfg.ConfigOpts,
    *,
    mail: MailSender | None = None,
    clock: Clock | None = None,
    roles: UserRoles | None = None,
    open_database: Callable[[cfg.ConfigOpts], Database] = ready,
) -> Parts:
    """Everything of the service, nothing started.

    mail, clock, roles: instead of the real ones
    open_database: database.ready, or awaited for a service

    :raises ConfigurationError: an option that cannot work.
    :raises DatabaseUnavailable, SchemaBehind: there is nowhere to read notices.
    """
    settings, clock = delivery_settings(conf), clock or SystemClock()
    mail = mail or SmtpMail(mail_settings(conf))
    webhook = HttpsWebhook(webhook_settings(conf))
    database = open_database(conf)
    delivery = Delivery(
        notices=DatabaseNotices(database, clock.wall),
        outbox=DatabaseOutbox(database),
        states=DatabaseJobStates(database),
        mail=mail,
        webhook=webhook,
        standings=standings(conf, SERVICE, clock, roles),
        leadership=leadership(conf, settings.name, clock, NOTICES),
        clock=clock,
        settings=settings,
        aside=set_aside_report('notices', database, clock),
    )
    return Parts(delivery=delivery, settings=settings, database=database)


def check_options(conf: cfg.ConfigOpts) -> None:
    """:raises ConfigurationError: names the option, its value, the limit and where it stands."""
    check_values(
        conf, [listed for group in (market, notices, role_options) for listed in group.list_opts()]
    )


def delivery_settings(conf: cfg.ConfigOpts) -> DeliverySettings:
    """How notices are sent."""
    options = conf.notices
    return DeliverySettings(
        name=service_name(conf, 'notices', 'notices'),
        interval=options.interval,
        give_up=options.give_up,
        workers=options.workers,
        prefix=options.subject_prefix,
    )


def mail_settings(conf: cfg.ConfigOpts) -> MailSettings:
    """:raises ConfigurationError: names the option and what to give."""
    options = conf.notices
    if not ADDRESS.fullmatch(options.mail_from) and options.mail_domains:
        raise ConfigurationError(
            f'[notices]mail_from = {options.mail_from!r:.100}: give an address such as '
            'market@example.org: mail is sent from it'
        )
    if options.smtp_user and not options.smtp_password_file:
        raise ConfigurationError(
            '[notices]smtp_user is set and smtp_password_file is not: name a file with its password'
        )
    if options.smtp_user and options.smtp_security == 'none':
        raise ConfigurationError(
            '[notices]smtp_security = none would send the password of smtp_user unprotected: give '
            'starttls or tls'
        )
    _readable('smtp_cafile', options.smtp_cafile)
    _readable('smtp_password_file', options.smtp_password_file)
    return MailSettings(
        host=options.smtp_host,
        port=options.smtp_port,
        sender=options.mail_from,
        security=options.smtp_security,
        cafile=options.smtp_cafile,
        user=options.smtp_user,
        password_file=options.smtp_password_file,
        timeout=options.smtp_timeout,
    )


def webhook_settings(conf: cfg.ConfigOpts) -> WebhookSettings:
    """:raises ConfigurationError: names the option and what to give."""
    options = conf.notices
    _readable('webhook_cafile', options.webhook_cafile)
    return WebhookSettings(
        networks=_networks(options.webhook_networks),
        cafile=options.webhook_cafile,
        timeout=options.webhook_timeout,
    )


def _networks(texts: Sequence[str]) -> tuple[Network, ...]:
    try:
        return tuple(ip_network(text) for text in texts)
    except ValueError as error:
        raise ConfigurationError(
            f'[notices]webhook_networks: {error}: give networks such as 10.1.0.0/16'
        ) from None


def _readable(option: str, name: str) -> None:
    try:
        if name:
            with Path(name).open('rb'):
                pass
    except OSError as error:
        raise ConfigurationError(f'[notices]{option}: {error}') from None
