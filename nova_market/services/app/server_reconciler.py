# SPDX-License-Identifier: Apache-2.0
"""Brings an application's servers to what is intended: made, suspended, resumed, deleted.

Implements "the application controller deploys a virtual cluster" of Merkat (INRIA RR-8648), section 2.3.1.
Units: seconds.

Intentions are written before Nova is asked, and a server carries the marks of its application and slot. So
whoever comes after a controller that died finds what was made by its marks, deletes what was made twice, and
makes what is missing. A server is touched only when it has the marks AND there is a row for its slot. One
that is not in a list may be in a part of the cloud that does not answer: it is gone when the cloud, asked for
that one, says so. Servers of a component are alike: when one can't be made, the others are not asked for in
vain meanwhile. What is given up is deleted when core.app.draining finds a reason.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from nova_market.core.app.draining import drain_end
from nova_market.core.app.record import (
    AppEvent,
    DesiredServerState,
    HookReport,
    StoredApp,
    StoredSlot,
)
from nova_market.core.app.template import AppTemplate, Component, Rest, parsed
from nova_market.core.market.owner_server import (
    ACTIONS,
    NewServer,
    OwnerAccess,
    OwnerServer,
    ServerState,
)
from nova_market.errors import CloudRefused, CloudUnavailable
from nova_market.ports import Clock, OwnerCloud
from nova_market.services.app.bid_writer import Bidding
from nova_market.services.app.inputs import AppStores
from nova_market.services.app.settings import ControllerSettings

LOG = logging.getLogger(__name__)

STILL_SHELVED = (
    'was unshelved and is shelved again: no host has room for it, or its image could not be booted'
)

NAME_LENGTH = 255
"""Of a server, in Nova."""

CALLS = 20
"""Changes that are asked for in one pass for one application: all others wait meanwhile."""

AT_REST = {Rest.SUSPEND: ServerState.SUSPENDED, Rest.SHELVE: ServerState.SHELVED}
SETTLED = (ServerState.RUNNING, ServerState.SUSPENDED, ServerState.SHELVED)
SOUND = (*SETTLED, ServerState.BUSY, ServerState.BUILDING, ServerState.STOPPED)


@dataclass(slots=True)
class _Job:
    """One application in this pass.

    by_slot: servers that have its mark; by_id: all that are known of; blind: there may be others
    held: components whose next server must wait; tried: by component, attempts in a row that failed
    hooks: what agents reported of them, by server; asked: changes so far
    """

    app: StoredApp
    template: AppTemplate
    access: OwnerAccess
    period: int
    by_slot: dict[str, list[OwnerServer]] = field(default_factory=dict)
    by_id: dict[str, OwnerServer] = field(default_factory=dict)
    blind: bool = False
    held: set[str] = field(default_factory=set)
    tried: dict[str, int] = field(default_factory=dict)
    hooks: dict[str, HookReport] = field(default_factory=dict)
    asked: int = 0

    def own(self, slot: StoredSlot) -> list[OwnerServer]:
        """Servers for this place."""
        found = list(self.by_slot.get(slot.label, ()))
        one = self.by_id.get(slot.server_id)
        return found if one is None or one in found else [*found, one]


class ServerReconciler:
    """One pass over the slots of one application at a time."""

    def __init__(
        self,
        stores: AppStores,
        cloud: OwnerCloud,
        clock: Clock,
        settings: ControllerSettings,
        bidding: Bidding,
    ) -> None:
        self._stores = stores
        self._bidding = bidding
        self._refusals: set[tuple[str, str, str]] = set()
        self._unshelving: set[tuple[str, str]] = set()
        self._first: dict[str, int] = {}
        self._cloud = cloud
        self._clock = clock
        self._settings = settings

    def converge(
        self,
        app: StoredApp,
        slots: Sequence[StoredSlot],
        servers: Sequence[OwnerServer],
        period: int,
    ) -> list[StoredSlot]:
        """One step for each slot; the rows as they are then. servers: all marked ones of the project.

        :raises CloudUnavailable, AccessLost, DatabaseUnavailable: the rest waits for the next pass.
        """
        access = OwnerAccess(project_id=app.project_id, trust_id=app.trust_id)
        job = _Job(app, parsed(app.template), access, period)
        for one in self._known(app, access, slots, servers):
            job.by_id[one.id] = one
            job.blind |= one.state is ServerState.UNKNOWN and not one.owner
            if one.owner == app.id:
                job.by_slot.setdefault(one.place, []).append(one)
        self._hold(job, slots)
        if any(slot.intention is DesiredServerState.DRAINING for slot in slots):
            found = self._stores.events.hooks([app.id]).get(app.id, ())
            job.hooks = {one.server_id: one for one in found}
        # begin with what the last pass did not come to: what is refused each time holds nothing else back
        first = self._first.pop(app.id, 0) % max(len(slots), 1)
        order = [*slots[first:], *slots[:first]]
        left: list[StoredSlot] = []
        for n, slot in enumerate(order):
            if job.asked >= CALLS:
                self._first[app.id] = first + n
                return [*left, *order[n:]]
            try:
                after = self._one(job, slot)
            except CloudUnavailable:
                self._first[app.id] = first + n + 1  # what always fails keeps no other slot back
                raise
            if after is not None:
                left.append(after)
        return left

    def _hold(self, job: _Job, slots: Iterable[StoredSlot]) -> None:
        now = self._clock.wall()
        for slot in slots:
            if (
                slot.attempts
                and not slot.server_id
                and slot.intention is DesiredServerState.PRESENT
            ):
                job.tried[slot.component] = max(slot.attempts, job.tried.get(slot.component, 0))
                if now < slot.retry_at:
                    job.held.add(slot.component)

    def keep(self, app_ids: Iterable[str]) -> None:
        """Forget what was reported of all others: they are gone."""
        known = frozenset(app_ids)
        self._refusals = {one for one in self._refusals if one[0] in known}
        self._unshelving = {one for one in self._unshelving if one[0] in known}
        self._first = {one: self._first[one] for one in self._first if one in known}

    def _known(
        self,
        app: StoredApp,
        access: OwnerAccess,
        slots: Sequence[StoredSlot],
        servers: Sequence[OwnerServer],
    ) -> Sequence[OwnerServer]:
        """With those that the list has left out, but not those that their owner took the marks from."""
        listed, more = {one.id for one in servers}, []
        for slot in slots:
            if not slot.server_id or slot.server_id in listed:
                continue
            one = self._cloud.server(access, slot.server_id)
            if one is None:
                continue
            if one.state is ServerState.UNKNOWN or (one.owner, one.place) == (app.id, slot.label):
                more.append(one)
        return [*servers, *more]

    def _one(self, job: _Job, slot: StoredSlot) -> StoredSlot | None:
        """The slot's row after this step; None when it is gone."""
        own = job.own(slot)
        kept = _kept(slot, own)
        if (kept.id if kept else '') != slot.server_id:
            slot = self._found(job, slot, kept)
        for one in own:
            if one is kept or one.state is ServerState.DELETING:
                continue
            if self._delete(job, slot, one, 'there is another one for its place'):
                self._bidding.forget(one.id)
            else:
                self._bidding.silence(job.app, one.id)
        if slot.intention is DesiredServerState.DRAINING:
            slot = self._drain(job, slot, kept)
        if slot.intention is DesiredServerState.GONE:
            return self._leave(job, slot, kept)
        if kept is None:
            return self._make(job, slot)
        return self._keep(job, slot, kept)

    def _drain(self, job: _Job, slot: StoredSlot, kept: OwnerServer | None) -> StoredSlot:
        """To be deleted from now on, if there is a reason."""
        state, report = kept.state if kept else None, job.hooks.get(slot.server_id)
        reason = drain_end(slot, state, report, self._clock.wall())
        if not reason:
            return slot
        # first: why a server that may have been busy was deleted must not get lost
        self._tell(job, 'drained', f'{slot.label}: {reason}')
        return self._write(replace(slot, intention=DesiredServerState.GONE))

    def _found(self, job: _Job, slot: StoredSlot, kept: OwnerServer | None) -> StoredSlot:
        """Another server than the row says has this place, or none has."""
        if slot.server_id:
            self._bidding.forget(slot.server_id)
            if slot.intention is not DesiredServerState.GONE:
                self._tell(
                    job, 'lost', f'server {slot.server_id} of {slot.label} is gone or unmarked'
                )
        if kept is not None:
            LOG.info('app %s: server %s is %s', job.app.id, kept.id, slot.label)
        return self._write(replace(slot, server_id=kept.id if kept else '', address=''))

    def _leave(self, job: _Job, slot: StoredSlot, kept: OwnerServer | None) -> StoredSlot | None:
        if kept is not None:
            if kept.state not in (ServerState.DELETING, ServerState.UNKNOWN):
                self._delete(job, slot, kept, 'it is not needed any more')
            return slot
        # one that was asked for may still come; a longer pause follows a refusal, after which none comes
        if 0 < slot.retry_at - self._clock.wall() <= self._settings.settle_time:
            return slot
        self._stores.slots.drop([slot])
        return None

    def _make(self, job: _Job, slot: StoredSlot) -> StoredSlot:
        now = self._clock.wall()
        held = job.blind or slot.component in job.held
        if slot.intention is not DesiredServerState.PRESENT or now < slot.retry_at or held:
            return slot
        component = _component(job.template, slot)
        if component is None:
            return slot
        wanted = NewServer(
            owner=job.app.id,
            place=slot.label,
            name=f'{job.template.name[: NAME_LENGTH - 1 - len(slot.label)]}-{slot.label}',
            flavor=component.flavor,
            image=component.image,
            networks=component.networks,
            user_data=self._stores.apps.user_data(job.app.id).get(component.name, ''),
        )
        # when the answer gets lost, or we die: it may still come
        slot = self._write(replace(slot, retry_at=now + self._settings.settle_time))
        job.asked += 1
        try:
            server_id = self._cloud.create(job.access, wanted)
        except CloudRefused as error:
            job.held.add(slot.component)
            return self._failed(job, slot, 'refused', str(error))
        slot = self._write(replace(slot, server_id=server_id, retry_at=0.0))
        self._tell(job, 'created', f'server {server_id} is {slot.label}')
        return slot

    def _keep(self, job: _Job, slot: StoredSlot, kept: OwnerServer) -> StoredSlot:
        suspends = slot.intention is DesiredServerState.SUSPENDED
        if kept.address and kept.address != slot.address:
            slot = self._write(replace(slot, address=kept.address))
        if kept.state is ServerState.FAILED:
            if self._clock.wall() < slot.retry_at:
                return slot
            self._delete(job, slot, kept, kept.fault or 'its making failed')
            return self._failed(
                job, slot, 'failed', f'{slot.label}: {kept.fault or "no reason given"}'
            )
        if kept.state is ServerState.SHELVED and not suspends:
            return self._unshelve(job, slot, kept)
        rest = AT_REST[job.template.when_suspended or self._settings.when_suspended]
        action = ACTIONS.get((kept.state, rest if suspends else ServerState.RUNNING))
        if action is not None:
            self._ask(job, slot, action, kept)
        if kept.state in SETTLED:
            self._unshelving.discard((job.app.id, kept.id))
            if slot.attempts:
                return self._write(replace(slot, attempts=0, retry_at=0.0))
        return slot

    def _unshelve(self, job: _Job, slot: StoredSlot, kept: OwnerServer) -> StoredSlot:
        """Nova puts a server back that no host has room for, and reports nothing: it is shelved again."""
        if self._clock.wall() < slot.retry_at:
            return slot
        key = (job.app.id, kept.id)
        if key in self._unshelving:
            self._unshelving.discard(key)
            why = f'{slot.label}: server {kept.id} {STILL_SHELVED}'
            return self._failed(job, slot, 'failed', why)
        if self._ask(job, slot, 'unshelve', kept):
            self._unshelving.add(key)
        return slot

    def _ask(self, job: _Job, slot: StoredSlot, action: str, server: OwnerServer) -> bool:
        """Was it begun?"""
        ask = {name: getattr(self._cloud, name) for name in ACTIONS.values()}[action]
        job.asked += 1
        try:
            ask(job.access, server.id)
        except CloudRefused as error:
            self._refused(job, slot, action, server, error)
            return False
        self._refusals.discard((job.app.id, server.id, action))
        LOG.info('app %s: %s of %s, server %s', job.app.id, action, slot.label, server.id)
        return True

    def _delete(self, job: _Job, slot: StoredSlot, server: OwnerServer, why: str) -> bool:
        """Was it begun?"""
        job.asked += 1
        try:
            self._cloud.delete(job.access, server.id)
        except CloudRefused as error:
            self._refused(job, slot, 'delete', server, error)
            return False
        self._refusals.discard((job.app.id, server.id, 'delete'))
        self._tell(job, 'deleted', f'server {server.id} of {slot.label}: {why}')
        return True

    def _refused(
        self, job: _Job, slot: StoredSlot, action: str, server: OwnerServer, error: CloudRefused
    ) -> None:
        """Reported once, and tried again in each pass."""
        key = (job.app.id, server.id, action)
        if key not in self._refusals:
            self._refusals.add(key)
            why = f'{action} of server {server.id}, {slot.label}: {error}'
            self._tell(job, 'refused', why)

    def _failed(self, job: _Job, slot: StoredSlot, action: str, why: str) -> StoredSlot:
        """The next attempt waits twice as long."""
        settings = self._settings
        attempts = max(slot.attempts, job.tried.get(slot.component, 0)) + 1
        pause = min(settings.first_pause * 2.0 ** min(attempts - 1, 20), settings.longest_pause)
        numbers = {'attempt': float(attempts), 'next_in': pause}
        self._tell(job, action, why, numbers)
        return self._write(replace(slot, attempts=attempts, retry_at=self._clock.wall() + pause))

    def _write(self, slot: StoredSlot) -> StoredSlot:
        self._stores.slots.put([slot])
        return slot

    def _tell(
        self, job: _Job, action: str, reason: str, numbers: dict[str, float] | None = None
    ) -> None:
        LOG.info('app %s: %s: %s', job.app.id, action, reason)
        event = AppEvent(
            app_id=job.app.id,
            at=self._clock.wall(),
            period=job.period,
            action=action,
            reason=reason,
            numbers=numbers or {},
        )
        self._stores.events.tell([event])


def _kept(slot: StoredSlot, own: Iterable[OwnerServer]) -> OwnerServer | None:
    """The server that has this place: the one in the row, else the oldest that is sound, else the oldest."""
    found = [
        one for one in own if one.state is not ServerState.DELETING or one.id == slot.server_id
    ]
    if not found:
        return None
    return min(
        found,
        key=lambda one: (
            one.id != slot.server_id, one.state not in SOUND, one.created_at, one.id,
        ),
    )  # fmt: skip


def _component(template: AppTemplate, slot: StoredSlot) -> Component | None:
    return next((one for one in template.components if one.name == slot.component), None)
