# SPDX-License-Identifier: Apache-2.0
"""nova-market-notices test-mail where nothing is configured: every option that has to be set is named."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.functional, pytest.mark.clock]


def test_a_service_without_configuration_names_what_to_set(tmp_path):
    """The mail server with its options, and that users get no mail at this domain."""
    path = tmp_path / 'nova_market.conf'
    path.write_text('[notices]\nsmtp_port = 1\nsmtp_host = 127.0.0.1\n')
    words = [
        '-m',
        'nova_market.cmd.notices',
        '--config-file',
        str(path),
        'test-mail',
        'op@example.org',
    ]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    domain, server = done.stderr.splitlines()
    assert domain == (
        "nova-market-notices: mail: 'example.org' is not a domain that this cloud sends mail to: none "
        '([notices]mail_domains)'
    )
    assert server.startswith('nova-market-notices: the mail server 127.0.0.1:1 ([notices]smtp_host')
