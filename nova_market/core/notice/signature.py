# SPDX-License-Identifier: Apache-2.0
"""Signatures of webhooks, in the form of Standard Webhooks (standardwebhooks.com), version 1.

HMAC-SHA256 of `<id>.<timestamp>.<body>`; a receiver refuses old timestamps, and ids that it has seen.
"""

import base64
import hmac
from collections.abc import Mapping

MARK = 'whsec_'
SECRET_BYTES = 24


def secret_text(secret: bytes) -> str:
    """The secret as it is shown and stored."""
    return MARK + base64.b64encode(secret).decode()


def signed_headers(secret: str, message: str, at: float, body: bytes) -> Mapping[str, str]:
    """The headers of a request. secret: as secret_text made it; message: its id; at: when it is sent"""
    key = base64.b64decode(secret.removeprefix(MARK))
    timestamp = str(int(at))
    content = f'{message}.{timestamp}.'.encode() + body
    digest = base64.b64encode(hmac.digest(key, content, 'sha256')).decode()
    return {
        'webhook-id': message,
        'webhook-timestamp': timestamp,
        'webhook-signature': f'v1,{digest}',
    }
