# SPDX-License-Identifier: Apache-2.0
"""N2: who gets which notices, and what may be asked for."""

import pytest

from nova_market.core.notice.address import may_connect
from nova_market.core.notice.preference import (
    check_events,
    check_mail,
    check_webhook,
    confirms,
    hash_of,
)
from nova_market.errors import BadNotice
from nova_market.services.notice.requests import EVENTS
from tests.support.notice_builders import NOW, notice, preference


@pytest.mark.parametrize(
    ('asked', 'sent', 'wanted'),
    [
        ({}, {}, True),
        ({'events': ('lease.*', 'job.failed')}, {}, True),
        ({'events': ('lease.*',)}, {}, False),
        ({}, {'project_id': 'blue'}, False),
        ({'all_projects': True}, {'project_id': 'blue'}, True),
        ({}, {'project_id': '', 'user_id': ''}, False),
        ({'all_projects': True}, {'project_id': '', 'user_id': ''}, True),
        ({'mine': True}, {'user_id': 'ben'}, False),
        ({'mine': True}, {}, True),
        ({'mine': True}, {'user_id': ''}, True),
    ],
)
def test_what_is_wanted(asked, sent, wanted):
    assert preference(**asked).wants(notice('k', **sent)) is wanted


def test_nothing_goes_to_an_address_that_is_not_confirmed():
    one = preference(confirmed=False, webhook='https://h.example/')
    assert [str(channel) for channel, _ in one.targets()] == ['webhook']
    assert [str(channel) for channel, _ in preference().targets()] == ['mail']


@pytest.mark.parametrize(
    'address',
    ['', 'ann', 'ann@', '@example.org', 'ann@example', 'a n@example.org', 'a@example.org\nBcc: b@x.y',
     'a@example.org,b@example.org', 'Ann <ann@example.org>', f'{"a" * 65}@example.org', 'ann@exämple.org',
     '"a b"@example.org', 'a@example.org\n'],
)  # fmt: skip
def test_what_is_no_address(address):
    with pytest.raises(BadNotice, match=r'^mail: .*(give one such as|is no address)'):
        check_mail(address, ['*'])


def test_mail_goes_to_allowed_domains():
    check_mail('ann+market@lab.Example.org', ['example.org', '*.example.org'])
    with pytest.raises(BadNotice, match=r"'evil.org' is not a domain .*: example.org"):
        check_mail('ann@evil.org', ['example.org'])
    with pytest.raises(BadNotice, match='none'):
        check_mail('ann@example.org', [])


@pytest.mark.parametrize(
    'url',
    ['', 'http://example.org/', 'https://', 'https://a b/', 'ftp://example.org', 'https://u:p@example.org/',
     'https://example.org:70000/', 'https://example.org/#x', 'https://example.org/\r\nHost: x',
     f'https://example.org/{"a" * 1000}', 'https://[::1', 'https://example.org:0/'],
)  # fmt: skip
def test_what_is_no_webhook(url):
    with pytest.raises(BadNotice, match=r'^webhook: '):
        check_webhook(url)


def test_a_pattern_without_an_event_is_refused():
    """With the names that there are."""
    check_events(['*', 'lease.*', 'job.failed', 'plan.waiting'], EVENTS)
    with pytest.raises(
        BadNotice, match=r"'jobs\.\*' matches no event.*credit\.low.*lease\.started"
    ):
        check_events(['*', 'jobs.*'], EVENTS)


def test_a_code_confirms_once_known_and_in_time():
    one = preference(confirmed=False, code_hash=hash_of('abc'), code_until=NOW)
    assert confirms(one, 'abc', NOW - 1)
    assert not confirms(one, 'abc', NOW) and not confirms(one, 'abd', NOW - 1)
    assert not confirms(preference(), '', NOW)


PUBLIC = ('93.184.216.34', '2606:2800:220:1::1', '::ffff:93.184.216.34')
PRIVATE = (
    '127.0.0.1', '10.0.0.1', '172.16.9.9', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0',
    '224.0.0.1', '255.255.255.255', '::1', '::', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'ff02::1',
    '::ffff:127.0.0.1', '::ffff:10.0.0.1', '64:ff9b::a00:1', '2002:7f00:1::', '2001:0:4136:e378::1',
    '::127.0.0.1', '::a00:1', 'fec0::1', '64:ff9b:1::1', '4000::1', '240.0.0.1', '2001:db8::1', '100::1',
)  # fmt: skip


@pytest.mark.parametrize(
    ('address', 'good'), [*((a, True) for a in PUBLIC), *((a, False) for a in PRIVATE)]
)
def test_only_public_addresses(address, good):
    assert may_connect(address, ()) is good


def test_networks_that_the_operator_allows():
    from ipaddress import ip_network

    networks = (ip_network('10.1.0.0/16'), ip_network('fd00::/8'))
    assert may_connect('10.1.2.3', networks) and may_connect('::ffff:10.1.2.3', networks)
    assert may_connect('fd00::1', networks) and not may_connect('10.2.0.1', networks)
