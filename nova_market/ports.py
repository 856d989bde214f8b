# SPDX-License-Identifier: Apache-2.0
"""What the services need of the world: a few Protocols of one to four methods each."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from nova_market.core.allocation_book import Granted
from nova_market.core.cloud_inventory import Allocation, CloudHost, CloudMigration, CloudServer
from nova_market.core.exchange import CloudTotals, HostReport
from nova_market.core.host import Control, Guest, HostSample, HostSupply, Limits
from nova_market.core.ledger import AccountId, Posting, Reason
from nova_market.core.quantity import GuestId, HostName, OwnerId
from nova_market.core.record import (
    Account,
    AllocationRecord,
    MoveState,
    PlanState,
    PriceRecord,
    RoundRecord,
    RoundState,
    StatementLine,
    StoredBid,
    StoredPlan,
)


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
        """One of core.host.CONTROLS."""

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
    """Plain values (numbers, text, lists, mappings by text) as bytes and back."""

    def encode(self, values: Mapping[str, object]) -> bytes:
        """A frame.

        :raises MalformedReport: a receiver would refuse it (not a finite number, too large).
        """

    def decode(self, frame: bytes) -> object:
        """The plain values of a peer's frame, which is not trusted.

        :raises OversizedReport: too long to be looked at.
        :raises MalformedReport: not a frame of this format.
        """


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


class LedgerStore(Protocol):
    """Where postings are kept (rules M1, M2). Any method may raise errors.DatabaseUnavailable."""

    def post(self, batch: Sequence[Posting], by: str = '') -> int:
        """Write all postings or none; how many were new.

        `by` is who asked. A posting that is written already changes nothing. After
        DatabaseUnavailable the same batch can be posted again.

        :raises errors.BalanceTooLow, KeyReused, UnknownAccount, PeriodPurged: nothing was changed.
        """

    def balances(self, names: Sequence[AccountId]) -> Mapping[AccountId, int]:
        """Micro-credits by account; an account that does not exist is left out."""

    def statement(
        self, name: AccountId, before: int | None = None, limit: int = 100
    ) -> Sequence[StatementLine]:
        """Postings of one account, newest first; `before`: number of the last line of a page."""

    def totals(self, period: int, reason: Reason) -> Mapping[tuple[AccountId, AccountId], int]:
        """What moved in one period for one reason, by (from, to)."""


class AccountStore(Protocol):
    """Accounts and what is known of them besides money (rules M1, M4)."""

    def open(self, wanted: Sequence[Account]) -> int:
        """Open accounts with nothing in them; how many were new."""

    def account(self, name: AccountId) -> Account | None:
        """One account; None when there is none."""

    def list(
        self, project_id: str | None = None, after: str = '', limit: int = 1000
    ) -> Sequence[Account]:
        """Open accounts by id; `after`: last id of a page."""

    def set(self, changed: Account) -> None:
        """Replace name, weight and renewal.

        :raises errors.UnknownAccount: it does not exist or is closed.
        """

    def close(self, name: AccountId) -> None:
        """For good.

        :raises errors.Conflict: there is something in it.
        """


class BidStore(Protocol):
    """Bids that stay until they are changed (rule B1)."""

    def put(self, bid: StoredBid) -> StoredBid:
        """Replace the bid whose generation is bid.generation (0: none); the stored one.

        :raises errors.Conflict: it was changed meanwhile.
        :raises errors.UnknownAccount: its payer does not exist or is closed.
        """

    def bid(self, server_id: str) -> StoredBid | None:
        """A server's bid; None when there is none."""

    def list(
        self, project_id: str | None = None, after: str = '', limit: int = 10_000
    ) -> Sequence[StoredBid]:
        """Bids by server; `after`: last server of a page."""

    def remove(self, server_ids: Sequence[str]) -> int:
        """Forget bids; how many there were."""


