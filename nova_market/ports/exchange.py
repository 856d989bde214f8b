# SPDX-License-Identifier: Apache-2.0
"""What hosts and engines need to tell each other something."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from nova_market.core.exchange.codec import Message
from nova_market.core.exchange.messages import HostReport
from nova_market.core.exchange.received_allocations import EffectiveAllocations
from nova_market.core.exchange.totals import CloudTotals
from nova_market.core.market.enforced import Confirmed
from nova_market.core.market.inventory import Allocation
from nova_market.core.resource import HostName, OwnerId
from nova_market.core.usage.use import MinuteUse


class Exchange(Protocol):
    """Heaviness sums out, totals of the cloud in. Last value wins; nothing waits for anybody."""

    def start(self) -> None:
        """Begin to listen. Returns at once, also when the transport is down."""

    def publish(self, report: HostReport) -> None:
        """Replace this host's report, here at once and at the other hosts when it gets there.

        Never raises and never blocks longer than a second on a dead transport.
        """

    def totals(self) -> CloudTotals:
        """Sums over all reports that are younger than three intervals, this host's included.

        Owners without VMs on this host may be left out of them. May wait a moment for answers to what
        was just published.
        """

    def stop(self) -> None:
        """Stop listening and tell the others that this host is gone, if possible."""


class Transport(Protocol):
    """Frames among hosts. May lose, delay, repeat or reorder them.

    No method blocks longer than a moment or raises for a dead peer or a dead broker.
    """

    @property
    def echoes(self) -> bool:
        """Does a host's own broadcast come back to it while the transport works? (a broker's does)"""

    @property
    def trouble(self) -> str:
        """What keeps frames from being carried now, for a log line; '' when nothing is known to."""

    @property
    def dropped(self) -> Mapping[str, int]:
        """Reason -> frames that the transport itself has thrown away ('unknown_peer', ...)."""

    def start(self, receive: Callable[[HostName | None, bytes], None]) -> None:
        """Begin to listen; receive(sender, frame) is called on a thread of the transport.

        sender: proven by the transport, None where it can't prove it. `receive` never raises.
        """

    def send(self, to: HostName, frame: bytes) -> None:
        """One frame for one host; frames for a host that can't be reached are thrown away."""

    def broadcast(self, frame: bytes) -> None:
        """One frame for every other host, and for this host itself where the transport echoes.

        The newest broadcast may replace one that has not been sent yet.
        """

    def stop(self) -> None:
        """Send what waits, if that takes no longer than a few seconds, and let go of everything."""


class Membership(Protocol):
    """Which hosts take part now, and where they listen."""

    def start(self) -> None:
        """Take part. Returns at once, also when nobody answers."""

    def members(self) -> Mapping[HostName, str]:
        """Host -> address ('' where the transport needs none), this host included; never blocks."""

    def stop(self) -> None:
        """Take part no more."""


class WireFormat(Protocol):
    """Messages as bytes and back."""

    def encode(self, message: Message) -> bytes:
        """A frame.

        :raises MalformedReport: a receiver would refuse it (not a finite number, too large).
        """

    def decode(self, frame: bytes) -> Message:
        """The message in a peer's frame, which is not trusted.

        :raises OversizedReport: too long to be looked at.
        :raises MalformedReport: no message; names the field, what was given and the limit.
        """


class Enforcement(Protocol):
    """Allocations out to the hosts, confirmations in (rules A5, B5, F2). Never raises, never blocks long."""

    def start(self) -> None:
        """Begin to listen. Returns at once, also when the transport is down."""

    def send(
        self, period: int, expires: float, allocations: Mapping[HostName, Sequence[Allocation]]
    ) -> None:
        """Tell each host what its servers are to get; it replaces what was sent before.

        expires: wall-clock second from which hosts let go of it. May be sent again for one period.
        """

    def confirmed(self, period: int) -> Mapping[str, Confirmed]:
        """Server -> what has been confirmed so far of its allocation of a period: the newest, or one before.

        Those of the last periods are kept for as long as they may be confirmed (F2).
        """

    def enforced(self, hosts: Iterable[HostName]) -> Mapping[HostName, frozenset[str]]:
        """Of these hosts, those that have stated what they enforce, and what: the newest statement."""

    def heaviness(self, owners: Mapping[HostName, Collection[OwnerId]]) -> Mapping[OwnerId, float]:
        """Heaviness of owners in the cloud, as stated by hosts that confirmed one of the last periods.

        owners: of the servers on each host; a host is believed of these only (H30)
        """

    def stop(self) -> None:
        """Stop listening."""


class Allocations(Protocol):
    """The other end of Enforcement, on a host. Never raises, never blocks long."""

    def look(self) -> EffectiveAllocations:
        """What the market grants this host's guests now; called once a round."""

    def confirm(
        self,
        granted: EffectiveAllocations,
        servers: Sequence[str],
        heaviness: Mapping[OwnerId, float],
        enforced: Sequence[str] | None = None,
        use: MinuteUse | None = None,
    ) -> None:
        """Tell the engine that the allocations of these servers are in force here.

        heaviness: of this host's owners in the whole cloud
        enforced:  resources whose control acts on this host; None: not stated
        use:       what its servers used in a minute that is over (rule U1)
        """
