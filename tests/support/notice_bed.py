# SPDX-License-Identifier: Apache-2.0
"""The service of notices in one process: a real database, real servers of mail and webhooks, one clock."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from nova_market.adapters.in_memory.clock import ManualClock
from nova_market.adapters.leadership import SoleLeader
from nova_market.adapters.notice.mail import MailSettings, SmtpMail
from nova_market.adapters.notice.webhook import HttpsWebhook, WebhookSettings
from nova_market.core.notice.notice import Notice
from nova_market.core.notice.preference import Preference
from nova_market.core.notice.signature import secret_text
from nova_market.db.database import Database
from nova_market.db.job_states import DatabaseJobStates
from nova_market.db.notice_outbox import DatabaseOutbox
from nova_market.db.notices import DatabaseNotices
from nova_market.services.notice.delivery import Delivery
from nova_market.services.notice.settings import DeliverySettings
from nova_market.wiring.database import set_aside_report
from tests.support.notice_builders import NOW, preference
from tests.support.servers.notices import PASSWORD, HookServer, MailServer
from tests.support.standing import everybody, standings

KEY = bytes(range(24))
LOOPBACK = (ip_network('127.0.0.0/8'), ip_network('::1/128'))
STEP = 5.0

Around = Callable[[Any], Any]


class NoticeBed:
    """One user, Ann of project red; what happens is queued as senders of events do."""

    def __init__(
        self, database: Database, mail: MailServer, hook: HookServer, directory: Path
    ) -> None:
        self.database, self.mail, self.hook = database, mail, hook
        self.clock = ManualClock(wall=NOW)
        self.user_roles = everybody()
        self.notices = DatabaseNotices(database, self.clock.wall)
        self.outbox = DatabaseOutbox(database)
        self.states = DatabaseJobStates(database)
        secret = directory / 'password'
        secret.write_text(f'{PASSWORD}\n')
        cafile = str(directory / 'ca.pem')
        self.mail_settings = MailSettings(
            host='localhost', port=mail.port, sender='market@example.org', cafile=cafile,
            user='market', password_file=str(secret), timeout=5.0,
        )  # fmt: skip
        self.webhook_settings = WebhookSettings(networks=LOOPBACK, cafile=cafile, timeout=2.0)
        self.settings = DeliverySettings(name='n', workers=2)
        self.number = 0
        self.service = self.another()

    def another(self, around: Around = lambda one: one) -> Delivery:
        """A service that has just started. around: put between it and what it calls."""
        made = Delivery(
            notices=around(self.notices),
            outbox=around(self.outbox),
            states=around(self.states),
            mail=around(SmtpMail(self.mail_settings)),
            webhook=around(HttpsWebhook(self.webhook_settings)),
            standings=standings(self.user_roles, self.clock),
            leadership=SoleLeader(),
            clock=self.clock,
            settings=self.settings,
            aside=set_aside_report('notices', self.database, self.clock),
        )
        made.start()
        return made

    def ask(self, **more: Any) -> Preference:
        """What Ann wants: mail, and with webhook=True all to the webhook as well."""
        hook = {'webhook': self.hook.url, 'secret': secret_text(KEY)}
        wanted = preference(**((hook if more.pop('webhook', False) else {}) | more))
        self.notices.set(wanted, None, 9)
        return wanted

    def happens(self, *notices: Notice) -> None:
        """Stored as a service does, in the transaction that advances its place."""
        if not notices:
            return
        before = {'number': self.number} if self.number else {}
        self.number += len(notices)
        now = [replace(one, at=self.clock.wall()) for one in notices]
        assert self.states.exchange('test', before, {'number': self.number}, now)

    def run(self, seconds: float = STEP, step: float = STEP) -> None:
        """Passes for so long."""
        end = self.clock.wall() + seconds
        while self.clock.wall() < end:
            self.service.tick()
            self.clock.advance(step)

    @property
    def subjects(self) -> Sequence[str]:
        return [str(one['subject']) for one in self.mail.mails]

    def counts(self) -> dict[str, int]:
        return self.outbox.counts(0.0)
