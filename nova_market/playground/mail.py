# SPDX-License-Identifier: Apache-2.0
"""Mail of the playground: files in its directory, one for each address. Implements ports.MailSender."""

import os
import re
from email.message import EmailMessage
from pathlib import Path

from nova_market.core.notice.preference import ADDRESS
from nova_market.errors import NoticeRefused

CODE = re.compile(r'\b([0-9a-f]{18})\b')
MOST_BYTES = 1_000_000
"""Of one file: then it begins anew."""


class Mailbox:
    """folder: made when the first mail is sent"""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def send(self, to: str, message: str, subject: str, body: str) -> None:
        """As ports.MailSender; a mail that is sent again may be there twice."""
        if not ADDRESS.fullmatch(to) or '/' in to:
            raise NoticeRefused(f'{to!r:.100} is no address that a file can have')
        made = EmailMessage()
        made['To'], made['Subject'], made['Message-Id'] = to, subject, message
        made.set_content(body)
        path = self._path(to)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        begun = 'ab' if not path.exists() or path.stat().st_size < MOST_BYTES else 'wb'
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), begun) as file:
            file.write(b'From nova-market\n' + made.as_bytes() + b'\n')

    def code(self, address: str) -> str | None:
        """The newest code that was sent to confirm an address; None: none was."""
        path = self._path(address)
        found = CODE.findall(path.read_text(encoding='utf-8')) if path.exists() else []
        return found[-1] if found else None

    def _path(self, address: str) -> Path:
        return self.folder / f'{address}.mbox'
