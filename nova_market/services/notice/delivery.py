# SPDX-License-Identifier: Apache-2.0
"""The service of notices: while it leads, it sends what is due by mail and to webhooks.

Implements rules N3 to N5, N8 and N9 of doc/source/specs/notices.rst. Seconds. A message is claimed in the
database before it is sent, and marked when it was: killed in between, it is sent again with the same id. A
mail server that is away ends the mail of a pass; a webhook that is away, or slow, holds up no mail and no
quick webhook.
"""

import logging
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar
from urllib.parse import urlsplit

from nova_market.core.notice.delivery import HOUR, Queued, Recipient, delivery_plan, pause
from nova_market.core.notice.message import confirmation_text, mail_text, webhook_body
from nova_market.core.notice.preference import MAX_STOPPED, Channel, Preference
from nova_market.core.notice.signature import signed_headers
from nova_market.errors import BadRow, NoticeFailed, NoticeRefused, NoticeServerAway
from nova_market.outage_log import OutageLog
from nova_market.ports import (
    Clock,
    JobStateStore,
    Leadership,
    MailSender,
    NoticeOutbox,
    NoticeStore,
    WebhookSender,
)
from nova_market.row_boundary import reason_of
from nova_market.services.failures import DATABASE_AWAY
from nova_market.services.leader_loop import LeaderLoop
from nova_market.services.notice.lanes import Lanes, Work
from nova_market.services.notice.settings import DeliverySettings
from nova_market.services.set_aside import SetAsideReport
from nova_market.services.standing import Standings

LOG = logging.getLogger(__name__)

Result = TypeVar('Result')

BY = 'nova-market-notices'
STATE = 'notice_pass'
"""Name of what a pass leaves for `status`, among the documents of the services."""

RECIPIENTS = 500
"""By mail, and by webhook, that are looked at in one pass."""

SLOW_PAUSE = 30.0
"""Seconds after which those are looked at again whose webhook was busy: others have their turn meanwhile."""

MAIL = ''
"""The lane of mail; each host of webhooks has one."""

MESSAGES = 5
"""To one recipient in one pass: the others have their turn."""

KEPT = 86_400.0
"""How long it is known what was sent: limits count an hour, and codes a day."""

UNKNOWN_PAUSE = 60.0
"""After which is asked again what a user may do, where nobody could tell."""

HOSTS = 1000
"""Webhooks whose outages are remembered."""


