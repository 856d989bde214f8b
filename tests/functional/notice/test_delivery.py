# SPDX-License-Identifier: Apache-2.0
"""N3, N4, N6, N7: mail and webhooks to real servers, which are killed and come back."""

import base64
import hashlib
import hmac
import json
import logging
import threading
import time
from dataclasses import replace

import pytest

from nova_market.adapters.notice.mail import SmtpMail
from nova_market.adapters.notice.webhook import HttpsWebhook
from nova_market.core.notice.signature import secret_text
from nova_market.errors import NoticeFailed, NoticeServerAway
from nova_market.services.notice import lanes
from tests.support.lease_bed import LeaseBed
from tests.support.notice_bed import KEY
from tests.support.notice_builders import NOW, notice, preference
from tests.support.servers.notices import PASSWORD

pytestmark = [pytest.mark.functional, pytest.mark.clock]

HOUR, DAY = 3600.0, 86_400.0


def many(count, event='job.failed', first=0):
    return [notice(f'k{first + number}', event) for number in range(count)]


def keys(hook):
    return [one['id'] for _, body in hook.requests for one in json.loads(body)['events']]


def warnings(caplog):
    found = [one for one in caplog.records if one.name.startswith('nova_market.services.notice')]
    return [one.getMessage() for one in found if one.levelno >= logging.INFO]


def test_a_mail_by_starttls(bed, caplog):
    """To who wants it, in words; the password is nowhere in the log."""
    caplog.set_level(logging.DEBUG)
    bed.ask(events=('job.*',))
    bed.happens(notice('k1'), notice('k2', 'lease.started'), notice('k3', project_id='blue'))
    bed.run()
    (mail,) = bed.mail.mails
    assert (mail['to'], mail['from']) == ('ann@example.org', 'market@example.org')
    assert (
        mail['subject'] == '[market] job.failed: n' and mail['auto-submitted'] == 'auto-generated'
    )
    assert 'openstack market job events j1' in mail.get_payload()
    assert bed.mail.logins == ['market'] and bed.counts()['sent'] == 1
    assert PASSWORD not in caplog.text


def test_a_signed_request(bed):
    """Its receiver knows who has sent it, when, and whether it is a repetition."""
    bed.ask(mail='', webhook=True)
    bed.happens(notice('k1', payload={'exit_code': 1}))
    bed.run()
    ((headers, body),) = bed.hook.requests
    low = {name.lower(): value for name, value in headers.items()}
    signed = f'{low["webhook-id"]}.{low["webhook-timestamp"]}.'.encode() + body
    expected = hmac.new(KEY, signed, hashlib.sha256).digest()
    assert low['webhook-signature'] == f'v1,{base64.b64encode(expected).decode()}'
    assert low['webhook-timestamp'] == str(int(NOW)) and json.loads(body)['id'] == low['webhook-id']
    (event,) = json.loads(body)['events']
    assert (event['id'], event['event'], event['payload']['exit_code']) == ('k1', 'job.failed', 1)


def test_never_more_than_so_many_an_hour(bed):
    """The last message of the hour has all the rest; the next hour begins anew."""
    bed.ask(at_most=3)
    bed.happens(*many(7))
    bed.run()
    assert bed.subjects == ['[market] job.failed: n'] * 2 + ['[market] 5 events: 5 job.failed']
    bed.happens(*many(4, first=7))
    bed.run(HOUR - 60, step=60)
    assert len(bed.mail.mails) == 3
    bed.run(120, step=10)
    assert len(bed.mail.mails) <= 6 and bed.counts()['sent'] == 11


def test_a_digest(bed):
    """What happens within an hour is one mail, an hour after the first of it."""
    bed.ask(digest=HOUR)
    bed.happens(*many(2))
    bed.run(HOUR / 2, step=300)
    bed.happens(*many(1, 'lease.started', first=2))
    bed.run(HOUR / 2 - 10, step=300)
    assert bed.mail.mails == []
    bed.run(600, step=300)
    assert bed.subjects == ['[market] 3 events: 2 job.failed, 1 lease.started']


def test_a_mail_server_that_is_killed_in_the_middle(bed, caplog):
    """Logged once, and once when it is back; each event arrives, in order, none is left out."""
    caplog.set_level(logging.INFO)
    bed.ask(at_most=60)
    bed.happens(*many(4))
    bed.run()
    assert len(bed.mail.mails) == 4
    bed.mail.stop()
    for number in range(4, 10):
        bed.happens(*many(1, first=number))
        bed.run(60)
    assert len(bed.mail.mails) == 4 and len(warnings(caplog)) == 1
    assert warnings(caplog)[0].startswith('mail waits: the mail server does not take it')
    bed.mail.start()
    bed.run(1200, step=30)
    assert len(bed.mail.mails) == 10 and bed.counts() == {'waiting': 0, 'sent': 10, 'given_up': 0}
    assert warnings(caplog)[1:] == ['the mail server takes mail again']


