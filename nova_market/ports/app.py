# SPDX-License-Identifier: Apache-2.0
"""What the controller and the API need to run applications: what is kept of them, and their cloud.

Any method of a store may raise errors.DatabaseUnavailable.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from nova_market.core.app.cloud_name import CloudName, UnknownName
from nova_market.core.app.record import (
    AppEvent,
    AppReport,
    AppState,
    HookReport,
    StoredApp,
    StoredSlot,
)
from nova_market.core.market.owner_server import NewServer, OwnerAccess, OwnerServer, ServerFlavor


class AppStore(Protocol):
    """Applications."""

    def create(
        self, app: StoredApp, most: int, user_data: Mapping[str, str] | None = None
    ) -> StoredApp:
        """Keep a new application; the one that is stored under its id, when it is there already.

        user_data: what runs on its servers, by component.

        :raises errors.TooManyApps: its project has `most` that have not ended, or many more in all.
        """

    def check(self, project_id: str, most: int) -> None:
        """:raises errors.TooManyApps: as create, for a project of so many applications."""

    def app(self, app_id: str) -> StoredApp | None:
        """One application; None when there is none."""

    def user_data(self, app_id: str) -> Mapping[str, str]:
        """What runs on the servers of an application, by component."""

    def list(
        self, project_id: str | None = None, after: str = '', limit: int = 1000
    ) -> Sequence[StoredApp]:
        """Applications by id; `after`: last id of a page."""

    def change(self, app_id: str, changed: Mapping[str, Any], generation: int) -> StoredApp:
        """The owner's: template, user_data, wish, credential, trust_id, those given; what it is then.

        user_id: who gives the trust. A trust that is replaced goes to `replaced_trusts`. A wish DELETE is
        never taken back, and also makes the state DELETING. generation: of what was read.

        :raises errors.Conflict: it was changed meanwhile, or is being deleted; or there is none.
        """

    def open(self) -> Sequence[StoredApp]:
        """All that are not closed, by id: what the controller has to look after."""

    def decide(
        self, app_id: str, before: AppState, changed: Mapping[str, Any], slots: Sequence[StoredSlot]
    ) -> None:
        """The controller's, in one transaction: state, period, memory, figures, closed; slots as `put`.

        :raises errors.Conflict: its state is not `before`, or there is none.
        """

    def replaced_trusts(self) -> Mapping[str, Sequence[str]]:
        """Trusts that applications had before their present ones, and that nobody has ended yet."""

    def trust_ended(self, app_id: str, trust_id: str) -> None:
        """It is not among them any more."""

    def remove(self, app_id: str) -> None:
        """Forget an application with its slots, events and reports."""


class SlotStore(Protocol):
    """Servers of applications: intentions first."""

    def slots(self, app_id: str) -> Sequence[StoredSlot]:
        """By component and number."""

    def all(self) -> Mapping[str, Sequence[StoredSlot]]:
        """Those of every application that is not closed, by application."""

    def put(self, slots: Sequence[StoredSlot]) -> None:
        """Write them, over those that are there."""

    def drop(self, slots: Sequence[StoredSlot]) -> None:
        """Forget them."""


class EventStore(Protocol):
    """What happened to applications, and what was reported of them."""

    def tell(self, events: Sequence[AppEvent]) -> None:
        """Keep events; of each application the newest core.app.record.MAX_EVENTS stay."""

    def events(
        self, app_id: str, before: int | None = None, limit: int = 100
    ) -> Sequence[AppEvent]:
        """Newest first; `before`: number of the last one of a page."""

    def report(self, report: AppReport) -> None:
        """Keep it in place of an older one of the same server. Fields of None stay as they were.

        :raises errors.Conflict: no such application.
        """

    def reports(self, app_ids: Sequence[str]) -> Mapping[str, Sequence[AppReport]]:
        """The latest of each application and each server of it, by application."""

    def report_hooks(self, report: HookReport) -> None:
        """As `report`, of what the hooks in a guest did."""

    def hooks(self, app_ids: Sequence[str]) -> Mapping[str, Sequence[HookReport]]:
        """The latest of the hooks in each server of each application, by application."""


class OwnerCloud(Protocol):
    """The cloud as an owner of applications sees it. Any method may raise errors.CloudUnavailable."""

    def servers(self, access: OwnerAccess) -> Sequence[OwnerServer]:
        """All servers of the project that carry an application's mark, and those nobody can tell of.

        Servers of a part of the cloud that does not answer may be left out: only `server` tells what is gone.

        :raises errors.AccessLost: the trust is gone, or its owner.
        """

    def server(self, access: OwnerAccess, server_id: str) -> OwnerServer | None:
        """Any server of the project; None when the cloud is sure that there is none."""

    def flavor(self, access: OwnerAccess, name: str) -> ServerFlavor | None:
        """By id or name; None when the project has none such."""

    def create(self, access: OwnerAccess, wanted: NewServer) -> str:
        """Begin to make a server; its id.

        :raises errors.CloudRefused: quota, a name that is not known, ...: says what.
        """

    def suspend(self, access: OwnerAccess, server_id: str) -> None:
        """Begin to suspend; nothing when it is gone. :raises errors.CloudRefused: not now."""

    def resume(self, access: OwnerAccess, server_id: str) -> None:
        """Begin to resume; nothing when it is gone. :raises errors.CloudRefused: not now."""

    def shelve(self, access: OwnerAccess, server_id: str) -> None:
        """Begin to shelve; nothing when it is gone. :raises errors.CloudRefused: not now."""

    def unshelve(self, access: OwnerAccess, server_id: str) -> None:
        """Begin to unshelve; nothing when it is gone. It stays shelved where no host has room for it.

        :raises errors.CloudRefused: not now.
        """

    def delete(self, access: OwnerAccess, server_id: str) -> None:
        """Begin to delete; nothing when it is gone. :raises errors.CloudRefused: it is locked, ..."""

    def forget(self, access: OwnerAccess) -> None:
        """Delete the trust; nothing when it is gone."""


class OwnerNames(Protocol):
    """Names of flavors, images and networks, as an owner means them. May raise errors.CloudUnavailable."""

    def unknown(
        self, token: str, project_id: str, names: Iterable[CloudName]
    ) -> Sequence[UnknownName]:
        """Of these names, those that stand for nothing that he may use, or for several things.

        token: his, of this project. What he may not look at is not checked, nor are names of a service that
        the catalog lacks.
        """

    def sizes(
        self, token: str, project_id: str, flavors: Iterable[str]
    ) -> Mapping[str, ServerFlavor]:
        """What servers of these flavors can use at most, by the name or id that was given.

        What is unknown, or he may not look at, is not in it.
        """


class Trusts(Protocol):
    """An owner lets the controller act for an application. May raise errors.CloudUnavailable."""

    def create(self, token: str, user_id: str, project_id: str, roles: Sequence[str]) -> str:
        """A trust from the token's user to the controller's: these roles in this project; its id.

        :raises errors.TrustRefused: the token, the roles: says what.
        """

    def delete(self, token: str, trust_id: str) -> None:
        """End it; nothing when it is gone. :raises errors.TrustRefused: it is not the token's user's."""
