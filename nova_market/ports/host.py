# SPDX-License-Identifier: Apache-2.0
"""What a service on a compute host needs: clock, hypervisor, controls, quotas, files."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from nova_market.core.host.sample import Control, Guest, HostSample, HostSupply, Limits
from nova_market.core.resource import GuestId, OwnerId


class Clock(Protocol):
    """Time as an argument."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    def wall(self) -> float:
        """Seconds since the epoch; may jump. For display only."""


class HostDriver(Protocol):
    """The hypervisor of this host.

    Every method may raise errors.HostUnavailable when the hypervisor does not answer; the next call
    tries to connect again.
    """

    def supply(self) -> HostSupply:
        """What the host offers. Cheap: probing happens once, at first use."""

    def sample(self) -> HostSample:
        """All running guests and their counters, by one bulk call."""

    def subscribe(self, callback: Callable[[str], None]) -> None:
        """Call `callback(reason)` from another thread when a guest starts, stops or arrives."""

    def close(self) -> None:
        """Let go of the connection."""


class Actuator(Protocol):
    """One control (CPU, memory, disk, network) of all guests of this host.

    A guest that has vanished is a value, not an error: `read` leaves it out, `write` and `restore`
    report it as 'gone'.
    """

    @property
    def name(self) -> str:
        """One of core.host.sample.CONTROLS."""

    @property
    def limits(self) -> Limits:
        """Legal values. For memory and network the default means: no guarantee of ours."""

    def read(self, guests: Sequence[Guest]) -> Mapping[GuestId, Control]:
        """Actual values, or why a guest can't be controlled."""

    def write(
        self, values: Mapping[GuestId, int], guests: Sequence[Guest]
    ) -> Mapping[GuestId, str]:
        """Set values on `guests`; returns for each guest '' or what went wrong ('gone', ...).

        `guests` holds every guest of the host, so that relative controls (network classes) can
        be laid out in one batch.
        """

    def close(self) -> None:
        """Undo what has no original value to write back (queueing disciplines of our own making)."""


class QuotaSource(Protocol):
    """Where quotas are known."""

    def quotas(self, owners: Sequence[OwnerId]) -> Mapping[OwnerId, tuple[int, int]]:
        """(cores, ram_mib) per owner; -1 = unlimited; owners that are unknown are left out.

        :raises errors.QuotaUnavailable: the cloud does not answer.
        """


class StateFile(Protocol):
    """A small document that survives the service."""

    def load(self) -> Mapping[str, object] | None:
        """The document last saved whole; None when there is none or it can't be read."""

    def save(self, document: Mapping[str, object]) -> None:
        """Replace the document at once or not at all; it is on disk when this returns."""
