# SPDX-License-Identifier: Apache-2.0
"""Outages in the log: a line when something stops working, a line when it works again, no flood between.

Whoever uses something that can go away has one OutageLog for it and calls `failed` or `works` after each
attempt. The first failure is a WARNING that states what still works; a failure of a kind that was logged
already in this outage is DEBUG; the first success after an outage is INFO.

Safe for threads; the lock is never held while a line is written.
"""

import logging
import threading

KINDS = 8
"""Kinds of failure that one outage logs as news: a reason that differs each time must not fill the log."""


class OutageLog:
    """One thing that can go away."""

    def __init__(
        self, log: logging.Logger, *, lost: str, back: str, unproven: bool = False
    ) -> None:
        """log: of the module that uses it.

        lost: what does not work now and what works all the same; the reason is put behind it.
        back: that it works again.
        unproven: the very first success is logged too, as the end of an outage is.
        """
        self._log = log
        self._lost = lost
        self._back = back
        self._unproven = unproven
        self._lock = threading.Lock()
        self._kinds: set[str] = set()
        self._reason = ''

    @property
    def active(self) -> bool:
        """Is there an outage now?"""
        return bool(self._kinds)

    @property
    def reason(self) -> str:
        """Why the last attempt failed; '' when it did not."""
        return self._reason

    def failed(
        self,
        reason: object,
        *,
        kind: str = '',
        level: int = logging.WARNING,
        exc_info: bool | Exception = False,
    ) -> bool:
        """An attempt failed. Is this news: the first failure of its kind in this outage?

        kind: failures that an operator must see separately have kinds of their own.
        level: of the line when it is news.
        exc_info: with the traceback of this exception, True: of the one that is handled now, instead of the
            reason.
        """
        with self._lock:
            news = kind not in self._kinds and len(self._kinds) < KINDS
            if news:
                self._kinds.add(kind)
            self._reason = str(reason)
        if news and exc_info:
            self._log.log(level, '%s', self._lost, exc_info=True, stacklevel=2)
        elif news:
            self._log.log(level, '%s: %s', self._lost, reason, stacklevel=2)
        else:
            self._log.debug('%s, as before: %s', self._lost, reason, stacklevel=2)
        return news

    def works(self, detail: object = '') -> bool:
        """An attempt succeeded. Does this end an outage? detail: is put behind the line."""
        if not self._kinds and not self._unproven:
            return False  # nearly always: without the lock
        with self._lock:
            ended = bool(self._kinds) or self._unproven
            self._unproven = False
            self._kinds = set()
            self._reason = ''
        if ended and detail:
            self._log.info('%s: %s', self._back, detail, stacklevel=2)
        elif ended:
            self._log.info('%s', self._back, stacklevel=2)
        return ended
