# SPDX-License-Identifier: Apache-2.0
"""What is kept of an application from period to period: its row, its servers, reports and events.

Implements the state of an application of Merkat (INRIA RR-8648), section 2.3.1. Units: micro-credits,
cores, MiB, seconds since the epoch, periods of the market.

Two write an application's row: its owner, through the API (template, wish, credential: `generation` guards
them), and the controller (state, memory, figures). Neither writes what is the other's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nova_market.core.ledger.posting import AccountId, account
from nova_market.core.market.owner_server import ServerMarks
from nova_market.core.row_check import COUNT, TIME, Bounds

APP_MARKS = ServerMarks(owner='market:app', place='market:slot')
"""Metadata of a server: whose it is, and which one. With a row of the same name, it is the controller's."""

MAX_EVENTS = 1000
"""Events that are kept of one application; the oldest go first."""

MAX_HOOK_TEXT = 200
"""Characters of what a hook in a guest printed."""


class AppState(StrEnum):
    """Where an application is. The last three have no servers; the row stays until its owner deletes it."""

    WAITING = 'waiting'
    """For its start conditions, or for a price at which its least allocation can be paid."""

    RUNNING = 'running'
    SUSPENDED = 'suspended'
    """By its policy or its owner: its servers are suspended and bid nothing."""

    DELETING = 'deleting'
    """Its owner has deleted it; the row goes with the last server."""

    FINISHED = 'finished'
    DROPPED = 'dropped'
    """Not even full allocations would meet the deadline."""

    CANCELLED = 'cancelled'
    """Its start conditions did not hold in time."""


ENDED = frozenset({AppState.FINISHED, AppState.DROPPED, AppState.CANCELLED})


class DesiredState(StrEnum):
    """What the owner wants of it."""

    RUN = 'run'
    SUSPEND = 'suspend'
    DELETE = 'delete'


class DesiredServerState(StrEnum):
    """What is to become of a server: written before anything is asked of Nova."""

    PRESENT = 'present'
    SUSPENDED = 'suspended'
    DRAINING = 'draining'
    """It ends its work first, and is paid for meanwhile: see core.app.draining."""

    GONE = 'gone'


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredApp:
    """An application. Its budget is the account `payer`.

    template:   as core.app.template.document makes it; its budget is what the account began with;
                what runs on the servers (user_data) is long and may hold secrets, and is kept apart
    credential: SHA-256 of what its monitors show, in hexadecimal; '' = no reports are taken
    memory:     what the controller carries to its next decision: core.app.controller_state
    figures:    what it found at the last one, to be shown: see core.app.statistics
    """

    id: str
    project_id: str
    user_id: str
    template: Mapping[str, object]
    trust_id: str = ''
    credential: str = ''
    wish: DesiredState = DesiredState.RUN
    generation: int = 0
    """Grows with each change of the owner's; 0: not stored yet."""

    state: AppState = AppState.WAITING
    created_at: float = 0.0
    changed_at: float = 0.0
    """Of `state`."""

    period: int = 0
    """The last period that was decided; 0: none."""

    memory: Mapping[str, object] = field(default_factory=dict)
    figures: Mapping[str, object] = field(default_factory=dict)
    closed: bool = False
    """It has ended, and what it had was given back: servers, bids, budget, trust."""

    @property
    def payer(self) -> AccountId:
        return account('budget', self.id)

    @property
    def name(self) -> str:
        return str(self.template.get('name', ''))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSlot:
    """One server of a component, by number from 1; server_id '': not made yet, or it is gone.

    attempts: in a row that failed; not before `retry_at` is the next one made
    address:  its first one; '' until it runs
    drain_at, drain_until: when it was given up, and when it is deleted at the latest; 0: it was not given up
    """

    app_id: str
    component: str
    number: int
    intention: DesiredServerState = DesiredServerState.PRESENT
    server_id: str = ''
    attempts: int = 0
    retry_at: float = 0.0
    address: str = ''
    drain_at: float = 0.0
    drain_until: float = 0.0

    @property
    def label(self) -> str:
        """As the mark of its place has it."""
        return f'{self.component}-{self.number}'

    @property
    def drain_id(self) -> int:
        """Names one draining of this server; 0: it is not given up."""
        return round(self.drain_at * 1000)


APP_BOUNDS: Bounds = dict.fromkeys(('created_at', 'changed_at'), TIME)
SLOT_BOUNDS: Bounds = {
    **dict.fromkeys(('retry_at', 'drain_at', 'drain_until'), TIME),
    **dict.fromkeys(('number', 'attempts'), COUNT),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AppEvent:
    """One thing that the controller or the owner did, and why."""

    app_id: str
    at: float
    period: int
    action: str
    """A word: started, suspended, resumed, grew, shrank, bid, created, deleted, refused, ..."""

    reason: str = ''
    numbers: Mapping[str, float] = field(default_factory=dict)
    number: int = 0
    """Grows with time; the marker of the next page. 0: not stored yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppReport:
    """The latest that was reported of an application (server_id ''), or of one of its servers.

    A field that is None was not reported: the one reported before stays.

    metric: in its own unit; done of total: progress; seconds_each: for one of them, lately
    waiting, busy: tasks in the queue of a batch framework, and those in work
    """

    app_id: str
    server_id: str = ''
    at: float = 0.0
    metric: float | None = None
    total: float | None = None
    done: float | None = None
    seconds_each: float | None = None
    waiting: int | None = None
    busy: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookReport:
    """The latest that an agent reported of the hooks in its guest, of one server or (server_id '') of none.

    A field that is None was not reported: the one reported before stays.

    members: version of the list of members that its hooks have acted on, '' before the first; None: it does
             not ask for the list
    drain:   StoredSlot.drain_id of the draining that `drained` and `text` are about
    drained: its work has ended; False: the hook failed, and `text` is why
    """

    app_id: str
    server_id: str = ''
    at: float = 0.0
    members: str | None = None
    drain: int | None = None
    drained: bool | None = None
    text: str | None = None
