# SPDX-License-Identifier: Apache-2.0
"""Frames of hosts, written and taken alike in every topology.

Whatever a peer sends, taking it never raises: what is not kept is counted with its reason.
"""

import logging
from collections.abc import Callable

from nova_market.core.exchange.allocation_messages import AllocationMessage, Confirmation
from nova_market.core.exchange.codec import HostMessage
from nova_market.core.resource import HostName
from nova_market.errors import MalformedReport
from nova_market.ports import WireFormat
from nova_market.services.exchange.health import (
    FORGED,
    MISDIRECTED,
    DropCounter,
    UnusedAllocations,
    frame_boundary,
)

LOG = logging.getLogger(__name__)


class HostFrames:
    """The frames of one host's topology. Safe for threads."""

    def __init__(
        self,
        wire: WireFormat,
        drops: DropCounter,
        unused: UnusedAllocations,
        keep: Callable[[HostMessage], str],
    ) -> None:
        """keep: takes a message of a host; returns '' or why it is not kept."""
        self._wire = wire
        self._drops = drops
        self._unused = unused
        self._keep = keep

    def written(self, message: HostMessage) -> bytes | None:
        """The frame of an own message; None when no peer would take it, which is logged."""
        try:
            return self._wire.encode(message)
        except MalformedReport as error:
            LOG.error('The report of this host cannot be sent: %s', error)
            return None

    def take(self, sender: HostName | None, frame: bytes) -> None:
        """Take one frame of any peer. sender: the peer, where the transport proves it."""
        with frame_boundary(self._drops, sender):
            self._take(sender, frame)

    def _take(self, sender: HostName | None, frame: bytes) -> None:
        try:
            message = self._wire.decode(frame)
        except MalformedReport as error:
            self._drops.add(error.reason, str(error))
            return
        if isinstance(message, AllocationMessage):
            self._unused.add()
            return
        if sender is not None and sender != message.host:
            reason = FORGED
        elif isinstance(message, Confirmation):
            reason = MISDIRECTED
        else:
            reason = self._keep(message)
        if reason:
            self._drops.add(reason, f'host {message.host}')