def test_a_webhook_that_dies_before_it_answers(bed, caplog):
    """It has got the request, and gets it again with the same id and the same body."""
    caplog.set_level(logging.INFO)
    bed.ask(mail='', webhook=True)
    bed.hook.answer = lambda handler: handler.connection.close()
    bed.happens(notice('k1'))
    bed.run()
    bed.happens(notice('k2'))
    bed.run(20)
    assert len(bed.hook.requests) == 1 and bed.counts()['waiting'] == 2
    bed.hook.stop()
    bed.run(120)
    bed.hook.answer = 204
    bed.hook.start()
    bed.run(900, step=30)
    assert keys(bed.hook) == ['k1', 'k1', 'k2'] and bed.counts()['sent'] == 2
    (first, once), (second, again) = bed.hook.requests[:2]
    assert first['webhook-id'] == second['webhook-id'] and once == again
    assert first['webhook-timestamp'] < second['webhook-timestamp']
    told = warnings(caplog)
    assert (
        len(told) == 2 and told[1] == 'the webhook of user ann of project red takes messages again'
    )
    assert bed.hook.url not in caplog.text


def test_a_webhook_that_is_away_holds_up_nobody_else(bed):
    """Mail goes on, and so does the webhook of another user."""
    bed.ask(webhook=True)
    other = preference(user_id='ben', mail='ben@example.org')
    bed.notices.set(other, None, 9)
    bed.hook.stop()
    bed.happens(notice('k1'))
    bed.run()
    assert sorted(str(one['to']) for one in bed.mail.mails) == [
        'ann@example.org',
        'ben@example.org',
    ]


@pytest.mark.parametrize('answer', [301, 302, 307, 404, 500])
def test_what_is_no_success_is_tried_again(bed, answer):
    """A redirect is not followed: it could lead to where no webhook may be."""
    bed.hook.answer = answer
    bed.ask(mail='', webhook=True)
    bed.happens(notice('k1'))
    bed.run(25)
    assert len(bed.hook.requests) == 1 and bed.counts()['waiting'] == 1
    bed.run(20)
    assert len(bed.hook.requests) == 2


def test_given_up_after_a_day(bed, caplog):
    """With a line in the log; what comes later is sent."""
    bed.ask(mail='', webhook=True)
    bed.hook.stop()
    bed.happens(notice('k1'))
    bed.run(DAY + 1800, step=600)
    assert bed.counts() == {'waiting': 0, 'sent': 0, 'given_up': 1}
    (line,) = [one for one in warnings(caplog) if 'is given up' in one]
    assert 'with 1 events for user ann of project red by webhook' in line
    bed.hook.start()
    bed.happens(notice('k2'))
    bed.run()
    assert keys(bed.hook) == ['k2']


def test_refused_for_good(bed, caplog):
    """An address that does not exist, a webhook that wants nothing more: not tried again."""
    bed.mail.refuse['ann@example.org'] = '550 no such user'
    bed.hook.answer = 410
    bed.ask(webhook=True)
    bed.happens(notice('k1'))
    bed.run(600, step=60)
    assert bed.counts() == {'waiting': 0, 'sent': 0, 'given_up': 2} and len(bed.hook.requests) == 1
    assert sum('550 no such user' in one for one in warnings(caplog)) == 1


def test_one_address_that_is_full_holds_up_no_other(bed, caplog):
    """A mail server that takes no mail for one is not away."""
    bed.mail.refuse['ann@example.org'] = '452 mailbox full'
    bed.ask()
    bed.notices.set(preference(user_id='ben', mail='ben@example.org'), None, 9)
    bed.happens(notice('k1'))
    bed.run()
    assert [str(one['to']) for one in bed.mail.mails] == ['ben@example.org']
    del bed.mail.refuse['ann@example.org']
    bed.run(60)
    assert len(bed.mail.mails) == 2 and warnings(caplog) == []


def test_nothing_connects_to_a_private_address(bed, certificates):
    """Not by a name either that has one: what it resolves to is checked, and that is connected to."""
    strict = HttpsWebhook(replace(bed.webhook_settings, networks=()))
    port = bed.hook.port
    for host in (
        'localhost',
        '127.0.0.1',
        '[::1]',
        '169.254.169.254',
        '0.0.0.0',
        '0x7f000001',
        '127.1',
    ):
        with pytest.raises(NoticeFailed):
            strict.post(f'https://{host}:{port}/', {}, b'{}')
    assert bed.hook.requests == []


