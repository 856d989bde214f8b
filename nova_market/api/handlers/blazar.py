# SPDX-License-Identifier: Apache-2.0
"""What Blazar's ExternalServiceFilter calls: its leases are paid from our ledger (rule L9).

The filter asks for no version. It takes 204 for yes and 403 for no; what stands in `message` of a 403 is
shown to who wants the lease.
"""

from collections.abc import Mapping
from typing import Any

from nova_market.api.call import Answer, Call
from nova_market.api.contract import gives, takes_body
from nova_market.api.errors import ApiError
from nova_market.api.schemas import blazar as schemas
from nova_market.core.lease.blazar import BlazarLease, blazar_lease, with_changes
from nova_market.errors import (
    BadLease,
    BalanceTooLow,
    LeasesOff,
    TooManyLeases,
    UnknownAccount,
)
from nova_market.services.lease.blazar import BlazarCalls

DONE = Answer(status=204)
REFUSED = (BadLease, BalanceTooLow, LeasesOff, TooManyLeases, UnknownAccount)


@takes_body(schemas.CALL)
@gives(204)
def check_create(call: Call) -> Any:
    """Hold what a lease costs, before Blazar makes it."""
    return _created(call)


@takes_body(schemas.CALL)
@gives(204)
def commit_create(call: Call) -> Any:
    """Blazar has made the lease, with this id; newer filters call this."""
    return _created(call)


@takes_body(schemas.UPDATE)
@gives(204)
def check_update(call: Call) -> Any:
    """Hold more for a lease that is longer or larger than before, or return what is too much."""
    return _changed(call)


@takes_body(schemas.UPDATE)
@gives(204)
def commit_update(call: Call) -> Any:
    """Blazar has changed the lease; newer filters call this. What was checked before is held already."""
    return _changed(call)


@takes_body(schemas.CALL)
@gives(204)
def on_end(call: Call) -> Any:
    """Charge what has passed of a lease that is over, and return a part of the rest."""
    calls = _calls(call)
    calls.end(_lease(call, call.body['lease']))
    return DONE


def _created(call: Call) -> Answer:
    calls = _calls(call)
    try:
        calls.create(_lease(call, call.body['lease']))
    except REFUSED as error:
        raise _refused(error) from None
    return DONE


def _changed(call: Call) -> Answer:
    calls = _calls(call)
    current = call.body['current_lease']
    try:
        lease = _lease(call, with_changes(current, call.body['lease']))
        calls.change(_lease(call, current), lease)
    except REFUSED as error:
        raise _refused(error) from None
    return DONE


def _calls(call: Call) -> BlazarCalls:
    call.authorize('leases:blazar')
    return BlazarCalls(call.stores.of_leases, call.settings.leases, call.user_id[:64])


def _lease(call: Call, document: Mapping[str, Any]) -> BlazarLease:
    return blazar_lease(call.body['context'], document, call.stores.flavors.size)


def _refused(error: Exception) -> ApiError:
    return ApiError(403, 'market.blazar.refused', str(error))
