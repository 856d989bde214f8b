# SPDX-License-Identifier: Apache-2.0
"""What the market needs of the cloud and of other engines."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from nova_market.core.market.inventory import CloudHost, CloudMigration, CloudServer
from nova_market.core.market.owner_server import OwnedServer
from nova_market.core.resource import HostName


class MarketCloud(Protocol):
    """The cloud as the market sees it. Any method may raise errors.CloudUnavailable."""

    def hosts(self) -> Sequence[CloudHost]:
        """All compute hosts, by name."""

    def servers(self) -> Sequence[CloudServer]:
        """All servers that are on a host, by id; what has not changed may come from an earlier reading."""

    def migrate(self, server_id: str, destination: HostName) -> None:
        """Begin a live migration; `migration` tells how it goes.

        :raises errors.MigrationRefused: the server is gone, busy or not migratable, or the host full.
        """

    def migration(self, server_id: str) -> CloudMigration | None:
        """The newest live migration of a server; None when there was none."""


class Leadership(Protocol):
    """Which of several engines acts (rule F1)."""

    def start(self) -> None:
        """Take part. Returns at once, also when nobody answers."""

    def leading(self) -> bool:
        """Is it this one, now? Never blocks, never raises; False while in doubt."""

    def stop(self) -> None:
        """Let another one lead, at once."""


class Notices(Protocol):
    """Events for whoever listens (rule M4). Lost ones do no harm."""

    def tell(self, event: str, project_id: str, payload: Mapping[str, object]) -> None:
        """One event, such as `market.credit.low`; never raises and never blocks long."""


class ProviderTraits(Protocol):
    """A mark on compute hosts that Placement looks at. Any method may raise errors.CloudUnavailable."""

    def marked(self) -> frozenset[HostName]:
        """The hosts that have it, whoever set it."""

    def mark(self, host: HostName) -> None:
        """Set it; nothing happens when it is there, or the host is gone."""

    def unmark(self, host: HostName) -> None:
        """Take it away; nothing happens when it is not there, or the host is gone."""

    def announce(self) -> None:
        """Let Placement know the mark: it refuses every request that names one it does not know."""


class ServerOwners(Protocol):
    """Whose servers are, and how large."""

    def server(self, server_id: str) -> OwnedServer | None:
        """A server; None when there is none, or it is deleted.

        :raises errors.CloudUnavailable: Nova does not answer.
        """


class Projects(Protocol):
    """Projects of the cloud."""

    def project(self, text: str, domain_id: str) -> str | None:
        """The id of the project whose id this is, else of the one with this name in a domain; None: no one.

        domain_id: '': no name counts

        :raises errors.CloudUnavailable: Keystone does not answer.
        """


class Flavors(Protocol):
    """What flavors hold."""

    def flavor(self, name: str) -> tuple[float, float] | None:
        """(vcpus, memory in MiB) by id or name; None when there is no public one.

        :raises errors.CloudUnavailable: Nova does not answer.
        """

    def size(self, name: str) -> tuple[float, float, float] | None:
        """(vcpus, MiB of memory, GiB of disk, with its ephemeral disk and swap), as `flavor`."""
