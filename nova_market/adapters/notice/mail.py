# SPDX-License-Identifier: Apache-2.0
"""Mail by SMTP. Implements ports.MailSender and rule N6 of doc/source/specs/notices.rst.

Each message has a connection of its own: a server that is killed in between takes nothing else with it. No
error has a word of the password.
"""

import smtplib
import ssl
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import formatdate
from pathlib import Path

from nova_market.errors import NoticeFailed, NoticeRefused, NoticeServerAway

STARTTLS, TLS = 'starttls', 'tls'
PERMANENT = 500
"""First status of SMTP that is final (RFC 5321, section 4.2.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSettings:
    """security: `starttls`, `tls` or `none`; cafile: '' for the system's; timeout: seconds for each answer"""

    host: str
    port: int
    sender: str
    security: str = STARTTLS
    cafile: str = ''
    user: str = ''
    password_file: str = ''
    timeout: float = 20.0


class SmtpMail:
    """For several threads."""

    def __init__(self, settings: MailSettings) -> None:
        self._settings = settings

    def send(self, to: str, message: str, subject: str, body: str) -> None:
        """Hand a mail over. message: its id, the same when it is sent again.

        :raises NoticeServerAway: the server does not answer, or does not let us in.
        :raises NoticeFailed: not now. :raises NoticeRefused: never.
        """
        mail = self._mail(to, message, subject, body)
        try:
            with self._connected() as server:
                server.send_message(mail)
        except smtplib.SMTPRecipientsRefused as error:
            ((code, text),) = error.recipients.values()
            raise _refusal(code, text) from None
        except (smtplib.SMTPSenderRefused, smtplib.SMTPDataError) as error:
            raise _refusal(error.smtp_code, error.smtp_error) from None
        except smtplib.SMTPAuthenticationError as error:
            raise NoticeServerAway(
                f'the mail server refuses [notices]smtp_user: {error.smtp_code}'
            ) from None
        except (smtplib.SMTPException, ssl.SSLError, OSError) as error:
            where = f'{self._settings.host}:{self._settings.port}'
            raise NoticeServerAway(
                f'the mail server {where} ([notices]smtp_host, smtp_port) cannot be used: '
                f'{_reason(error)}'
            ) from None

    def _connected(self) -> smtplib.SMTP:
        settings = self._settings
        where, context = (settings.host, settings.port), self._context()
        if settings.security == TLS:
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                *where, timeout=settings.timeout, context=context
            )
        else:
            server = smtplib.SMTP(*where, timeout=settings.timeout)
        try:
            if settings.security == STARTTLS:
                server.starttls(context=context)
            if settings.user:
                server.login(settings.user, self._password())
        except BaseException:
            server.close()
            raise
        return server

    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._settings.cafile or None)

    def _password(self) -> str:
        """:raises NoticeServerAway: it cannot be read."""
        try:
            text = Path(self._settings.password_file).read_text(encoding='utf-8')
        except (OSError, ValueError) as error:
            raise NoticeServerAway(f'[notices]smtp_password_file: {error}') from None
        return text.partition('\n')[0].rstrip('\r')

    def _mail(self, to: str, message: str, subject: str, body: str) -> EmailMessage:
        mail = EmailMessage()
        mail['From'], mail['To'], mail['Subject'] = self._settings.sender, to, subject
        mail['Date'] = formatdate()
        # a receiver that has got it already may drop the second one
        domain = self._settings.sender.rpartition('@')[2]
        mail['Message-ID'] = f'<{message}@{domain}>'
        # nobody's vacation program answers (RFC 3834)
        mail['Auto-Submitted'] = 'auto-generated'
        mail.set_content(body)
        return mail


def _reason(error: Exception) -> str:
    """Without names of Python's where the system has words of its own."""
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and error.strerror:
        return error.strerror
    return f'{error!s:.200}' or type(error).__name__


def _refusal(code: int, text: bytes | str) -> Exception:
    shown = text.decode(errors='replace') if isinstance(text, bytes) else text
    kind = NoticeRefused if code >= PERMANENT else NoticeFailed
    return kind(f'the mail server answers {code} {shown:.200}')