def test_a_request_ends_in_time_however_slowly_it_is_answered(bed):
    """A byte each tenth of a second for ever, in the headers: cut after the timeout."""

    def drip(handler):
        try:
            while True:
                handler.wfile.write(b'x')
                handler.wfile.flush()
                time.sleep(0.1)
        except OSError:
            pass

    bed.hook.answer = drip
    quick = HttpsWebhook(replace(bed.webhook_settings, timeout=0.6))
    began = time.monotonic()
    with pytest.raises(NoticeFailed):
        quick.post(bed.hook.url, {}, b'{}')
    assert time.monotonic() - began < 5


def test_certificates_are_checked(bed):
    """Of the mail server and of webhooks; nothing is sent to another one."""
    with pytest.raises(NoticeFailed, match='CERTIFICATE_VERIFY_FAILED'):
        HttpsWebhook(replace(bed.webhook_settings, cafile='')).post(bed.hook.url, {}, b'{}')
    with pytest.raises(NoticeServerAway, match='CERTIFICATE_VERIFY_FAILED'):
        SmtpMail(replace(bed.mail_settings, cafile='')).send('a@example.org', 'm', 's', 'b')
    assert bed.hook.requests == [] and bed.mail.mails == []


def test_a_wrong_password_is_not_shown(bed, tmp_path):
    wrong = tmp_path / 'password'
    wrong.write_text('another secret\n')
    mail = SmtpMail(replace(bed.mail_settings, password_file=str(wrong)))
    with pytest.raises(NoticeServerAway, match=r'refuses .*smtp_user: 535') as caught:
        mail.send('a@example.org', 'm', 's', 'b')
    assert 'another secret' not in repr(caught.value) and bed.mail.mails == []


def test_events_of_a_lease_by_mail(bed, url):
    """From the pass of its service to the mailbox."""
    leases = LeaseBed(bed.database, began=NOW)
    leases.run()
    bed.ask(events=('lease.started', 'lease.ended'))
    leases.book(name='figures')
    bed.clock.advance(5 * HOUR)
    leases.run(5 * HOUR, step=300)
    bed.run()
    assert bed.subjects == ['[market] lease.started: figures', '[market] lease.ended: figures']


def test_a_name_that_is_not_resolved_ends_in_time_too(bed):
    """A resolver has no deadline of its own."""
    end = threading.Event()

    def resolve(*_, **__):
        end.wait(30)
        return []

    quick = HttpsWebhook(replace(bed.webhook_settings, timeout=0.2), resolve)
    began = time.monotonic()
    with pytest.raises(NoticeFailed, match='not resolved in time'):
        quick.post(bed.hook.url, {}, b'{}')
    assert time.monotonic() - began < 10
    end.set()


def test_a_webhook_that_hangs_delays_its_own_messages_only(bed):
    """In the same pass and in later ones; when it answers, nothing is lost."""
    begin = threading.Event()
    posted = HttpsWebhook.post

    class Hanging(HttpsWebhook):
        def post(self, url, headers, body):
            if 'slow' in url:
                begin.wait(60)
            posted(self, url.replace('slow.', ''), headers, body)

    slow = bed.hook.url.replace('localhost', 'slow.localhost')
    bed.service.stop()
    bed.settings = replace(bed.settings, interval=0.2, workers=6)
    bed.service = bed.another(
        lambda one: Hanging(bed.webhook_settings) if isinstance(one, HttpsWebhook) else one
    )
    bed.ask(mail='', webhook=True)
    for number in range(6):
        bed.notices.set(
            preference(user_id=f'u{number}', mail='', webhook=slow, secret=secret_text(KEY)),
            None,
            9,
        )
    bed.happens(notice('k1'))
    passes_until(bed, 1)
    assert keys(bed.hook) == ['k1'], "Ann's, and nobody else's"
    bed.happens(notice('k2'))
    passes_until(bed, 2)
    assert keys(bed.hook) == ['k1', 'k2']
    begin.set()
    passes_until(bed, 14)
    assert sorted(keys(bed.hook)) == ['k1'] * 7 + ['k2'] * 7


def passes_until(bed, count):
    """A pass of a busy machine may end before a message was sent: those are looked at again."""
    for _ in range(200):
        bed.run(30.0)
        if len(keys(bed.hook)) >= count:
            return


def test_a_host_is_quick_when_it_has_taken_a_message(bed, monkeypatch):
    """Neither one that refuses it, nor one whose next messages wait for that meanwhile."""
    monkeypatch.setattr(lanes, 'QUICK', 60.0)  # on a busy machine too

    def quick():
        return bed.service._lanes.quick  # private: how a host is served is seen under load only

    bed.ask(mail='', webhook=True)
    bed.hook.answer = 503
    bed.happens(notice('k1'))
    bed.run()
    bed.happens(notice('k2'))
    bed.run()
    assert len(bed.hook.requests) == 1 and quick() == frozenset()
    bed.hook.answer = 204
    bed.run(60.0)
    assert len(bed.hook.requests) > 1 and quick() == {'localhost'}
