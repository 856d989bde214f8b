# SPDX-License-Identifier: Apache-2.0
"""What an application had is given back when it has ended: bids, what is left of its budget, its trust.

Implements the end of an application of Merkat (INRIA RR-8648), section 2.3, and rule M4 of
doc/source/specs/market.rst. Every step finds itself done when it is made again.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from nova_market.core.app.record import AppState, DesiredState, StoredApp
from nova_market.core.ledger.posting import NO_PERIOD, Posting, Reason, account, posting_key
from nova_market.core.market.owner_server import OwnerAccess
from nova_market.errors import BalanceTooLow, Conflict, TrustGone, UnknownAccount, UnknownApp
from nova_market.ports import OwnerCloud
from nova_market.services.app.inputs import AppStores

LOG = logging.getLogger(__name__)

BY = 'nova-market-controller'


class Closing:
    """For applications that have ended."""

    def __init__(self, stores: AppStores, cloud: OwnerCloud) -> None:
        self._stores = stores
        self._cloud = cloud

    def close(self, app: StoredApp) -> None:
        """Without servers: give back everything; then forget what was deleted, and close what has ended.

        :raises CloudUnavailable, AccessLost, CloudRefused, Conflict: what is left is done in the next pass.
        """
        pay_back(self._stores, app)
        if app.trust_id:
            # what is refused now may be a delegation that lives on: its id must not be forgotten
            try:
                self._cloud.forget(OwnerAccess(project_id=app.project_id, trust_id=app.trust_id))
            except TrustGone:
                LOG.debug('app %s: its trust is gone already', app.id)
        for trust_id in self._stores.apps.replaced_trusts().get(app.id, ()):
            LOG.warning('app %s: its former trust %s is left over: delete it', app.id, trust_id)
        if app.state is AppState.DELETING:
            self._stores.apps.remove(app.id)
            LOG.info('app %s is deleted', app.id)
        else:
            self._stores.apps.decide(app.id, app.state, {'closed': True}, [])
            LOG.info('app %s is closed: %s', app.id, app.state)


def pay_back(stores: AppStores, app: StoredApp) -> None:
    """What is in its budget is its project's again, and nothing comes to it any more.

    What a round still holds is its project's when that is settled.

    :raises Conflict: a round has held some of it meanwhile.
    """
    accounts = stores.accounts
    try:
        found = accounts.account(app.payer)
        if found is None or found.closed:
            return
        if found.renew_amount is not None:
            found = accounts.set(app.payer, {'renew_amount': None})
        if found.balance:
            _move(stores, app, found.balance)
        accounts.close(app.payer)
    except UnknownAccount:
        LOG.debug('app %s: its budget is closed already', app.id)
    except BalanceTooLow as error:
        raise Conflict(f'the budget of application {app.id} is in use: {error}') from None


def _move(stores: AppStores, app: StoredApp, amount: int) -> None:
    # what was read is there once only, so that a second try finds another amount, or nothing
    posting = Posting(
        key=posting_key(Reason.TRANSFER, NO_PERIOD, str(uuid4())),
        reason=Reason.TRANSFER,
        debit=app.payer,
        credit=account('project', app.project_id),
        amount=amount,
    )
    stores.ledger.post([posting], by=BY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What may still be in the cloud of an application that was forgotten."""

    app: StoredApp
    servers: Sequence[str]
    trusts: Sequence[str]


def abandoned(stores: AppStores, app_id: str) -> Left:
    """Forget an application without asking the cloud, for operators.

    :raises UnknownApp: there is none. :raises Conflict: it was changed meanwhile.
    """
    app = stores.apps.app(app_id)
    if app is None:
        raise UnknownApp(
            f'there is no application {app_id!r:.80}: see nova-market-controller status'
        )
    if app.state is not AppState.DELETING:
        app = stores.apps.change(app_id, {'wish': DesiredState.DELETE}, app.generation)
    servers = [one.server_id for one in stores.slots.slots(app_id) if one.server_id]
    trusts = [
        *([app.trust_id] if app.trust_id else []),
        *stores.apps.replaced_trusts().get(app_id, ()),
    ]
    pay_back(stores, app)
    stores.bids.remove(servers)
    stores.apps.remove(app_id)
    return Left(app=app, servers=servers, trusts=trusts)
