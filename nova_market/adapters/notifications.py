# SPDX-License-Identifier: Apache-2.0
"""Events of the market as notifications of oslo.messaging, for Ceilometer, CloudKitty or a mailer.

Implements ports.Notices. Where they go is `[oslo_messaging_notifications]`: driver `messagingv2` and a
transport of its own, or none, which is the default.

A thread of ours sends, so that a dead broker holds up no round; what waits too long is thrown away.
"""

import logging
import queue
import threading
from collections.abc import Mapping

import oslo_messaging
from oslo_config import cfg

from nova_market.errors import ConfigurationError
from nova_market.outage_log import OutageLog

LOG = logging.getLogger(__name__)

MAX_WAITING = 1000
STOP_SECONDS = 3.0

Event = tuple[str, Mapping[str, object]]


class MessagingNotices:
    """Implements ports.Notices."""

    def __init__(self, conf: cfg.ConfigOpts, publisher: str) -> None:
        """publisher: name of this engine.

        :raises ConfigurationError: the transport can't work; the text has no part of its URL.
        """
        try:
            transport = oslo_messaging.get_notification_transport(conf)
            name = f'nova-market.{publisher}'
            self._notifier = oslo_messaging.Notifier(transport, publisher_id=name)
        except (
            oslo_messaging.InvalidTransportURL,
            oslo_messaging.DriverLoadFailure,
            ValueError,
        ) as error:
            raise ConfigurationError(
                '[oslo_messaging_notifications]transport_url, or [DEFAULT]transport_url, cannot be '
                f'used ({type(error).__name__})'
            ) from None
        self._waiting: queue.Queue[Event | None] = queue.Queue(MAX_WAITING)
        self._thread: threading.Thread | None = None
        self._outage = OutageLog(
            LOG, lost='notifications are not delivered', back='notifications are delivered again'
        )

    def tell(self, event: str, project_id: str, payload: Mapping[str, object]) -> None:
        LOG.info('%s: project %s, %s', event, project_id, dict(payload))
        if self._thread is None:
            self._thread = threading.Thread(target=self._send, name='notices', daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait((event, {'project_id': project_id, **payload}))
        except queue.Full:
            LOG.debug('%s for %s is thrown away: the broker takes none', event, project_id)

    def stop(self) -> None:
        """Send what waits, if that takes no longer than a few seconds."""
        if self._thread is not None:
            try:
                self._waiting.put_nowait(None)
            except queue.Full:
                return
            self._thread.join(STOP_SECONDS)

    def _send(self) -> None:
        while (one := self._waiting.get()) is not None:
            event, payload = one
            try:
                self._notifier.info({}, event, dict(payload))
            except Exception as error:
                # a driver may raise anything of the library below it
                self._outage.failed(type(error).__name__)
            else:
                self._outage.works()
