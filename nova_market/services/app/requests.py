# SPDX-License-Identifier: Apache-2.0
"""What an owner asks of his applications is carried out: made, changed, suspended, resumed, deleted.

Implements the owner's side of Merkat (INRIA RR-8648), section 2.3, and rule M4 of the market's specification.
core.app.request checks what is asked; the controller does the rest. Making an application creates a trust of
Keystone, with which the controller acts in the project, and opens a budget.
"""

import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from nova_market.core.app.cloud_name import check_names, check_sizes, names_of
from nova_market.core.app.record import AppEvent, DesiredState, StoredApp
from nova_market.core.app.request import AppChange, NewApp, Policies, changed_columns, new_app
from nova_market.core.app.template import parsed, rest_of
from nova_market.core.ledger.posting import NO_PERIOD, Posting, Reason, account, posting_key
from nova_market.errors import (
    Conflict,
    DatabaseUnavailable,
    GenerationChanged,
    NovaMarketError,
    TooManyBudgets,
    UnknownApp,
)
from nova_market.ports import (
    AccountStore,
    AppStore,
    EventStore,
    LedgerStore,
    OwnerNames,
    Trusts,
)
from nova_market.services.owner import Owner, delegated, end_trust

LOG = logging.getLogger(__name__)

TRIES = 5
"""For a caller who does not name the generation that he replaces."""

CREDENTIAL_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSettings:
    """period: seconds of a market round; trust_roles: roles that are handed on, none named: all."""

    period: float
    max_apps: int
    max_budgets: int
    trust_roles: tuple[str, ...]
    policies: Policies


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestStores:
    """What requests are carried out with. wall: seconds since the epoch."""

    ledger: LedgerStore
    accounts: AccountStore
    apps: AppStore
    app_events: EventStore
    trusts: Trusts
    names: OwnerNames
    wall: Callable[[], float]


