# SPDX-License-Identifier: Apache-2.0
"""What an application had is given back when it has ended: bids, what is left of its budget, its trust.

Implements the end of a virtual platform of Merkat (INRIA RR-8648), section 2.3, and rule M4 of
doc/source/specs/market.rst. Every step finds itself done when it is made again.
"""

import logging
from uuid import uuid4

from nova_market.core.app_cloud import AppAccess
from nova_market.core.app_record import AppState, StoredApp
from nova_market.core.ledger import Posting, Reason, account, posting_key
from nova_market.errors import AccessLost, BalanceTooLow, Conflict, UnknownAccount
from nova_market.ports import AppCloud
from nova_market.scaling.gathering import Stores

LOG = logging.getLogger(__name__)

BY = 'nova-market-controller'


class Closing:
    """For applications without servers."""

    def __init__(self, stores: Stores, cloud: AppCloud) -> None:
        self._stores = stores
        self._cloud = cloud

    def close(self, app: StoredApp) -> None:
        """Give back everything; then forget what was deleted, and close what has ended.

        :raises CloudUnavailable, DatabaseUnavailable, Conflict: what is left is done in the next pass.
        """
        self._close_budget(app)
        if app.trust_id:
            try:
                self._cloud.forget(AppAccess(project_id=app.project_id, trust_id=app.trust_id))
            except AccessLost:
                LOG.debug('app %s: its trust is gone already', app.id)
        if app.state is AppState.DELETING:
            self._stores.apps.remove(app.id)
            LOG.info('app %s is deleted', app.id)
        else:
            self._stores.apps.decide(app.id, app.state, {'closed': True}, [])
            LOG.info('app %s is closed: %s', app.id, app.state)

    def _close_budget(self, app: StoredApp) -> None:
        accounts = self._stores.accounts
        try:
            found = accounts.account(app.payer)
            if found is None or found.closed:
                return
            if found.renew_amount is not None:
                found = accounts.set(app.payer, {'renew_amount': None})
            if found.balance:
                self._move(app, found.balance)
            accounts.close(app.payer)
        except UnknownAccount:
            LOG.debug('app %s: its budget is closed already', app.id)
        except BalanceTooLow as error:
            # a round has held some of it meanwhile
            raise Conflict(f'the budget of application {app.id} is in use: {error}') from None

    def _move(self, app: StoredApp, amount: int) -> None:
        # what was read is there once only, so that a second try finds another amount, or nothing
        posting = Posting(
            key=posting_key(Reason.TRANSFER, 0, str(uuid4())),
            reason=Reason.TRANSFER,
            debit=app.payer,
            credit=account('project', app.project_id),
            amount=amount,
        )
        self._stores.ledger.post([posting], by=BY)
