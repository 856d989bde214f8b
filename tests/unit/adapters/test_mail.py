# SPDX-License-Identifier: Apache-2.0
"""Mail whose server is away: its address, and the options that have it."""

import socket

import pytest

from nova_market.adapters.notice.mail import MailSettings, SmtpMail
from nova_market.errors import NoticeServerAway


def test_a_server_that_refuses_connections_is_named():
    """With the options to look at, and the system's reason."""
    with socket.socket() as unused:
        unused.bind(('127.0.0.1', 0))  # nobody listens
        port = unused.getsockname()[1]
        mail = SmtpMail(MailSettings(host='127.0.0.1', port=port, sender='market@example.org'))
        with pytest.raises(NoticeServerAway) as caught:
            mail.send('a@example.org', 'm', 's', 'b')
    assert str(caught.value) == (
        f'the mail server 127.0.0.1:{port} ([notices]smtp_host, smtp_port) cannot be used: '
        'Connection refused'
    )