class AppRequests:
    """The requests of one owner."""

    def __init__(self, stores: RequestStores, settings: RequestSettings, owner: Owner) -> None:
        self._stores = stores
        self._settings = settings
        self._owner = owner

    def create(
        self, template: Mapping[str, Any], url: str, *, look_up: bool = True
    ) -> tuple[StoredApp, str]:
        """(the application, its credential). url: of the market, for its monitors; look_up: as `checked`

        :raises BadTemplate, TrustRefused, TooManyApps, TooManyBudgets: nothing was made.
        """
        credential = secrets.token_urlsafe(CREDENTIAL_BYTES)
        wanted = self._wanted(template, url, credential, look_up)
        try:
            self._stores.accounts.open_budget(wanted.budget, self._settings.max_budgets)
        except Conflict as error:
            raise TooManyBudgets(str(error)) from None
        made = self._stored(wanted)
        self._fill(made, wanted.budget.renew_amount or 0)
        self._record(made, 'created')
        return made, credential

    def checked(self, template: Mapping[str, Any], url: str) -> StoredApp:
        """The application that `create` would make of it; nothing is made.

        Flavors, images and networks are looked up as the owner sees them; a least allocation fits its flavor.

        :raises BadTemplate, TooManyApps, CloudUnavailable: as create does.
        """
        return self._wanted(template, url, '', look_up=True).app

    def _wanted(
        self, template: Mapping[str, Any], url: str, credential: str, look_up: bool
    ) -> NewApp:
        """What is to be stored, checked before anybody is asked for a trust."""
        stores, owner = self._stores, self._owner
        wanted = new_app(
            template,
            self._settings.policies,
            app_id=str(uuid4()),
            project_id=owner.project_id,
            user_id=owner.user_id,
            credential=credential,
            url=url,
            now=stores.wall(),
        )
        stores.apps.check(owner.project_id, self._settings.max_apps)
        if look_up:
            read = parsed(wanted.app.template)
            names = names_of(read).values()
            check_names(read, stores.names.unknown(owner.token, owner.project_id, names))
            flavors = [
                one.flavor for one in read.components if one.least_cpu or one.least_memory_mib
            ]
            check_sizes(read, stores.names.sizes(owner.token, owner.project_id, flavors))
        return wanted

    def update(
        self, app: StoredApp, body: Mapping[str, Any], generation: int | None
    ) -> tuple[StoredApp, str]:
        """(the application, its new credential or ''). body: what is to change, by name.

        :raises BadTemplate, TrustRefused, AppDeleting, AppEnded, GenerationChanged: nothing was changed.
        """
        new_credential = 'new_credential' in body
        change = AppChange(
            slo=body.get('slo'),
            parameters=body.get('parameters'),
            when_suspended=rest_of(body.get('when_suspended')),
            credential=secrets.token_urlsafe(CREDENTIAL_BYTES) if new_credential else '',
            trust_id=self._trusted(app.project_id) if 'new_trust' in body else '',
            user_id=self._owner.user_id,
        )
        changed = self._updated(app, change, generation)
        if 'budget' in body:
            self._stores.accounts.set(changed.payer, dict(body['budget']))
        self._record(changed, 'changed', ', '.join(sorted(body)))
        return changed, change.credential

    def want(self, app: StoredApp, wish: DesiredState, action: str) -> StoredApp:
        """The application in the state that its owner wants; action: the event's.

        :raises AppDeleting, AppEnded, Conflict: it can't be.
        """
        if app.wish is wish:
            return app
        changed = self._changed(app, AppChange(wish=wish))
        self._record(changed, action)
        return changed

    def _stored(self, wanted: NewApp) -> StoredApp:
        """The application with its trust, stored; or nothing is left of it."""
        app, trust = wanted.app, ''
        try:
            trust = self._trusted(app.project_id)
            app = replace(app, trust_id=trust)
            return self._stores.apps.create(app, self._settings.max_apps, wanted.user_data)
        except DatabaseUnavailable:
            # it may have been stored all the same: nothing is undone unless that is known
            LOG.warning('application %s may have been made, with trust %s', app.id, trust)
            found = self._stores.apps.app(app.id)
            if found is not None:
                return found
            self._undo(app, trust)
            raise
        except NovaMarketError:
            self._undo(app, trust)
            raise

    def _updated(self, app: StoredApp, change: AppChange, generation: int | None) -> StoredApp:
        trust = change.trust_id
        try:
            return self._changed(app, change, generation)
        except DatabaseUnavailable:
            LOG.warning(
                'application %s may have been changed; new trust: %s', app.id, trust or 'none'
            )
            if trust and self._known(app.id).trust_id != trust:
                self._end_trust(trust)
            raise
        except NovaMarketError:
            self._end_trust(trust)
            raise

    def _changed(
        self, app: StoredApp, change: AppChange, generation: int | None = None
    ) -> StoredApp:
        """The application with a change, whoever else changes it meanwhile."""
        stores = self._stores
        for _ in range(TRIES):
            texts = stores.apps.user_data(app.id) if change.credential else {}
            columns = changed_columns(app, change, self._settings.policies, texts, stores.wall())
            try:
                return stores.apps.change(app.id, columns, generation or app.generation)
            except Conflict as error:
                if generation:
                    raise GenerationChanged(str(error)) from None
                app = self._known(app.id)
        raise Conflict(f'{app.id} is changed by others all the time: try again')

    def _known(self, app_id: str) -> StoredApp:
        found = self._stores.apps.app(app_id)
        if found is None:
            raise UnknownApp(f'there is no app {app_id}')
        return found

    def _fill(self, app: StoredApp, wanted: int) -> None:
        """Fill its budget for the first time, from what its project has; a renewal comes later."""
        project = account('project', app.project_id)
        amount = min(wanted, self._stores.ledger.balances([project]).get(project, 0))
        if amount <= 0:
            return
        posting = Posting(
            key=posting_key(Reason.TRANSFER, NO_PERIOD, f'app/{app.id}'),
            reason=Reason.TRANSFER,
            debit=project,
            credit=app.payer,
            amount=amount,
        )
        try:
            self._stores.ledger.post([posting], by=self._owner.user_id[:64])
        except NovaMarketError as error:
            LOG.warning('application %s begins with an empty budget: %s', app.id, error)

    def _trusted(self, project: str) -> str:
        return delegated(self._stores.trusts, self._owner, self._settings.trust_roles, project)

    def _undo(self, app: StoredApp, trust_id: str) -> None:
        """Remove what was made for an application that could not be kept; what can't be is logged."""
        self._end_trust(trust_id)
        try:
            self._stores.accounts.close(app.payer)
        except NovaMarketError as error:
            LOG.warning('application %s was not made; its budget is left over: %s', app.id, error)

    def _end_trust(self, trust_id: str) -> None:
        end_trust(self._stores.trusts, self._owner, trust_id)

    def _record(self, app: StoredApp, action: str, what: str = '') -> None:
        """Store an event of the owner's; his request is done without it too."""
        by = f'by {self._owner.user_id[:64]}'
        at = self._stores.wall()
        event = AppEvent(
            app_id=app.id,
            at=at,
            period=int(at // self._settings.period),
            action=action,
            reason=f'{what}, {by}' if what else by,
        )
        try:
            self._stores.app_events.tell([event])
        except NovaMarketError as error:
            LOG.warning('application %s: the event "%s" is not stored: %s', app.id, action, error)
