# SPDX-License-Identifier: Apache-2.0
"""N5: notices in words and as JSON, and how a request is signed."""

import base64
import hashlib
import hmac
import json

from nova_market.core.notice.message import SHOWN, confirmation_text, mail_text, webhook_body
from nova_market.core.notice.signature import secret_text, signed_headers
from tests.support.notice_builders import NOW, queued


def test_one_event():
    """What, when, why, the numbers, and how to see more."""
    one = queued(1, payload={'exit_code': 1, 'wall_seconds': 2.5})
    subject, body = mail_text([one], '[market]')
    assert subject == '[market] job.failed: n'
    assert body.splitlines()[:9] == [
        'event:        job.failed',
        'at:           2027-01-15T08:00:00Z',
        'project:      red',
        'name:         n',
        'reason:       exit status 1',
        'exit_code:    1',
        'job_id:       j1',
        'wall_seconds: 2.5',
        'more:         openstack market job show j1',
    ]


def test_a_digest_says_how_many():
    """A mail shows the first of very many; a webhook has all."""
    many = [queued(n, 'lease.started' if n % 3 else 'job.failed') for n in range(SHOWN + 50)]
    subject, body = mail_text(many, '')
    assert subject == '150 events: 100 lease.started, 50 job.failed'
    assert (
        body.startswith(f'150 events; the first {SHOWN} of them:') and body.count('event:') == SHOWN
    )
    document = json.loads(webhook_body(many, 'm'))
    assert len(document['events']) == 150 and document['id'] == 'm'
    assert document['events'][0]['id'] == 'job:0' and document['events'][0]['event'] == 'job.failed'


def test_what_users_write_stays_on_its_line():
    """No name ends a header, and none looks like a line of ours."""
    one = queued(1, payload={'name': 'a\r\nBcc: x@y.z', 'reason': 'b\nmore: evil'})
    subject, body = mail_text([one], '[market]')
    assert '\n' not in subject and '\r' not in subject
    assert not any(line.startswith(('Bcc', 'more: evil')) for line in body.splitlines())


def test_the_mail_that_confirms_an_address():
    subject, body = confirmation_text('abc', 'red', '[market]')
    assert 'openstack market notice confirm abc' in body and 'confirm' in subject


def test_the_signature_is_that_of_standard_webhooks():
    """As a receiver computes it."""
    key, body = bytes(range(24)), b'{"id": "m"}'
    headers = signed_headers(secret_text(key), 'm', NOW + 0.7, body)
    signed = b'm.1800000000.' + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers == {
        'webhook-id': 'm', 'webhook-timestamp': '1800000000', 'webhook-signature': f'v1,{expected}',
    }  # fmt: skip
