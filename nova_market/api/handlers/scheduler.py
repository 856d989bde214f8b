# SPDX-License-Identifier: Apache-2.0
"""What Nova's scheduler plug-ins decide by (rule S2)."""

from collections.abc import Mapping
from typing import Any

from nova_market.api.call import Call
from nova_market.api.contract import gives, takes_query
from nova_market.api.errors import ApiError
from nova_market.api.schemas import scheduler as schemas
from nova_market.api.schemas.shape import PERIOD
from nova_market.core.json_schema import described
from nova_market.core.scheduler.publication import published
from nova_market.services.lease.observing import RESERVED

VERSION = {'type': 'string', 'minLength': 1, 'maxLength': 64}


@takes_query(
    known=described(
        PERIOD, 'a period the caller has: if it is the newest, only its age is answered'
    ),
    known_reserved=described(
        VERSION, 'version of `reserved` that the caller has: it is not answered again'
    ),
)
@gives(200, schemas.SNAPSHOT)
def show(call: Call) -> Any:
    """The newest round as the scheduler needs it."""
    call.authorize('scheduler_snapshot:show')
    newest = call.documents.newest()
    found = None
    if newest is not None:
        age = max(0.0, round(call.stores.wall() - newest.record.started_at, 3))
        found = published(newest.record.document, age)
    if newest is None or found is None:
        raise ApiError(
            404, 'market.scheduler_snapshot.not_found', 'the engine has decided no round yet'
        )
    if call.query.get('known') == newest.record.period:
        found = {'period': newest.record.period, 'age': age}
    return {'scheduler_snapshot': {**found, **_reserved(call)}}


def _reserved(call: Call) -> Mapping[str, Any]:
    """What leases have reserved, as the service of leases has published it last; nothing before."""
    newest = call.stores.states.read(RESERVED)
    if not newest:
        return {}
    if call.query.get('known_reserved') == newest['version']:
        return {'reserved_at': newest['at']}
    return {'reserved': newest}
