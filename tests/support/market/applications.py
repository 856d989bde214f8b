# SPDX-License-Identifier: Apache-2.0
"""An application of Alice's, as the API and the controller would have left it."""

import hashlib

from nova_market.core.app import template
from nova_market.core.app.record import AppEvent, StoredApp, StoredSlot
from nova_market.core.ledger.account import Account
from tests.support.market.api import ALICE, OF_ALICE, Market

APP = '00000000-0000-4000-8000-00000000aaaa'
CREDENTIAL = 'shown-once'
TEMPLATE = {
    'name': 'crawler',
    'policy': 'horizontal',
    'slo': {'metric': {'low': 0.5, 'reference': 1, 'high': 2}},
    'budget': {'renew_amount': 5_000_000},
    'components': [
        {
            'name': 'worker',
            'flavor': 'small',
            'image': 'debian-13',
            'most_count': 4,
            'user_data': '#!/bin/sh\n# a secret\n',
        }
    ],
}


def add_app(market: Market) -> StoredApp:
    """With one server, and an event."""
    read = template.parsed(TEMPLATE)
    app = StoredApp(
        id=APP,
        project_id=ALICE,
        user_id='member-user',
        template=template.document(read),
        trust_id='trust-x',
        credential=hashlib.sha256(CREDENTIAL.encode()).hexdigest(),
    )
    market.stores.accounts.open_budget(Account(id=app.payer, project_id=ALICE, name='crawler'), 9)
    made = market.stores.apps.create(app, 9, template.user_data(read))
    market.stores.apps.put(
        [StoredSlot(app_id=APP, component='worker', number=1, server_id=OF_ALICE)]
    )
    market.stores.app_events.tell(
        [AppEvent(app_id=APP, at=60.0, period=1, action='grew', reason='another server',
                  numbers={'count': 1})]
    )  # fmt: skip
    return made