class Delivery(LeaderLoop):
    """A turn in each interval: a pass over those for whom something is due."""

    away = DATABASE_AWAY
    noun = 'service of notices'

    def __init__(
        self,
        *,
        notices: NoticeStore,
        outbox: NoticeOutbox,
        states: JobStateStore,
        mail: MailSender,
        webhook: WebhookSender,
        standings: Standings,
        leadership: Leadership,
        clock: Clock,
        settings: DeliverySettings,
        aside: SetAsideReport,
    ) -> None:
        super().__init__(
            name=settings.name,
            leadership=leadership,
            clock=clock,
            outage=OutageLog(LOG, lost='no notice is sent', back='notices are sent again'),
            interval=settings.interval,
            pause=settings.interval,
        )
        self._aside, self._boundary = aside, aside.boundary
        self._notices = notices
        self._outbox = outbox
        self._states = states
        self._mail = mail
        self._webhook = webhook
        self._standings = standings
        self._settings = settings
        self._mail_away = False
        self._mail_outage = OutageLog(
            LOG,
            lost='mail waits: the mail server does not take it',
            back='the mail server takes mail again',
        )
        self._webhook_outages: dict[str, OutageLog] = {}
        self._lanes = Lanes(settings.workers, apart=[MAIL])

    def stop(self, *, ended: bool = True) -> None:
        super().stop(ended=ended)
        self._lanes.close()

    def turn(self) -> None:
        """One pass.

        :raises DatabaseUnavailable, SchemaBehind: nothing can be known.
        """
        with self._aside.kept(self._leadership.leading):
            self._pass(self._clock.wall())

    def _pass(self, now: float) -> None:
        found = self._outbox.recipients(now, RECIPIENTS)
        self._outage.works()
        self._mail_away = False
        work: dict[Work, Recipient] = {partial(self._try, one): one for one in found}
        asked = [(self._lane(one), task) for task, one in work.items()]
        for task in self._lanes.run(asked, self._settings.interval):
            if not _by_mail(work[task]):
                self._outbox.postpone(work[task], now + SLOW_PAUSE)
        self._outbox.purge(now - KEPT)
        self._states.write(STATE, {'at': now, 'interval': self._settings.interval})
        LOG.debug('%d recipients', len(found))

    def _lane(self, recipient: Recipient) -> str:
        if _by_mail(recipient):
            return MAIL
        try:
            wanted = self._notices.preference(recipient.project_id, recipient.user_id)
            return urlsplit(wanted.webhook).hostname or MAIL if wanted else MAIL
        except (BadRow, ValueError):
            return MAIL  # it is set aside when its turn comes

    def _try(self, recipient: Recipient) -> bool:
        name = f'{recipient.project_id}/{recipient.user_id}/{recipient.channel}'
        with self._boundary.row('recipient', name, 'send', recipient.project_id):
            return self._serve(recipient)
        return False

    def _serve(self, recipient: Recipient) -> bool:
        """Send what is due to one of them; whether all of that was taken, and there was something."""
        if not self._leadership.leading() or (self._mail_away and _by_mail(recipient)):
            return False
        now = self._clock.wall()
        waiting = self._outbox.waiting(recipient)
        wanted = self._notices.preference(recipient.project_id, recipient.user_id)
        if wanted is not None and not self._may_get(recipient, wanted, waiting):
            return False
        recent = self._outbox.recent(recipient, now - HOUR)
        digest, at_most = _pace(recipient, wanted, len(waiting) + len(recent))
        plan = delivery_plan(waiting, recent, digest, at_most, now)
        if plan.wait_until:
            self._outbox.postpone(recipient, plan.wait_until)
        batches = plan.batches[:MESSAGES]
        return bool(batches) and all(self._send(batch, wanted) for batch in batches)

    def _may_get(self, recipient: Recipient, wanted: Preference, waiting: Sequence[Queued]) -> bool:
        """Whether its user still may; else what waits for him is given up, or waits until somebody can tell.

        A code goes to whoever has just asked the API for it.
        """
        if recipient.channel == Channel.CONFIRM:
            return True
        user, project = recipient.user_id, recipient.project_id
        standing = self._standings.ask(wanted.rule, user, project)
        if not standing.known:
            self._outbox.postpone(recipient, self._clock.wall() + UNKNOWN_PAUSE)
            return False
        why = standing.why
        # mail and webhook are looked at at the same time: to one of them it is no news
        if why[:MAX_STOPPED] != wanted.stopped and self._notices.stop(project, user, why):
            if why:
                LOG.warning('notices are not sent any more: %s', why)
            else:
                LOG.info('notices are sent again to user %s of project %s', user, project)
        if why and waiting:
            self._outbox.done(waiting, self._clock.wall(), sent=False)
        return not why

    def _send(self, batch: Sequence[Queued], wanted: Preference | None) -> bool:
        """Whether more may be sent to this recipient now."""
        first, now = batch[0], self._clock.wall()
        message = first.message or str(uuid.uuid4())
        if not self._outbox.claim(batch, message, now, now + pause(first.tries + 1)):
            return False
        try:
            self._hand_over(batch, message, wanted)
        except NoticeRefused as error:
            self._give_up(batch, message, str(error))
        except NoticeFailed as error:
            self._failed(first, error)
            if now - (first.tried_at or now) >= self._settings.give_up:
                self._give_up(batch, message, f'tried for {now - first.tried_at:.0f} s; {error}')
            return False
        else:
            self._outage_of(first).works()
            self._outbox.done(batch, self._clock.wall(), sent=True)
        return True

    def _hand_over(self, batch: Sequence[Queued], message: str, wanted: Preference | None) -> None:
        """:raises NoticeFailed, NoticeRefused: as the ports."""
        first = batch[0]
        if first.recipient.channel == Channel.WEBHOOK:
            if wanted is None or wanted.webhook != first.target:
                raise NoticeRefused('it is not wanted any more')
            body = _made(lambda: webhook_body(batch, message))
            headers = signed_headers(wanted.secret, message, self._clock.wall(), body)
            self._webhook.post(first.target, headers, body)
            return
        text = _made(lambda: _text(batch, self._settings.prefix))
        self._mail.send(first.target, message, *text)

    def _failed(self, first: Queued, error: NoticeFailed) -> None:
        if isinstance(error, NoticeServerAway):
            self._mail_away = True
        if isinstance(error, NoticeServerAway) or not _by_mail(first.recipient):
            self._outage_of(first).failed(error)
        else:
            LOG.debug('mail to %s waits: %s', first.recipient, error)

    def _give_up(self, batch: Sequence[Queued], message: str, reason: str) -> None:
        recipient = batch[0].recipient
        LOG.warning(
            'message %s with %d events for user %s of project %s by %s is given up: %s',
            message, len(batch), recipient.user_id, recipient.project_id, recipient.channel, reason,
        )  # fmt: skip
        self._outbox.done(batch, self._clock.wall(), sent=False)

    def _outage_of(self, one: Queued) -> OutageLog:
        """Of the mail server, or of one user's webhook. Its URL may hold a secret: it is not logged."""
        if _by_mail(one.recipient):
            return self._mail_outage
        if len(self._webhook_outages) >= HOSTS:
            self._webhook_outages.clear()
        whose = f'user {one.recipient.user_id} of project {one.recipient.project_id}'
        made = OutageLog(
            LOG,
            lost=f'the webhook of {whose} takes nothing, its messages wait',
            back=f'the webhook of {whose} takes messages again',
        )
        return self._webhook_outages.setdefault(one.target, made)

    def _lead_changed(self) -> None:
        self._webhook_outages.clear()
        self._aside.forget()


def _text(batch: Sequence[Queued], prefix: str) -> tuple[str, str]:
    """Subject and text of a mail."""
    first = batch[0]
    if first.recipient.channel == Channel.CONFIRM:
        return confirmation_text(str(first.payload['code']), first.project_id, prefix)
    return mail_text(batch, prefix)


def _made(make: Callable[[], Result]) -> Result:
    """:raises NoticeRefused: no message can be made of it, however often that is tried."""
    try:
        return make()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise NoticeRefused(f'no message can be made of it: {reason_of(error)}') from error


def _by_mail(recipient: Recipient) -> bool:
    return recipient.channel != Channel.WEBHOOK


def _pace(recipient: Recipient, wanted: Preference | None, most: int) -> tuple[float, int]:
    """(digest, messages an hour). Codes are sent at once, each alone: the API counts them."""
    if wanted is None or recipient.channel == Channel.CONFIRM:
        return 0.0, most + 1
    return wanted.digest, wanted.at_most