class RoundStore(Protocol):
    """What the engine keeps of its rounds (rules A4, F1, F2)."""

    def begin(
        self,
        record: RoundRecord,
        price_list: Sequence[PriceRecord],
        allocated: Sequence[AllocationRecord],
    ) -> RoundRecord:
        """Store a round, or return the one stored for its period: the first one counts."""

    def advance(self, period: int, before: RoundState, after: RoundState) -> None:
        """Take it to its next state; nothing happens when it is there already.

        :raises errors.Conflict: it is in another state.
        """

    def confirm(self, period: int, server_ids: Sequence[str]) -> None:
        """Hosts have applied the allocations of these servers."""

    def unfinished(self) -> Sequence[RoundRecord]:
        """Neither settled nor undone, oldest first: what a new leader completes."""


class History(Protocol):
    """What is served of past rounds (rules P3, A4)."""

    def round(self, period: int) -> RoundRecord | None:
        """One round with its document."""

    def rounds(self, before: int | None = None, limit: int = 100) -> Sequence[RoundRecord]:
        """Rounds without documents, newest first."""

    def prices(self, first: int, last: int, resource: str | None = None) -> Sequence[PriceRecord]:
        """Prices of the periods first to last, inclusive, oldest first."""

    def allocations(
        self, period: int, after: str = '', limit: int = 10_000, project_id: str | None = None
    ) -> Sequence[AllocationRecord]:
        """Allocations of one period by server, those of one project or all."""

    def allocations_of(
        self, server_id: str, before: int | None = None, limit: int = 100
    ) -> Sequence[AllocationRecord]:
        """Allocations of one server, newest first."""


class PlanStore(Protocol):
    """Migration plans (rule A3)."""

    def add(self, plan: StoredPlan) -> None:
        """Store a new plan; one that is stored stays as it is."""

    def plan(self, plan_id: str) -> StoredPlan | None:
        """A plan with its moves."""

    def list(
        self, state: PlanState | None = None, before: float | None = None, limit: int = 100
    ) -> Sequence[StoredPlan]:
        """Plans without moves, newest first."""

    def advance(self, plan_id: str, before: PlanState, after: PlanState, by: str = '') -> None:
        """Take it to its next state.

        :raises errors.Conflict: it is in another state.
        """

    def move(
        self, plan_id: str, position: int, before: MoveState, after: MoveState, outcome: str = ''
    ) -> None:
        """The same for one of its moves."""


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


class Enforcement(Protocol):
    """Allocations out to the hosts, confirmations in (rules A5, F2). Never raises, never blocks long."""

    def start(self) -> None:
        """Begin to listen. Returns at once, also when the transport is down."""

    def send(
        self, period: int, expires: float, allocations: Mapping[HostName, Sequence[Allocation]]
    ) -> None:
        """Tell each host what its servers are to get; it replaces what was sent before.

        expires: wall-clock second from which hosts let go of it. May be sent again for one period.
        """

    def confirmed(self, period: int) -> Mapping[str, HostName]:
        """Server -> the host that has said that it applied the allocation of this period, so far."""

    def stop(self) -> None:
        """Stop listening."""


class Allocations(Protocol):
    """The other end of Enforcement, on a host. Never raises, never blocks long."""

    def look(self) -> Granted:
        """What the market grants this host's guests now; called once a round."""

    def confirm(self, granted: Granted, servers: Sequence[str]) -> None:
        """Tell the engine that the allocations of these servers are in force here."""


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


class ServerOwners(Protocol):
    """Whose servers are."""

    def owner(self, server_id: str) -> str | None:
        """The project of a server; None when there is none, or it is deleted.

        :raises errors.CloudUnavailable: Nova does not answer.
        """


class Flavors(Protocol):
    """What flavors hold."""

    def flavor(self, name: str) -> tuple[float, float] | None:
        """(vcpus, memory in MiB) by id or name; None when there is none.

        :raises errors.CloudUnavailable: Nova does not answer.
        """
